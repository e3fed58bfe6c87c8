"""Find the records of a partition that are in aborted or open transactions.

Brokers list an aborted transaction in the `.txnindex` of the segment that contains its abort marker. The latest
producer snapshot lists the transactions that were open at its offset. Batch headers are read from this offset on. If
there is no snapshot, they are read from the start of the log.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

import pyarrow as pa

from tagwire.errors import DecodeError, TagwireError
from tagwire.log import Partition, Segment
from tagwire.log.column_stream import Pass, ReadOptions
from tagwire.log.column_table import root_column
from tagwire.log.damage import Damage, pieces
from tagwire.log.errors import log_error
from tagwire.log.scan import Scan
from tagwire.records import Record, control_record
from tagwire.text_format import encodable
from tagwire_spark.columns.arrow_types import pc
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.storage import Location, folder_location, folder_of
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery

if TYPE_CHECKING:
    from tagwire_spark.log_read.splits import Split


class _Header(NamedTuple):
    """The batch header fields needed to follow transactions."""

    base_offset: int
    last_offset: int
    position: int
    producer_id: int
    is_transactional: bool
    is_control: bool


_FIELDS: Final = attrgetter(*_Header._fields)
_SMALL: Final = 1 << 12
"""Python reads the batch headers in up to this number of bytes faster than the native engine does."""


class Transactions(NamedTuple):
    """The aborted and open transactions of a partition."""

    aborted: tuple[tuple[int, int, int], ...]
    """Sorted tuples of producer ID, first offset and marker offset. Transactions of one producer do not overlap."""
    stable: int
    """First offset of the earliest open transaction, or a number greater than every offset if none is open."""
    indexed_to: int = 0
    """Below this offset, aborted transactions are known only from transaction indexes."""

    def within(self, base: int, end: int) -> "Transactions":
        return self._replace(aborted=tuple(each for each in self.aborted if each[1] < end and each[2] >= base))

    def misses_abort(self, producer_id: int, offset: int) -> bool:
        """Return whether a producer's aborted transaction at `offset` is missing from the index."""
        return offset < self.indexed_to and not self._is_aborted(producer_id, offset)

    def hides(self, base_offset: int, producer_id: int, is_transactional: bool, is_control: bool) -> bool:
        """Return whether a batch is in an aborted or open transaction."""
        if base_offset >= self.stable:
            return True
        if not is_transactional or is_control:
            return False
        return self._is_aborted(producer_id, base_offset)

    def _is_aborted(self, producer_id: int, offset: int) -> bool:
        index = bisect_right(self.aborted, (producer_id, offset, NO_OFFSET))
        producer, _, last = self.aborted[index - 1] if index else (-1, 0, -1)
        return producer == producer_id and offset <= last


class _Reached(NamedTuple):
    """Cached progress in a partition: the position up to which batches were read, and the transactions found so far."""

    file: str
    position: int
    end: int
    """End position of the last batch."""
    sum: int
    """Checksum of the last batch. If the checksum has changed, the log was truncated and rewritten."""
    offset: int
    """The offset after the last batch."""
    running: dict[int, int]
    aborted: frozenset[tuple[int, int, int]]


_REACHED: Final[dict[tuple[str, str, bool], _Reached]] = {}
"""Caches what was found in each partition, so that a stream's next trigger reads only later batch headers."""
_MOST: Final = 10_000
_PASSES: Final[dict[Any, Pass]] = {}
"""Maps formats and limits to a batch header reader. Readers are reused, because each reader allocates buffers."""


def check_abort(
    split: "Split", query: LogQuery, producer_id: int, offset: int, of_logs: dict[str, Transactions]
) -> None:
    """Raise PipelineError if an abort marker is missing from the index and the transaction has records.

    `producer_id` and `offset` come from the marker. `of_logs` caches the transactions found in each folder's
    batches. Raises LogError if the log can't be read.
    """
    folder = folder_of(split.file)
    if folder not in of_logs:
        with ExitStack() as stack:
            location = folder_location(folder, stack, query.storage)
            if location is None:
                return
            partition = location.partition(location.local)
            of_logs[folder] = transactions_of(partition, location, query, has_indexes=False)
    if any(each[0] == producer_id and each[2] == offset for each in of_logs[folder].aborted):
        raise _unlisted(split.file, producer_id, offset)


