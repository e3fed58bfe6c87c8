"""Which records of a partition belong to transactions that were not committed.

Brokers write an aborted transaction into the `.txnindex` of the segment that
has its marker, and snapshots of what they know of producers. What is behind the
latest snapshot is gone over batch by batch; without any, the whole log is.
What a process has gone over it does not go over again, unless the log has changed there.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from tagwire.errors import DecodeError, TagwireError
from tagwire.log import Partition, Segment
from tagwire.log.damage import Found, pieces
from tagwire.log.errors import placed
from tagwire.log.scan import Scan
from tagwire.records import RecordBatch, control_record
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.storage import Location, folder_location
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery
from tagwire_spark.log_read.replicas import folder_name

if TYPE_CHECKING:
    from tagwire_spark.log_read.splits import Split

__all__ = ["Transactions", "check_abort", "transactions_of"]


class Transactions(NamedTuple):
    """What `read_committed` leaves out."""

    aborted: tuple[tuple[int, int, int], ...]
    """Producer id, first offset, offset of the marker; sorted, and those of a producer don't overlap."""
    stable: int
    """From here on a transaction is open, or nothing is known."""
    indexed_to: int = 0
    """Transactions that end before this offset are known from indexes alone, and not from the log."""

    def within(self, base: int, end: int) -> "Transactions":
        """Those that reach into a segment."""
        return self._replace(aborted=tuple(each for each in self.aborted if each[1] < end and each[2] >= base))

    def lacks_abort(self, producer_id: int, offset: int) -> bool:
        """Whether a marker at this offset, if it aborts something, is in no index."""
        index = bisect_right(self.aborted, (producer_id, offset, NO_OFFSET))
        producer, _, last = self.aborted[index - 1] if index else (-1, 0, -1)
        return offset < self.indexed_to and not (producer == producer_id and offset <= last)

    def hides(self, base_offset: int, producer_id: int, is_transactional: bool, is_control: bool) -> bool:
        """Whether a batch is of an aborted transaction, or of none that is known to be committed."""
        if base_offset >= self.stable:
            return True
        if not is_transactional or is_control:
            return False
        index = bisect_right(self.aborted, (producer_id, base_offset, NO_OFFSET))  # a segment may have thousands
        producer, _, last = self.aborted[index - 1] if index else (-1, 0, -1)
        return producer == producer_id and base_offset <= last


class _Reached(NamedTuple):
    """How far the batches of a partition were gone over, and what was open there."""

    file: str
    position: int
    """Of the last batch."""
    sum: int
    """Over its bytes: a log that was cut and written anew has another batch there."""
    offset: int
    """The one behind it."""
    running: dict[int, int]
    aborted: frozenset[tuple[int, int, int]]


_REACHED: Final[dict[tuple[str, str, bool], _Reached]] = {}
"""What this process has gone over: a stream asks at each trigger, and a log without snapshots is read once for all."""
_MOST: Final = 10_000
"""Partitions in it."""


def check_abort(
    split: "Split", query: LogQuery, producer_id: int, offset: int, of_logs: dict[str, Transactions]
) -> None:
    """Reject a marker that aborts a transaction of the log which no index has. Raises PipelineError, LogError.

    A producer may also abort a transaction without any record in this partition. That is in no index, and hides
    nothing. `of_logs` keeps what the batches of each folder say.
    """
    folder = folder_name(split.file)
    if folder not in of_logs:
        with ExitStack() as stack:
            location = folder_location(folder, stack, query.storage)
            if location is None:
                return
            partition = location.partition(location.local)
            of_logs[folder] = transactions_of(partition, location, query, has_indexes=False)
    if any(each[0] == producer_id and each[2] == offset for each in of_logs[folder].aborted):
        text = f"{split.file}: producer {producer_id} has aborted a transaction at offset {offset}, which is in no"
        remedy = "restore that file, or remove the partition's .snapshot files, so that all batches are read for it"
        raise PipelineError("MALFORMED_KAFKA_LOG", f"{text} .txnindex; {remedy}.")


def transactions_of(
    partition: Partition, location: Location, query: LogQuery, *, has_indexes: bool = True
) -> Transactions:
    """The transactions of a partition. Raises LogError; in PERMISSIVE mode only outside of batches."""
    aborted = {
        (each.producer_id, each.first_offset, each.last_offset)
        for segment in partition.segments
        for each in (segment.aborted_transactions if has_indexes else ())
    }
    known_to, entries = partition.latest_producers if has_indexes else (0, ())
    running = {
        each.producer_id: each.current_txn_first_offset for each in entries if each.current_txn_first_offset >= 0
    }
    key = location.name_of(partition.path.absolute()), repr(query.formats), query.permissive
    followed: set[tuple[int, int, int]] = set()
    indexed_to = known_to
    if has_indexes and (reached := _reached(partition, key, query)) is not None:
        followed = set(reached.aborted)
        if reached.offset >= known_to:
            known_to, running = reached.offset, dict(reached.running)
    last = None
    for segment, position, batch in _behind(partition, known_to, query):
        last = segment.path.name, position, batch
        if batch.is_transactional and batch.last_offset >= known_to:
            try:
                _follow(batch, running, followed)
            except DecodeError as error:
                if not query.permissive:
                    raise placed(error, segment.name, "TWL106", position) from None
    if last is not None and has_indexes:
        name, position, batch = last
        while len(_REACHED) >= _MOST:
            _REACHED.pop(next(iter(_REACHED)))
        sum, offset = crc32(batch.encode()), max(known_to, batch.last_offset + 1)
        _REACHED[key] = _Reached(name, position, sum, offset, dict(running), frozenset(followed))
    return Transactions(_joined(aborted | followed), min(running.values(), default=NO_OFFSET), indexed_to)


def _joined(aborted: Iterable[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Sorted, with those of a producer that overlap as one: an index and its log may tell of one in two ways."""
    found: list[tuple[int, int, int]] = []
    for producer, first, last in sorted(aborted):
        if found and found[-1][0] == producer and first <= found[-1][2]:
            first, last = found[-1][1], max(last, found.pop()[2])
        found.append((producer, first, last))
    return tuple(found)


def _behind(partition: Partition, offset: int, query: LogQuery) -> Iterator[tuple[Segment, int, RecordBatch]]:
    """The whole batches of a partition from an offset on. Raises LogError as `_batches`."""
    bases = [segment.base_offset or 0 for segment in partition.segments]
    for index, segment in enumerate(partition.segments):
        is_last = index + 1 == len(bases)
        if not is_last and bases[index + 1] <= offset:
            continue
        for position, batch in _batches(segment, offset, query, is_last=is_last):
            yield segment, position, batch


def _reached(partition: Partition, key: tuple[str, str, bool], query: LogQuery) -> _Reached | None:
    """What is known of a partition, if its last batch is still the same."""
    known = _REACHED.get(key)
    if known is None:
        return None
    try:
        segment = next(each for each in partition.segments if each.path.name == known.file)
        with segment.opened() as data:
            if crc32(Scan(segment.name, data, query.formats).batch(known.position).encode()) == known.sum:
                return known
    except (StopIteration, TagwireError):  # it is gone, or another one
        pass
    del _REACHED[key]
    return None


def _batches(segment: Segment, offset: int, query: LogQuery, *, is_last: bool) -> Iterator[Found]:
    """The whole batches from an offset on. Raises LogError for damage, unless the query is permissive.

    Bytes at a log's end that are not a batch may be unfinished; the reader of the rows decides that.
    """
    with segment.opened() as data:
        scan = Scan(segment.name, data, query.formats)
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
