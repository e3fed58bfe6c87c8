"""What is known of a log before it is compacted: by the heads of its batches, and its markers.

Up to where it may be compacted, which transactions were aborted, and the last
word of each producer that may go on. The rules are those of a broker: whole
segments are left alone, from the first on that has records of an open
transaction, that is younger than a lag, or that a broker would write to.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.limits import Limits
from tagwire.log.errors import placed
from tagwire.log.segment import Segment
from tagwire.log.transactions import ABORT, COMMIT
from tagwire.records import Record, RecordBatch

__all__ = ["Aborted", "Bounds", "Survey", "modified_ms", "survey"]

_NO_TYPE: Final = -1


def modified_ms(segment: Segment) -> int:
    """When a segment was last written to."""
    return segment.path.stat().st_mtime_ns // 1_000_000


class Aborted:
    """The transactions that were aborted, met one after the other on the way through the log."""

    def __init__(self, markers: dict[int, list[tuple[int, int]]]) -> None:
        self._next = {producer: iter(each) for producer, each in markers.items()}
        self._open = {producer: next(each) for producer, each in self._next.items()}

    def has(self, batch: RecordBatch) -> bool:
        """Whether a batch belongs to one."""
        if not batch.is_transactional:
            return False
        first, last = self._open.get(batch.producer_id, (0, -1))
        return first <= batch.base_offset <= last

    def end(self, marker: RecordBatch) -> None:
        """Go past a marker."""
        while 0 <= self._open.get(marker.producer_id, (0, -1))[1] <= marker.base_offset:
            self._open[marker.producer_id] = next(self._next[marker.producer_id], (0, -1))


class _Producer:
    """What a broker remembers of a producer."""

    __slots__ = ("epoch", "last_data_offset", "last_timestamp")

    def __init__(self) -> None:
        self.epoch = -1
        self.last_data_offset: int | None = None
        """None behind a marker that has raised the epoch."""
        self.last_timestamp = -1

    def see(self, epoch: int, timestamp: int, data_offset: int | None) -> None:
        if epoch != self.epoch:
            self.epoch, self.last_data_offset = epoch, None
        if data_offset is not None:
            self.last_data_offset = data_offset
        self.last_timestamp = timestamp


class Survey:
    """What is known of a log."""

    def __init__(self) -> None:
        self.end = 0
        """The first offset that is left alone."""
        self.because = ""
        """Why it ends there."""
        self.oldest_kept_ms = 0
        """In formats without a delete horizon, tombstones stay in segments that were written to after this time."""
        self.producers: dict[int, _Producer] = {}
        self._aborted: dict[int, list[tuple[int, int]]] = {}
        self.open: dict[int, int] = {}
        """The transactions that have no end: producer, and first offset."""

    def aborted_transactions(self) -> Aborted:
        """The transactions that were aborted, from the begin of the log on."""
        return Aborted(self._aborted)

    @staticmethod
    def marker(records: Sequence[Record]) -> int:
        """The type of a control batch."""
        key = records[0].key if records else None
        return int.from_bytes(key[2:4], "big", signed=True) if key and len(key) >= 4 else _NO_TYPE

    def see(self, batch: RecordBatch) -> None:
        """Take the next batch of the log. Raises DecodeError for a marker that can't be read."""
        producer_id = batch.producer_id
        if producer_id < 0:
            return
        if not batch.is_control:
            if batch.is_transactional and len(batch):
                self.open.setdefault(producer_id, batch.base_offset)
            producer = self.producers.setdefault(producer_id, _Producer())
            producer.see(batch.producer_epoch, batch.max_timestamp, batch.last_offset)
            return
        records = list(batch)
        kind = self.marker(records)
        if records and kind not in (ABORT, COMMIT):
            return
        time = records[0].timestamp if records else batch.max_timestamp
        self.producers.setdefault(producer_id, _Producer()).see(batch.producer_epoch, time, None)
        first = self.open.pop(producer_id, None)
        if kind == ABORT and first is not None:
            self._aborted.setdefault(producer_id, []).append((first, batch.base_offset))

    def forget_expired(self, now: int, expiration_ms: int) -> None:
        """Forget the producers that a broker would have forgotten: they can't go on where they were."""
        self.producers = {
            producer_id: producer
            for producer_id, producer in self.producers.items()
            if producer_id in self.open or now - producer.last_timestamp < expiration_ms
        }

    def is_last_of_producer(self, batch: RecordBatch) -> bool:
        """Whether a batch has the last word of a producer that may go on: its last sequence number, or epoch."""
        producer = self.producers.get(batch.producer_id)
        if producer is None:
            return False
        if producer.last_data_offset is None:
            return batch.is_control and batch.producer_epoch == producer.epoch
        return batch.last_offset == producer.last_data_offset


class Bounds(NamedTuple):
    """What is asked of a survey: as of `tagwire.log.compaction.Compaction`."""

    now: int
    delete_retention_ms: int
    min_compaction_lag_ms: int
    producer_expiration_ms: int
    dirty_from: int | None
    include_active: bool


def survey(
    segments: Sequence[Segment], bounds: Bounds, format: Any, limits: Limits, tell: Callable[[int], None] | None = None
) -> Survey:
    """Look at all batches of the segments of a partition. Raises LogError."""
    found = Survey()
    latest: list[int] = []
    end = segments[0].base_offset or 0 if segments else 0
    for segment in segments:
        newest = -1
        is_active = segment is segments[-1] and not bounds.include_active
        for position, batch in segment.placed_batches(None, format, limits, partial=is_active):
            try:
                found.see(batch)
            except DecodeError as error:
                raise placed(error, str(segment.path), "TWL106", position) from None
            newest = max(newest, batch.max_timestamp)
            end = batch.last_offset + 1
            if tell:
                tell(batch.size)
        latest.append(newest if newest >= 0 else modified_ms(segment))
    found.end, found.because = _end(segments, latest, end, found.open, bounds)
    found.forget_expired(bounds.now, bounds.producer_expiration_ms)
    clean = [
        segment
        for segment in segments
        if (segment.base_offset or 0) < found.end
        and (bounds.dirty_from is None or (segment.base_offset or 0) < bounds.dirty_from)
    ]
    if clean:
        found.oldest_kept_ms = modified_ms(clean[-1]) - bounds.delete_retention_ms
    return found


def _end(
    segments: Sequence[Segment], latest: list[int], end: int, open: dict[int, int], bounds: Bounds
) -> tuple[int, str]:
    """The first offset that is left alone, and why that."""
    ends = [(end, "the log ends there")]
    if segments and not bounds.include_active:
        ends.append((segments[-1].base_offset or 0, "the active segment begins there"))
    if open:
        producer = min(open, key=lambda each: open[each])
        base = max(base for segment in segments if (base := segment.base_offset or 0) <= open[producer])
        ends.append((base, f"the segment there has a transaction of producer {producer} that has no end"))
    if bounds.min_compaction_lag_ms > 0:
        young = bounds.now - bounds.min_compaction_lag_ms
        for segment, newest in zip(segments, latest, strict=True):
            if newest > young and (segment.base_offset or 0) >= (bounds.dirty_from or 0):
                ends.append((segment.base_offset or 0, "the segment there is younger than the lag"))
                break
    return min(ends, key=lambda each: each[0])
