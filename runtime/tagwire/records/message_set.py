"""The batch object for uncompressed messages that were built together."""

from collections.abc import Iterator
from functools import cached_property

from tagwire.limits import DEFAULT_LIMITS
from tagwire.records.batch import RecordBatch, read_batch
from tagwire.records.format import Format
from tagwire.records.record import Record


class MessageSet(RecordBatch):
    """Uncompressed messages that were built together: one batch object, which encodes to consecutive messages."""

    __slots__ = ("_count",)

    def __init__(self, data: bytes, count: int, format: Format) -> None:
        header = (
            read_batch(data, 0, format, DEFAULT_LIMITS)._header
            if count
            else format.header.root.default_value() | {"crc": 0}
        )
        super().__init__(format, header, data, 0, len(data), DEFAULT_LIMITS)
        self._count = count

    @cached_property
    def _parts(self) -> list[RecordBatch]:
        parts: list[RecordBatch] = []
        while len(parts) < self._count:
            parts.append(read_batch(self._buf, parts[-1]._end if parts else 0, self._format, DEFAULT_LIMITS))
        return parts

    @property
    def last_offset(self) -> int:
        return self._parts[-1].last_offset if self._parts else -1

    @property
    def max_timestamp(self) -> int:
        return max((part.max_timestamp for part in self._parts), default=-1)

    def __iter__(self) -> Iterator[Record]:
        return (record for part in self._parts for record in part)

    def __len__(self) -> int:
        return self._count

    def __reduce__(self) -> tuple[object, ...]:
        return MessageSet, (self._buf, self._count, self._format)
