"""Captured traffic: the frames that programs sent to each other, read from files.

    for frame in tagwire.captures.read("frames.jsonl.gz"):
        print(frame.time, frame.connection, frame.direction, frame.message)

There are two kinds of captures: network captures (pcap, pcapng; they need the extra `pcap`) and files of JSON lines,
gzipped or not. Each line is an object:

    dir                     "req" or "resp"; "close" if the connection was closed
    hex                     the frame without its leading size, or empty for "close"
    run, conn               the recording and the connection; optional
    client_label            the client that sent or received the frame; optional
    timestamp               milliseconds since 1970, or an ISO 8601 string; optional
    api_key, api_version    the API of the request; optional

Errors name the invalid key, but never show a value that may be secret.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from tagwire.frames.pairing import SASL_TOKEN, Pairing, SaslTokens
from tagwire.frames.pcap import MAGIC, CaptureError, NetworkFrame, network_frames
from tagwire.text_format import shown

if TYPE_CHECKING:
    import os

    from tagwire.frames.frame_headers import Frame
    from tagwire.frames.registry import Registry

__all__ = [
    "LONGEST_LINE",
    "UNKNOWN_API",
    "CaptureError",
    "CapturedFrame",
    "capture_kind",
    "frame_of_line",
    "frame_of_row",
    "frames_of_lines",
    "frames_of_network",
    "frames_of_stream",
    "line_too_long",
    "paired",
    "read",
    "unzipped",
]

LONGEST_LINE: Final = 1 << 28
"""The maximum size of a line in bytes. Without it, a small gzip file could fill the memory with one line.

A frame has at most 100 MiB, and is written with two hex digits for each byte.
"""
UNKNOWN_API: Final = "the request of this response was not captured, so its API is unknown"

_GZIP: Final = b"\x1f\x8b"
_INVALID_GZIP: Final = (EOFError, OSError, zlib.error)
_FIRST_LINE: Final = 1 << 24
_MOST_VALUES: Final = 1 << 16
"""The maximum number of JSON values in a line. Without it, they could take 30 times as much memory as the line."""
_MOST_MILLISECONDS: Final = 0x7FFFFFFFFFFFFFFF // 1000


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} can't be written as JSON again")
    return number


_DECODER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
"""Rejects NaN and infinity, which JSON does not have: `tagwire redact` writes the values of a line again."""


@dataclass(slots=True, eq=False)
class CapturedFrame:
    """A captured request or response, a range of missing bytes (`gap`), or the end of a connection (`is_close`)."""

    number: int
    """The number of the line, of the frame (in a network capture), or of the row (in Parquet), counted from 1."""
    is_request: bool
    data: bytes
    """The header and body of the frame, without its leading size, or empty for a gap."""
    run: str | None = None
    """The name of the recording, from the key `run` of the JSON line."""
    conn: str | None = None
    """The name of the connection: `conn` in the JSON line, or the two addresses in a network capture."""
    client: str | None = None
    """The name of the client: `client_label` in the JSON line."""
    milliseconds: float | None = None
    """When the frame was sent: milliseconds since 1970."""
    api: tuple[int, int] | None = None
    """The API key and version of a request, or of the request that a response answers, or None if unknown."""
    rivals: tuple[tuple[int, int], ...] = ()
    """Other possible values of `api`, if several pending requests have the correlation ID of this response."""
    is_close: bool = False
    """Whether this is the end of a connection, not a frame."""
    gap: str = ""
    """Why there is no frame, for example because bytes are missing from a network capture."""
    row: Mapping[str, Any] = field(default_factory=dict)
    """The JSON object or Parquet row from which the frame was read, or empty in a network capture."""
    registry: Registry | None = None
    """The registry of the package that decodes the frame."""
    unit: str = "line"
    """The unit that `number` counts: "line", "frame" or "row"."""
    _decoded: Frame[Any, Any] | None = None

    @property
    def position(self) -> str:
        """The frame's position in the capture, such as "line 3"."""
        return f"{self.unit} {self.number}"

    @property
    def connection(self) -> str:
        """The names of the recording and the connection, separated by a space. Unknown names are left out."""
        return " ".join(each for each in (self.run, self.conn) if each is not None)

    @property
    def direction(self) -> str:
        """ "request" or "response"."""
        return "request" if self.is_request else "response"

    @property
    def time(self) -> float | None:
        """When the frame was sent: seconds since 1970."""
        return None if self.milliseconds is None else self.milliseconds / 1000

    @property
    def header(self) -> Any:
        """Return the decoded header. Raises TagwireError if the frame can't be decoded."""
        return self._frame.header

    @property
    def message(self) -> Any:
        """Return the decoded message. Raises TagwireError if the frame can't be decoded."""
        return self._frame.message

    @property
    def version(self) -> int:
        """Return the version of the message. Raises TagwireError if the frame can't be decoded."""
        return self._frame.version

    @property
    def _frame(self) -> Frame[Any, Any]:
        if self._decoded is None:
            self._decoded = self.decode()
        return self._decoded

    def decode(self, **options: Any) -> Frame[Any, Any]:
        """Decode the frame. The options work as in `Registry.decode_request`. Raises TagwireError if this fails."""
        if self.gap:
            raise CaptureError(self.gap)
        if self.registry is None:
            raise CaptureError(f"{self.position} can't be decoded without a registry; open the capture with a registry")
        if self.is_request:
            return self.registry.decode_request(self.data, **options)
        if self.api is None:
            remedy = "; its line needs api_key and api_version" if self.unit == "line" else ""
            raise CaptureError(f"{UNKNOWN_API}{remedy}")
        return self.registry.decode_response(self.data, *self.api, **options)


