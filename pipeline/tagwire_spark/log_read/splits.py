"""Plan, on the driver, which bytes of which segments each task reads. Planning reads no records.

A split consists of the batches that begin in a byte range, which can start and end anywhere. To find the first batch, a
task starts at the last index entry before the range, or at the start of the segment if the entry is wrong. So a wrong
index costs time but never loses a record.

A split of a whole segment is cut to the size of a task, and small splits share a task.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, nullcontext
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from tagwire.log import LogError, LogPathError, Partition, Segment
from tagwire.log.damage import Damage, damage_at
from tagwire.log.scan import Scan
from tagwire_spark.errors import loss, rejections, repeated
from tagwire_spark.files.file_state import FileState
from tagwire_spark.files.storage import Location, locations
from tagwire_spark.files.store import at_once, is_remote
from tagwire_spark.log_read.listing import (
    check_found,
    folders_of,
    log_locations,
    partitions_of,
    partitions_there,
    settled_location,
)
from tagwire_spark.log_read.log_offsets import LogEnd, earlier_part, end_of, with_offsets_of_times
from tagwire_spark.log_read.partition_checks import check_partitions_exist, shorter_replicas, without_replicas
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery, partition_key
from tagwire_spark.log_read.uncommitted import Transactions, transactions_of

_T = TypeVar("_T")
_ATTEMPTS: Final = 5
_SPLIT_BYTES: Final = 64 << 20
_TASKS: Final = 20_000
"""Approximate maximum number of tasks per read. It is limited because the driver must pickle every task."""
_OPENING: Final = 1 << 17
"""The cost of opening a local segment, expressed as the number of bytes that can be read in that time."""
_FETCHING: Final = 1 << 20
"""The cost of opening a remote segment, expressed as the number of bytes that can be read in that time."""


class Split(NamedTuple):
    """The part of a segment that a task reads."""

    file: str
    topic: str
    partition: int
    start: int
    end: int
    """Batches that begin at `start` <= position < `end` belong to the split."""
    hint: tuple[int, int] | None
    """Position and offset of an index entry at or before the first requested batch."""
    first_offset: int
    end_offset: int
    """Records with `first_offset` <= offset < `end_offset` are requested."""
    is_last: bool
    transactions: Transactions | None = None
    state: FileState | None = None
    next_base: int = NO_OFFSET
    """Base offset of the partition's next segment."""
    stop: int | None = None
    """End position of the last whole batch if the segment may still grow, or None to read to the end of the file."""
    offset_index: tuple[str, FileState] | None = None
    """The index of a remote segment, where the task looks up its first batch."""


def plan(query: LogQuery) -> list[Split]:
    """Return the splits that a query needs, in offset order within each partition.

    Raises PipelineError, for example if a path has no segments, or a topic or partition doesn't exist.
    """
    splits: list[Split] = []
    every: list[Location] = []
    with rejections("MALFORMED_KAFKA_LOG"), ExitStack() as stack:
        shorter = set[str]()
        if query.longest:
            every_log = log_locations(query.paths, stack, query.storage)
            copies = (_partitions(query, each, folders_of(each)) for each in every_log)
            shorter = shorter_replicas(chain.from_iterable(copies))
        for path in query.paths:
            found, of_path = _settled(query, path, stack, shorter)
            if not of_path:
                check_found(path, found)
            splits += of_path
            every += found
        seen = {(each.topic, each.partition) for each in splits}
        check_partitions_exist(query, seen, lambda: partitions_there(every))
    return cut(without_replicas(splits, query), query)


def plan_alone(query: LogQuery, path: str) -> list[Split]:
    """Return the splits of a query in one partition folder or segment.

    The caller must check that no commit changes the log folder during this call. Raises PipelineError, for example for
    damaged logs.
    """
    splits: list[Split] = []
    with rejections("MALFORMED_KAFKA_LOG"), ExitStack() as stack:
        for location in locations((path,), stack, query.storage, looks_in_parents=False):
            with settled_location(location) if is_remote(path) else nullcontext(folders_of(location)) as folders:
                splits += whole_splits(query, _partitions(query, location, folders), location)
    return cut(splits, query)


_ToRead = tuple[str, Partition, Sequence[Segment]]
"""The path or URL of a partition folder, the partition, and the segments to read."""


