"""Resize batches: join the records of several batches, or split a batch.

A batch header applies to all records in the batch. So records are joined only if they have the same producer, producer
epoch, transaction, leader epoch, timestamp type, delete horizon, format and codec, and if there is no control batch
between them. The producer's sequence numbers must have no gap, because a batch stores only the first number. Control
batches, and batches without records, are not changed. Records keep their offsets, timestamps and sequence numbers, and
the new batches cover all offsets that the old ones cover.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.log.scan import LogBatch
from tagwire.records import BatchBuilder, Format, Record, RecordBatch, RecordLoss
from tagwire.records.building_values import OPTIONAL
from tagwire.records.moving import movable, new_run
from tagwire.text_format import shown
from tagwire.wire.varint import uvarint_bytes

if TYPE_CHECKING:
    from tagwire._records import RecordRun


_INT32: Final = 0x7FFFFFFF
_HEADER_SIZE: Final = 61
"""The size in bytes of a v2 header, which is the longest batch header."""
_MESSAGE: Final = 34
"""The size in bytes of a v1 message that has neither a key nor a value."""


class BatchSize(NamedTuple):
    """The maximum size of new batches; None means no limit. A larger record becomes a batch of its own."""

    bytes: int | None = None
    """The size of the batch before compression, in bytes."""
    records: int | None = None


class Piece(NamedTuple):
    """A new batch, and the source batches that it replaces: the first of them, their total size, and their number."""

    source: LogBatch
    source_bytes: int
    source_batches: int
    batch: RecordBatch


Key = tuple[Any, ...]


def rebatched(batches: Iterable[LogBatch], size: BatchSize, to: Format | None = None) -> Iterator[Piece]:
    """Yield the records of a segment in new, uncompressed batches of at most `size`.

    A new batch has the source format. Its size is measured in the format `to`, by default the source format. Raises
    LogError for records that can't be read.
    """
    group: _Group | None = None
    for batch in batches:
        source = _Source(batch, to)
        if batch.is_control or not source.left:
            if group:
                yield group.piece()
            group = None
            yield Piece(batch, batch.size, 1, batch)
            continue
        key = _key(batch)
        if group and not (group.takes(batch, key) and group.take(source)):
            yield group.piece()
            group = None
        if group is None:
            group = _Group(batch, key, batch.base_offset, size, to)
            group.take(source)
        group.source_bytes += batch.size
        group.source_batches += 1
        while source.left:
            begin = source.next_offset
            group.last_offset = begin - 1
            yield group.piece()
            group = _Group(batch, key, begin, size, to)
            group.take(source)
        group.last_offset = batch.last_offset
    if group:
        yield group.piece()


class _Source:
    """The records of a source batch that are not yet in a new batch. Raises LogError for records that can't be read."""

    def __init__(self, batch: RecordBatch, to: Format | None) -> None:
        # For v0 and v1, read Record objects, because native code can't compute the sizes of their messages.
        is_moved = not batch.is_control and (to is None or to.records is not None)
        self.batch = batch
        self._next: Record | None = None
        self.moved = movable(batch, stored=True) if is_moved else None
        self._left = len(batch)
        self._reading: Iterator[Record] | None = None

    @property
    def left(self) -> int:
        return self._left if self.moved is None else self.moved.left

    @property
    def next_offset(self) -> int:
        if self.moved is not None and self.moved.next_offset is not None:
            return self.moved.next_offset
        return self.next().offset

    def next(self) -> Record:
        """Return the next record as an object."""
        if self._next is not None:
            return self._next
        if self._reading is None:
            self._reading = islice(self.batch.stored(), self._left - self.left, None)
            self._left, self.moved = self.left, None
        self._next = next(self._reading)
        return self._next

    def took(self) -> None:
        self._next = None
        self._left -= 1


class _Group:
    """The records that will form one new batch. Its header is made from the first source batch's header."""

    def __init__(self, batch: LogBatch, key: Key, base_offset: int, size: BatchSize, to: Format | None) -> None:
        self.first = batch
        self.base_offset = base_offset
        self.last_offset = base_offset
        self.size = size
        is_messages = (to or batch.record_format).records is None
        self.record_bytes = _message_bytes if is_messages else _record_bytes
        self.key = key
        self.base_sequence = _later(batch.base_sequence, base_offset - batch.base_offset)
        self.run: RecordRun | None = None
        """The records that native code has moved; if None, `records` has objects."""
        self.records: list[Record] = []
        self.bytes = 0 if is_messages else _HEADER_SIZE
        self.source_bytes = self.source_batches = 0

    def takes(self, batch: RecordBatch, key: Key) -> bool:
        """Return whether the records of `batch`, the next one in the log, may be joined with this group."""
        sequence = _later(self.base_sequence, batch.base_offset - self.base_offset)
        within_reach = batch.last_offset - self.base_offset <= _INT32
        return within_reach and self.key == key and sequence == batch.base_sequence

    def take(self, source: _Source) -> bool:
        """Move records from `source` to this group until the group is full. Return whether any were moved."""
        before = source.left
        if source.moved is not None and not self.records:
            if self.run is None:
                self.run = new_run(self.base_offset, self.first.delete_horizon_ms)
            room = None if self.size.bytes is None else self.size.bytes - _HEADER_SIZE
            source.moved.move(self.run, None, room, self.size.records)
        if source.moved is None or source.moved.next_offset is None or self.records:
            self._add(source)
        return source.left < before

    def _add(self, source: _Source) -> None:
        if self.run is not None:
            moved, self.run = list(self._built().stored()) if len(self.run) else [], None
            for record in moved:
                self.add(record)
        while source.left and self.has_room(source.next()):
            self.add(source.next())
            source.took()

    def has_room(self, record: Record) -> bool:
        if not self.records:
            return True
        if self.size.records is not None and len(self.records) >= self.size.records:
            return False
        return self.size.bytes is None or self.bytes + self._bytes_of(record) <= self.size.bytes

    def add(self, record: Record) -> None:
        self.bytes += self._bytes_of(record)
        self.records.append(record)

    def _bytes_of(self, record: Record) -> int:
        first = self.records[0].timestamp if self.records else record.timestamp
        base = self.first.base_timestamp if self.first.delete_horizon_ms is not None else first
        return self.record_bytes(record, record.offset - self.base_offset, record.timestamp - base)

    def piece(self) -> Piece:
        first = self.first
        has_its_offsets = (self.base_offset, self.last_offset) == (first.base_offset, first.last_offset)
        batch = first if self.source_batches == 1 and has_its_offsets else self._built()
        return Piece(first, self.source_bytes, self.source_batches, batch)

    def _built(self) -> RecordBatch:
        changes: dict[str, Any] = {"base_sequence": self.base_sequence}
        # v0 and v1 batches store no offsets apart from those of their messages.
        if self.first.record_format.records is not None:
            changes |= {"base_offset": self.base_offset, "last_offset": self.last_offset}
        # If a broker set the append time, decompressing v0 and v1 messages would lose the producer's timestamps.
        elif self.first.timestamp_type == "append":
            changes["compression"] = self.first.compression
        builder = builder_like(self.first, **{"compression": "none"} | changes)
        return builder.extend(self.records).build() if self.run is None else builder.build_run(self.run)


