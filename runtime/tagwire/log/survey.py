"""Survey a log before its compaction, from its batches and markers (`tagwire.log.batch_summary`).

The survey finds the offset up to which the log may be compacted, the aborted transactions, and the last sequence number
of each active producer. The rules are a broker's: whole segments are left alone, beginning with the first one that has
records of an open transaction, is younger than a lag, or is the active segment.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from tagwire.log.batch_summary import BatchSummary, Producer, spans_from_json
from tagwire.log.segment import Segment
from tagwire.records import RecordBatch


def modified_ms(segment: Segment) -> int:
    """Return when a segment was last written to, in milliseconds since 1970."""
    return segment.status().st_mtime_ns // 1_000_000


class Survey:
    """The facts about a log."""

    def __init__(self) -> None:
        self.end = 0
        """The offset up to which the log may be compacted."""
        self.because = ""
        """Why compaction ends at that offset."""
        self.oldest_kept_ms = 0
        """In formats without a delete horizon, tombstones stay in segments that were written to after this time."""
        self.ascends = True
        """Whether offsets ascend; otherwise two records could have the same offset."""
        self.producers: dict[int, Producer] = {}
        self.aborted: dict[int, list[tuple[int, int]]] = {}
        """As in `BatchSummary`."""
        self.begun: dict[int, int] = {}
        """The first offset of the transactions that are open when a segment begins, by base offset of the segment."""

    def is_aborted(self, batch: RecordBatch) -> bool:
        """Whether a batch belongs to a transaction that was aborted."""
        return batch.is_transactional and self.has_aborted(batch.producer_id, batch.base_offset)

    def has_aborted(self, producer_id: int, base_offset: int) -> bool:
        """Whether the transactional batch of a producer at this base offset belongs to an aborted transaction."""
        spans = self.aborted.get(producer_id, ())
        at = bisect_right(spans, base_offset, key=lambda span: span[0])
        return at > 0 and base_offset <= spans[at - 1][1]

    def is_last_of_producer(self, batch: RecordBatch) -> bool:
        """Whether a batch has the last sequence number or epoch of an active producer."""
        producer = self.producers.get(batch.producer_id)
        if producer is None:
            return False
        if producer.last_data_offset is None:
            return batch.is_control and batch.producer_epoch == producer.epoch
        return batch.last_offset == producer.last_data_offset

    def between(self, first: int, end: int) -> dict[str, Any]:
        """Return the facts about the batches between two offsets as JSON values."""
        producers = {
            str(each): producer.to_json()
            for each, producer in self.producers.items()
            if producer.last_data_offset is None or first <= producer.last_data_offset < end
        }
        aborted = {
            str(each): concerned
            for each, spans in self.aborted.items()
            if (concerned := [span for span in spans if span[0] < end and span[1] >= first])
        }
        return {"end": self.end, "oldest_kept_ms": self.oldest_kept_ms, "producers": producers, "aborted": aborted}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> "Survey":
        found = cls()
        found.end, found.oldest_kept_ms = facts["end"], facts["oldest_kept_ms"]
        found.producers = {int(each): Producer(*values) for each, values in facts["producers"].items()}
        found.aborted = spans_from_json(facts["aborted"])
        return found


class Bounds(NamedTuple):
    """The options of a survey, as in `tagwire.log.compaction.Compaction`."""

    now: int
    delete_retention_ms: int
    min_compaction_lag_ms: int
    producer_expiration_ms: int
    dirty_from: int | None
    include_active: bool


def survey(segments: Sequence[Segment], summaries: Sequence[BatchSummary], bounds: Bounds) -> Survey:
    """Return the facts about a partition from the batch summaries of all its segments."""
    found, known = Survey(), BatchSummary()
    for segment, of_segment in zip(segments, summaries, strict=True):
        if known.begun:
            found.begun[segment.base_offset or 0] = min(known.begun.values())
        known.go_on(of_segment)
    found.ascends, found.aborted = known.ascends, known.aborted
    found.end, found.because = _end(segments, summaries, known, bounds)
    found.producers = {  # a producer that the broker has forgotten can't continue its sequence
        producer_id: producer
        for producer_id, producer in known.producers.items()
        if producer_id in known.open or bounds.now - producer.last_timestamp < bounds.producer_expiration_ms
    }
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
    segments: Sequence[Segment], summaries: Sequence[BatchSummary], known: BatchSummary, bounds: Bounds
) -> tuple[int, str]:
    """Return the offset up to which the log may be compacted, and the reason for stopping there."""
    begin = segments[0].base_offset or 0 if segments else 0
    ends = [(begin if known.end is None else known.end, "the log ends there")]
    if segments and not bounds.include_active:
        ends.append((segments[-1].base_offset or 0, "the active segment begins there"))
    if known.open:
        producer = min(known.open, key=lambda each: known.open[each])
        base = max(base for segment in segments if (base := segment.base_offset or 0) <= known.open[producer])
        ends.append((base, f"the segment there has an open transaction of producer {producer}"))
    if bounds.min_compaction_lag_ms > 0:
        young = bounds.now - bounds.min_compaction_lag_ms
        for segment, of_segment in zip(segments, summaries, strict=True):
            newest = of_segment.newest if of_segment.newest >= 0 else modified_ms(segment)
            if newest > young and (segment.base_offset or 0) >= (bounds.dirty_from or 0):
                ends.append((segment.base_offset or 0, "the segment there is younger than the lag"))
                break
    return min(ends, key=lambda each: each[0])
