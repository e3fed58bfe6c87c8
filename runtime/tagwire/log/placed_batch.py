"""A batch that knows its position in a file, so that errors found while its records are read have a place.

Functions that return positions beside batches return plain batches.
"""

from collections.abc import Iterator

from tagwire.errors import DecodeError
from tagwire.log.errors import placed
from tagwire.records import Record, RecordBatch

__all__ = ["PlacedBatch"]


class PlacedBatch(RecordBatch):
    """A batch of a file. Iteration and `len` raise LogError with the file and the byte position."""

    __slots__ = ("_file", "_position")

    def __init__(self, batch: RecordBatch, file: str, position: int) -> None:
        super().__init__(batch._format, batch._head, batch._buf, batch._start, batch._end, batch._limits)
        self._file = file
        self._position = position - batch._start

    def __iter__(self) -> Iterator[Record]:
        try:
            yield from super().__iter__()
        except DecodeError as error:
            raise placed(error, self._file, "TWL106", self._position) from None

    def __len__(self) -> int:
        try:
            return super().__len__()
        except DecodeError as error:
            raise placed(error, self._file, "TWL106", self._position) from None