def builder_like(batch: RecordBatch, **changes: Any) -> BatchBuilder:
    """Return a BatchBuilder with the format, flags and producer of `batch`, except for the arguments in `changes`."""
    return BatchBuilder(batch.record_format, **_settings(batch) | changes)


def _settings(batch: RecordBatch) -> dict[str, Any]:
    return {name: getattr(batch, name) for name, _, _ in OPTIONAL} | {
        "compression": batch.compression,
        "append_time": batch.max_timestamp if batch.timestamp_type == "append" else -1,
        "as_read": True,
        "attribute_bits": batch.unnamed_attributes,
        "wrapper_key": batch.wrapper_key,
    }


def _key(batch: RecordBatch) -> Key:
    is_appended = batch.timestamp_type == "append"
    return (
        batch.format,
        batch.codec,
        batch.partition_leader_epoch,
        batch.producer_id,
        batch.producer_epoch,
        batch.is_transactional,
        batch.delete_horizon_ms,
        batch.max_timestamp if is_appended else None,
        is_appended,
        batch.unnamed_attributes,
        batch.wrapper_key,
    )


def _later(sequence: int, by: int) -> int:
    """Add `by` to a sequence number. The highest one is followed by 0. Returns -1 if there is no number (-1)."""
    return sequence if sequence < 0 else (sequence + by) & _INT32


def _message_bytes(record: Record, offset_delta: int, timestamp_delta: int) -> int:
    headers = sum(8 + len(value or b"") for _, value in record.headers)
    return _MESSAGE + len(record.key or b"") + len(record.value or b"") + (4 + headers if headers else 0)


def _record_bytes(record: Record, offset_delta: int, timestamp_delta: int) -> int:
    """Return the size of a v2 record in bytes. In other batch formats, a record is at most one byte larger."""
    body = 1 + _zigzag(timestamp_delta) + _zigzag(offset_delta) + _zigzag(len(record.headers))
    body += _sized(record.key) + _sized(record.value)
    for key, value in record.headers:
        body += _sized(str(key).encode()) + _sized(value)
    return _zigzag(body) + body


def _zigzag(value: int) -> int:
    number = value << 1 if value >= 0 else (-value << 1) - 1
    return 1 if number < 0x80 else len(uvarint_bytes(number))


def _sized(data: bytes | None) -> int:
    return 1 if data is None else _zigzag(len(data)) + len(data)


_INDEX: Final = re.compile(r"\[\d+\]")


class LossRow(NamedTuple):
    """How often a conversion lost a field (such as `records[].headers[]`) for the same reason, and the first loss."""

    path: str
    reason: str
    times: int
    file: str
    """The segment of the first loss."""
    position: int
    value: str


class LossReport:
    """Counts losses by field and reason."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], LossRow] = {}

    def add(self, loss: RecordLoss, batch: LogBatch) -> None:
        # If a record header was lost, the value is a (key, value) pair.
        value = ": ".join(map(shown, loss.value)) if isinstance(loss.value, tuple) else shown(loss.value)
        self.add_row(LossRow(_INDEX.sub("[]", loss.path), loss.reason, 1, batch.file, batch.position, value))

    def merge(self, other: "LossReport") -> None:
        for row in other.rows():
            self.add_row(row)

    def add_row(self, row: LossRow) -> None:
        known = self._rows.get((row.path, row.reason))
        self._rows[row.path, row.reason] = row if known is None else known._replace(times=known.times + row.times)

    def rows(self) -> list[LossRow]:
        """Return a row for each field and reason, with the most frequent loss first."""
        return sorted(self._rows.values(), key=lambda row: (-row.times, row.path, row.reason))

    def to_json(self) -> list[dict[str, Any]]:
        return [row._asdict() for row in self.rows()]

    def __len__(self) -> int:
        return len(self._rows)
