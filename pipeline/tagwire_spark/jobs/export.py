"""`export_logs` exports logs as a Parquet table, from which `import_logs` restores every log file byte for byte.

The table has a row for each record, with the columns of the source `kafka_log`. Bytes that can't be rebuilt from these
rows are stored in files next to the table (see `exported`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log import LogPathError, Partition
from tagwire.log.errors import is_file, is_folder, unreadable
from tagwire.records.format_set import AUTO, Formats, format_set
from tagwire_spark.files.storage import Location
from tagwire_spark.files.store import StorageOptions
from tagwire_spark.jobs.export_part import TABLE, ExportOptions, ExportReport, ExportUnit, export_part
from tagwire_spark.jobs.exported import EXACT, ROWS, Export, ExportedFiles, column_names, table_folder
from tagwire_spark.jobs.outputs import job_output, staging
from tagwire_spark.jobs.tasks import run_units, steadily
from tagwire_spark.jobs.units import found_partitions, job_inputs, reject_output_inside, take_target
from tagwire_spark.log_read.query import partition_key
from tagwire_spark.options import MODES, invalid


@steadily
def export_logs(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    output: str | Path,
    *,
    columns: Iterable[str] | None = None,
    mode: str = "FAILFAST",
    format: Formats = AUTO,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, Any] | None = None,
    work_folder: str | Path | None = None,
) -> list[ExportReport]:
    """Export logs as Parquet, together with all other files in their folders. Return a report for each segment.

    A path is a partition folder, or a folder above partitions. Several paths are exported under their own names. For
    URLs, see `tagwire_spark.jobs`. `columns` are the columns of `kafka_log` to export, by default all; topic and
    partition become folder names instead of columns. If bytes are not a batch, the export fails or, if `mode` is
    PERMISSIVE, keeps and reports them. Raises FormatError, LogPathError or PipelineError for invalid arguments and
    unreadable logs.
    """
    if mode.upper() not in MODES:
        raise invalid(f"mode: expected {' or '.join(MODES)}, got {mode!r}.")
    options = ExportOptions(column_names(columns), mode.upper() == "PERMISSIVE", format_set(format), limits)
    target = job_output(output, work_folder, storage_options)
    with ExitStack() as stack:
        roots = job_inputs(paths, stack, storage_options)
        units, folders = _found(roots)
        reject_output_inside(target, [(root, root.local) for root in roots])
        staged = stack.enter_context(staging(target, spark))
        storage = StorageOptions(storage_options or {})
        work = partial(export_part, attempts=str(staged.attempts), options=options, storage=storage)
        sizes = [sum(size for _, size in unit.part.files) for unit in units]
        results = run_units(spark, units, sizes, work)
        parts = []
        for unit, result in zip(units, results, strict=True):
            part = unit.part
            if result.exact_bytes:
                staged.take(f"{result.attempt}/{EXACT}", EXACT)
            if result.report and result.report.records and unit.partition:
                folder = table_folder(*unit.partition)
                staged.take(f"{result.attempt}/{TABLE}", folder)
                part = part._replace(rows=f"{folder}/{part.name}.parquet")
            parts.append(part)
        if not any(part.rows for part in parts):
            # Write an empty table, so that readers of an export without records still find its columns.
            fields = [(name, ROWS[name]) for name in options.columns]
            schema = pa.schema([*fields, ("topic", pa.string()), ("partition", pa.int32())])
            pq.write_table(schema.empty_table(), staged.output / "part-none.parquet")
        Export(tuple(parts), tuple(folders)).write(staged.output)
    return [result.report for result in results if result.report]


def _found(roots: list[Location]) -> tuple[list[ExportUnit], list[str]]:
    """Return the units of work, and the relative paths of all folders. Raises LogPathError for bad paths."""
    units: list[ExportUnit] = []
    folders: dict[str, str] = {}
    for root in roots:
        top = root.local
        partitions = {found.partition.path: found.partition for found in found_partitions(root)}
        is_below = top in partitions or len(roots) > 1
        for folder, files in _walk(top):
            relative = folder.relative_to(top.parent if is_below else top)
            target = relative.as_posix() if relative.parts else ""
            take_target(folders, target, root.name_of(folder), "exported")
            for each in _of_folder(folder, target, files, partitions.get(folder), root):
                units.append(each._replace(part=each.part._replace(number=len(units))))
    return units, list(folders)


def _walk(folder: Path, parents: tuple[Path, ...] = ()) -> Iterator[tuple[Path, list[Path]]]:
    """Yield a folder and its subfolders, each with its files. Raises LogPathError if a folder can't be read.

    `parents` has the resolved paths of all parent folders, to detect cyclic links.
    """
    try:
        real = folder.resolve()
        if real in parents:
            raise LogPathError(f"{folder}: this link leads back to {real}, a folder above it; remove the link")
        below = sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from None
    for path in below:
        if not is_folder(path) and not is_file(path):
            raise LogPathError(f"{path} can't be exported, because it is neither a file nor a folder")
    yield folder, [path for path in below if is_file(path)]
    for path in below:
        if is_folder(path):
            yield from _walk(path, (*parents, real))


def _of_folder(
    folder: Path, target: str, files: list[Path], partition: Partition | None, root: Location
) -> Iterator[ExportUnit]:
    def unit(paths: Sequence[Path], partition: tuple[str, int] | None) -> ExportUnit:
        part = ExportedFiles(0, target, tuple((path.name, sizes[path]) for path in paths))
        return ExportUnit(part, root.name_of(folder), partition, root.listed(folder, paths))

    sizes = {path: root.state_of(path).size for path in files}
    segments: list[Path] = []
    if partition is not None and (not partition.state or folder == root.local):
        segments = [segment.path for segment in partition.segments]
        for path in segments:
            yield unit([path], partition_key(folder))
    if others := [path for path in files if path not in segments]:
        yield unit(others, None)
