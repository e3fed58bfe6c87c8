"""Find offsets in a log: the ends of the log, its batches and its segments, and the offset for a given time.

A log ends after its last whole batch. While the broker writes the next batch, the file ends within that batch or, if
preallocated, continues with zeros. So the last batch counts only if its checksum is right. Invalid bytes before a whole
batch are damage, not the end of the log.

As in Spark's Kafka source, the offset of a time (`startingOffsetsByTimestamp`, `endingOffsetsByTimestamp`) is the
offset of the first record that is not earlier than the time. Everything after that record is read, even records with
earlier timestamps. A segment is skipped if its time index shows that all its records are earlier. In the other
segments, only batch headers are read, up to the batch with that record.

An entry in a `.timeindex` means that no record up to its offset has a later timestamp. A wrong index must not hide
records, so an entry is used only if the batch with its offset has the entry's timestamp as its maximum. No batch after
that one is skipped, because timestamps need not be in order. File modification times can't be used instead, because
producers set record timestamps.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from tagwire.log import Partition, Segment
from tagwire.log.damage import Damage, damage_at, pieces
from tagwire.log.errors import LogError, LogPathError, is_file
from tagwire.log.indexes import TimeIndex
from tagwire.log.names import log_file
from tagwire.log.scan import BatchSpan, LogBatch, Scan
from tagwire_spark.errors import rejections
from tagwire_spark.files.commit_folder import DONE
from tagwire_spark.files.storage import Location
from tagwire_spark.files.store import inner_path
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery, time_of
from tagwire_spark.options import invalid


class LogEnd(NamedTuple):
    """Where a partition's log ends: the offset and position after its last whole batch."""

    offset: int
    """The offset that the next record will get."""
    position: int
    """End position of the last whole batch in the last segment."""
    rest: int
    """Number of bytes after the last whole batch: an unfinished batch, or zeros."""
    last: int = 0
    """Start position of the last whole batch in the last segment."""


def end_of(
    segments: Sequence[Segment], format: Any = "auto", *, permissive: bool = False, near: LogEnd | None = None
) -> LogEnd | None:
    """Return the end of the last whole batch in a log, or None if there are no segments.

    The search starts at the last batch of `near`, an earlier result for this segment. Raises LogError for damage before
    the end, unless `permissive`.
    """
    if not segments:
        return None
    last = segments[-1]
    with last.opened() as data:
        scan = Scan(last.name, data, format)
        start = _position_before(scan, last, None)
        if near is not None and near.last > start and has_offset(scan, near.last, near.offset - 1):
            start = near.last
        spans: list[BatchSpan] = []
        next_position: int | None = start
        while next_position is not None:
            spans += _last_spans(scan, next_position, permissive=permissive)
            if not spans or has_offset(scan, spans[-1].position, spans[-1].last_offset):
                break
            invalid_span = spans.pop()
            last_offset = spans[-1].last_offset if spans else -1
            next_position = _after_damage(scan, invalid_span.position, last_offset, permissive=permissive)
        if not spans:
            return LogEnd(last.base_offset or 0, 0, len(data))
        position = spans[-1].position + spans[-1].size
        return LogEnd(spans[-1].last_offset + 1, position, len(data) - position, spans[-1].position)


def batch_end(partition: Partition, offset: int, format: Any = "auto") -> int:
    """Return the end offset of the first batch that ends after `offset`. Raises LogError if the log is damaged."""
    return next((span.last_offset + 1 for span in _spans(partition, offset, format)), offset)


def bytes_end(partition: Partition, start: int, end: int, most: int, format: Any = "auto") -> int:
    """Return the offset at which a read from `start` stops after at most `most` bytes of batches.

    The result is at most `end`. The first batch is always read, whatever its size. Raises LogError for a damaged log.
    """
    reached = start
    for span in _spans(partition, start, format):
        most -= span.size
        if (most < 0 and reached > start) or span.last_offset >= end:
            break
        reached = span.last_offset + 1
    # If there is no valid batch, return `end`, so that the task that reads the bytes raises the error.
    return reached if reached > start else end


def segment_ends(partition: Partition, start: int, end: int) -> list[int]:
    """Return the end offset (at most `end`) of each segment that overlaps the offsets from `start` to `end`."""
    bases = [segment.base_offset or 0 for segment in partition.segments]
    ranges = zip(bases, [*bases[1:], end], strict=True)
    return [min(end, next_base) for base, next_base in ranges if base < end and next_base > start]


def lost_by_intent(partition: Partition, location: Location) -> bool:
    """Return whether a log was compacted or written by `kafka_log`, so offsets can be missing.

    Raises LogError or PipelineError if a checkpoint file or `_SUCCESS` can't be read.
    """
    location.bring_above(partition.path, DONE)
    return partition.is_compacted or is_file(partition.path.absolute().parent / DONE)


def named_offset(file: str) -> int | None:
    """Return the base offset in the name of a segment, a path or URL. Return None if it isn't named like a segment."""
    name = log_file(inner_path(file))
    return name.base_offset if name else None


def has_gaps(scan: Scan) -> bool:
    """Return whether offsets are missing in a segment. Raises LogError for invalid batches."""
    reached = named_offset(scan.file)
    for span in scan.spans():
        batch = scan.outline(span.position)
        count = batch.last_offset - batch.base_offset + 1
        if (reached is not None and batch.base_offset > reached) or (batch.count is not None and batch.count < count):
            return True
        reached = batch.last_offset + 1
    return False


def _spans(partition: Partition, offset: int, format: Any) -> Iterator[BatchSpan]:
    """Yield the positions and offsets of batches, starting with the batch that contains `offset`."""
    for segment, start, _ in partition.segments_from(offset):
        with segment.opened() as data:
            scan = Scan(segment.name, data, format)
            spans = scan.spans(0 if start is None else segment.position_of(scan, start))
            yield from (each for each in spans if each.last_offset >= offset)


