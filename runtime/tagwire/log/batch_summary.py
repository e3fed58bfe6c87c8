"""Summarize the batch headers of each segment for compaction, and combine the summaries into a survey of the log.

A summary contains the transactions that began or ended in the segment, and each producer's last batch. Segments can be
summarized in parallel, even in different processes; `go_on` then joins the summaries in log order.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagwire.log.batch_rules import ABORT, COMMIT
from tagwire.log.scan import Progress, ignore
from tagwire.log.segment import Segment
from tagwire.records import RecordBatch
from tagwire.records.control import control_type

if TYPE_CHECKING:
    from tagwire.log.compaction import Compaction


@dataclass(slots=True)
class Producer:
    """The part of a broker's producer state that compaction needs: the epoch, and the last batch."""

    epoch: int = -1
    last_data_offset: int | None = None
    """The offset of the last data batch; None without one, or if a marker has raised the epoch since that batch."""
    last_timestamp: int = -1
    is_steady: bool = True
    """Whether all batches so far have the same epoch."""

    def see(self, epoch: int, timestamp: int, data_offset: int | None) -> None:
        if epoch != self.epoch:
            self.is_steady = self.epoch < 0
            self.epoch, self.last_data_offset = epoch, None
        if data_offset is not None:
            self.last_data_offset = data_offset
        self.last_timestamp = timestamp

    def go_on(self, later: "Producer") -> None:
        stays = later.is_steady and later.epoch == self.epoch
        if later.last_data_offset is not None or not stays:
            self.last_data_offset = later.last_data_offset
        self.epoch, self.last_timestamp = later.epoch, later.last_timestamp
        self.is_steady = self.is_steady and stays


class BatchSummary:
    """The summary of one segment or, after calls of `go_on`, of several consecutive segments."""

    def __init__(self) -> None:
        self.end: int | None = None
        """The offset after the last batch, or None without batches."""
        self.first: int | None = None
        self.newest = -1
        """The highest timestamp."""
        self.ascends = True
        """Whether each batch begins after the end of the previous one."""
        self.producers: dict[int, Producer] = {}
        self.begun: dict[int, int] = {}
        """For each producer, the offset of its first transactional batch after its last marker."""
        self.open: dict[int, int] = {}
        """The first offset of each open transaction, by producer."""
        self.aborted: dict[int, list[tuple[int, int]]] = {}
        """The aborted transactions of each producer, as (first offset, offset of the abort marker)."""
        self.markers: dict[int, tuple[int, int]] = {}
        """The first marker of each producer, as (type, offset)."""

    def see(self, batch: RecordBatch) -> None:
        """Add the next batch of the segment. Raises DecodeError for an unreadable transaction marker."""
        first = batch.last_offset if batch.record_format.records is None else batch.base_offset
        self.ascends = self.ascends and (self.end is None or first >= self.end)
        self.first = first if self.first is None else self.first
        self.end = batch.last_offset + 1
        self.newest = max(self.newest, batch.max_timestamp)
        if batch.producer_id >= 0:
            self._see_producer(batch)

    def _see_producer(self, batch: RecordBatch) -> None:
        producer_id = batch.producer_id
        if not batch.is_control:
            if batch.is_transactional:
                self.begun.setdefault(producer_id, batch.base_offset)
                if len(batch):
                    self.open.setdefault(producer_id, batch.base_offset)
            producer = self.producers.setdefault(producer_id, Producer())
            producer.see(batch.producer_epoch, batch.max_timestamp, batch.last_offset)
            return
        records = list(batch)
        kind = control_type(records[0].key if records else None)
        if records and kind not in (ABORT, COMMIT):
            return
        time = records[0].timestamp if records else batch.max_timestamp
        self.producers.setdefault(producer_id, Producer()).see(batch.producer_epoch, time, None)
        self.markers.setdefault(producer_id, (kind, batch.base_offset))
        self.begun.pop(producer_id, None)
        first = self.open.pop(producer_id, None)
        if kind == ABORT and first is not None:
            self.aborted.setdefault(producer_id, []).append((first, batch.base_offset))

    def go_on(self, later: "BatchSummary") -> None:
        in_order = self.end is None or later.first is None or later.first >= self.end
        self.ascends = self.ascends and later.ascends and in_order
        self.first = later.first if self.first is None else self.first
        self.end = self.end if later.end is None else later.end
        self.newest = max(self.newest, later.newest)
        for producer_id, producer in later.producers.items():
            self.producers.setdefault(producer_id, Producer(producer.epoch)).go_on(producer)
        for producer_id in later.aborted.keys() | (self.open.keys() & later.markers.keys()):
            self.aborted.setdefault(producer_id, []).extend(self._aborted_in(later, producer_id))
        self.begun = later.begun | {each: first for each, first in self.begun.items() if each not in later.markers}
        self.open = later.open | {each: first for each, first in self.open.items() if each not in later.markers}
        self.markers = later.markers | self.markers

    def _aborted_in(self, later: "BatchSummary", producer_id: int) -> list[tuple[int, int]]:
        """Return the producer's transactions whose abort marker is in the segment `later`.

        Each transaction is a pair, as in the attribute `aborted`: its first offset, and the offset of its abort marker.
        The first transaction may have begun in an earlier segment.
        """
        spans = later.aborted.get(producer_id, [])
        if producer_id not in self.open or producer_id not in later.markers:
            return spans
        kind, offset = later.markers[producer_id]
        if kind != ABORT:
            return spans
        return [(self.open[producer_id], offset), *(span for span in spans if span[1] != offset)]


