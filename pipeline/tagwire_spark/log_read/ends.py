"""Find where a growing log ends.

A log ends after its last whole batch. While the broker writes the next batch, the file ends within that batch or, if
preallocated, continues with zeros. So the last batch counts only if its checksum is right. Invalid bytes before a whole
batch are damage, not the end of the log.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tagwire.log import LogError, Partition, Segment
from tagwire.log.damage import Damage, pieces
from tagwire.log.names import log_file
from tagwire.log.scan import BatchSpan, Scan
from tagwire_spark.files.commit import DONE
from tagwire_spark.files.storage import Location


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
        start = position_before(scan, last, None)
        if near is not None and near.last > start and _has_offset(scan, near.last, near.offset - 1):
            start = near.last
        spans = [*_last_spans(scan, start, permissive=permissive)]
        if spans and not _has_offset(scan, spans[-1].position, spans[-1].last_offset):
            spans.pop()
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
    return partition.is_compacted or (partition.path.absolute().parent / DONE).is_file()


def has_gaps(scan: Scan) -> bool:
    """Return whether offsets are missing in a segment. Raises LogError for invalid batches."""
    name = log_file(Path(scan.file))
    reached = name.base_offset if name else None
    for span in scan.spans():
        batch = scan.outline(span.position)
        count = batch.last_offset - batch.base_offset + 1
        if (reached is not None and batch.base_offset > reached) or (batch.count is not None and batch.count < count):
            return True
        reached = batch.last_offset + 1
    return False


def _spans(partition: Partition, offset: int, format: Any) -> Iterator[BatchSpan]:
    """Yield the positions and offsets of batches, starting with the batch that contains `offset`."""
    segments = partition.segments
    for segment, next_base in zip(segments, [*(each.base_offset or 0 for each in segments[1:]), None], strict=True):
        if next_base is not None and next_base <= offset:
            continue
        with segment.opened() as data:
            scan = Scan(segment.name, data, format)
            yield from (
                each for each in scan.spans(position_before(scan, segment, offset)) if each.last_offset >= offset
            )


def position_before(scan: Scan, segment: Segment, offset: int | None) -> int:
    """Return the position of the last indexed batch at or before `offset`.

    If `offset` is None, use the last index entry. Returns 0 if there is no usable entry.
    """
    try:
        entry = segment.index_entry(offset)
    except LogError:
        return 0
    return entry.position if entry is not None and _has_offset(scan, entry.position, entry.offset) else 0


def _last_spans(scan: Scan, position: int, *, permissive: bool) -> Iterator[BatchSpan]:
    """Yield the spans of the whole batches from a position to the end of the log."""
    last = -1
    while not scan.ends_at(position):
        try:
            span = scan.span(position)
        except LogError:
            damage, *found = _until_next(scan, position, last)
            if not found:
                return
            if not permissive:
                raise
            position = damage.end
            continue
        yield span
        position, last = span.position + span.size, span.last_offset


def _until_next(scan: Scan, position: int, last: int) -> list[Any]:
    """Return the damaged ranges from `position` to the next whole batch, and that batch."""
    found: list[Any] = []
    for piece in pieces(scan, position, last):
        found.append(piece)
        if not isinstance(piece, Damage):
            break
    return found


def _has_offset(scan: Scan, position: int, offset: int) -> bool:
    try:
        batch = scan.batch(position)
    except LogError:
        return False
    return batch.base_offset <= offset <= batch.last_offset
