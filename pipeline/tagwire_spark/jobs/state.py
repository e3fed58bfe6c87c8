"""`log_state` returns the state in Kafka's internal topics as tables, computed by workers.

Each task computes the state of one partition with `tagwire.log.state`. It needs no other partitions, because Kafka
writes all records with the same key to the same partition.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, IntegerType, StructType

from tagwire.frames.known_packages import kafka_messages
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.state import state
from tagwire_spark.columns.arrow_types import arrow_schema
from tagwire_spark.files.store import StorageOptions
from tagwire_spark.jobs.tasks import over_units
from tagwire_spark.jobs.units import found_partitions, job_inputs, received_folder
from tagwire_spark.log_read.partition_checks import replicas_error
from tagwire_spark.log_read.query import partition_key
from tagwire_spark.options import invalid


def _columns(text: str, **others: Any) -> StructType:
    schema = StructType()
    for part in text.split(", "):
        name, type = part.split()
        schema.add(name, others.get(type, type))
    return schema


_TXN_PARTITIONS: Final = ArrayType(_columns("topic string, partitionIds numbers", numbers=ArrayType(IntegerType())))


def _offset_rows(groups: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for group, found in groups.items():
        for kind in ("offsets", "pendingOffsets"):
            yield from ({"groupId": group, "isPending": kind != "offsets", **each} for each in found.get(kind, ()))


def _transaction_rows(transactions: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    status = kafka_messages().attribute("TransactionStatus")
    for name, each in transactions.items():
        yield {"transactionalId": name, **each, "transactionStatus": str(status.of(each["transactionStatus"]))}


class _Table(NamedTuple):
    """A table that `log_state` can return."""

    topic: str
    state: str
    columns: StructType
    rows: Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]


_TABLES: Final = {
    "offsets": _Table(
        "__consumer_offsets",
        "groups",
        _columns(
            "groupId string, topic string, partition integer, offset long, leaderEpoch integer, metadata string,"
            " commitTimestamp long, expireTimestamp long, isPending boolean"
        ),
        _offset_rows,
    ),
    "transactions": _Table(
        "__transaction_state",
        "transactions",
        _columns(
            "transactionalId string, producerId long, producerEpoch integer, transactionTimeoutMs integer,"
            " transactionStatus string, transactionPartitions partitions, transactionLastUpdateTimestampMs long,"
            " transactionStartTimestampMs long",
            partitions=_TXN_PARTITIONS,
        ),
        _transaction_rows,
    ),
}


def log_state(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    table: str,
    *,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Return the `offsets` of consumer groups, or the `transactions` of transactional IDs, from a log folder.

    The values are the same as in the output of `tagwire log state`. Columns are named like the fields of Kafka's
    messages. `isPending` marks offsets of open transactions. Raises LogPathError if a path doesn't exist, and
    PipelineError for other invalid arguments.
    """
    if table not in _TABLES:
        raise invalid(f"table: expected {' or '.join(_TABLES)}, got {table!r}.")
    definition, seen = _TABLES[table], dict[tuple[str, int], str]()
    units, sizes = list[Any](), list[int]()
    with ExitStack() as stack:
        for root in job_inputs(paths, stack, storage_options):
            for found in found_partitions(root):
                key, listed = partition_key(found.partition.path), found.partition
                if key[0] != definition.topic or listed.state:
                    continue
                if key in seen:
                    raise replicas_error(seen[key], found.name, key, has_option=False)
                seen[key] = found.name
                units.append([found.name, root.listed(listed.path, listed.each_file())])
                sizes.append(sum(each.size for each in listed.segments))
    if not units:
        raise invalid(
            f"paths: found no partition of {definition.topic}, but table {table!r} is made from this topic; give a "
            "folder with its partitions."
        )
    work = partial(_rows, table=table, limits=limits, storage=StorageOptions(storage_options or {}))
    return over_units(spark, units, sizes, work, arrow_schema(definition.columns))


def _rows(_: int, unit: Any, table: str, limits: Limits, storage: StorageOptions) -> Iterator[pa.RecordBatch]:
    folder, listed = unit
    definition = _TABLES[table]
    with received_folder(folder, listed, storage) as location:
        found = state([location.partition(location.local)], kafka_messages(), limits=limits)[definition.state]
    rows = [{"leaderEpoch": -1, "expireTimestamp": -1, **row} for row in definition.rows(found)]
    yield pa.RecordBatch.from_pylist(rows, schema=arrow_schema(definition.columns))
