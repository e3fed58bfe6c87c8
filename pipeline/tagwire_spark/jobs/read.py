"""`read_logs` reads logs with hundreds of thousands of segments. Workers plan the read, not the driver.

A Spark data source has to plan all tasks in one process on the driver. With `read_logs`, the driver only lists the
partition folders. Workers list the segments and split them. A shuffle distributes the splits among tasks, which read
them.

A commit can change several partitions, but different tasks list them. So a task fails if it finds a later commit than
the driver found.
"""

import glob
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from tagwire.log.names import log_file, partition_name
from tagwire.text_format import shown
from tagwire_spark.columns.schema_check import check_requested_columns, under_names
from tagwire_spark.errors import PipelineError, rejections
from tagwire_spark.files.commit import settled_number, unchanged_since
from tagwire_spark.files.storage import folder_of
from tagwire_spark.files.store import StorageOptions, inner_path, is_remote, reaching, retried, store
from tagwire_spark.jobs.tasks import over_units
from tagwire_spark.jobs.units import path_strings
from tagwire_spark.log_read.listing import check_found, log_locations, settled_location
from tagwire_spark.log_read.partition_checks import check_partitions_exist, replicas_error
from tagwire_spark.log_read.query import LogQuery, log_query, partition_key
from tagwire_spark.log_read.rows import full_schema, rows_of_task
from tagwire_spark.log_read.splits import grouped, plan_alone
from tagwire_spark.options import invalid

_SPLIT_BYTES: Final = 1 << 30
"""Default maximum size of a split in bytes."""
_PLAN: Final = pa.schema([("splits", pa.binary())])

_Unit = Sequence[Any]
"""A partition folder or segment, its log folder, and the log folder's last commit number."""


def read_logs(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    schema: StructType | str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    tasks: int | None = None,
) -> DataFrame:
    """Return the same rows as `spark.read.format("kafka_log")`, but let workers plan the read.

    `paths`, `schema` and `options` are as for the source, but the options `pushdown` and `minPartitions` are rejected.
    Splits of up to `maxSplitBytes` (default: 1 GiB) are distributed among `tasks` tasks (default:
    `spark.sql.shuffle.partitions`). Raises PipelineError for an invalid option or an unreadable log.
    """
    query = _query(paths, options or {})
    requested = StructType.fromDDL(schema) if isinstance(schema, str) else schema or full_schema(query)
    if not isinstance(requested, StructType):
        raise invalid(f"schema: expected columns with their types, such as 'offset long', got {shown(schema)}.")
    columns = check_requested_columns("kafka_log", requested, full_schema(query, strict=True))
    count = int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200) if tasks is None else tasks
    if count < 1:
        raise invalid(f"tasks: expected 1 or more, got {count}.")
    return plan_logs(spark, query).repartition(count).mapInArrow(_reading(query, columns, requested.names), requested)


def plan_logs(spark: SparkSession, query: LogQuery) -> DataFrame:
    """Let workers plan a query. Each returned row is a pickled group of splits. Raises PipelineError for a bad path."""
    units = _units(query)
    if not units:
        return spark.createDataFrame([], from_arrow_schema(_PLAN))
    return over_units(spark, units, [0] * len(units), partial(_planned, query), _PLAN)


def _query(paths: str | Path | Iterable[str | Path], options: Mapping[str, Any]) -> LogQuery:
    for name in options:
        if name.lower() in ("path", "paths", "pushdown", "minpartitions"):
            raise invalid(f"Option {name} can't be used with read_logs; set its arguments `paths` and `tasks` instead.")
    given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    if given.get("replicas", "error").lower() != "error":
        raise invalid(
            f"Option replicas: read_logs supports only 'error', got {given['replicas']!r}; give only one folder "
            "for each partition."
        )
    query = log_query({**given, "paths": json.dumps(path_strings(paths))})
    return query if query.split_bytes else query._replace(split_bytes=_SPLIT_BYTES)