def read(
    path: str | os.PathLike[str], registry: Registry | None = None, *, port: int = 9092, closes: bool = False
) -> Iterator[CapturedFrame]:
    """Read the frames of a capture, and pair the responses with their requests.

    Decodes Kafka's messages unless another package's registry is given. In a network capture, `port` is the port on
    which the brokers listen, and missing bytes become frames with a `gap`. With `closes`, a frame with `is_close` marks
    each closed connection. Raises MissingExtraError if the extra `pcap` is needed but not installed, and CaptureError,
    with file and line, for an invalid capture.
    """
    if registry is None:
        from tagwire.frames.known_packages import kafka_messages

        registry = kafka_messages()
    try:
        with Path(path).open("rb") as stream:
            yield from paired(frames_of_stream(stream, str(path), registry, port=port), registry, closes=closes)
    except OSError as error:
        raise CaptureError(f"{path} can't be read: {error.strerror or error}") from None


def paired(frames: Iterable[CapturedFrame], registry: Registry, *, closes: bool = True) -> Iterator[CapturedFrame]:
    """Set `registry` on each frame, and copy the API key and version of each request to its response.

    Requests must come before their responses, and get none after a frame with `is_close`. Without `closes`, such frames
    are left out of the result. A response that already has an API key keeps it. SASL tokens without headers become
    gaps, unless sensitive values are shown.
    """
    tokens = SaslTokens(registry)
    for frame in _paired(frames, registry):
        where, is_paired = frame.connection, frame.api is not None
        if frame.is_close:
            tokens.close(where)
        elif not frame.gap and tokens.has(where, frame.data, is_request=frame.is_request, is_paired=is_paired):
            frame.gap, frame.api = SASL_TOKEN, None
        if closes or not frame.is_close:
            yield frame


def _paired(frames: Iterable[CapturedFrame], registry: Registry) -> Iterator[CapturedFrame]:
    pairing = Pairing[tuple[int, int]](registry)
    for frame in frames:
        frame.registry = registry
        if frame.gap:
            pairing.miss(frame.connection)
        elif frame.is_close:
            pairing.close(frame.connection)
        elif frame.is_request:
            frame.api = frame.api or _api_of(frame.data)
            if frame.api is not None:
                pairing.ask(frame.connection, frame.data, frame.api)
        elif frame.api is not None:
            pairing.answer(frame.connection, frame.data, frame.api.__eq__)
        else:
            rivals = {*pairing.candidates(frame.connection, frame.data)}
            frame.api = pairing.answer(frame.connection, frame.data)
            frame.rivals = tuple(rivals - {frame.api})
        yield frame


