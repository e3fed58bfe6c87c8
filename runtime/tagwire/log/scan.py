"""Find the batches of a segment and their positions.

A segment may be larger than memory, so it is read batch by batch (`tagwire.log.file_bytes`). The returned batches do
not keep the file open. A search for an offset reads only headers.

An active segment may be preallocated. The zeros at the end of a file are not part of the data. They can't be a batch,
because the length of a batch is not zero.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from tagwire.errors import DecodeError, details
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.errors import LogError, LogPathError, log_error, reject
from tagwire.log.file_bytes import Bytes, FileBytes
from tagwire.message.engines import engine
from tagwire.records import Format, Record, RecordBatch
from tagwire.records.format import LONGEST
from tagwire.records.format_set import FormatSet, format_set
from tagwire.records.reading import batch_at, naming_hint, other_formats, read_outline
from tagwire.records.walk import Walk
from tagwire.text_format import count

if TYPE_CHECKING:
    from tagwire._engine import BatchReader
    from tagwire._records import HeaderSearch
    from tagwire.log.damage import SumCheck

Progress = Callable[[int], None]
"""A callback. It is called with the number of bytes read since its last call."""


def ignore(count: int) -> None:
    """Do nothing with the number of bytes that were read."""


Skip = Callable[[LogError | LogPathError], object]
"""A callback. It is called with an error for each part of a log that is left out because it can't be read."""


class LogBatch(RecordBatch):
    """A batch in a file. An invalid record raises a LogError with the file and the byte position.

    If `skip` is set, it is called with the error instead, and the batch ends before the invalid record.
    """

    __slots__ = ("file", "position", "skip")

    def __init__(self, batch: RecordBatch, file: str, position: int) -> None:
        parts = batch._format, batch._header, batch._buf, batch._start, batch._end, batch._limits
        super().__init__(*parts, strict=batch._strict)
        self.begins_at(file, position)

    def begins_at(self, file: str, position: int) -> None:
        """Store where the batch begins: the file, and the position in the file."""
        self.file = file
        self.position = position
        self.skip: Skip | None = None

    @property
    def end(self) -> int:
        """The position in the file after the batch."""
        return self.position + self.size

    @contextmanager
    def _raising_log_errors(self) -> Generator[None]:
        try:
            yield
        except DecodeError as error:
            raise self._log_error(error) from None

    def _log_error(self, error: DecodeError) -> LogError:
        return log_error(error, self.file, "TWL106", self.position - self._start)

    def _deviated(self, error: DecodeError) -> None:
        if self.skip is not None:
            self._report(self.skip, self._log_error(error))

    def _report(self, skip: Skip, error: LogError) -> None:
        """Call `skip` with an error, unless the error was already reported."""
        known = self.__dict__.setdefault("_reported", set())
        if str(error) not in known:
            known.add(str(error))
            skip(error)

    def __iter__(self) -> Iterator[Record]:
        return self._with_log_errors(super().__iter__)

    def _stored(self) -> Iterator[Record]:
        return self._with_log_errors(super()._stored)

    def _with_log_errors(self, read: Callable[[], Iterator[Record]]) -> Iterator[Record]:
        try:
            with self._raising_log_errors():
                yield from read()
        except LogError as error:
            if self.skip is None:
                raise
            self._report(self.skip, error)

    def __reduce__(self) -> tuple[object, ...]:
        copied, arguments = super().__reduce__()
        return LogBatch, (copied(*arguments), self.file, self.position)  # type: ignore[operator, misc]

    def __len__(self) -> int:
        if self.skip is not None:  # count only the records that can be read
            return self._counted
        with self._raising_log_errors():
            return super().__len__()

    def walk(self) -> Walk:
        """Return a `Walk` over the records, like `RecordBatch.walk`, but raise LogError instead of DecodeError."""
        with self._raising_log_errors():
            return super().walk()


class QuickBatch(LogBatch):
    """A v2 batch that native code has read. The most important values of its header are stored as attributes."""

    __slots__ = (
        *("attributes", "base_offset", "is_control", "is_transactional", "last_offset", "max_timestamp"),
        *("partition_leader_epoch", "producer_id"),
    )


_PREFIX_SIZE: Final = 17
"""The number of bytes from the start of a v0, v1 or v2 header up to and including its magic byte."""
_OF_ANOTHER_FORMAT: Final = ("TWL101", "TWL102", "TWL104", "TWL105")
"""The IDs of rules that a valid batch may seem to break if it is read in a wrong format with the same magic byte."""
_ZEROS: Final = bytes(1 << 16)


class BatchSpan(NamedTuple):
    """The position, size and last offset of a batch, computed from its header."""

    position: int
    size: int
    last_offset: int