def _units(query: LogQuery) -> list[_Unit]:
    """Return the partitions and segments to plan, each with its log folder and that folder's commit number."""
    units: list[_Unit] = []
    for path in query.paths:
        with rejections():
            found = [*(_remote_units(path, query.storage) if is_remote(path) else _local_units(path, query))]
        if not found and is_remote(path):
            raise PipelineError(
                "KAFKA_LOG_NOT_FOUND",
                query.storage.hidden(f"{path}: found neither a log segment nor a partition folder such as orders-0."),
            )
        units += found
    _check_replicas(units)
    there = {partition_key(inner_path(_folder(path))) for path, *_ in units}
    check_partitions_exist(query, there, lambda: there)
    return units


def _check_replicas(units: list[_Unit]) -> None:
    """Raise PipelineError if a partition is in two folders, or if the same folder or segment is given twice."""
    folders: dict[tuple[str, int], str] = {}
    paths: set[str] = set()
    for path, *_ in units:
        folder = _folder(path)
        key = partition_key(inner_path(folder))
        known = folders.setdefault(key, folder)
        if known != folder or path in paths or (folder in paths):
            raise replicas_error(known, folder, key, has_option=False)
        paths.add(path)


def _local_units(path: str, query: LogQuery) -> Iterator[_Unit]:
    """Yield the segments and partition folders at a path or pattern."""
    numbers: dict[str, int] = {}
    with ExitStack() as stack:
        found = [*log_locations((path,), stack, query.storage)]
        for location in found:
            with settled_location(location) as folders:  # no commit can run in this block
                for each in folders:
                    above = _above(str(each))
                    if above not in numbers:
                        numbers[above] = settled_number(above, query.storage)
                    yield str(each), above, numbers[above]
        check_found(path, found)


def _remote_units(url: str, options: StorageOptions) -> Iterator[_Unit]:
    """Yield the segment at a URL or, if the URL is a folder, the partition folders in it."""
    if glob.has_magic(url):
        raise invalid(f"{options.hidden(url)}: read_logs does not support patterns in a URL; give folders.")
    system, bare = store(url, options)
    above = folder_of(_within(url, "_"))
    # Read the commit number before listing the folder, so that tasks notice every later commit.
    number = settled_number(above, options)
    with reaching(url, options):
        system.invalidate_cache()
        found = retried(partial(system.ls, bare, detail=True))
    folders = sorted(each["name"].rstrip("/").rpartition("/")[2] for each in found if each["type"] == "directory")
    files = [inner_path(url).name, *(each["name"].rpartition("/")[2] for each in found)]
    if any(map(log_file, files)) or (not folders and partition_name(Path(bare))):
        yield url, _above(url), settled_number(_above(url), options)
        return
    for folder in folders:
        name = partition_name(Path(folder))
        if name is None and not folder.startswith("."):
            yield from _remote_units(_within(url, folder), options)
        elif name is not None and not name.state:
            yield _within(url, folder), above, number


def _within(url: str, name: str) -> str:
    first, chain, rest = url.partition("::")
    scheme, _, folder = first.partition("://")
    above = f"{folder.rstrip('/')}/" if folder.strip("/") else folder  # a root is "" or "/", as in zip:// and hdfs:///
    return f"{scheme}://{above}{name}{chain}{rest}"


def _folder(path: str) -> str:
    return folder_of(path) if log_file(inner_path(path)) else path


def _above(path: str) -> str:
    return folder_of(_folder(path))


def _planned(query: LogQuery, _: int, unit: _Unit) -> Iterator[pa.RecordBatch]:
    path, above, commit = unit
    with unchanged_since(above, commit, query.storage):
        splits = plan_alone(query, path)
    yield pa.record_batch([[pickle.dumps(each) for each in grouped(splits, query)]], schema=_PLAN)


def _reading(query: LogQuery, columns: StructType, names: Sequence[str]) -> Callable[[Any], Iterator[Any]]:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column(0):
                yield from under_names(rows_of_task(pickle.loads(row.as_py()), query, columns), names)

    return read
