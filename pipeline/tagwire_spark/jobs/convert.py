"""Convert logs on all workers (`convert_logs`), or measure how large the converted logs would be (`whatif_logs`).

The two jobs do what `tagwire log convert` and `tagwire whatif` do on one machine. Each task converts or measures a
segment. For `whatif_logs`, the driver adds up the counts.

Segments are converted independently. A second round rebuilds the transaction index of each segment that begins while a
transaction is open. The output is byte for byte the same as with `tagwire log convert`.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log import LogPathError, Partition
from tagwire.log.batch_rules import OpenTransactions
from tagwire.log.convert import Conversion, ConvertReport, convert_segment, copy_directory_files, files_to_copy
from tagwire.log.rebatching import BatchSize, LossReport
from tagwire.log.whatif import Kind, Measure, WhatIf
from tagwire.log.whole_folder import on_disk
from tagwire.log.writing import transaction_index
from tagwire.records.format_set import AUTO, Formats
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions
from tagwire_spark.jobs.outputs import Staging, attempt, flushed
from tagwire_spark.jobs.tasks import run_units, steadily
from tagwire_spark.jobs.units import (
    FoundPartition,
    SegmentUnit,
    every_segment,
    fetch_companions,
    job_inputs,
    log_folders,
    partition_job,
    received_segment,
    segment_units,
    shown_path,
)


@steadily
def convert_logs(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    output: str | Path,
    *,
    to: str | None = None,
    codec: str | None = None,
    batch_bytes: int | None = None,
    batch_records: int | None = None,
    format: Formats = AUTO,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, Any] | None = None,
    work_folder: str | Path | None = None,
) -> list[ConvertReport]:
    """Write partitions to a folder in another format, codec or batch size. Return a report for each segment, in order.

    A path is a partition folder or a log folder. The broker's own files in a log folder are also copied. For URLs, see
    `tagwire_spark.jobs`. Raises FormatError for an unknown format, LogPathError for a path that isn't a log, and
    PipelineError for other errors.
    """
    conversion = Conversion(to, codec, BatchSize(batch_bytes, batch_records), format, limits)
    with partition_job(spark, paths, output, work_folder, storage_options) as (partitions, staged):
        units, results = _converted(spark, staged, partitions, conversion, StorageOptions(storage_options or {}))
        fetch_companions(partitions, lambda found: files_to_copy(found.partition, conversion))
        for found in partitions:
            for path in files_to_copy(found.partition, conversion):
                shutil.copyfile(path, staged.output / found.target / path.name)
        for unit, result in zip(units, results, strict=True):
            staged.take(result.attempt, unit.target)
        folders = ((folder, staged.output / path) for folder, path, _ in log_folders(partitions))
        copy_directory_files(folders, keeps_producers=conversion.is_one_to_one)
    return [result.report for result in results]


def _converted(
    spark: SparkSession,
    staged: Staging,
    partitions: Iterable[FoundPartition],
    conversion: Conversion,
    storage: StorageOptions,
) -> tuple[list[SegmentUnit], list["_Done"]]:
    found = [each for partition in partitions for each in segment_units(partition, partition.listed_segments())]
    units, sizes = [unit for unit, _ in found], [size for _, size in found]
    del found  # a million segment objects would fill the driver's memory
    work = partial(_convert, attempts=str(staged.attempts), conversion=conversion, storage=storage)
    results = run_units(spark, units, sizes, work)
    _finish_transactions(spark, staged, units, results, conversion.to or conversion.source)
    return units, results


class _Done(NamedTuple):
    """The result of converting a segment. The driver keeps a result for every segment."""

    attempt: str
    report: ConvertReport
    transactions: OpenTransactions | None
    """The transactions that began or ended in the segment, or None if there are none."""


def _convert(unit: SegmentUnit, attempts: str, conversion: Conversion, storage: StorageOptions = NO_OPTIONS) -> _Done:
    folder, transactions = attempt(attempts), OpenTransactions()
    with received_segment((unit.file, unit.listed), storage) as segment:
        report = convert_segment(segment, folder, conversion, transactions)._replace(file=shown_path(unit.file))
    has_any = transactions.open or transactions.ended
    return _Done(flushed(folder), report, transactions if has_any else None)


def _finish_transactions(
    spark: SparkSession, staged: Staging, units: list[SegmentUnit], results: list[_Done], format: Formats
) -> None:
    again: list[tuple[Path, OpenTransactions]] = []
    known, target = OpenTransactions(), None
    for unit, result in zip(units, results, strict=True):
        if unit.target != target:
            known, target = OpenTransactions(), unit.target
        if known.open:
            again.append((staged.attempts / result.attempt, known))
        if result.transactions is not None:
            known = known.followed_by(result.transactions)
    work = partial(_index_transactions, format=format)
    sizes = [sum(path.stat().st_size for path in folder.glob("*.log")) for folder, _ in again]
    run_units(spark, again, sizes, work)


def _index_transactions(unit: tuple[Path, OpenTransactions], format: Formats) -> None:
    """Rebuild a converted segment's transaction index, on a worker. Repeating this is harmless."""
    folder, transactions = unit
    for segment in Partition(folder).segments:
        index = segment.path.with_suffix(".txnindex")
        data = transaction_index(segment, transactions, format)
        index.unlink(missing_ok=True)
        if data:
            index.write_bytes(data)
            on_disk(index)


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
    found = WhatIf(Conversion(to, codec, BatchSize(batch_bytes, batch_records), format, limits), against)
    with ExitStack() as stack:
        pairs = [pair for root in job_inputs(paths, stack, storage_options) for pair in every_segment(root)]
    units, sizes = [unit for unit, _ in pairs], [size for _, size in pairs]
    for file, times in Counter(unit.file for unit in units).items():
        if times > 1:
            raise LogPathError(f"{file} was given {times} times, so it would be counted {times} times; give it once")
    work = partial(
        _measure, conversion=found.conversion, against=against, storage=StorageOptions(storage_options or {})
    )
    for measures, losses in run_units(spark, units, sizes, work):
        for kind, measure in measures.items():
            found.measures.setdefault(kind, Measure()).add(measure)
        found.losses.merge(losses)
    return found


def _measure(
    unit: SegmentUnit, conversion: Conversion, against: str | None, storage: StorageOptions
) -> tuple[dict[Kind, Measure], LossReport]:
    found = WhatIf(conversion, against)
    with received_segment((unit.file, unit.listed), storage) as segment:
        found.add(segment, unit.topic)
    return found.measures, found.losses