class Scan:
    """Finds the batches of one file. `format` works as in `tagwire.records.read_batches`."""

    def __init__(self, file: str, data: Bytes, format: Any = "auto", limits: Limits = DEFAULT_LIMITS) -> None:
        self.file = file
        self.data = data
        self.formats = format_set(format)
        self.limits = limits
        self._quick = _native_reader(self.formats, engine()) if limits == DEFAULT_LIMITS else None
        self._sums: SumCheck | None = None
        self._found: list[Format] = []
        """The possible formats of the batch whose size was read last."""
        self._clear: Format | None = None
        """The format of the batch whose size was read last, if its header is unambiguous."""

    def batches(self, position: int = 0, *, partial: bool = False) -> Iterator[LogBatch]:
        """Yield the batches, starting at `position`. Raises LogError at the first invalid batch.

        With `partial`, an incomplete batch at the end is left out.
        """
        last = -1
        while True:
            try:
                batch = self.next_batch(position)
            except LogError as error:
                if partial and self.was_unfinished(error, position, last):
                    return
                raise
            if batch is None:
                return
            yield batch
            position, last = position + batch.size, batch.last_offset

    def was_unfinished(self, error: LogError, position: int, last: int) -> bool:
        """Return whether `error` was raised because the last batch, which is at `position`, was incomplete.

        A writer may have completed the batch since then. `last` is the last offset before the position, or -1 if it is
        unknown.
        """
        from tagwire.log.damage import damage_at

        return error.rule != "TWL106" and damage_at(self, position, last) is None

    def next_batch(self, position: int) -> LogBatch | None:
        """Return the batch at a position, or None if the data ends there. Raises LogError, like `batch`."""
        batch = self._quick_batch(position)
        return batch if batch is not None or self.ends_at(position) else self.batch(position)

    def ends_at(self, position: int) -> bool:
        """Return whether the data ends at a position, because the file ends there or only zeros follow."""
        if self.data[position : position + _PREFIX_SIZE].strip(b"\0"):
            return False
        return self.zeros_end(position) == len(self.data)

    def zeros_end(self, position: int) -> int:
        while position < len(self.data):
            chunk = self.data[position : position + len(_ZEROS)]
            if chunk != _ZEROS and (rest := chunk.lstrip(b"\0")):
                return position + len(chunk) - len(rest)
            position += len(chunk)
            if isinstance(self.data, FileBytes):
                position = min(self.data.hole_end(position), len(self.data))
        return position

    def batch(self, position: int) -> LogBatch:
        """Return the batch at a position, and verify its checksum. Raises LogError if there is no valid batch."""
        try:
            return self._batch(position)
        except LogError as error:
            raise (error if self._sums is not None else self.with_formats(error, position)) from None

    def with_formats(self, error: LogError, position: int) -> LogError:
        """Return `error`, or a copy that lists other formats in which the bytes at `position` are a valid batch."""
        if error.rule not in _OF_ANOTHER_FORMAT or error.other_formats:
            return error
        names = other_formats(self.data, position, self.formats, self.limits)
        if not names:
            return error
        expected = f"{error.expected}; {naming_hint(names)}"
        found = LogError(error.file, error.rule, **details(error, expected=expected))
        found.other_formats = tuple(names)
        return found

    def _quick_batch(self, position: int, size: int = LONGEST) -> QuickBatch | None:
        """Return the batch at a position if it is a valid v2 batch that native code can read; otherwise None.

        If the cached bytes of the file may end inside the batch, pass its `size`; otherwise, the result may be None.
        Always return None after a call of `expect_damage`.
        """
        if self._quick is None or self._sums is not None:
            return None
        data = self.data
        window = (data, position) if isinstance(data, bytes) else data.around(position, position + size)
        batch = self._quick.at(*window)
        if not isinstance(batch, QuickBatch):
            return None
        batch.begins_at(self.file, position)
        return batch

    def _batch(self, position: int) -> LogBatch:
        if (batch := self._quick_batch(position)) is not None:
            return batch
        size = self.size(position)
        if (batch := self._quick_batch(position, size)) is not None:
            return batch
        if self._sums is not None:
            self._sums.reject_wrong(position, self._found)
        data = self.data[position : position + size]
        try:
            return LogBatch(batch_at(data, 0, self.formats, self.limits), self.file, position)
        except DecodeError as error:
            rule = "TWL104" if error.path == "crc" else "TWL105"
            raise log_error(error, self.file, rule, position) from None

    def expect_damage(self) -> None:
        """From now on, verify checksums with a `SumCheck`, so that the search for batches is faster."""
        from tagwire.log.damage import SumCheck

        self._sums = self._sums or SumCheck(self.file, self.data)

    @cached_property
    def search(self) -> "HeaderSearch | None":
        """A native object that finds the positions at which a batch may begin, or None if Python must search."""
        forms = [form for each in self.formats.formats if (form := each.header_positions.search_form) is not None]
        if self.formats.pattern is None or len(forms) < len(self.formats.formats) or engine() != "native":
            return None
        from tagwire._records import HeaderSearch

        return HeaderSearch(self.data, forms)

    def may_begin(self, position: int, header: bytes) -> bool:
        """Return whether a batch may begin at a position. `header` has the bytes at and after the position."""
        if self._sums is None:
            return True
        has_magic = self.formats.pattern is not None
        found = self.formats.claims(header, 0) if has_magic else self.formats.candidates(header, 0)
        return self._sums.may_begin(position, header, found)

    def outline(self, position: int) -> LogBatch:
        """Return the batch at a position, without verifying its checksum. Raises LogError if there is no batch."""
        data = self.data[position : position + self.size(position)]
        try:
            return LogBatch(read_outline(data, self.formats, self.limits), self.file, position)
        except DecodeError as error:
            raise log_error(error, self.file, "TWL105", position) from None

    def spans(self, position: int = 0) -> Iterator[BatchSpan]:
        """Yield the position, size and last offset of each batch at or after `position`.

        Checksums are not verified. Raises LogError for an invalid header.
        """
        while not self.ends_at(position):
            span = self.span(position)
            yield span
            position += span.size

    def first_with(self, offset: int) -> int | None:
        """Return the position of the first batch that contains `offset` or a higher offset.

        If there is none, returns the end of the data. Returns None if native code can't read all batches up to that
        position, or if their offsets do not ascend.
        """
        position, last = 0, -1
        while (batch := self._quick_batch(position)) is not None and batch.base_offset > last:
            last = batch.last_offset
            if last >= offset:
                return position
            position += batch.size
        return position if batch is None and self.ends_at(position) else None

    def span(self, position: int) -> BatchSpan:
        """Return the size and last offset of the batch at a position. Raises LogError if there is no batch."""
        # Native code reads a small batch faster than Python reads its header. For large batches, `_quick_batch` returns
        # None.
        if not isinstance(self.data, bytes) and (batch := self._quick_batch(position)) is not None:
            return BatchSpan(position, batch.size, batch.last_offset)
        size = self.size(position)
        known = self._clear.header_positions if self._clear is not None else None
        # Decode the batch if its header is ambiguous or doesn't contain the last offset.
        if known is None or not known.gives_last_offset:
            decoded = self.batch(position)
            return BatchSpan(position, decoded.size, decoded.last_offset)
        header = self.data[position : position + LONGEST]
        offset = _number(header, known.offset_at or 0, 8)
        if known.last_delta_at is not None:
            offset += _number(header, known.last_delta_at, 4)
        elif not offset:  # a compressed message may contain higher offsets
            offset = self.batch(position).last_offset
        return BatchSpan(position, size, offset)

    def size(self, position: int) -> int:
        """Return the size of the batch at a position, from the length in its header.

        If the header is valid in two formats, return the larger size. Raises LogError if there is no batch.
        """
        header = self.data[position : position + LONGEST]
        left = len(self.data) - position
        found = self._found = self.formats.candidates(header, 0, left)
        self._clear = found[0] if len(found) == 1 else None
        if not found:
            if left < _PREFIX_SIZE:
                expected = f"a batch header of {_PREFIX_SIZE} bytes or more"
                reject(self.file, "TWL101", position, count(left, "byte"), expected)
            expected = self.formats.expected_instead_of(header[16])
            reject(self.file, "TWL103", position + 16, f"magic {header[16]}", expected)
        fitting = [size for each in found if 0 < (size := each.header_positions.sound_size(header, 0)) <= left]
        if not fitting:
            self._reject_size(found[0], header, position, left)
        return max(fitting)

    def _reject_size(self, format: Format, header: bytes, position: int, left: int) -> NoReturn:
        positions = format.header_positions
        if positions.length_code is None:
            raise LogPathError(
                f"{self.file}: batches of {format.name} have no length, so they can't be read from a log file; "
                "use `read_batches`"
            )
        found = positions.length(header, 0)
        if found is None:
            reject(self.file, "TWL101", position, count(left, "byte"), f"the header of a {format.name} batch")
        if found[0] < positions.least:
            at = position + (positions.length_at or 0)
            reject(self.file, "TWL102", at, f"a length of {found[0]}", f"{positions.least} or more for {format.name}")
        size, expected = positions.batch_size(*found, 0), f"at most {left} bytes (the rest of the file)"
        reject(self.file, "TWL101", position, f"a batch of {size} bytes", expected)


@lru_cache(maxsize=64)
def _native_reader(formats: FormatSet, engine: str) -> "BatchReader | None":
    """Return the native reader that `Scan` uses to read batches, or None if the native engine is not in use."""
    return formats.native_reader_with(lambda plans: plans.quick_for(QuickBatch, is_alone=True))


def _number(header: bytes, at: int, width: int) -> int:
    return int.from_bytes(header[at : at + width], "big", signed=True)
