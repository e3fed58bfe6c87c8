"""`compact_logs` does on all workers what `tagwire log compact` does on one machine.

A small partition is compacted in one task. The segments of a large partition are processed in three rounds: read the
batch headers, find the last offset of each key, and rewrite the segments. Values are never shuffled. The output is byte
for byte that of `tagwire log compact`.
"""

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

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
from tagwire.log.whole_folder import on_disk
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions, is_remote
from tagwire_spark.jobs.last_offsets import find_last_offsets, last_offsets_between
from tagwire_spark.jobs.outputs import JobFolders, Staging, attempt, job_output, staging
from tagwire_spark.jobs.tasks import TASK_BYTES, run_units, steadily
from tagwire_spark.jobs.units import (
    FoundPartition,
    check_output,
    fetch_companions,
    found_partitions,
    job_inputs,
    log_folders,
    received_folder,
    received_segment,
    sent_segment,
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

    `rules` are the arguments of `tagwire.log.compaction.Compaction`; `now` defaults to the time of this call. Paths and
    `output` may be URLs; `storage_options` configure their file systems. If `output` is a URL, the result is written to
    `work_folder` first, and then uploaded. `output` appears only when it is complete. Raises LogPathError for a path
    that isn't a log, and PipelineError for other errors.
    """
    rules = {"now": int(time.time() * 1000)} | {name: value for name, value in rules.items() if value is not None}
    compaction = Compaction(**rules)
    target = job_output(output, work_folder, storage_options)
    with ExitStack() as stack:
        roots = job_inputs(paths, stack, storage_options)
        partitions = [found for root in roots for found in found_partitions(root)]
        check_output(target, partitions)
        logs = [_Log(number, found, compaction) for number, found in enumerate(partitions)]
        staged = stack.enter_context(staging(target, spark))
        _Job(spark, staged, rules, StorageOptions(storage_options or {})).run(logs)
        apart = {log.found for log in logs if log.is_apart}
        fetch_companions(partitions, lambda found: companion_files(found.partition) if found in apart else ())
        for log in logs:
            log.finish(staged)
        folders = ((folder, staged.output / path) for folder, path, _ in log_folders(partitions))
        copy_directory_files(folders, keeps_producers=True)
    return [log.report() for log in logs]


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
        self.results: list[dict[str, Any]] = []

    @property
    def cleaned(self) -> Sequence[Segment]:
        return [each for each in self.segments if (each.base_offset or 0) < self.known.end]

    def as_a_whole(self) -> list[tuple[dict[str, Any], int]]:
        partition, root = self.found.partition, self.found.root
        listed = root.listed(partition.path, partition.each_file())
        unit = {"do": "partition", "log": self.number, "path": self.found.name, "listed": listed}
        return [(unit, sum(self.sizes))]

    def _sent(self, segment: Segment) -> tuple[str, Any]:
        return sent_segment(segment, self.found.root)

    def summaries_of_each(self) -> list[tuple[dict[str, Any], int]]:
        """Return units of work that each summarize the batch headers of one segment."""
        last = len(self.segments) - (not self.compaction.include_active)
        return [
            ({"do": "summaries", "log": self.number, "file": self._sent(segment), "partial": index >= last}, size)
            for index, (segment, size) in enumerate(zip(self.segments, self.sizes, strict=True))
        ]

    def take_summaries(self, summaries: list[BatchSummary]) -> None:
        """Store the summaries of all segments. If offsets don't ascend, one task will compact the whole partition."""
        for each in summaries:
            self.begins.append(self.begins[-1] if each.end is None else each.end)
        self.known = survey(self.segments, summaries, self.compaction)
        self.is_apart = self.known.ascends

    def keys_of_each(self) -> list[tuple[list[Any], int]]:
        """Return units of work that each find the keys of one segment."""
        found = []
        for index, segment in enumerate(self.cleaned):
            facts = self.known.between(self.begins[index], self.begins[index + 1])
            found.append(([self.number, self._sent(segment), facts | {"producers": {}}], self.sizes[index]))
        return found

    def as_left(self) -> list[tuple[dict[str, Any], int]]:
        """Return the last round's units of work, which rewrite or copy segments."""
        found, index = [], 0
        for group in groups(self.cleaned, self.compaction.segment_bytes):
            next_index = index + len(group)
            found.append((self._group(index, next_index), sum(self.sizes[index:next_index])))
            index = next_index
        for segment, size in zip(self.segments[index:], self.sizes[index:], strict=True):
            found.append(({"do": "carry", "log": self.number, "file": self._sent(segment)}, size))
        return found

    def _group(self, index: int, next_index: int) -> dict[str, Any]:
        begin, end = self.begins[index], self.begins[next_index]
        first = min(begin, self.known.begun.get(self.segments[index].base_offset or 0, begin))
        return {
            "do": "rewrite",
            "log": self.number,
            "files": [self._sent(segment) for segment in self.segments[index:next_index]],
            "before": [self._sent(segment) for segment in self.segments[bisect_right(self.begins, first) - 1 : index]],
            "first": first,
            "end": end,
            "facts": self.known.between(first, end),
            "is_first": index == 0,
        }

    def finish(self, staged: Staging) -> None:
        (staged.output / self.found.target).mkdir(parents=True, exist_ok=True)
        for result in self.results:
            staged.take(result["attempt"], self.found.target)
        if self.is_apart:
            copy_files(self.found.partition, staged.output / self.found.target, self.known.end)

    def report(self) -> CompactReport:
        rows = [facts for result in self.results for facts in result["segments"]]
        as_path = str if is_remote(self.found.name) else Path
        segments = [SegmentReport(**facts | {"file": as_path(facts["file"])}) for facts in rows]
        end, because, keys = self.known.end, self.known.because, self.keys
        if not self.is_apart:
            [(end, because, keys)] = [result["report"] for result in self.results]
        return CompactReport(self.found.report_path, end, because, keys, segments)


class _Job(NamedTuple):
    """A compaction job. Each round sends units of work to workers."""

    spark: SparkSession
    staged: Staging
    rules: dict[str, Any]
    storage: StorageOptions

    def run(self, logs: Sequence[_Log]) -> None:
        units = [log.summaries_of_each() if log.is_apart else log.as_a_whole() for log in logs]
        self._round(logs, [unit for of_log in units for unit in of_log])
        apart = [log for log in logs if log.is_apart]
        for log in apart:
            summaries, log.results = [BatchSummary.from_json(result["summaries"]) for result in log.results], []
            log.take_summaries(summaries)
        self._find_keys([log for log in apart if log.is_apart])
        units = [log.as_left() if log.is_apart else log.as_a_whole() for log in apart]
        self._round(logs, [unit for of_log in units for unit in of_log])

    def _find_keys(self, logs: Sequence[_Log]) -> None:
        found = [unit for log in logs for unit in log.keys_of_each()]
        units, sizes = [unit for unit, _ in found], [size for _, size in found]
        compaction = Compaction(**self.rules)
        reading = compaction.format, compaction.limits
        counts = find_last_offsets(self.spark, self.staged, units, sizes, reading, self.storage)
        for log in logs:
            log.keys = counts.get(log.number, 0)

    def _round(self, logs: Sequence[_Log], units: list[tuple[dict[str, Any], int]]) -> None:
        work = partial(do_unit, folder=str(self.staged.folder), rules=self.rules, storage=self.storage)
        results = run_units(self.spark, [unit for unit, _ in units], [size for _, size in units], work)
        for (unit, _), result in zip(units, results, strict=True):
            logs[unit["log"]].results.append(result)


# The driver sends units of work to workers as dicts, and gets dicts as results. `do` is the unit's kind.
# A `summaries` unit summarizes a segment's batch headers for the driver.
# A `rewrite` unit compacts several segments into one segment.
# A `carry` unit copies a segment that is not compacted.
# A `partition` unit compacts a whole partition.


def do_unit(
    unit: dict[str, Any], folder: str, rules: dict[str, Any], storage: StorageOptions = NO_OPTIONS
) -> dict[str, Any]:
    """Do a unit of work on a worker, and write its files to the job's folder.

    Raises LogError, CompactionError, LogPathError or PipelineError if the work fails.
    """
    return _WORK[unit["do"]](unit, JobFolders(Path(folder)), Compaction(**rules), storage)


def companion_files(partition: Partition) -> Iterator[Path]:
    """Yield a partition's small files that don't belong to a segment, such as producer snapshots and checkpoints."""
    for path in partition.each_file():
        name = log_file(path)
        if name is None or name.kind not in (*SEGMENT_FILES, "checkpoint"):
            yield path


def _summaries(
    unit: dict[str, Any], job: JobFolders, compaction: Compaction, storage: StorageOptions
) -> dict[str, Any]:
    with received_segment(unit["file"], storage) as segment:
        return {
            "summaries": summarize(segment, compaction.format, compaction.limits, partial=unit["partial"]).to_json()
        }


def _rewrite(unit: dict[str, Any], job: JobFolders, compaction: Compaction, storage: StorageOptions) -> dict[str, Any]:
    folder = attempt(job.attempts)
    lasts = last_offsets_between(job.lasts, unit["log"], unit["first"], unit["end"])
    writer = Rewriter(folder, compaction, Judge(compaction, Survey.from_json(unit["facts"]), lasts))
    with ExitStack() as stack:
        before, group = (
            [stack.enter_context(received_segment(sent, storage)) for sent in unit[name]]
            for name in ("before", "files")
        )
        writer.look_back(before, unit["first"])
        reports = writer.group(group, is_first=unit["is_first"])
        return _written(folder, [(each, segment.name) for each, segment in zip(reports, group, strict=True)])


def _copy(unit: dict[str, Any], job: JobFolders, compaction: Compaction, storage: StorageOptions) -> dict[str, Any]:
    folder = attempt(job.attempts)
    with received_segment(unit["file"], storage) as segment:
        copy_segment(segment, folder)
    return _written(folder)


def _partition(
    unit: dict[str, Any], job: JobFolders, compaction: Compaction, storage: StorageOptions
) -> dict[str, Any]:
    folder = attempt(job.attempts)
    with received_folder(unit["path"], unit.get("listed"), storage) as location:
        partition = location.partition(location.local)
        location.bring(*companion_files(partition))
        report = compact_partition(partition, folder / "partition", compaction)
        written = _written(folder, [(each, location.name_of(Path(each.file))) for each in report.segments])
    facts = [report.compacted_to, report.because, report.keys]
    return written | {"attempt": f"{folder.name}/partition", "report": facts}


def _written(folder: Path, reports: Iterable[tuple[SegmentReport, str]] = ()) -> dict[str, Any]:
    """Flush a task attempt's files to disk. Return the attempt's name and the reports about its segments."""
    for path in folder.iterdir():
        on_disk(path)
    return {"attempt": folder.name, "segments": [each.to_json() | {"file": name} for each, name in reports]}


_WORK: Final = {"summaries": _summaries, "rewrite": _rewrite, "carry": _copy, "partition": _partition}