def summarize(segment: Segment, options: "Compaction", *, partial: bool, progress: Progress = ignore) -> BatchSummary:
    """Summarize all batches of a segment. `partial` works as in `Segment.batches`.

    `progress` is called with the size of each batch in bytes. Raises LogError for an invalid batch, unless `options`
    skips it.
    """
    found = BatchSummary()
    for batch in segment.batches(None, options.format, options.limits, partial=partial, skip=options.silent):
        found.see(batch)
        progress(batch.size)
    return found


def modified_ms(segment: Segment) -> int:
    """Return when a segment's file was last modified, in milliseconds since 1970."""
    return segment.status().st_mtime_ns // 1_000_000


class Survey:
    """The facts that compaction needs at its start: aborted transactions, active producers, and where to stop.

    As in a broker, compaction stops before the active segment, a segment that is too young, or a segment with an open
    transaction.
    """

    def __init__(self) -> None:
        self.end = 0
        """The offset up to which the log may be compacted."""
        self.because = ""
        """Why compaction ends at that offset."""
        self.oldest_kept_ms = 0
        """In formats without a delete horizon, tombstones are kept in segments modified after this time."""
        self.ascends = True
        """Whether offsets ascend. If they don't, two records could have the same offset."""
        self.producers: dict[int, Producer] = {}
        self.aborted: dict[int, list[tuple[int, int]]] = {}
        """The aborted transactions of each producer, in the same form as `BatchSummary.aborted`."""
        self.begun: dict[int, int] = {}
        """For each segment's base offset, the first offset of the transactions that are open where it begins."""

    def is_aborted(self, batch: RecordBatch) -> bool:
        return batch.is_transactional and self.has_aborted(batch.producer_id, batch.base_offset)

    def has_aborted(self, producer_id: int, base_offset: int) -> bool:
        """Return whether the producer's transactional batch at `base_offset` belongs to an aborted transaction."""
        spans = self.aborted.get(producer_id, ())
        at = bisect_right(spans, base_offset, key=lambda span: span[0])
        return at > 0 and base_offset <= spans[at - 1][1]

    def is_last_of_producer(self, batch: RecordBatch) -> bool:
        """Return whether the batch must be kept, even without records, so that brokers still know its producer.

        True for the batch with the producer's last records, even if compaction has removed them. If the producer has no
        records in its current epoch, true for each control batch with that epoch. False if the producer has expired.
        """
        producer = self.producers.get(batch.producer_id)
        if producer is None:
            return False
        if producer.last_data_offset is None:
            return batch.is_control and batch.producer_epoch == producer.epoch
        return batch.last_offset == producer.last_data_offset

    def between(self, first: int, end: int) -> "Survey":
        """Return the part of the survey that concerns the offsets from `first` to `end - 1`."""
        found = Survey()
        found.end, found.oldest_kept_ms = self.end, self.oldest_kept_ms
        found.producers = {
            each: producer
            for each, producer in self.producers.items()
            if producer.last_data_offset is None or first <= producer.last_data_offset < end
        }
        found.aborted = {
            each: concerned
            for each, spans in self.aborted.items()
            if (concerned := [span for span in spans if span[0] < end and span[1] >= first])
        }
        return found


def survey(segments: Sequence[Segment], summaries: Sequence[BatchSummary], options: "Compaction") -> Survey:
    """Combine the summaries of all segments of a partition into a survey."""
    found, known = Survey(), BatchSummary()
    for segment, of_segment in zip(segments, summaries, strict=True):
        if known.begun:
            found.begun[segment.base_offset or 0] = min(known.begun.values())
        known.go_on(of_segment)
    found.ascends, found.aborted = known.ascends, known.aborted
    found.end, found.because = _end(segments, summaries, known, options)
    found.producers = {  # leave out expired producers: the broker has forgotten their sequence numbers
        producer_id: producer
        for producer_id, producer in known.producers.items()
        if producer_id in known.open or options.now - producer.last_timestamp < options.producer_expiration_ms
    }
    clean = [
        segment
        for segment in segments
        if (segment.base_offset or 0) < found.end
        and (options.dirty_from is None or (segment.base_offset or 0) < options.dirty_from)
    ]
    if clean:
        found.oldest_kept_ms = modified_ms(clean[-1]) - options.delete_retention_ms
    return found


def _end(
    segments: Sequence[Segment], summaries: Sequence[BatchSummary], known: BatchSummary, options: "Compaction"
) -> tuple[int, str]:
    """Return the offset before which compaction stops, and the reason why."""
    begin = segments[0].base_offset or 0 if segments else 0
    ends = [(begin if known.end is None else known.end, "the log ends there")]
    if segments and not options.include_active:
        ends.append((segments[-1].base_offset or 0, "the active segment begins there"))
    if known.open:
        producer = min(known.open, key=lambda each: known.open[each])
        base = max(base for segment in segments if (base := segment.base_offset or 0) <= known.open[producer])
        ends.append((base, f"the segment there has an open transaction of producer {producer}"))
    if options.min_compaction_lag_ms > 0:
        young = options.now - options.min_compaction_lag_ms
        for segment, of_segment in zip(segments, summaries, strict=True):
            newest = of_segment.newest if of_segment.newest >= 0 else modified_ms(segment)
            if newest > young and (segment.base_offset or 0) >= (options.dirty_from or 0):
                ends.append((segment.base_offset or 0, "the segment there is younger than the lag"))
                break
    return min(ends, key=lambda each: each[0])
