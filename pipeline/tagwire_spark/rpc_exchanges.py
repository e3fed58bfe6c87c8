"""Read captured frames, pair requests with responses, and decode both.

Frames are paired by connection and correlation ID.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import IO, Any, BinaryIO, Final, NamedTuple, cast

from tagwire.captures import CapturedFrame, CaptureError, frame_of_row, frames_of_lines, frames_of_network, unzipped
from tagwire.errors import TagwireError
from tagwire.frames.pairing import SASL_TOKEN, Pairing, SaslTokens
from tagwire.frames.registry import Registry
from tagwire.message import Message
from tagwire.text_format import encodable
from tagwire_spark.errors import PipelineError, described
from tagwire_spark.files.file_state import FileState
from tagwire_spark.files.reading import first_bytes, opened_stream
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions


class Exchange(NamedTuple):
    """A request and its response. One of them may be missing."""

    request: CapturedFrame | None
    response: CapturedFrame | None

    @property
    def is_gap(self) -> bool:
        """Whether this represents a gap in a network capture, which can contain frames of any API."""
        return any(side is not None and side.gap not in ("", SASL_TOKEN) for side in self)


class Side(NamedTuple):
    """A decoded request or response: its header, version and body (JSON or bytes), or the error if it is invalid."""

    header: Any = None
    version: int | None = None
    body: Any = None
    error: TagwireError | None = None


def exchanges(frames: Iterable[CapturedFrame], registry: Registry) -> Iterator[Exchange]:
    """Yield each exchange as soon as it is complete. At the end, yield the frames whose counterpart is missing.

    A response can be captured before its request. A gap in a capture is yielded as a separate exchange.
    """
    pairing, tokens = Pairing[CapturedFrame](registry), SaslTokens(registry)
    early: dict[Any, list[CapturedFrame]] = {}
    for frame in frames:
        connection = (frame.run, frame.conn)
        if frame.is_close:
            pairing.close(connection)
            tokens.close(connection)
            continue
        other: CapturedFrame | None = None
        if frame.gap:
            yield from map(_exchange, pairing.miss(connection))
        else:
            if not frame.is_request:
                other = pairing.answer(connection, frame.data, partial(_fit, frame))
            is_paired = (other or frame.api) is not None
            if tokens.has(connection, frame.data, is_request=frame.is_request, is_paired=is_paired):
                frame.gap, frame.data = SASL_TOKEN, b""
        if frame.gap or (frame.is_request and pairing.is_silent(frame.data)):
            yield _exchange(frame)
            continue
        key = pairing.key(connection, frame.data, is_request=frame.is_request)
        if frame.is_request:
            other = next((each for each in early.get(key, ()) if _fit(each, frame)), None)
            if other is not None:
                early[key].remove(other)
        if other is not None:
            yield _exchange(frame, other)
        elif frame.is_request:
            pairing.wait(connection, frame.data, frame)
        else:
            early.setdefault(key, []).append(frame)
    rest = [*pairing.rest(), *(frame for waiting in early.values() for frame in waiting)]
    for frame in sorted(rest, key=lambda each: each.number):
        yield _exchange(frame)


def _fit(response: CapturedFrame, request: CapturedFrame) -> bool:
    """Return whether a response can answer a request. If the capture stores the response's API, the APIs must match."""
    return response.api is None or response.api == _api(Exchange(request, None))


def _exchange(*frames: CapturedFrame) -> Exchange:
    by_kind = {frame.is_request: frame for frame in frames}
    return Exchange(by_kind.get(True), by_kind.get(False))


def exchange_row(exchange: Exchange, registry: Registry, *, body: str, strict: bool) -> dict[str, Any]:
    """Convert an exchange to a table row without the column `file`. `position` is used only in error messages.

    `body` is the form of message bodies: json, bytes or none.
    """
    request, response = exchange
    first = request or response
    assert first is not None
    key, version = _api(exchange)
    if first.gap:
        gap = Side(error=TagwireError(first.gap))
        request_side, response_side = (gap, Side()) if request else (Side(), gap)
    else:
        request_side = _read_request(request, registry, body, strict) if request else Side()
        response_side = _read_response(response, registry, key, version, body, strict) if response else Side()
    header_version = None if version is None else _of_request(registry, key, lambda cls: cls.header_version(version))
    times = [frame.milliseconds if frame else None for frame in exchange]
    return {
        "line": first.number,
        "position": first.position,
        "run": first.run and encodable(first.run),
        "connection": first.conn and encodable(first.conn),
        "clientLabel": first.client and encodable(first.client),
        "clientId": getattr(request_side.header, "client_id", None),
        "apiKey": key,
        "api": _of_request(registry, key, lambda cls: cls.NAME.removesuffix("Request")),
        "apiVersion": version,
        "headerVersion": header_version,
        "correlationId": _correlation_id(first),
        "request": request_side.body,
        "response": response_side.body,
        "responseVersion": response_side.version,
        "requestSize": len(request.data) if request and not request.gap else None,
        "responseSize": len(response.data) if response and not response.gap else None,
        "requestTime": _micros(times[0]),
        "responseTime": _micros(times[1]),
        "latencyMs": None if times[0] is None or times[1] is None else times[1] - times[0],
        "requestError": request_side.error and described(request_side.error),
        "responseError": response_side.error and described(response_side.error),
    }


