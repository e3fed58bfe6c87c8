"""`compact_logs`: what `tagwire log compact` does, partition by partition on all workers.

What a broker compacts is a partition, so that is the unit of work here: keys,
values and offsets stay in one task and nothing is shuffled. A task keeps the
keys of its partition in mind, up to `max_keys`; partitions with more are for
a run with `dirty_from`.
"""

import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tagwire.log import Partition
from tagwire.log.compact import CompactReport, SegmentReport, compact_partition
from tagwire.log.compaction import Compaction
from tagwire.log.convert import carry_directory_files
from tagwire_spark.jobs.outputs import attempt, staging
from tagwire_spark.jobs.tasks import run_units
from tagwire_spark.jobs.units import found_partitions, local_paths, log_folders, only_once

__all__ = ["compact_logs"]


def compact_logs(
    spark: SparkSession, paths: str | Path | Iterable[str | Path], output: str | Path, **rules: Any
) -> list[CompactReport]:
    """Write partitions to a folder with the last record of every key; the report of each partition, in order.

    `rules` are those of `tagwire.log.compaction.Compaction` but for `limits`; `now` is the time at which this is called
    unless given. Nothing is in `output` before all of it is. Raises PipelineError, LogPathError.
    """
    rules = {"now": int(time.time() * 1000)} | {name: value for name, value in rules.items() if value is not None}
    Compaction(**rules)  # what is wrong with them is told here
    partitions = [found for root in local_paths(paths) for found in found_partitions(root)]
    only_once(partitions)
    units = [str(found.partition.path) for found in partitions]
    sizes = [sum(segment.size for segment in found.partition.segments) for found in partitions]
    with staging(Path(output).absolute()) as made:
        work = partial(_compact, attempts=str(made.attempts), rules=rules)
        results = run_units(spark, units, sizes, work)
        for found, result in zip(partitions, results, strict=True):
            made.take(result["attempt"], found.target)
        for folder, target in log_folders(partitions):
            carry_directory_files(folder, made.whole / target, keeps_producers=True)
    return [_report(result["report"]) for result in results]


def _compact(unit: str, attempts: str, rules: dict[str, Any]) -> dict[str, Any]:
    """On a worker: compact a partition."""
    folder = attempt(attempts)
    report = compact_partition(Partition(unit), folder / "partition", Compaction(**rules))
    facts = report._asdict() | {"partition": unit, "segments": [each.to_json() for each in report.segments]}
    return {"attempt": f"{folder.name}/partition", "report": facts}


def _report(facts: dict[str, Any]) -> CompactReport:
    segments = [SegmentReport(**each | {"file": Path(each["file"])}) for each in facts["segments"]]
    counts: dict[str, Any] = facts | {"partition": Path(facts["partition"]), "segments": segments}
    return CompactReport(**counts)