def _api_of(request: bytes) -> tuple[int, int] | None:
    if len(request) < 4:
        return None
    return int.from_bytes(request[:2], "big", signed=True), int.from_bytes(request[2:4], "big", signed=True)


def capture_kind(data: bytes) -> str:
    """Return "network capture", "captured frames" (JSON lines) or "" (other data). The data may be gzipped."""
    try:
        start = zlib.decompressobj(31).decompress(data, _FIRST_LINE) if data.startswith(_GZIP) else data
        if start[:4] in MAGIC:
            return "network capture"
        row = json.loads(start.lstrip().partition(b"\n")[0])
    except (ValueError, zlib.error, RecursionError):
        return ""
    return "captured frames" if isinstance(row, dict) and "dir" in row and "hex" in row else ""


def frames_of_stream(
    stream: BinaryIO, name: str, registry: Registry | None, *, port: int = 9092, keeps_damaged: bool = False
) -> Iterator[CapturedFrame]:
    """Yield the frames and the ends of connections in a capture, from a seekable stream. Responses have no API.

    `name` is the file name shown in errors. With `keeps_damaged`, a line that isn't a captured frame becomes a frame
    with a `gap` instead of an error. Raises CaptureError if the stream is not a readable capture.
    """
    start = stream.read(4)
    stream.seek(0)
    stream, is_network = unzipped(stream, start, name)
    if not is_network:
        yield from frames_of_lines(stream, name, keeps_damaged=keeps_damaged)
        return
    # Sort the frames by time, because frames that follow missing bytes are found late.
    found, failure = [], None
    try:
        for frame in frames_of_network(stream, registry, port):
            found.append(frame)
    except CaptureError as error:
        failure = CaptureError(f"{name}: {error}")
    yield from _numbered(sorted(found, key=lambda each: each.milliseconds or 0.0))
    if failure is not None:
        raise failure


def unzipped(stream: BinaryIO, start: bytes, name: str) -> tuple[BinaryIO, bool]:
    """Decompress the stream if it is gzipped. Return the stream, and whether it contains a network capture.

    `start` is the stream's first four bytes. Raises CaptureError for invalid gzip data; `name` is the file name
    in the error.
    """
    if start.startswith(_GZIP):
        compressed = gzip.GzipFile(fileobj=stream)
        try:
            start = compressed.peek(4)[:4]
        except _INVALID_GZIP as error:
            raise _unreadable(name, 0, error) from None
        stream = cast("BinaryIO", compressed)
    return stream, start in MAGIC


def frames_of_network(stream: BinaryIO, registry: Registry | None, port: int = 9092) -> Iterator[CapturedFrame]:
    """Read the frames of a network capture as they are completed. Raises CaptureError if it is unreadable."""
    return _numbered(_network_frame(each) for each in network_frames(stream, port, registry))


def _network_frame(each: NetworkFrame) -> CapturedFrame:
    facts = (each.is_request, each.data, None, each.connection, None, each.time)
    return CapturedFrame(0, *facts, is_close=each.is_close, gap=each.gap, unit="frame")


def _numbered(frames: Iterable[CapturedFrame]) -> Iterator[CapturedFrame]:
    """Number the frames from 1. The end of a connection isn't counted."""
    number = 0
    for frame in frames:
        number += not frame.is_close
        frame.number = number
        yield frame


