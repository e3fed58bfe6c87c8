"""Read the input of `get` and `set`: a message or a stream of frames.

If a frame has a different API, `get` prints nothing for it, and `set` copies it unchanged.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tagwire.selection.selection import Selection, select
from tagwire.text_format import a_kind
from tagwire_cli.arguments.options import SelectionInput
from tagwire_cli.arguments.packages import find_message, find_response, require_headers
from tagwire_cli.input.bytes import read_bytes
from tagwire_cli.input.encodings import file_hint
from tagwire_cli.input.frame_stream import ResponseApis, frames
from tagwire_cli.input.message_arguments import message_of, response_of

if TYPE_CHECKING:
    from tagwire.captures import CapturedFrame
    from tagwire.frames.frame_selection import RequestSelection, ResponseSelection
    from tagwire.frames.registry import Registry
    from tagwire.message import Message

    Part = tuple[int, str, bytes, Callable[[bytes], int | None]]
    """A frame's number, from 1; its position, "" for a single message; its bytes; and a function that returns the
    version of a message's bytes, or None if it is not the selected message."""


class Selected:
    """The fields that the PATH arguments select, with functions to read and to change them."""

    def __init__(
        self,
        selection: "Selection | RequestSelection | ResponseSelection",
        version_of: Callable[[bytes], int | None],
        given: SelectionInput,
        api_of: ResponseApis | None = None,
    ) -> None:
        self.selection = selection
        self._api_option = api_of
        self._version_of = version_of
        self._given = given

    def parts(self) -> "Iterator[Part]":
        """Yield each frame of the input as a `Part`. If the input has no frames, yield it as a single `Part`."""
        given = self._given
        if given.kind is None:
            return iter([(1, "", read_bytes(given.file, is_hex=given.is_hex), self._version_of)])
        found = frames(given.file, given.limits, is_hex=given.is_hex)
        found = found if self._api_option is None else self._api_option.checked(found)
        return ((number, position, data, self._version_of) for number, (position, data) in enumerate(found, 1))

    def captured(self, frames: "Iterator[CapturedFrame]") -> "Iterator[Part]":
        """Yield the captured frames that contain the selected message."""
        message = self.selection.message
        for frame in frames:
            if frame.api and frame.api[0] == message.API_KEY and frame.direction == message.KIND:
                yield frame.number, f"frame {frame.number}", frame.data, partial(_fixed, frame.api[1])

    def rows(self, data: bytes, version: int) -> list[Any]:
        """Return the selected values of a message: a list with a tuple for each output row.

        Raises DecodeError for invalid bytes.
        """
        read: Any = self.selection.read
        args = (data,) if self._is_request else (data, version)
        rows = read(*args, limits=self._given.limits)
        return [(row,) for row in rows] if len(self.selection.paths) == 1 else rows

    def rewrite(self, data: bytes, version: int, function: Callable[..., Any]) -> bytes:
        """Return the message `data` with `function` applied to each selected value.

        Raises DecodeError for an invalid message, and EncodeError if a new value can't be encoded.
        """
        rewrite: Any = self.selection.rewrite
        args = (data,) if self._is_request else (data, version)
        rewritten: bytes = rewrite(*args, function, limits=self._given.limits)
        return rewritten

    @property
    def _is_request(self) -> bool:
        return not isinstance(self.selection, Selection) and self.selection.message.KIND == "request"


def _fixed(version: int, data: bytes) -> int:
    return version


def source(
    registry: "Registry", args: Sequence[str], given: SelectionInput
) -> "tuple[Callable[[tuple[str, ...]], Selected], Sequence[str]]":
    """Parse the arguments MESSAGE and VERSION. Return a function and the remaining arguments.

    The function creates a `Selected` from PATH arguments. Raises click.UsageError if the message or a required version
    is missing or wrong.
    """
    try:
        return _source(registry, args, given)
    except click.UsageError as error:
        error.message = with_order_hint(error.message, args)  # type: ignore[misc]  # click offers no other way
        raise


def with_order_hint(message: str, args: Sequence[str]) -> str:
    """Add a hint to an error if one of the arguments is a file, or if VERSION is missing or superfluous."""
    hint = _order_hint(args)
    if not hint or hint in message:
        return message
    joint = " " if message.endswith("?") else ". " if hint[0].isupper() else "; "
    return f"{message.rstrip('.')}{joint}{hint}"


def _order_hint(args: Sequence[str]) -> str:
    options = click.get_current_context().params
    if not options.get("is_capture") and (hint := file_hint([*args, options.get("file") or "-"])):
        return hint
    file = next((arg for arg in args if Path(arg).is_file()), "")
    has_version = not (options.get("is_capture") or options["kind"] == "request" or options["requests_file"])
    if not file and len(args) > 1 and any(arg.removeprefix("v").isdecimal() for arg in args) == has_version:
        return ""
    remedy = "" if options.get("file", "-") != "-" else f"; give a file with --file {file or 'FILE'}"
    return f"The order is MESSAGE {'VERSION ' if has_version else ''}PATH...{remedy}"


def _source(
    registry: "Registry", args: Sequence[str], given: SelectionInput
) -> "tuple[Callable[[tuple[str, ...]], Selected], Sequence[str]]":
    kind = given.kind
    if given.requests_file is not None and kind != "response":
        raise click.UsageError("--requests needs --frames response.")
    if kind in (None, "message"):
        message, version, rest = message_of(registry, args)
        return lambda paths: Selected(select(message, *paths), lambda _: version, given), rest
    require_headers(registry)
    if kind == "capture":
        name, rest = _first(args, "MESSAGE")
        message = find_message(registry, name)
        if message.KIND not in ("request", "response"):
            text = f"{message.NAME} is {a_kind(message.KIND)}, not a request or response"
            raise click.BadParameter(text, param_hint="MESSAGE")
        make = registry.select_request if message.KIND == "request" else registry.select_response
        return lambda paths: Selected(make(message, *paths), lambda _: None, given), rest
    if kind == "request":
        name, rest = _first(args, "MESSAGE")
        request = _request(registry, name)
        versions = _requests(registry, request)
        return lambda paths: Selected(registry.select_request(request, *paths), versions, given), rest
    if given.requests_file is None:
        response, version, rest = response_of(registry, args)
        return lambda paths: Selected(registry.select_response(response, *paths), lambda _: version, given), rest
    name, rest = _first(args, "API")
    response = find_response(registry, name)
    api_of = ResponseApis(registry, given.requests_file, given.limits, is_hex=given.is_hex)

    def version_of(data: bytes) -> int | None:
        api_key, version = api_of(data)
        return version if api_key == response.API_KEY else None

    return lambda paths: Selected(registry.select_response(response, *paths), version_of, given, api_of), rest


def _first(args: Sequence[str], expected: str) -> tuple[str, Sequence[str]]:
    if not args:
        raise click.UsageError(f"give {expected}.")
    return args[0], args[1:]


def _request(registry: "Registry", name: str) -> "type[Message]":
    message = find_message(registry, name if name in registry else f"{name}Request")
    if message.KIND != "request":
        raise click.BadParameter(f"{message.NAME} is {a_kind(message.KIND)}, not a request", param_hint="MESSAGE")
    return message


def _requests(registry: "Registry", request: "type[Message]") -> Callable[[bytes], int | None]:
    def version_of(data: bytes) -> int | None:
        cls, version = registry.request_class(data)
        return version if cls is request else None

    return version_of