def check_unfinished(split: "Split", query: LogQuery, begun: dict[int, int]) -> None:
    """Raise PipelineError if a task returned records of a transaction whose abort marker follows the task's split.

    This happens only if the transaction index is incomplete. `begun` has an entry for each producer with a transaction
    that is open at the end of the split. It maps the producer ID to an offset in this transaction. Raises LogError if a
    later batch is unreadable.
    """
    indexed_to = split.transactions.indexed_to if split.transactions else 0
    with ExitStack() as stack:
        location = folder_location(folder_of(split.file), stack, query.storage)
        partition = location and location.partition(location.local)
        permissive = query._replace(permissive=True)  # another task reports damage
        for _, scan, headers in _headers(partition, min(begun.values()), permissive, None) if partition else ():
            for header in headers:
                producer_id, offset = header.producer_id, header.base_offset
                if not header.is_control or begun.get(producer_id, NO_OFFSET) > offset:
                    continue
                del begun[producer_id]
                with suppress(DecodeError):
                    if offset < indexed_to and any(
                        control_record(each).type == "abort" for each in scan.batch(header.position)
                    ):
                        raise _unlisted(scan.file, producer_id, offset)
            if not begun or headers[-1].last_offset >= indexed_to:
                return


def _unlisted(file: str, producer_id: int, offset: int) -> PipelineError:
    text = f"{file}: producer {producer_id} aborted a transaction at offset {offset}, but no .txnindex file lists it"
    remedy = "restore that file, or remove the partition's .snapshot files, so that tagwire scans all batches"
    return PipelineError("MALFORMED_KAFKA_LOG", f"{text}; {remedy}.")


def transactions_of(
    partition: Partition, location: Location, query: LogQuery, *, has_indexes: bool = True
) -> Transactions:
    """Return the aborted and open transactions of a partition. Raises LogError if its files can't be read."""
    aborted = {
        (each.producer_id, each.first_offset, each.last_offset)
        for each in (partition.aborted_transactions if has_indexes else ())
    }
    known_to, entries = partition.latest_producers if has_indexes else (0, ())
    running = {
        each.producer_id: each.current_txn_first_offset for each in entries if each.current_txn_first_offset >= 0
    }
    key = location.name_of(partition.path.absolute()), repr(query.formats), query.permissive
    followed: set[tuple[int, int, int]] = set()
    indexed_to, reached = known_to, None
    if has_indexes and (reached := _reached(partition, key)) is not None:
        followed = set(reached.aborted)
        if reached.offset >= known_to:
            known_to, running = reached.offset, dict(reached.running)
    last, end = None, known_to
    for segment, scan, headers in _headers(partition, known_to, query, reached):
        for header in headers:
            if header.is_transactional and header.last_offset >= known_to:
                _follow(header, scan, running, followed, permissive=query.permissive)
        position, end = headers[-1].position, headers[-1].last_offset + 1
        stop = position + scan.size(position)
        last = segment.path.name, position, stop, crc32(scan.data[position:stop])
    if last is not None and has_indexes:
        while len(_REACHED) >= _MOST:
            _REACHED.pop(next(iter(_REACHED)))
        _REACHED[key] = _Reached(*last, max(known_to, end), dict(running), frozenset(followed))
    return Transactions(_joined(aborted | followed), min(running.values(), default=NO_OFFSET), indexed_to)


