"""`tagwire get` and `tagwire set`: print or change selected fields of a message, or of a stream of frames.

If a frame has a different API, `get` prints nothing for it, and `set` copies it unchanged.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from tagwire.message.json import field_from_json, field_to_json
from tagwire.selection.paths import SelectionError
from tagwire.selection.selection import Selection, select
from tagwire.text_format import a_kind, shown
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import (
    capture_options,
    check_frame_options,
    file_option,
    frames_option,
    json_lines_option,
    limit_option,
    limits_of,
    option_group,
    package_option,
    requests_option,
)
from tagwire_cli.arguments.packages import find_message, find_registry, find_response, require_headers
from tagwire_cli.input.captures import chosen_frames
from tagwire_cli.input.encodings import file_hint, input_hint
from tagwire_cli.input.files import InputError, read_bytes
from tagwire_cli.input.frame_stream import PairedApis, at, frames
from tagwire_cli.input.json_values import json_of
from tagwire_cli.input.message_arguments import message_of, response_of
from tagwire_cli.output.tables import reject_terminal, write_data, write_json_line, write_line
from tagwire_cli.paths import is_file

if TYPE_CHECKING:
    from tagwire.captures import CapturedFrame
    from tagwire.frames.frame_selection import RequestSelection, ResponseSelection
    from tagwire.frames.registry import Registry
    from tagwire.limits import Limits
    from tagwire.message import Message
    from tagwire.message.field_table import FieldRow

    Part = tuple[int, str, bytes, Callable[[bytes], int | None]]
    """A frame's number, from 1; its position, "" for a single message; its bytes; and a function that returns the
    version of a message's bytes, or None if it is not the selected message."""


_TEXTS: Final = ("text", "binary", "fixed bytes", "uuid")
"""The wire types whose values are strings in JSON."""


class _SelectionInput(NamedTuple):
    """The options that select the input of `get` and `set`."""

    file: str
    kind: str | None
    """The kind of frames in the input, or None if the input is a single message."""
    requests_file: str | None
    is_hex: bool
    limits: "Limits"
    package: str | None


def _selection_options(hex_help: str) -> Callable[[Any], Any]:
    """Add the options of `_SelectionInput`. The command must parse the limits."""
    hex_option = click.option("--hex", "is_hex", is_flag=True, help=hex_help)
    return option_group(file_option, frames_option(), requests_option, hex_option, limit_option, package_option)


@click.command("get")
@click.argument("args", nargs=-1, metavar="MESSAGE [VERSION] PATH...", shell_complete=completion.arguments)
@json_lines_option
@capture_options
@_selection_options("The input is hex; white space is ignored.")
def get(args: Sequence[str], as_json: bool, is_capture: bool, where: str | None, port: int, **options: Any) -> None:
    """Print single fields of a message or of frames.

    Other fields are not decoded into objects. PATH uses the attribute names that
    `tagwire show` prints, with [] after an array to select all its elements:
    topics[].partitions[].leader_id. With this path alone, a line is printed for each
    partition. With several paths, a line is printed for each element of the
    innermost array that all of them have in common, with tabs between the values. A
    path that goes into a deeper array prints a JSON list. For example, topics[].name
    and topics[].partitions[].leader_id print a line for each topic, with its name
    and the list of its leader IDs.

    All bytes are checked against the version, as in `tagwire decode`.

    With --frames, the input is a stream of frames as sent over a connection.
    Requests contain their version; frames of other APIs are skipped.
    header.client_id and similar paths select fields of the header. With --capture, the
    input is a capture, and the paths can select fields and headers of its frames.

    \b
    Examples:
      tagwire get MetadataResponse 12 'brokers[].host' 'brokers[].port' < body.bin
      tagwire get --frames request Metadata header.client_id 'topics[].name' --json < sent.bin
      tagwire get --frames response --requests sent.bin Metadata 'brokers[].host' < received.bin
      tagwire get --capture --file frames.jsonl.gz --where 'version=12-' MetadataResponse 'brokers[].host'
    """
    given = _SelectionInput(**options)._replace(limits=limits_of(options["limits"]))
    check_frame_options()
    registry = find_registry(given.package)
    given = given._replace(kind="capture") if is_capture else given
    make, rest = _source(registry, args, given)
    try:
        selected = make(tuple(rest))
    except SelectionError as error:
        raise click.BadParameter(_with_order_hint(str(error), args), param_hint="PATH") from None
    parts = selected.captured(chosen_frames(given.file, registry, where, port)) if is_capture else None
    for number, position, data, version_of in parts or selected.parts():
        with at(position, str if given.is_hex or given.kind else partial(input_hint, data, given.file)):
            version = version_of(data)
            rows = [] if version is None else selected.rows(data, version)
            holders = () if version is None else selected.selection.holder_versions(version)
        for row in rows:
            values = [field_to_json(*each) for each in zip(selected.selection.fields, row, holders, strict=True)]
            if as_json:
                named = dict(zip(selected.selection.paths, values, strict=True))
                write_json_line({"values": named} if given.kind is None else {"frame": number, "values": named})
            else:
                write_line("\t".join(map(_tab_separated, values)))


