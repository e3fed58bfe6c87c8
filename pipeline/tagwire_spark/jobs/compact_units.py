"""The worker side of log compaction. A unit of work is a dict whose `do` names the task; results are dicts too.

heads       read the batch headers of a segment
rewrite     write compacted segments as one
carry       copy a segment that is not compacted
partition   compact a whole partition
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tagwire.log import Partition
from tagwire.log.batch_summary import summarize
from tagwire.log.compact import compact_partition, copy_segment
from tagwire.log.compaction import Compaction, Judge
from tagwire.log.names import log_file
from tagwire.log.rewriting import SEGMENT_FILES, Rewriter, SegmentReport
from tagwire.log.survey import Survey
from tagwire.log.whole_folder import on_disk
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions
from tagwire_spark.jobs.last_offsets import last_offsets_between
from tagwire_spark.jobs.outputs import Staged, attempt
from tagwire_spark.jobs.units import received_folder, received_segment

__all__ = ["do_unit"]


def do_unit(
    unit: dict[str, Any], folder: str, rules: dict[str, Any], storage: StorageOptions = NO_OPTIONS
) -> dict[str, Any]:
    """Process a unit in the job's folder. Raises LogError, CompactionError, LogPathError, PipelineError."""
    return _WORK[unit["do"]](unit, Staged(Path(folder)), Compaction(**rules), storage)


def companion_files(partition: Partition) -> Iterator[Path]:
    """Yield the small files of a partition that belong to no segment: producer snapshots, checkpoints and others."""
    for path in partition.each_file():
        name = log_file(path)
        if name is None or name.kind not in (*SEGMENT_FILES, "checkpoint"):
            yield path


def _summaries(unit: dict[str, Any], job: Staged, compaction: Compaction, storage: StorageOptions) -> dict[str, Any]:
    with received_segment(unit["file"], storage) as segment:
        return {
            "summaries": summarize(segment, compaction.format, compaction.limits, partial=unit["partial"]).to_json()
        }


def _rewrite(unit: dict[str, Any], job: Staged, compaction: Compaction, storage: StorageOptions) -> dict[str, Any]:
    made = attempt(job.attempts)
    lasts = last_offsets_between(job.lasts, unit["log"], unit["first"], unit["end"])
    writer = Rewriter(made, compaction, Judge(compaction, Survey.from_json(unit["facts"]), lasts))
    with ExitStack() as stack:
        before, group = (
            [stack.enter_context(received_segment(sent, storage)) for sent in unit[name]]
            for name in ("before", "files")
        )
        writer.look_back(before, unit["first"])
        reports = writer.group(group, is_first=unit["is_first"])
        return _written(made, [(each, segment.name) for each, segment in zip(reports, group, strict=True)])


def _carry(unit: dict[str, Any], job: Staged, compaction: Compaction, storage: StorageOptions) -> dict[str, Any]:
    made = attempt(job.attempts)
    with received_segment(unit["file"], storage) as segment:
        copy_segment(segment, made)
    return _written(made)


def _partition(unit: dict[str, Any], job: Staged, compaction: Compaction, storage: StorageOptions) -> dict[str, Any]:
    made = attempt(job.attempts)
    with received_folder(unit["path"], unit.get("listed"), storage) as location:
        partition = location.partition(location.local)
        location.bring(*companion_files(partition))
        report = compact_partition(partition, made / "partition", compaction)
        written = _written(made, [(each, location.name_of(Path(each.file))) for each in report.segments])
    facts = [report.compacted_to, report.because, report.keys]
    return written | {"attempt": f"{made.name}/partition", "report": facts}


def _written(made: Path, reports: Iterable[tuple[SegmentReport, str]] = ()) -> dict[str, Any]:
    """Return the attempt's name and its reports with the segment names."""
    for path in made.iterdir():
        on_disk(path)
    return {"attempt": made.name, "segments": [each.to_json() | {"file": name} for each, name in reports]}


_WORK: Final = {"summaries": _summaries, "rewrite": _rewrite, "carry": _carry, "partition": _partition}
