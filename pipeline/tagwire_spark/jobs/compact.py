"""`compact_logs` does on all workers what `tagwire log compact` does on one machine.

A small partition is compacted in one task. The segments of a large partition are processed in three rounds: read the
batch headers, find the last offset of each key, and rewrite the segments. Values are never shuffled. The output is byte
for byte that of `tagwire log compact`.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from tagwire.log import Partition, Segment
from tagwire.log.batch_summary import BatchSummary, Survey, summarize, survey
from tagwire.log.compact import (
    SEGMENT_FILES,
    CompactReport,
    Rewriter,
    SegmentReport,
    compact_partition,
    copy_files,
    copy_segment,
    groups,
)
from tagwire.log.compaction import Compaction, Judge
from tagwire.log.convert import copy_directory_files
from tagwire.log.names import log_file
from tagwire_spark.files.storage import Listed
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions
from tagwire_spark.jobs.last_offsets import KeysUnit, find_last_offsets, last_offsets_between
from tagwire_spark.jobs.outputs import Staging, attempt, flushed
from tagwire_spark.jobs.tasks import TASK_BYTES, run_units, steadily
from tagwire_spark.jobs.units import (
    FoundPartition,
    SentSegment,
    fetch_companions,
    log_folders,
    partition_job,
    received_folder,
    received_segment,
    sent_segment,
    shown_path,
)


@steadily
def compact_logs(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    output: str | Path,
    *,
    storage_options: Mapping[str, Any] | None = None,
    work_folder: str | Path | None = None,
    **rules: Any,
) -> list[CompactReport]:
    """Write compacted copies of partitions to a folder. Return a report for each partition, in order.

    `rules` are the arguments of `tagwire.log.compaction.Compaction`; `now` defaults to the time of this call. For URLs,
    see `tagwire_spark.jobs`. Raises LogPathError for a path that isn't a log, and PipelineError for other errors.
    """
    given: dict[str, Any] = {name: value for name, value in rules.items() if value is not None}
    given.setdefault("now", int(time.time() * 1000))
    compaction = Compaction(**given)
    with partition_job(spark, paths, output, work_folder, storage_options) as (partitions, staged):
        logs = [_Log(number, found, compaction) for number, found in enumerate(partitions)]
        _compact(spark, logs, Task(staged, compaction, StorageOptions(storage_options or {})))
        apart = {log.found for log in logs if log.is_apart}
        fetch_companions(partitions, lambda found: companion_files(found.partition) if found in apart else ())
        for log in logs:
            log.finish(staged)
        folders = ((folder, staged.output / path) for folder, path, _ in log_folders(partitions))
        copy_directory_files(folders, keeps_producers=True)
    return [log.report() for log in logs]


class _Unit(NamedTuple):
    """A unit of work for the log with this number."""

    log: int
    size: int
    """The number of bytes to read."""
    work: Callable[["Task"], Any]
    """One of the functions at the end of this module, with its arguments except for the task."""


class _Log:
    def __init__(self, number: int, found: FoundPartition, compaction: Compaction) -> None:
        self.number = number
        self.found = found
        self.compaction = compaction
        self.segments = found.listed_segments()
        self.sizes = [segment.size for segment in self.segments]
        # If `dirty_from` is set, one task compacts the whole log, because it needs all keys from that offset on.
        self.is_apart = sum(self.sizes) > TASK_BYTES and compaction.dirty_from is None
        """Whether each segment is compacted in its own task."""
        self.begins = [0]
        """The end offset of the batches before each segment, followed by the end offset of the log."""
        self.known = Survey()
        self.keys = 0
        self.results: list[Any] = []
        """The results of this log's units of work in the last round: a BatchSummary or a _Written for each."""

    @property
    def cleaned(self) -> Sequence[Segment]:
        return [each for each in self.segments if (each.base_offset or 0) < self.known.end]

    def as_a_whole(self) -> list[_Unit]:
        partition, root = self.found.partition, self.found.root
        listed = root.listed(partition.path, partition.each_file())
        return [_Unit(self.number, sum(self.sizes), partial(compact_whole, folder=self.found.name, listed=listed))]

    def _sent(self, segment: Segment) -> SentSegment:
        return sent_segment(segment, self.found.root)

    def summaries_of_each(self) -> list[_Unit]:
        """Return units of work that each summarize the batch headers of one segment."""
        last = len(self.segments) - (not self.compaction.include_active)
        return [
            _Unit(self.number, size, partial(summary_of, sent=self._sent(segment), is_active=index >= last))
            for index, (segment, size) in enumerate(zip(self.segments, self.sizes, strict=True))
        ]

    def take_summaries(self) -> None:
        """Take the summaries of all segments. If offsets don't ascend, one task will compact the whole partition."""
        summaries, self.results = self.results, []
        for each in summaries:
            self.begins.append(self.begins[-1] if each.end is None else each.end)
        self.known = survey(self.segments, summaries, self.compaction)
        self.is_apart = self.known.ascends

    def keys_of_each(self) -> list[KeysUnit]:
        """Return units of work that each find the keys of one segment."""
        found = []
        for index, segment in enumerate(self.cleaned):
            known = self.known.between(self.begins[index], self.begins[index + 1])
            known.producers = {}
            found.append(KeysUnit(self.number, self.sizes[index], self._sent(segment), known))
        return found

    def as_left(self) -> list[_Unit]:
        """Return the last round's units of work, which rewrite or copy segments."""
        found, index = [], 0
        for group in groups(self.cleaned, self.compaction.segment_bytes):
            next_index = index + len(group)
            found.append(self._group(index, next_index))
            index = next_index
        for segment, size in zip(self.segments[index:], self.sizes[index:], strict=True):
            found.append(_Unit(self.number, size, partial(copy_unchanged, sent=self._sent(segment))))
        return found

    def _group(self, index: int, next_index: int) -> _Unit:
        begin, end = self.begins[index], self.begins[next_index]
        first = min(begin, self.known.begun.get(self.segments[index].base_offset or 0, begin))
        work = partial(
            rewrite,
            log=self.number,
            group=[self._sent(segment) for segment in self.segments[index:next_index]],
            before=[self._sent(segment) for segment in self.segments[bisect_right(self.begins, first) - 1 : index]],
            offsets=(first, end),
            known=self.known.between(first, end),
            is_first=index == 0,
        )
        return _Unit(self.number, sum(self.sizes[index:next_index]), work)

    def finish(self, staged: Staging) -> None:
        for result in self.results:
            staged.take(result.attempt, self.found.target)
        if self.is_apart:
            copy_files(self.found.partition, staged.output / self.found.target, self.known.end)

    def report(self) -> CompactReport:
        if not self.is_apart:
            [result] = self.results
            return result.partition  # type: ignore[no-any-return]
        segments = [report for result in self.results for report in result.segments]
        return CompactReport(shown_path(self.found.name), self.known.end, self.known.because, self.keys, segments)


