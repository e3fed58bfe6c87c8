"""Measure how large a cluster's logs would be in another record format, as `tagwire whatif` does on one machine.

Each task measures a segment, and the driver adds up the counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log import LogPathError
from tagwire.log.rebatching import LossRow
from tagwire.log.whatif import Kind, Measure, WhatIf
from tagwire.records.format_set import AUTO, Formats
from tagwire_spark.files.store import StorageOptions
from tagwire_spark.jobs.convert import conversion_of
from tagwire_spark.jobs.tasks import run_units, steadily
from tagwire_spark.jobs.units import SegmentUnit, every_segment, job_inputs, received_segment


@steadily
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
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, Any] | None = None,
) -> WhatIf:
    """Measure how large logs would be in another format, for each kind of batch. Nothing is written.

    A path or URL names a segment, a partition, or a folder with partitions below it. `storage_options` configure the
    file systems of URLs. Raises FormatError, LogPathError or PipelineError for invalid arguments and unreadable logs.
    """
    how = (to, codec, batch_bytes, batch_records, format, limits)
    found = WhatIf(conversion_of(how), against)
    with ExitStack() as stack:
        pairs = [pair for root in job_inputs(paths, stack, storage_options) for pair in every_segment(root)]
    units, sizes = [unit for unit, _ in pairs], [size for _, size in pairs]
    for file, times in Counter(unit.file for unit in units).items():
        if times > 1:
            raise LogPathError(f"{file} was given {times} times, so it would be counted {times} times; give it once")
    work = partial(_measure, how=how, against=against, storage=StorageOptions(storage_options or {}))
    for result in run_units(spark, units, sizes, work):
        _add(found, result)
    return found


def _measure(unit: Sequence[Any], how: Sequence[Any], against: str | None, storage: StorageOptions) -> dict[str, Any]:
    found = WhatIf(conversion_of(how), against)
    file, topic, _, listed = SegmentUnit(*unit)
    with received_segment((file, listed), storage) as segment:
        found.add(segment, topic)
    return {
        "measures": [[kind, measure.counts()] for kind, measure in found.measures.items()],
        "losses": found.losses.to_json(),
    }


def _add(found: WhatIf, result: dict[str, Any]) -> None:
    for kind, counts in result["measures"]:
        found.measures.setdefault(Kind(*kind), Measure()).add(Measure.of(counts))
    for row in result["losses"]:
        found.losses.add_row(LossRow(**row))
