"""Which records of a partition belong to transactions that were not committed.

Brokers write an aborted transaction into the `.txnindex` of the segment that
has its marker, and snapshots of what they know of producers. What is behind the
latest snapshot is gone over batch by batch; without any, the whole log is.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tagwire.errors import DecodeError
from tagwire.log import Partition, Segment
from tagwire.log.damage import Found, pieces
from tagwire.log.errors import placed
from tagwire.log.file_bytes import open_file
from tagwire.log.scan import Scan
from tagwire.records import RecordBatch, control_record
from tagwire_spark.files.storage import Location
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery

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

    def hides(self, base_offset: int, producer_id: int, is_transactional: bool, is_control: bool) -> bool:
        """Whether a batch is of an aborted transaction, or of none that is known to be committed."""
        if base_offset >= self.stable:
            return True
        if not is_transactional or is_control:
            return False
        return any(producer_id == each and first <= base_offset <= last for each, first, last in self.aborted)


def transactions_of(partition: Partition, location: Location, query: LogQuery) -> Transactions:
    """The transactions of a partition. Raises LogError; in PERMISSIVE mode only outside of batches."""
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
        is_last = index + 1 == len(bases)
        if not is_last and bases[index + 1] <= known_to:
            continue
        location.bring(segment.path)
        for position, batch in _batches(segment, known_to, query, is_last=is_last):
            if batch.is_transactional and batch.last_offset >= known_to:
                try:
                    _follow(batch, running, aborted)
                except DecodeError as error:
                    if not query.permissive:
                        raise placed(error, str(segment.path), "TWL106", position) from None
    return Transactions(tuple(sorted(aborted)), min(running.values(), default=NO_OFFSET))


def _batches(segment: Segment, offset: int, query: LogQuery, *, is_last: bool) -> Iterator[Found]:
    """The whole batches from an offset on. Raises LogError for damage, unless the query is permissive.

    Bytes at a log's end that are not a batch may be unfinished; the reader of the rows decides that.
    """
    with open_file(segment.path) as data:
        scan = Scan(str(segment.path), data, query.formats)
        for piece in pieces(scan, segment.position_of(scan, offset)):
            if isinstance(piece, Found):
                yield piece
            elif not query.permissive and not (is_last and scan.ends_at(piece.end)):
                raise piece.error


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