def _compact(spark: SparkSession, logs: Sequence[_Log], task: "Task") -> None:
    """Compact the logs in rounds. Each round sends units of work to workers."""
    _round(spark, logs, task, [log.summaries_of_each() if log.is_apart else log.as_a_whole() for log in logs])
    apart = [log for log in logs if log.is_apart]
    for log in apart:
        log.take_summaries()
    keys = [unit for log in apart if log.is_apart for unit in log.keys_of_each()]
    counts = find_last_offsets(spark, task.staged, keys, (task.compaction.format, task.compaction.limits), task.storage)
    for log in apart:
        log.keys = counts.get(log.number, 0)
    _round(spark, logs, task, [log.as_left() if log.is_apart else log.as_a_whole() for log in apart])


def _round(spark: SparkSession, logs: Sequence[_Log], task: "Task", units_of_logs: Iterable[list[_Unit]]) -> None:
    units = [unit for of_log in units_of_logs for unit in of_log]
    results = run_units(spark, units, [each.size for each in units], partial(_do, task=task))
    for unit, result in zip(units, results, strict=True):
        logs[unit.log].results.append(result)


# The functions below run on workers. Each writes its files to a task attempt's folder of the job, and raises LogError,
# CompactionError, LogPathError or PipelineError if the work fails.


class Task(NamedTuple):
    """What all units of work of a job have in common."""

    staged: Staging
    compaction: Compaction
    storage: StorageOptions = NO_OPTIONS


class _Written(NamedTuple):
    """The result of a unit of work that wrote files."""

    attempt: str
    segments: Sequence[SegmentReport] = ()
    partition: CompactReport | None = None
    """The report about the whole partition if the unit compacted all of it."""


def _do(unit: _Unit, task: Task) -> Any:
    return unit.work(task)


def companion_files(partition: Partition) -> Iterator[Path]:
    """Yield a partition's small files that don't belong to a segment, such as producer snapshots and checkpoints."""
    for path in partition.each_file():
        name = log_file(path)
        if name is None or name.kind not in (*SEGMENT_FILES, "checkpoint"):
            yield path


def summary_of(task: Task, sent: SentSegment, *, is_active: bool) -> BatchSummary:
    """Summarize a segment's batch headers."""
    with received_segment(sent, task.storage) as segment:
        return summarize(segment, task.compaction, partial=is_active)


def rewrite(
    task: Task,
    log: int,
    group: Sequence[SentSegment],
    before: Sequence[SentSegment],
    offsets: tuple[int, int],
    known: Survey,
    *,
    is_first: bool,
) -> _Written:
    """Compact several segments into one. `before` are the segments with the beginning of its open transactions."""
    folder = attempt(task.staged.attempts)
    lasts = last_offsets_between(task.staged.lasts, log, *offsets)
    writer = Rewriter(folder, task.compaction, Judge(task.compaction, known, lasts))
    with ExitStack() as stack:
        earlier, segments = (
            [stack.enter_context(received_segment(sent, task.storage)) for sent in each] for each in (before, group)
        )
        writer.look_back(earlier, offsets[0])
        reports = writer.group(segments, is_first=is_first)
    named = [each._replace(file=shown_path(segment.name)) for each, segment in zip(reports, segments, strict=True)]
    return _Written(flushed(folder), named)


def copy_unchanged(task: Task, sent: SentSegment) -> _Written:
    """Copy a segment that is not compacted."""
    folder = attempt(task.staged.attempts)
    with received_segment(sent, task.storage) as segment:
        copy_segment(segment, folder)
    return _Written(flushed(folder))


def compact_whole(task: Task, folder: str, listed: Sequence[Listed] | None) -> _Written:
    """Compact a whole partition."""
    own = attempt(task.staged.attempts)
    with received_folder(folder, listed, task.storage) as location:
        partition = location.partition(location.local)
        location.bring(*companion_files(partition))
        report = compact_partition(partition, own / "partition", task.compaction)
        segments = [each._replace(file=shown_path(location.name_of(Path(each.file)))) for each in report.segments]
    return _Written(
        f"{flushed(own)}/partition", partition=report._replace(partition=shown_path(folder), segments=segments)
    )