def _partitions(
    query: LogQuery, location: Location, folders: Iterable[Path], shorter: Set[str] = frozenset()
) -> Iterator[_ToRead]:
    """Yield what to read from each partition folder or segment that the query selects, except folders in `shorter`."""
    is_file = location.local.is_file()
    for partition in partitions_of(location, query, [location.local.parent] if is_file else folders):
        if (name := location.name_of(partition.path)) not in shorter:
            yield name, partition, [location.segment(location.local)] if is_file else partition.segments


@repeated(_ATTEMPTS, "KAFKA_LOG_CHANGED", "KAFKA_LOG_NOT_FOUND")
def _settled(query: LogQuery, path: str, stack: ExitStack, shorter: Set[str]) -> tuple[list[Location], list[Split]]:
    """List a path and plan the splits of its segments. Leave out the folders in `shorter`."""
    found = [*log_locations((path,), stack, query.storage)]
    splits: list[Split] = []
    for location in found:
        with settled_location(location) as folders:
            splits += whole_splits(query, _partitions(query, location, folders, shorter), location)
    return found, splits


def _requested(query: LogQuery, to_read: _ToRead, location: Location) -> Iterator[tuple[Segment, Split]]:
    """Yield the segments that can have requested rows, according to file names, each with a split of the whole segment.

    Raises PipelineError if requested offsets don't exist, and LogError for damage.
    """
    name, partition, segments = to_read
    topic, number = partition_key(partition.path)
    if segments:
        _look_at_end(query, partition, segments, name)
    query = with_offsets_of_times(query, partition, name, (topic, number))
    start = (query.starts or {}).get((topic, number), 0)
    if query.fails_on_loss and segments and start and start < (log_start := segments[0].base_offset or 0):
        raise loss(f"{name} begins at offset {log_start}, but the starting offset is {start}")
    first = max(query.first_offset, start)
    end = min(query.end_offset, (query.ends or {}).get((topic, number), NO_OFFSET))
    if query.from_log_start and partition.log_start_offset is not None:
        first = max(first, partition.log_start_offset)
    transactions = transactions_of(partition, location, query) if query.committed else None
    for index, segment in enumerate(segments):
        base = segment.base_offset or 0
        next_base = NO_OFFSET if index + 1 == len(segments) else segments[index + 1].base_offset or 0
        if base >= end or next_base <= first:
            continue
        path, is_last = segment.path, next_base == NO_OFFSET
        file, known = location.name_of(path), transactions and transactions.within(base, next_base)
        state = location.growing_state_of(path, segment.end) if is_last else location.state_of(path)
        if state.size > _SPLIT_BYTES and state.ends and not state.ends[1]:
            segment.end = _end_before_zeros(segment, query)
            state = location.growing_state_of(path, segment.end)
        size = state.size if segment.end is None else min(state.size, segment.end)
        split = Split(file, topic, number, 0, size, None, first, end, is_last, known, state, next_base, segment.end)
        yield segment, split


def _look_at_end(query: LogQuery, partition: Partition, segments: Sequence[Segment], name: str) -> None:
    """Raise PipelineError if a requested offset is after the log's end.

    If the option `partial` is set, also set the last segment's end to the start of an unfinished batch. The end of a
    remote segment without an index is not checked, because that would require a read of the whole segment.
    """
    key, last = partition_key(partition.path), segments[-1]
    given = {"starting": (query.starts or {}).get(key, 0), "ending": (query.ends or {}).get(key, 0)}
    is_beyond_base = query.fails_on_loss and max(given.values()) > (last.base_offset or 0)
    is_compared = is_beyond_base and not (is_remote(name) and last.sibling("index") is None)
    if not (query.partial or is_compared):
        return
    # Ignore damage here, because a task will report it.
    end = end_of(segments, query.formats, permissive=True)
    assert end is not None
    if query.partial and _damage_after(end, last, query) is None:
        for each in (last, *(each for each in partition.segments[-1:] if each.path == last.path)):
            each.end = end.position
    for kind, offset in given.items() if is_compared else ():
        if offset > end.offset:
            raise loss(f"The {kind} offset {offset} is greater than {end.offset}, the log end offset of {name}")


def _end_before_zeros(segment: Segment, query: LogQuery) -> int | None:
    """Return the end of a segment's last batch if only zeros follow, so that not every task has to read the zeros."""
    end = end_of([segment], query.formats, permissive=True)
    with segment.opened() as data:
        scan = Scan(segment.name, data, query.formats)
        return end.position if end is not None and scan.ends_at(end.position) else segment.end


