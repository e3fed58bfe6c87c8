"""Captured frames out of files, in the order in which they were captured.

JSON lines and network captures are read by `tagwire.captures`. Rows of Parquet files have the fields of JSON lines, and
may have the frame as bytes in `data` instead of `hex`.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any, BinaryIO, Final, cast

from tagwire.captures import CapturedFrame, CaptureError, frame_of_row, frames_of_lines, frames_of_network, unzipped
from tagwire.frames.registry import Registry
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.byte_stream import first_bytes, opened_stream
from tagwire_spark.files.file_state import FileState
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions

__all__ = ["captured_frames"]

_PARQUET: Final = b"PAR1"
_ROWS: Final = 1_000


def captured_frames(
    path: str, port: int, registry: Registry, state: FileState | None = None, options: StorageOptions = NO_OPTIONS
) -> Iterator[CapturedFrame]:
    """Read the frames of a file, whose first bytes tell its kind. Raises PipelineError for a row that isn't a frame.

    The registry's APIs help to find frames again after a gap in a network capture. A URL is streamed, and must be the
    file of this `state`. Raises LogPathError if it is gone.
    """
    with ExitStack() as stack:
        try:
            header = first_bytes(path, state, 4, options)
            file = stack.enter_context(opened_stream(path, state, options, in_sequence=header != _PARQUET))
        except OSError as error:
            raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{path}: can't be read: {error.strerror}.") from None
        try:
            if header == _PARQUET:
                for number, row in enumerate(_parquet(path, file), 1):
                    frame = frame_of_row(number, row, f"{path}: row {number}")
                    if not frame.is_close:
                        yield frame
                return
            stream, is_network = unzipped(cast("BinaryIO", file), header, path)
            frames = frames_of_network(stream, registry, port) if is_network else frames_of_lines(stream, path)
            yield from (each for each in frames if not each.is_close)
        except CaptureError as error:
            text = str(error)
            where = text if text.startswith(path) else f"{path}: {text}"
            raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{where}.") from None


def _parquet(path: str, file: IO[bytes]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file, pre_buffer=True) as opened:
            for number in range(opened.num_row_groups):  # of all at once, all would be held
                for batch in opened.iter_batches(_ROWS, row_groups=[number]):
                    yield from batch.to_pylist()
    except (OSError, OverflowError, ValueError, pa.ArrowException) as error:  # e.g. times out of range, invalid UTF-8
        raise PipelineError("MALFORMED_CAPTURED_FRAMES", f"{path}: can't be read: {error}.") from None
