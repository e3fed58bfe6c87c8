"""Read frames, or lines of hex, from a stream as they arrive.

The input may be a live connection, so a frame is returned before more input is read. The context
manager `at` adds the number of the frame or line to error messages.
"""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from tagwire.errors import DecodeError, TagwireError
from tagwire.frames.pairing import Pairing
from tagwire.frames.splitter import DEFAULT_MAX_SIZE, FrameSplitter
from tagwire.text_format import count
from tagwire_cli.input.files import InputError, from_hex, note_empty, open_input, read_bytes
from tagwire_cli.input.message_arguments import response_of

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.limits import Limits


_CHUNK: Final = 1 << 16


@contextlib.contextmanager
def at(position: str, hint: Callable[[], str] = str) -> Generator[None]:
    """Convert a TagwireError in the `with` block to an InputError whose message begins with `position` ("frame 3").

    If decoding fails and `hint` returns a text, this text is the message. Otherwise, if `position` is empty, the error
    stays unchanged.
    """
    try:
        yield
    except TagwireError as error:
        if isinstance(error, DecodeError) and (text := hint()):
            raise InputError(text) from None
        if not position:
            raise
        raise InputError(f"{position}: {error}") from error


def frames(file: str, limits: "Limits", *, is_hex: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the frames of a stream, without their sizes. Raises InputError for a truncated frame or an invalid size."""
    from tagwire_cli.input.encodings import input_hint

    splitter = FrameSplitter(max_size=DEFAULT_MAX_SIZE if limits.bytes is None else limits.bytes)
    number = 1
    for chunk in [read_bytes(file, is_hex=True)] if is_hex else _chunks(file):
        # Without this check, hex digits would be taken for a frame size of 800 MB or more.
        if number == 1 and not is_hex and (hint := input_hint(chunk, file)):
            raise InputError(hint)
        splitter.feed(chunk)
        complete = iter(splitter)
        while True:
            offset = splitter.offset
            with at(f"frame {number}"):
                frame = next(complete, None)
            if frame is None:
                break
            yield f"frame {number} at byte {offset}", frame
            number += 1
    if not (splitter.offset or splitter.pending):
        note_empty(file)
    with at(f"frame {number}"):
        splitter.close()


def hex_lines(file: str) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of each line of hex. An empty line yields empty bytes."""
    with open_input(file) as stream:
        for number, line in enumerate(stream, 1):
            with at(f"line {number}"):
                data = from_hex(line)
            yield f"line {number}", data


def _chunks(file: str) -> Iterator[bytes]:
    """Yield the bytes of a stream as they arrive."""
    with open_input(file) as stream:
        read = getattr(stream, "read1", stream.read)
        while chunk := read(_CHUNK):
            yield chunk


Api = tuple[int, int]


class ResponseApis:
    """A callable that finds the API key and version of a response. In this class, they are always the same."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def checked(self, positioned: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        """Return the responses, after a check that the API of each can be found."""
        return positioned

    def __call__(self, data: bytes) -> Api:
        """Return the API key and version of the request that a response answers."""
        return self._api

    def rivals(self, data: bytes, api: Api) -> tuple[Api, ...]:
        """Return the APIs of the other requests that have the same correlation ID as this response."""
        return ()


def response_apis(
    registry: "Registry", args: Sequence[str], requests_file: str | None, limits: "Limits", *, is_hex: bool
) -> tuple[ResponseApis, Sequence[str]]:
    """Return the APIs of responses, from `--requests` or from the arguments API VERSION, and all further arguments."""
    if requests_file is not None:
        return PairedApis(registry, requests_file, limits, is_hex=is_hex), args
    response, version, files = response_of(registry, args, "API VERSION, or --requests FILE")
    assert response.API_KEY is not None, "a response has an API key"
    return ResponseApis((response.API_KEY, version)), files


class PairedApis(ResponseApis):
    """Finds the API key and version of each response from the request with the same correlation ID."""

    def __init__(self, registry: "Registry", file: str, limits: "Limits", *, is_hex: bool) -> None:
        self._file = file
        self._pairing = Pairing[Api](registry)
        self._apis: dict[bytes, list[Api]] = defaultdict(list)
        self._ambiguous: dict[bytes, str] = {}
        if not self._pairing.has_ids or "RequestHeader" not in registry:
            raise click.UsageError("--requests needs correlation IDs, which the headers of this package do not have.")
        for position, data in frames(file, limits, is_hex=is_hex):
            with at(f"{file}: {position}"):
                header, _ = registry.decode_header(data, strict=False)
            api = header.request_api_key, header.request_api_version
            if self._pairing.ask(None, data, api):
                self._apis[data[4:8]].append(api)

    def checked(self, positioned: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        """Find ambiguous correlation IDs, so that `__call__` raises an error for them. Return the responses unchanged.

        Requests of several APIs or versions may share a correlation ID. The ID is ambiguous if the numbers of its
        requests and responses differ. To count the responses, all are read first, but only if an ID is shared.
        """
        shared = {id: apis for id, apis in self._apis.items() if len({*apis}) > 1}
        if not shared:
            return positioned
        responses = [*positioned]
        found = Counter(data[:4] for _, data in responses)
        for id, apis in shared.items():
            if found[id] != len(apis):
                self._ambiguous[id] = (
                    f"correlation ID {_number(id)} is ambiguous: {len(apis)} requests of {len({*apis})} APIs or "
                    f"versions in {self._file} share it, but there is {count(found[id], 'response')}; give API and "
                    "version, or the frames of a single connection"
                )
        return iter(responses)

    def __call__(self, data: bytes) -> Api:
        found = self._pairing.answer(None, data) if len(data) >= 4 else None
        if data[:4] in self._ambiguous:
            raise TagwireError(self._ambiguous[data[:4]])
        if found is None:
            raise TagwireError(f"no request in {self._file} has correlation ID {_number(data[:4])}")
        return found

    def rivals(self, data: bytes, api: Api) -> tuple[Api, ...]:
        return tuple({*self._apis[data[:4]]} - {api})


def _number(id: bytes) -> int:
    return int.from_bytes(id, "big", signed=True)
