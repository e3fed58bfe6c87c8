"""What workers do to compact logs: a unit of work is a dict that says what, and so is what comes back.

heads       look at the heads of a segment
rewrite     write segments as the rule leaves them, as one
carry       copy a segment that is not compacted
partition   compact a partition, all of it
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tagwire.log import Partition, Segment
from tagwire.log.batch_summary import summarize
from tagwire.log.compact import carry_segment, compact_partition
from tagwire.log.compaction import Compaction, Judge
from tagwire.log.rewriting import Rewriter, SegmentReport
from tagwire.log.survey import Survey
from tagwire.log.whole_folder import on_disk
from tagwire_spark.jobs.last_offsets import last_offsets_between
from tagwire_spark.jobs.outputs import Staged, attempt

__all__ = ["do_unit"]


def do_unit(unit: dict[str, Any], folder: str, rules: dict[str, Any]) -> dict[str, Any]:
    """Do it, for the job of this folder. Raises LogError, CompactionError, LogPathError."""
    return _WAYS[unit["do"]](unit, Staged(Path(folder)), Compaction(**rules))


def _heads(unit: dict[str, Any], job: Staged, asked: Compaction) -> dict[str, Any]:
    segment = Segment(unit["file"])
    return {"heads": summarize(segment, asked.format, asked.limits, partial=unit["partial"]).to_json()}


def _rewrite(unit: dict[str, Any], job: Staged, asked: Compaction) -> dict[str, Any]:
    made = attempt(job.attempts)
    lasts = last_offsets_between(job.lasts, unit["log"], unit["first"], unit["end"])
    writer = Rewriter(made, asked, Judge(asked, Survey.from_json(unit["facts"]), lasts))
    writer.look_back([Segment(file) for file in unit["before"]], unit["first"])
    reports = writer.group([Segment(file) for file in unit["files"]], is_first=unit["is_first"])
    return _written(made, reports)


def _carry(unit: dict[str, Any], job: Staged, asked: Compaction) -> dict[str, Any]:
    made = attempt(job.attempts)
    carry_segment(Segment(unit["file"]), made)
    return _written(made)


def _partition(unit: dict[str, Any], job: Staged, asked: Compaction) -> dict[str, Any]:
    made = attempt(job.attempts)
    report = compact_partition(Partition(unit["path"]), made / "partition", asked)
    facts = [report.compacted_to, report.because, report.keys]
    return _written(made, report.segments) | {"attempt": f"{made.name}/partition", "report": facts}


def _written(made: Path, reports: Iterable[SegmentReport] = ()) -> dict[str, Any]:
    for path in made.iterdir():
        on_disk(path)
    return {"attempt": made.name, "segments": [each.to_json() for each in reports]}


_WAYS: Final = {"heads": _heads, "rewrite": _rewrite, "carry": _carry, "partition": _partition}
