"""A batch that knows its position in a file, so that errors in its records name both."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager

from tagwire.errors import DecodeError
from tagwire.log.errors import placed
from tagwire.records import Record, RecordBatch
from tagwire.records.walk import Walk

__all__ = ["PlacedBatch"]


class PlacedBatch(RecordBatch):
    """A batch of a file. Reading its records raises LogError with the file and the byte position."""

    __slots__ = ("_file", "_position")

    def __init__(self, batch: RecordBatch, file: str, position: int) -> None:
        super().__init__(batch._format, batch._head, batch._buf, batch._start, batch._end, batch._limits)
        self._file = file
        self._position = position - batch._start

    @contextmanager
    def _placing(self) -> Generator[None]:
        try:
            yield
        except DecodeError as error:
            raise placed(error, self._file, "TWL106", self._position) from None

    def __iter__(self) -> Iterator[Record]:
        with self._placing():
            yield from super().__iter__()

    def __reduce__(self) -> tuple[object, ...]:
        copied, arguments = super().__reduce__()
        return PlacedBatch, (copied(*arguments), self._file, self._position + self._start)  # type: ignore[operator, misc]

    def __len__(self) -> int:
        with self._placing():
            return super().__len__()

    def walk(self) -> Walk:
        """The same as for any batch. Raises LogError."""
        with self._placing():
            return super().walk()
