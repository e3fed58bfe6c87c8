"""A batch that knows its position in a file, so that errors in its records name both."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from tagwire.errors import DecodeError
from tagwire.log.errors import LogError, LogPathError, placed
from tagwire.records import Record, RecordBatch
from tagwire.records.walk import Walk

Skip = Callable[[LogError | LogPathError], object]
"""Called with the error of each part of a log that can't be read, which is then left out."""


class PlacedBatch(RecordBatch):
    """A batch of a file. Reading its records raises LogError with the file and the byte position.

    `skip`, if set, is called with the error instead, and the batch ends before the invalid record.
    """

    __slots__ = ("_file", "_position", "skip")

    def __init__(self, batch: RecordBatch, file: str, position: int) -> None:
        parts = batch._format, batch._header, batch._buf, batch._start, batch._end, batch._limits
        super().__init__(*parts, strict=batch._strict)
        self._file = file
        self._position = position - batch._start
        self.skip: Skip | None = None

    @contextmanager
    def _placing(self) -> Generator[None]:
        try:
            yield
        except DecodeError as error:
            raise placed(error, self._file, "TWL106", self._position) from None

    def _deviated(self, error: DecodeError) -> None:
        if self.skip is not None:
            self._report(self.skip, placed(error, self._file, "TWL106", self._position))

    def _report(self, skip: Skip, error: LogError) -> None:
        """Report each error once, no matter how often the records are read."""
        known = self.__dict__.setdefault("_reported", set())
        if str(error) not in known:
            known.add(str(error))
            skip(error)

    def __iter__(self) -> Iterator[Record]:
        return self._placed(super().__iter__)

    def _stored(self) -> Iterator[Record]:
        return self._placed(super()._stored)

    def _placed(self, read: Callable[[], Iterator[Record]]) -> Iterator[Record]:
        try:
            with self._placing():
                yield from read()
        except LogError as error:
            if self.skip is None:
                raise
            self._report(self.skip, error)

    def __reduce__(self) -> tuple[object, ...]:
        copied, arguments = super().__reduce__()
        return PlacedBatch, (copied(*arguments), self._file, self._position + self._start)  # type: ignore[operator, misc]

    def __len__(self) -> int:
        if self.skip is not None:  # the header may state more records than can be read
            return self._counted
        with self._placing():
            return super().__len__()

    def walk(self) -> Walk:
        """Walk the records as in `RecordBatch`. Raises LogError."""
        with self._placing():
            return super().walk()
