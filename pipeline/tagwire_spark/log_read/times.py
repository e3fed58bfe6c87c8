"""Find the offset at which a partition reaches a time (`startingOffsetsByTimestamp`, `endingOffsetsByTimestamp`).

As in Spark's Kafka source, this is the offset of the first record that is not earlier than the time. Everything after
that record is read, even records with earlier timestamps. A segment is skipped if its time index shows that all its
records are earlier. In the other segments, only batch headers are read, up to the batch with that record.

An entry in a `.timeindex` means that no record up to its offset has a later timestamp. A wrong index must not hide
records, so an entry is used only if the batch with its offset has the entry's timestamp as its maximum. No batch after
that one is skipped, because timestamps need not be in order.

File modification times can't be used instead, because producers set record timestamps.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.log import Partition, Segment
from tagwire.log.damage import Found, pieces
from tagwire.log.errors import LogError, LogPathError, log_error
from tagwire.log.indexes import TimeIndex
from tagwire.log.scan import Scan
from tagwire.records import RecordBatch
from tagwire_spark.errors import rejection
from tagwire_spark.log_read.ends import position_before
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery, time_of
from tagwire_spark.options import invalid

_HEADS: Final = 64
"""Maximum number of batch headers to read to find the offset of a time index entry."""


class Earlier(NamedTuple):
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
        start = _offset_at(query, partition, start_time)
        if start is None and query.future_is_error:
            option = "startingTimestamp" if isinstance(query.start_times, int) else "startingOffsetsByTimestamp"
            text = f"Option {option}: {name} has no record with timestamp {start_time} or later; "
            raise invalid(f"{text}set option startingOffsetsByTimestampStrategy=latest to skip the partition.")
        start = NO_OFFSET - 1 if start is None else start
        query = query._replace(starts={key: start})
    if end_time is not None:
        end = _offset_at(query, partition, end_time)
        query = query._replace(ends={key: NO_OFFSET if end is None else end})
    return query


def _offset_at(query: LogQuery, partition: Partition, timestamp: int) -> int | None:
    try:
        return offset_at(partition, timestamp, query.formats, permissive=query.permissive)
    except (LogError, LogPathError) as error:
        raise rejection(error, "MALFORMED_KAFKA_LOG") from None


def offset_at(partition: Partition, timestamp: int, format: Any = "auto", *, permissive: bool = False) -> int | None:
    """Return the offset of the first record at or after a timestamp in milliseconds; None if all records are earlier.

    Raises LogError if the log is damaged before that record, unless `permissive` is set.
    """
    for segment in partition.segments:
        earlier = earlier_part(segment, timestamp, format)
        first = earlier.end_offset if earlier else None
        with segment.opened() as data:
            scan = Scan(segment.name, data, format)
            for position, batch in _late_batches(scan, segment, first, timestamp, permissive=permissive):
                try:
                    found = next((each.offset for each in batch if each.timestamp >= timestamp), None)
                except DecodeError as error:
                    if not permissive:
                        raise log_error(error, segment.name, "TWL106", position) from None
                    found = None
                if found is not None:
                    return found
    return None


def _late_batches(
    scan: Scan, segment: Segment, first: int | None, timestamp: int, *, permissive: bool
) -> Iterator[tuple[int, RecordBatch]]:
    """Yield the batches at or after offset `first` whose highest timestamp is at least `timestamp`.

    Raises LogError at an invalid batch, unless `permissive` is set.
    """
    position = 0 if first is None else segment.position_of(scan, first)
    if permissive:
        found = (each for each in pieces(scan, position) if isinstance(each, Found))
        yield from (each for each in found if each.batch.max_timestamp >= timestamp)
        return
    for span in scan.spans(position):
        if scan.outline(span.position).max_timestamp >= timestamp:
            yield span.position, scan.batch(span.position)


def earlier_part(segment: Segment, timestamp: int, format: Any = "auto") -> Earlier | None:
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
            spans = islice(scan.spans(position_before(scan, segment, offset)), _HEADS)
            span = next((each for each in spans if each.last_offset >= offset), None)
            if span is None:
                return None
            batch = scan.outline(span.position)
            if batch.base_offset > offset or batch.max_timestamp != latest:
                return None
            return Earlier(span.last_offset + 1, span.position + span.size == len(data))
    except (LogError, LogPathError):
        return None