def _joined(aborted: Iterable[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Sort transactions. Merge overlapping ones, because the index and the log can disagree about offsets."""
    found: list[tuple[int, int, int]] = []
    for producer, first, last in sorted(aborted):
        if found and found[-1][0] == producer and first <= found[-1][2]:
            first, last = found[-1][1], max(last, found.pop()[2])
        found.append((producer, first, last))
    return tuple(found)


def _headers(
    partition: Partition, offset: int, query: LogQuery, reached: _Reached | None
) -> Iterator[tuple[Segment, Scan, list[_Header]]]:
    """Yield non-empty lists of a partition's batch headers, beginning at `offset` or at the cached position.

    Headers of batches that are neither transactional nor control batches can be missing. Each list ends with the header
    of the last batch read so far, which can occur twice. Raises LogError for damage, unless the query is permissive.
    Invalid bytes at the end of the log are ignored: they can be an unfinished batch.
    """
    read = None
    for segment, first, is_last in partition.segments_from(offset):
        with segment.opened() as data:
            scan = Scan(segment.name, data, query.formats, query.limits)
            if reached is not None and (reached.file, reached.offset) == (segment.path.name, offset):
                start = reached.end
            else:
                start = 0 if first is None else segment.position_of(scan, first)
            if scan.ends_at(start):
                continue
            if len(data) - start <= _SMALL:
                found = [*pieces(scan, start)]
                skipped = [each for each in found if isinstance(each, Damage)]
                if headers := [_Header(*_FIELDS(each)) for each in found if not isinstance(each, Damage)]:
                    yield segment, scan, headers
            else:
                read = read or _pass(query)
                read.rows.begin(encodable(scan.file), start, None)
                for array in chain(read.of_file(scan, None, cut_off=False), (read.rows.take() for _ in (0,))):
                    if headers := _needed_headers(pa.record_batch(array)):
                        yield segment, scan, headers
                skipped, read.skipped = read.skipped, []
            for damage in skipped:
                if not query.permissive and not (is_last and scan.ends_at(damage.end)):
                    raise damage.error
    if read is not None:
        _PASSES[query.formats, query.limits] = read


def _pass(query: LogQuery) -> Pass:
    """Return a cached or new reader of batch headers. The caller must put it into `_PASSES` after use."""
    if (known := _PASSES.pop((query.formats, query.limits), None)) is not None:
        return known
    options = ReadOptions(formats=query.formats, headers_only=True, errors="skip", limits=query.limits, verified=True)
    return Pass(root_column("batch", _Header._fields, query.formats), options)


def _needed_headers(batch: Any) -> list[_Header]:
    """Return the headers of transactional and control batches, and then the last header, which marks the progress."""
    needed = pc.or_(batch.column("is_transactional"), batch.column("is_control"))
    parts = (each.select(_Header._fields) for each in (batch.filter(needed), batch.slice(max(len(batch) - 1, 0))))
    return [header for part in parts for header in map(_Header, *(column.to_pylist() for column in part.columns))]


def _reached(partition: Partition, key: tuple[str, str, bool]) -> _Reached | None:
    """Return a partition's cached progress, or None if nothing is cached, or if the last batch has changed."""
    known = _REACHED.get(key)
    if known is None:
        return None
    try:
        segment = next(each for each in partition.segments if each.path.name == known.file)
        with segment.opened() as data:
            if crc32(data[known.position : known.end]) == known.sum:
                return known
    except (StopIteration, TagwireError):
        pass
    del _REACHED[key]
    return None


@lru_cache
def _marker_type(key: bytes | None, value: bytes | None) -> str:
    """Return the type of a control record. Types are cached, because most markers have the same bytes."""
    return control_record(Record(0, 0, key, value)).type


def _follow(
    header: _Header, scan: Scan, running: dict[int, int], aborted: set[tuple[int, int, int]], *, permissive: bool
) -> None:
    """Update the open (`running`) and `aborted` transactions with a batch. Raises LogError for an invalid marker."""
    if not header.is_control:
        running.setdefault(header.producer_id, header.base_offset)
        return
    try:
        for record in scan.batch(header.position):
            marker = _marker_type(record.key, record.value)
            if marker in ("abort", "commit"):
                first = running.pop(header.producer_id, None)
                if marker == "abort" and first is not None:
                    aborted.add((header.producer_id, first, record.offset))
    except DecodeError as error:
        if not permissive:
            raise log_error(error, scan.file, "TWL106", header.position) from None