def _tab_separated(value: Any) -> str:
    """Format a value for tab-separated output. In strings, escape backslashes and tabs. Other values become JSON."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value.replace("\\", "\\\\").replace("\t", "\\t")


@click.command("set")
@click.argument("args", nargs=-1, metavar="MESSAGE [VERSION] PATH=VALUE...", shell_complete=completion.arguments)
@_selection_options("Read and write hex.")
def set_(args: Sequence[str], **options: Any) -> None:
    """Change single fields of a message or of frames.

    All other bytes are copied unchanged. PATH=VALUE takes a string as it is, and
    other values as `tagwire decode` prints them: numbers, true and false, base64
    for bytes. PATH:=JSON takes JSON, such as null or the elements of an array. If a
    path selects several elements, each gets the value. Lengths, counts and sizes
    are updated.

    With --frames, frames of other APIs are copied unchanged.

    \b
    Examples:
      tagwire set MetadataResponse 12 'brokers[].host=proxy' 'brokers[].port=9092' < body.bin > other.bin
      tagwire set --frames request Metadata header.client_id=other < sent.bin > other.bin
      tagwire set FetchRequest 15 'cluster_id:=null' --hex < fetch.txt
    """
    given = _SelectionInput(**options)._replace(limits=limits_of(options["limits"]))
    check_frame_options()
    if not given.is_hex:
        reject_terminal()
    make, rest = _source(find_registry(given.package), args, given)
    named = [_parted(text) for text in rest]
    try:
        selected = make(tuple([path for path, _, _ in named]))
    except SelectionError as error:
        raise click.BadParameter(_with_order_hint(str(error), args), param_hint="PATH=VALUE") from None
    fields = zip(selected.selection.fields, named, strict=True)
    values = [_parsed(path, row, text, is_json=is_json) for row, (path, text, is_json) in fields]
    for _, position, data, version_of in selected.parts():
        with at(position, str if given.is_hex or given.kind else partial(input_hint, data, given.file)):
            version = version_of(data)
            if version is not None:
                data = _changed(selected, data, version, values)
        write_data(data, as_hex=given.is_hex, sized=given.kind is not None)


def _parted(text: str) -> tuple[str, str, bool]:
    """Split PATH=VALUE or PATH:=JSON. Return the path, the value, and whether the value is JSON."""
    path, sign, value = text.partition("=")
    if not sign:
        raise click.BadParameter(f"expected PATH=VALUE or PATH:=JSON, got {text!r}", param_hint="PATH=VALUE")
    return (path[:-1], value, True) if path.endswith(":") else (path, value, False)


def _parsed(path: str, row: "FieldRow", text: str, *, is_json: bool) -> Any:
    """Parse a VALUE as JSON. Unless `is_json` is set, strings may be written without quotes."""
    type_name = row.type[2:] if path.endswith("[]") else row.type
    is_text = row.struct is None and not type_name.startswith("[]") and row.wire.family in _TEXTS
    if is_text and not is_json:
        return text
    try:
        return json_of(text)
    except InputError as error:
        if row.enum is not None and not is_json:
            return text
        reason = str(error).removeprefix("JSON input: ")
        hint = f"{path}: type {row.type} requires JSON, got {shown(text)} ({reason})"
        raise click.BadParameter(hint, param_hint="PATH=VALUE") from None


def _changed(selected: "_Selected", data: bytes, version: int, values: list[Any]) -> bytes:
    selection = selected.selection
    selected_fields = zip(selection.paths, selection.fields, values, selection.holder_versions(version), strict=True)
    decoded = [
        field_from_json(selection.message, path, row, value, version, holder=holder)
        for path, row, value, holder in selected_fields
    ]

    def new(*row: Any) -> Any:
        filled = tuple(map(_filled, row, decoded))
        return filled[0] if len(filled) == 1 else filled

    return selected.rewrite(data, version, new)


def _filled(old: Any, new: Any) -> Any:
    """Return `new`. If `old` is a list, return a list of the same shape in which every value is `new`."""
    return [_filled(each, new) for each in old] if type(old) is list else new


class _Selected(NamedTuple):
    """The fields that the PATH arguments select, with functions to read and to change them."""

    selection: "Selection | RequestSelection | ResponseSelection"
    version_of: Callable[[bytes], int | None]
    given: _SelectionInput
    api_of: PairedApis | None = None

    def parts(self) -> "Iterator[Part]":
        """Yield each frame of the input as a `Part`. If the input has no frames, yield it as a single `Part`."""
        given = self.given
        if given.kind is None:
            return iter([(1, "", read_bytes(given.file, is_hex=given.is_hex), self.version_of)])
        found = frames(given.file, given.limits, is_hex=given.is_hex)
        found = found if self.api_of is None else self.api_of.checked(found)
        return ((number, position, data, self.version_of) for number, (position, data) in enumerate(found, 1))

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
        rows = read(*args, limits=self.given.limits)
        return [(row,) for row in rows] if len(self.selection.paths) == 1 else rows

    def rewrite(self, data: bytes, version: int, function: Callable[..., Any]) -> bytes:
        """Return the message `data` with `function` applied to each selected value.

        Raises DecodeError for an invalid message, and EncodeError if a new value can't be encoded.
        """
        rewrite: Any = self.selection.rewrite
        args = (data,) if self._is_request else (data, version)
        rewritten: bytes = rewrite(*args, function, limits=self.given.limits)
        return rewritten

    @property
    def _is_request(self) -> bool:
        return not isinstance(self.selection, Selection) and self.selection.message.KIND == "request"


def _fixed(version: int, data: bytes) -> int:
    return version


def _source(
    registry: "Registry", args: Sequence[str], given: _SelectionInput
) -> "tuple[Callable[[tuple[str, ...]], _Selected], Sequence[str]]":
    """Parse the arguments MESSAGE and VERSION. Return a function and the remaining arguments.

    The function creates a `_Selected` from PATH arguments. Raises click.UsageError if the message or a required version
    is missing or wrong.
    """
    try:
        return _source_of_kind(registry, args, given)
    except click.UsageError as error:
        error.message = _with_order_hint(error.message, args)  # type: ignore[misc]  # click offers no other way
        raise


def _with_order_hint(message: str, args: Sequence[str]) -> str:
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
    file = next(filter(is_file, args), "")
    has_version = not (options.get("is_capture") or options["kind"] == "request" or options["requests_file"])
    if not file and len(args) > 1 and any(arg.removeprefix("v").isdecimal() for arg in args) == has_version:
        return ""
    remedy = "" if options.get("file", "-") != "-" else f"; give a file with --file {file or 'FILE'}"
    return f"The order is MESSAGE {'VERSION ' if has_version else ''}PATH...{remedy}"


def _source_of_kind(
    registry: "Registry", args: Sequence[str], given: _SelectionInput
) -> "tuple[Callable[[tuple[str, ...]], _Selected], Sequence[str]]":
    kind = given.kind
    if kind in (None, "message"):
        message, version, rest = message_of(registry, args)
        return lambda paths: _Selected(select(message, *paths), lambda _: version, given), rest
    require_headers(registry)
    if kind == "capture":
        name, rest = _first(args, "MESSAGE")
        message = find_message(registry, name)
        if message.KIND not in ("request", "response"):
            text = f"{message.NAME} is {a_kind(message.KIND)}, not a request or response"
            raise click.BadParameter(text, param_hint="MESSAGE")
        make = registry.select_request if message.KIND == "request" else registry.select_response
        return lambda paths: _Selected(make(message, *paths), lambda _: None, given), rest
    if kind == "request":
        name, rest = _first(args, "MESSAGE")
        request = _request(registry, name)

        def version_in(data: bytes) -> int | None:
            cls, version = registry.request_class(data)
            return version if cls is request else None

        return lambda paths: _Selected(registry.select_request(request, *paths), version_in, given), rest
    if given.requests_file is None:
        response, version, rest = response_of(registry, args)
        return lambda paths: _Selected(registry.select_response(response, *paths), lambda _: version, given), rest
    name, rest = _first(args, "API")
    response = find_response(registry, name)
    api_of = PairedApis(registry, given.requests_file, given.limits, is_hex=given.is_hex)

    def version_of(data: bytes) -> int | None:
        api_key, version = api_of(data)
        return version if api_key == response.API_KEY else None

    return lambda paths: _Selected(registry.select_response(response, *paths), version_of, given, api_of), rest


def _first(args: Sequence[str], expected: str) -> tuple[str, Sequence[str]]:
    if not args:
        raise click.UsageError(f"give {expected}.")
    return args[0], args[1:]


def _request(registry: "Registry", name: str) -> "type[Message]":
    message = find_message(registry, name if name in registry else f"{name}Request")
    if message.KIND != "request":
        raise click.BadParameter(f"{message.NAME} is {a_kind(message.KIND)}, not a request", param_hint="MESSAGE")
    return message
