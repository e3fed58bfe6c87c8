"""Cut the splits of whole segments to the size of a task, and group small splits into tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tagwire_spark.files.storage import is_remote
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery

if TYPE_CHECKING:
    from tagwire_spark.log_read.splits import Split

_SPLIT_BYTES: Final = 64 << 20
_TASKS: Final = 20_000
"""Approximate maximum number of tasks per read. It is limited because the driver must pickle every task."""
_OPENING: Final = 1 << 17
"""The cost of opening a local segment, expressed as the number of bytes that can be read in that time."""
_FETCHING: Final = 1 << 20
"""The cost of opening a remote segment, expressed as the number of bytes that can be read in that time."""


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
    tasks: list[list[Split]] = []
    most, left = _task_bytes(query, splits), 0
    for split in splits:
        cost = max(_bytes(split), _FETCHING if is_remote(split.file) else _OPENING)
        if cost > left:
            tasks.append([])
            left = most
        tasks[-1].append(split)
        left -= cost
    return tasks