def _position_before(scan: Scan, segment: Segment, offset: int | None) -> int:
    """Return the position of the last indexed batch at or before `offset`.

    If `offset` is None, use the last index entry. Returns 0 if there is no usable entry.
    """
    try:
        entry = segment.index_entry(offset)
    except LogError:
        return 0
    return entry.position if entry is not None and has_offset(scan, entry.position, entry.offset) else 0


def _last_spans(scan: Scan, position: int, *, permissive: bool) -> Iterator[BatchSpan]:
    """Yield the spans of the whole batches from a position to the end of the log."""
    last = -1
    while not scan.ends_at(position):
        try:
            span = scan.span(position)
        except LogError:
            next_position = _after_damage(scan, position, last, permissive=permissive)
            if next_position is None:
                return
            position = next_position
            continue
        yield span
        position, last = span.position + span.size, span.last_offset


def _after_damage(scan: Scan, position: int, last: int, *, permissive: bool) -> int | None:
    """Return the position of the first whole batch after the invalid bytes at a position, or None if there is none.

    Unless `permissive`, raises LogError if the bytes can't be an incomplete batch at the log's end. `last` is the last
    offset before the position.
    """
    damage = damage_at(scan, position, last)
    if damage is not None and not permissive:
        raise damage.error
    return None if damage is None or scan.ends_at(damage.end) else damage.end


def has_offset(scan: Scan, position: int, offset: int) -> bool:
    """Return whether there is a whole batch at a position, and the offset is in its range."""
    try:
        batch = scan.batch(position)
    except LogError:
        return False
    return batch.base_offset <= offset <= batch.last_offset


_MOST_HEADERS: Final = 64
"""Maximum number of batch headers to read to find the offset of a time index entry."""


class _Earlier(NamedTuple):
    """The part of a segment in which all records are earlier than a given time."""

    end_offset: int
    """All records before this offset are earlier than the time."""
    is_all: bool
    """Whether all records of the segment are earlier than the time."""


def with_offsets_of_times(query: LogQuery, partition: Partition, name: str, key: tuple[str, int]) -> LogQuery:
    """Return the query for one partition, with offsets in place of start and end times.

    Raises PipelineError if the log is damaged and, with `future_is_error`, if all records are before the start time.
    """
    start_time, end_time = time_of(query.start_times, key), time_of(query.end_times, key)
    if start_time is not None:
        start = _offset_of_time(query, partition, start_time)
        if start is None and query.future_is_error:
            option = "startingTimestamp" if isinstance(query.start_times, int) else "startingOffsetsByTimestamp"
            text = f"Option {option}: {name} has no record with timestamp {start_time} or later; "
            raise invalid(f"{text}set option startingOffsetsByTimestampStrategy=latest to skip the partition.")
        start = NO_OFFSET - 1 if start is None else start
        query = query._replace(starts={key: start})
    if end_time is not None:
        end = _offset_of_time(query, partition, end_time)
        query = query._replace(ends={key: NO_OFFSET if end is None else end})
    return query


@rejections("MALFORMED_KAFKA_LOG")
def _offset_of_time(query: LogQuery, partition: Partition, timestamp: int) -> int | None:
    """Return the offset of the first record at or after a timestamp in milliseconds; None if all records are earlier.

    Raises PipelineError if the log is damaged before that record, unless the query is permissive.
    """
    format, permissive = query.formats, query.permissive
    for segment in partition.segments:
        earlier = earlier_part(segment, timestamp, format)
        first = earlier.end_offset if earlier else None
        with segment.opened() as data:
            scan = Scan(segment.name, data, format)
            for batch in _late_batches(scan, segment, first, timestamp, permissive=permissive):
                try:
                    found = next((each.offset for each in batch if each.timestamp >= timestamp), None)
                except LogError:
                    if not permissive:
                        raise
                    found = None
                if found is not None:
                    return found
    return None


def _late_batches(
    scan: Scan, segment: Segment, first: int | None, timestamp: int, *, permissive: bool
) -> Iterator[LogBatch]:
    """Yield the batches at or after offset `first` whose highest timestamp is at least `timestamp`.

    Raises LogError at an invalid batch, unless `permissive` is set.
    """
    position = 0 if first is None else segment.position_of(scan, first)
    if permissive:
        found = (each for each in pieces(scan, position) if not isinstance(each, Damage))
        yield from (each for each in found if each.max_timestamp >= timestamp)
        return
    for span in scan.spans(position):
        if scan.outline(span.position).max_timestamp >= timestamp:
            yield scan.batch(span.position)


def earlier_part(segment: Segment, timestamp: int, format: Any = "auto") -> _Earlier | None:
    """Return the part of a segment before a time in milliseconds, or None if the time index has no usable entry."""
    path = segment.sibling("timeindex")
    if path is None:
        return None
    try:
        with segment.lookup(path, TimeIndex.LAYOUT) as entries:
            found = entries.at_or_before(timestamp - 1)
        if found is None:
            return None
        latest, offset = found[0], (segment.base_offset or 0) + found[1]
        with segment.opened() as data:
            scan = Scan(segment.name, data, format)
            spans = islice(scan.spans(_position_before(scan, segment, offset)), _MOST_HEADERS)
            span = next((each for each in spans if each.last_offset >= offset), None)
            if span is None:
                return None
            batch = scan.outline(span.position)
            if batch.base_offset > offset or batch.max_timestamp != latest:
                return None
            return _Earlier(span.last_offset + 1, span.position + span.size == len(data))
    except (LogError, LogPathError):
        return None