def frames_of_lines(stream: BinaryIO, name: str, *, keeps_damaged: bool = False) -> Iterator[CapturedFrame]:
    """Read frames and ends of connections from JSON lines, skipping blank lines.

    Raises CaptureError for an invalid line. With `keeps_damaged`, an invalid line becomes a frame with a `gap`, but
    only if this line or an earlier one begins with `{`. A line of `LONGEST_LINE` bytes or more is always an error.
    """
    is_json, number = False, 0
    try:
        for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE), b""), 1):
            if len(line) == LONGEST_LINE:
                raise line_too_long(number, name)
            if not line.strip():
                continue
            is_json = is_json or line.lstrip().startswith(b"{")
            try:
                yield frame_of_line(number, line, name)
            except CaptureError as error:
                if not (keeps_damaged and is_json):
                    raise
                yield CapturedFrame(number, True, b"", gap=str(error))
    except _INVALID_GZIP as error:
        raise _unreadable(name, number, error) from None


def line_too_long(number: int, name: str) -> CaptureError:
    """Return the error for a line of `LONGEST_LINE` bytes or more."""
    return CaptureError(f"{name}: line {number} is not a captured frame: it has {LONGEST_LINE} bytes or more")


def _unreadable(name: str, number: int, error: Exception) -> CaptureError:
    return CaptureError(f"{name} can't be read after line {number}: {getattr(error, 'strerror', None) or error}")


def frame_of_line(number: int, line: bytes, name: str) -> CapturedFrame:
    """Parse a line of JSON as a frame. Raises CaptureError, with file and line, if it is invalid."""
    if sum(map(line.count, b",[{")) > _MOST_VALUES:
        raise CaptureError(f"{name}: line {number} is not a captured frame: it has more than {_MOST_VALUES} values")
    try:
        row = _DECODER.decode(line.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError):
        raise CaptureError(f"{name}: line {number} is not a captured frame: it is not valid JSON") from None
    return frame_of_row(number, row, f"{name}: line {number}")


def frame_of_row(number: int, row: Any, position: str) -> CapturedFrame:
    """Make a frame from a JSON object or a Parquet row.

    The frame's bytes are hex digits in `hex`, or bytes in `data`. Raises CaptureError for an invalid object.
    """
    try:
        if not isinstance(row, Mapping):
            raise ValueError("it is not a JSON object")
        direction = row.get("dir")
        if direction not in ("req", "resp", "close"):
            raise ValueError("dir: expected 'req', 'resp' or 'close'")
        key, version = _int16(row, "api_key"), _int16(row, "api_version")
        return CapturedFrame(
            number=number,
            is_request=direction == "req",
            data=b"" if direction == "close" else _data(row),
            run=_optional_string(row.get("run")),
            conn=_optional_string(row.get("conn")),
            client=_optional_string(row.get("client_label")),
            milliseconds=_milliseconds(row.get("timestamp")),
            api=None if key is None or version is None else (key, version),
            is_close=direction == "close",
            row=row,
        )
    except ValueError as error:
        raise CaptureError(f"{position} is not a captured frame: {error}") from None


def _data(row: Mapping[str, Any]) -> bytes:
    if row.get("data") is None:
        try:
            return bytes.fromhex(row["hex"])
        except (KeyError, TypeError, ValueError):
            raise ValueError("hex: expected a string of hex digits") from None
    if not isinstance(row["data"], bytes | bytearray | memoryview):
        raise ValueError(f"data: expected bytes, got {type(row['data']).__name__}")
    return bytes(row["data"])


def _optional_string(value: Any) -> str | None:
    return None if value is None else str(value)


def _int16(row: Mapping[str, Any], name: str) -> int | None:
    value = row.get(name)
    if value is None:
        return None
    try:
        number = int(value)
        if not isinstance(value, str) and number != value:
            raise ValueError("a fraction")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: expected an integer, got {shown(value)}") from None
    if not -0x8000 <= number <= 0x7FFF:
        raise ValueError(f"{name}: expected a 16-bit integer, got {shown(number)}")
    return number


def _milliseconds(value: Any) -> float | None:
    if value is None:
        return None
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"timestamp: expected milliseconds since 1970 or an ISO 8601 string, got {shown(value)}"
        ) from None
    if not abs(number) <= _MOST_MILLISECONDS:  # comparisons with NaN are false, so this also rejects NaN
        raise ValueError(f"timestamp: {shown(value)} milliseconds since 1970 is out of range")
    return number
