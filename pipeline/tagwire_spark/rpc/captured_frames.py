"""Captured frames out of files, in the order in which they were captured.

JSON lines (gzipped or not) and Parquet rows have the same fields:

    dir          "req" or "resp"
    hex | data   the frame without its size, as hex digits or as bytes
    conn, run    what tells connections apart; any values, may be missing
    timestamp    milliseconds since 1970, or a timestamp; may be missing
    client_label any text, may be missing
    api_key, api_version    of a response: those of its request; may be missing where the request is there

Network captures are read by `tagwire.frames.pcap`.
"""

import gzip
import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import IO, Any, BinaryIO, Final, NamedTuple, cast

from tagwire.frames.pcap import MAGIC, CaptureError, NetworkGap, network_frames
from tagwire.frames.registry import Registry
from tagwire.text_format import shown
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.byte_stream import first_bytes, opened_stream
from tagwire_spark.files.file_state import FileState
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions
from tagwire_spark.log_read.column_table import MOST_MILLISECONDS

__all__ = ["CapturedFrame", "captured_frames"]

_GZIP: Final = b"\x1f\x8b"
_PARQUET: Final = b"PAR1"
_ROWS: Final = 1_000


class CapturedFrame(NamedTuple):
    """A frame and what is known of it."""

    line: int
    """Which row of its file, from 1."""
    run: str | None
    connection: str | None
    client: str | None
    is_request: bool
    data: bytes
    time: float | None
    """Milliseconds since 1970."""
    api_key: int | None
    version: int | None
    gap: str = ""
    """The missing bytes, if the frame represents a gap in a network capture; `data` is empty then."""

    @property
    def correlation_id(self) -> int | None:
        """Where every header version has it; None in a frame that ends before."""
        start = 4 if self.is_request else 0
        data = self.data[start : start + 4]
        return int.from_bytes(data, "big", signed=True) if len(data) == 4 else None


def captured_frames(
    path: str, port: int, registry: Registry, state: FileState | None = None, options: StorageOptions = NO_OPTIONS
) -> Iterator[CapturedFrame]:
    """The frames of a file, whose kind its first bytes tell. Raises PipelineError for a row that is not a frame.

    The registry's APIs help to find frames again after a gap in a network capture. A URL is read as it is gone
    through, and must be the file of this `state`. Raises LogPathError where it is gone.
    """
    with ExitStack() as stack:
        try:
            head = first_bytes(path, state, 4, options)
            file = stack.enter_context(opened_stream(path, state, options, in_sequence=head != _PARQUET))
        except OSError as error:
            raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{path}: can't be read: {error.strerror}.") from None
        if head in MAGIC:
            yield from _network(path, file, port, registry)
            return
        rows = _parquet(path, file) if head == _PARQUET else _json(path, file, is_packed=head.startswith(_GZIP))
        for number, row in enumerate(rows, 1):
            try:
                yield _frame(number, row)
            except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
                raise PipelineError(
                    "MALFORMED_CAPTURED_FRAMES", f"{path}: row {number} is not a captured frame: {error!r}."
                ) from None


def _network(path: str, file: IO[bytes], port: int, registry: Registry) -> Iterator[CapturedFrame]:
    try:
        for number, each in enumerate(network_frames(cast("BinaryIO", file), port, registry), 1):
            data, gap = (b"", str(each)) if isinstance(each, NetworkGap) else (each.data, "")
            yield CapturedFrame(number, None, each.connection, None, each.is_request, data, each.time, None, None, gap)
    except CaptureError as error:
        raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{path}: {error}.") from None


def _json(path: str, file: IO[bytes], *, is_packed: bool) -> Iterator[Any]:
    number = 1
    try:
        for line in gzip.GzipFile(fileobj=file) if is_packed else file:
            yield json.loads(line)
            number += 1
    except (OSError, EOFError, RecursionError, ValueError) as error:
        raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{path}: row {number} can't be read: {error}.") from None


def _parquet(path: str, file: IO[bytes]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file, pre_buffer=True) as opened:
            for number in range(opened.num_row_groups):  # of all at once, all would be held
                for batch in opened.iter_batches(_ROWS, row_groups=[number]):
                    yield from batch.to_pylist()
    except (OSError, OverflowError, ValueError, pa.ArrowException) as error:  # times beyond Python's, text that is none
        raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{path}: can't be read: {error}.") from None


def _frame(number: int, row: Any) -> CapturedFrame:
    data = row.get("data")
    return CapturedFrame(
        line=number,
        run=_text(row.get("run")),
        connection=_text(row.get("conn")),
        client=_text(row.get("client_label")),
        is_request={"req": True, "resp": False}[row["dir"]],
        data=bytes.fromhex(row["hex"]) if data is None else _bytes(data),
        time=_time(row.get("timestamp")),
        api_key=_int16(row, "api_key"),
        version=_int16(row, "api_version"),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _bytes(value: Any) -> bytes:
    if isinstance(value, int):  # of which `bytes` makes as many zeros
        raise TypeError(f"data is the number {shown(value)}; bytes were expected")
    return bytes(value)


def _int16(row: Any, name: str) -> int | None:
    value = row.get(name)
    if value is None:
        return None
    number = int(value)
    if not -0x8000 <= number <= 0x7FFF:
        raise ValueError(f"{name} is {shown(number)}, which is beyond 16 bits")
    return number


def _time(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000
    if not abs(float(value)) <= MOST_MILLISECONDS:  # NaN is not, either
        raise ValueError(f"timestamp is {shown(value)}, which is no time in milliseconds since 1970")
    return float(value)