def _damage_after(end: LogEnd, segment: Segment, query: LogQuery) -> Damage | None:
    """Return the damage after a log's last batch, or None if the bytes may be an incomplete batch, or now a whole one.

    A writer may have completed the last batch in the meantime.
    """
    with segment.opened() as data:
        return damage_at(Scan(segment.name, data, query.formats), end.position, end.offset - 1)


def whole_splits(query: LogQuery, partitions: Iterable[_ToRead], location: Location) -> Iterator[Split]:
    """Yield a split for each segment that contains requested rows. Indexes of remote segments are read concurrently.

    Raises PipelineError if requested offsets don't exist, and LogError for damage.
    """
    requested = (each for to_read in partitions for each in _requested(query, to_read, location))
    has_start = query.first_timestamp is not None or query.starts is not None or query.first_offset > 0
    begun = partial(_begun, query, location=location)
    for split in at_once(begun, requested, is_concurrent=has_start and location.is_concurrent):
        if split is not None:
            yield split


def _begun(query: LogQuery, requested: tuple[Segment, Split], location: Location) -> Split | None:
    """Return the split of a whole segment, with its index if it is remote, and a start position from the index.

    Returns None if the time index shows that all records of the segment are earlier than the requested time.
    """
    segment, split = requested
    if query.first_timestamp is not None:
        earlier = earlier_part(segment, query.first_timestamp, query.formats)
        if earlier is not None:
            if earlier.is_all and not split.is_last:
                return None
            split = split._replace(first_offset=max(split.first_offset, earlier.end_offset))
    path = segment.sibling("index") if is_remote(split.file) else None
    if path is not None and (state := location.state_of(path)).size:
        split = split._replace(offset_index=(location.name_of(path), state))
    return split._replace(hint=_first_requested(segment, split))


def _first_requested(segment: Segment, split: Split) -> tuple[int, int] | None:
    """Return the position and offset of the index entry at which to start reading, or None for the segment's start."""
    if split.first_offset <= (segment.base_offset or 0):
        return None
    try:
        found = segment.index_entry(split.first_offset)
    except (LogError, LogPathError):
        return None  # the index only saves time
    return (found.position, found.offset) if found and 0 < found.position < split.end else None


def _task_bytes(query: LogQuery, splits: Iterable[Split]) -> int:
    """Return the number of bytes per task: from the options, or a default that grows if there are many tasks."""
    total = sum(map(_bytes, splits))
    most = query.split_bytes
    if most is None:
        most = max(_SPLIT_BYTES, total // _TASKS)
    return max(1, min(most, total // query.min_tasks)) if query.min_tasks > 1 else most


def cut(splits: Sequence[Split], query: LogQuery) -> list[Split]:
    """Cut large splits into splits of about the task size. Leave out an empty segment at the log's end."""
    step = _task_bytes(query, splits)
    return [part for split in splits for part in _parts(split, step)]


def _parts(split: Split, step: int) -> Iterator[Split]:
    """Cut a segment into splits of `step` bytes. Only the first split keeps the hint."""
    if is_remote(split.file) and split.offset_index is None:
        step = split.end  # without an index, each task would fetch all bytes before its split
    begin = split.hint[0] if split.hint else 0
    last = split.end - step // 8  # a small remainder becomes part of the last split
    starts = range(begin + step, last, step) if split.end else ()
    if not starts:
        # An empty segment gets a task, which checks for missing records, unless it is the log's last segment.
        if split.end or split.next_base != NO_OFFSET:
            yield split
        return
    yield split._replace(end=starts[0])
    for start, end in pairwise([*starts, split.end]):
        yield split._replace(start=start, end=end, hint=None)


def _bytes(split: Split) -> int:
    return split.end - (split.hint[0] if split.hint else split.start)


def grouped(splits: Sequence[Split], query: LogQuery) -> list[list[Split]]:
    """Group splits into tasks. Small splits share a task."""
    costs = (max(_bytes(split), _FETCHING if is_remote(split.file) else _OPENING) for split in splits)
    return grouped_by_cost(splits, costs, _task_bytes(query, splits))


def grouped_by_cost(units: Iterable[_T], costs: Iterable[int], most: int) -> list[list[_T]]:
    """Group consecutive units of work into tasks that cost at most `most`, or contain only one unit."""
    tasks: list[list[_T]] = []
    left = 0
    for unit, cost in zip(units, costs, strict=True):
        if cost > left:
            tasks.append([])
            left = most
        tasks[-1].append(unit)
        left -= cost
    return tasks