def _api(exchange: Exchange) -> tuple[int | None, int | None]:
    """Return the request's API key and version. If there is no request, return those stored with the response."""
    request, response = exchange
    if request is not None and len(request.data) >= 4:
        key, version = request.data[:2], request.data[2:4]
        return int.from_bytes(key, "big", signed=True), int.from_bytes(version, "big", signed=True)
    return response.api if response is not None and response.api is not None else (None, None)


def _correlation_id(frame: CapturedFrame) -> int | None:
    """Return the correlation ID, or None if the frame is too short."""
    start = 4 if frame.is_request else 0
    data = frame.data[start : start + 4]
    return int.from_bytes(data, "big", signed=True) if len(data) == 4 else None


def _of_request(registry: Registry, key: int | None, value: Callable[[type[Message]], Any]) -> Any:
    """Return `value(class)` for the class of requests with this API key, or None if the API or version is unknown."""
    try:
        return None if key is None else value(registry.request(key))
    except TagwireError:
        return None


def _micros(time: float | None) -> int | None:
    return None if time is None else round(time * 1000)


def _read_request(frame: CapturedFrame, registry: Registry, body: str, strict: bool) -> Side:
    header = None
    try:
        header, start = registry.decode_header(frame.data, strict=strict)
        if body == "bytes":
            # Reject an unknown API, because the start of the body depends on the header version.
            registry.request_class(frame.data)
            return Side(header, header.request_api_version, frame.data[start:])
        read = registry.decode_request(frame.data, strict=strict)
    except TagwireError as error:
        return Side(header, error=error)
    return Side(header, read.version, _json(read) if body == "json" else None)


def _read_response(
    frame: CapturedFrame, registry: Registry, key: int | None, version: int | None, body: str, strict: bool
) -> Side:
    if key is None or version is None:
        text = "the request of this response was not captured, so its API is unknown"
        return Side(error=TagwireError(text))
    try:
        if body == "bytes":
            cls = registry.response(key)
            # If a broker doesn't support the version of an ApiVersions request, its response has version 0.
            if cls.FALLBACK is not None:
                version = registry.decode_response(frame.data, key, version, strict=strict).version
            header, start = registry.response_header.decode_from(frame.data, cls.header_version(version), strict=strict)
            return Side(header, version, frame.data[start:])
        read = registry.decode_response(frame.data, key, version, strict=strict)
    except TagwireError as error:
        return Side(error=error)
    return Side(read.header, read.version, _json(read) if body == "json" else None)


def _json(frame: Any) -> str:
    return json.dumps(frame.message.to_json(frame.version), separators=(",", ":"), ensure_ascii=False)


def rejected(row: dict[str, Any], file: str) -> PipelineError | None:
    """Return a PipelineError for a row whose request or response could not be decoded, or None for other rows."""
    for side in ("request", "response"):
        error = row[f"{side}Error"]
        if error:
            api = "" if row["apiKey"] is None else f" of API {row['apiKey']} v{row['apiVersion']}"
            where = f"{file}: {row['position']}: {side}{api}"
            at = f"{error['path']} at byte {error['offset']}: " if error["offset"] is not None else ""
            return PipelineError("MALFORMED_KAFKA_MESSAGE", f"{where}: {at}{error['reason']}.")
    return None


# Read captured frames from files, in capture order.
# `tagwire.captures` reads JSON lines and network captures; this module also reads Parquet files.
# A row of a Parquet file has the fields of a JSON line, and can have the frame's bytes in `data` instead of `hex`.

_PARQUET: Final = b"PAR1"
_ROWS: Final = 1_000


def captured_frames(
    path: str, port: int, registry: Registry, state: FileState | None = None, options: StorageOptions = NO_OPTIONS
) -> Iterator[CapturedFrame]:
    """Yield the captured frames in a file. The first bytes determine the file type.

    After a gap in a network capture, a request is recognized only if `registry` has its API key and version. A file at
    a URL must still have the planned `state`. Raises PipelineError for a row that isn't a frame, and LogPathError if
    the file no longer exists.
    """
    with ExitStack() as stack:
        try:
            header = first_bytes(path, state, 4, options)
            file = stack.enter_context(opened_stream(path, state, options, in_sequence=header != _PARQUET))
        except OSError as error:
            raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{path} can't be read: {error.strerror}.") from None
        try:
            if header == _PARQUET:
                for number, row in enumerate(_parquet(path, file), 1):
                    frame = frame_of_row(number, row, f"{path}: row {number}")
                    frame.unit = "row"
                    yield frame
                return
            stream, is_network = unzipped(cast("BinaryIO", file), header, path)
            yield from frames_of_network(stream, registry, port) if is_network else frames_of_lines(stream, path)
        except CaptureError as error:
            text = str(error)
            where = text if text.startswith(path) else f"{path}: {text}"
            raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{where}.") from None


def _parquet(path: str, file: IO[bytes]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file, pre_buffer=True) as opened:
            # Read one row group per call, because a call keeps all its row groups in memory.
            for number in range(opened.num_row_groups):
                for batch in opened.iter_batches(_ROWS, row_groups=[number]):
                    yield from batch.to_pylist()
    except (OSError, OverflowError, ValueError, pa.ArrowException) as error:  # e.g. times out of range, invalid UTF-8
        raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{path} can't be read: {error}.") from None
