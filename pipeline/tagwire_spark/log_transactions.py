"""Which records of a partition belong to transactions that were not committed.

Brokers write an aborted transaction into the `.txnindex` of the segment that
has its marker, and snapshots of what they know of producers. What is behind the
latest snapshot is gone over batch by batch; without any, the whole log is.
"""

from typing import Any, NamedTuple

from tagwire.log import Partition
from tagwire.records import RecordBatch, control_record
from tagwire_spark.log_query import NO_OFFSET
from tagwire_spark.storage import Place

__all__ = ["Transactions", "transactions_of"]


class Transactions(NamedTuple):
    """What `read_committed` leaves out."""

    aborted: tuple[tuple[int, int, int], ...]
    """Producer id, first offset, offset of the marker."""
    stable: int
    """From here on a transaction is open, or nothing is known."""

    def within(self, base: int, end: int) -> "Transactions":
        """Those that reach into a segment."""
        return self._replace(aborted=tuple(each for each in self.aborted if each[1] < end and each[2] >= base))

    def hides(self, batch: RecordBatch) -> bool:
        """Whether a batch is of an aborted transaction, or of none that is known to be committed."""
        base = batch.base_offset
        if base >= self.stable:
            return True
        if not batch.is_transactional or batch.is_control:
            return False
        return any(batch.producer_id == each and first <= base <= last for each, first, last in self.aborted)


def transactions_of(partition: Partition, place: Place) -> Transactions:
    """What is known of a partition's transactions. Raises LogError."""
    aborted = {
        (each.producer_id, each.first_offset, each.last_offset)
        for segment in partition.segments
        for each in segment.aborted_transactions
    }
    snapshots = partition.producer_snapshots
    known_to = max(snapshots, default=0)
    entries: tuple[Any, ...] = snapshots.get(known_to, ())
    running = {
        each.producer_id: each.current_txn_first_offset for each in entries if each.current_txn_first_offset >= 0
    }
    bases = [segment.base_offset or 0 for segment in partition.segments]
    for index, segment in enumerate(partition.segments):
        if index + 1 < len(bases) and bases[index + 1] <= known_to:
            continue
        place.bring(segment.path)
        for batch in segment.batches(known_to, partial=True):
            if batch.is_transactional and batch.last_offset >= known_to:
                _follow(batch, running, aborted)
    return Transactions(tuple(sorted(aborted)), min(running.values(), default=NO_OFFSET))


def _follow(batch: RecordBatch, running: dict[int, int], aborted: set[tuple[int, int, int]]) -> None:
    """What a batch begins or ends."""
    if not batch.is_control:
        running.setdefault(batch.producer_id, batch.base_offset)
        return
    for record in batch:
        marker = control_record(record).type
        if marker in ("abort", "commit"):
            first = running.pop(batch.producer_id, None)
            if marker == "abort" and first is not None:
                aborted.add((batch.producer_id, first, record.offset))
