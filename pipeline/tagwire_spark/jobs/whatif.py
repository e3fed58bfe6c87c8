"""`whatif_logs`: what `tagwire whatif` measures, over the logs of a whole cluster.

Each task measures a segment, and its counts are added up on the driver. The
figures are those of the command on one machine; only the processor time is
that of other processors.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tagwire.log import LogPathError, Segment
from tagwire.log.loss_report import LossRow
from tagwire.log.whatif import Kind, Measure, WhatIf
from tagwire.records.format_set import AUTO, Formats
from tagwire_spark.jobs.convert import conversion_of
from tagwire_spark.jobs.tasks import run_units
from tagwire_spark.jobs.units import every_segment, local_paths

__all__ = ["whatif_logs"]


def whatif_logs(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    to: str,
    *,
    against: str | None = None,
    codec: str | None = None,
    batch_bytes: int | None = None,
    batch_records: int | None = None,
    format: Formats = AUTO,
) -> WhatIf:
    """What logs would be in another format, counted by kind of batch; nothing is written.

    A path is a segment, or a folder with partitions in or below it. Raises
    FormatError, LogPathError, PipelineError.
    """
    how = (to, codec, batch_bytes, batch_records, format)
    found = WhatIf(conversion_of(how), against)
    units = [unit for path in local_paths(paths) for unit in every_segment(path)]
    for file, times in Counter(unit.file for unit in units).items():
        if times > 1:
            raise LogPathError(f"{file}: it is named {times} times, and would be counted as often")
    sizes = [Path(unit.file).stat().st_size for unit in units]
    for result in run_units(spark, units, sizes, partial(_measure, how=how, against=against)):
        _add(found, result)
    return found


def _measure(unit: list[str], how: Sequence[Any], against: str | None) -> dict[str, Any]:
    """On a worker: measure a segment."""
    found = WhatIf(conversion_of(how), against)
    file, topic, _ = unit
    found.add(Segment(file), topic)
    return {
        "measures": [[kind, measure.counts()] for kind, measure in found.measures.items()],
        "losses": found.losses.to_json(),
    }


def _add(found: WhatIf, result: dict[str, Any]) -> None:
    """Count what a task has counted."""
    for kind, counts in result["measures"]:
        found.measures.setdefault(Kind(*kind), Measure()).add(Measure.of(counts))
    for row in result["losses"]:
        found.losses.add_row(LossRow(**row))
