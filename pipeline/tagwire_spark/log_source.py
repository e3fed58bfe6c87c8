"""The data source `kafka_log`, which shows Kafka log segments as a DataFrame, without a broker.

Spark does not tell Python sources which columns a query uses, so even `count()` reads all columns of the schema. To
read less, pass a schema with fewer columns, or use `level=batch`, which reads only batch headers.

Filters that Spark pushes down narrow the query. Topic and partition filters select files, and offset filters select
records. Spark does not apply these filters again, and EXPLAIN shows them as pushed. Spark applies timestamp filters
again, because record timestamps are coarser than Spark's. All other filters are left to Spark.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from math import floor
from typing import Any, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.types import StructType

from tagwire_spark.columns.schema_check import check_requested_columns, under_names
from tagwire_spark.log_read.query import STREAM_OPTIONS, LogQuery, log_query
from tagwire_spark.log_read.rows import full_schema, rows_of_task
from tagwire_spark.log_read.splits import grouped, plan
from tagwire_spark.log_read.stream import LogStreamReader, stream_query
from tagwire_spark.log_write.driver import LogStreamWriter, LogWriter
from tagwire_spark.log_write.target import check_columns, log_target

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_VALUES: Final = (EqualTo, In)
_RANGES: Final = (EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)


class LogSource(DataSource):
    """`spark.read.format("kafka_log")` and `df.write`: see docs/spark-read.md and docs/spark-write.md."""

    @classmethod
    def name(cls) -> str:
        return "kafka_log"

    def schema(self) -> StructType:
        """Return all columns that Spark can select from a read with these options."""
        return full_schema(log_query(_of_both(self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        query = log_query(self.options)
        columns = check_requested_columns(self.name(), schema, full_schema(query, strict=True))
        # Spark rejects `pushFilters` if pushdown is disabled.
        return (PushingLogReader if query.pushdown else LogReader)(query, columns, schema.names)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        query = stream_query(self.options)
        columns = check_requested_columns(self.name(), schema, full_schema(query.query, strict=True))
        return LogStreamReader(query, columns, schema.names)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        target = log_target(self.options)
        check_columns(schema, target)
        return LogWriter(target, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return a stream writer. Spark sets `overwrite` for the output mode `complete`."""
        target = log_target(self.options, is_stream=True)
        check_columns(schema, target)
        return LogStreamWriter(target, overwrite=overwrite)


def _of_both(options: Any) -> dict[str, Any]:
    """Return the options that both batch reads and streams accept, because Spark calls `schema` for both."""
    left_out = {"startingoffsets", *(name.lower() for name in STREAM_OPTIONS)}
    return {name: value for name, value in options.items() if name.lower() not in left_out}


class LogReader(DataSourceReader):
    """The batch reader. Spark calls it on the driver to plan, and on workers to read."""

    def __init__(self, query: LogQuery, schema: StructType, names: Sequence[str]) -> None:
        self.query = query
        self.columns = schema
        self.names = [*names]
        """The column names of the user's schema."""

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(splits) for splits in grouped(plan(self.query), self.query)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the Arrow batches of a task's splits. If there are no splits, Spark calls this once with None."""
        yield from under_names(rows_of_task(partition.value or (), self.query, self.columns), self.names)


class PushingLogReader(LogReader):
    """A batch reader that uses Spark's filters to read less.

    Spark 4.3 also uses the narrowed query for other queries on the same DataFrame, even if they have no filters.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Narrow the query with Spark's filters. Return the filters that Spark must still apply to the rows."""
        self.query, left = narrowed(self.query, filters)
        return left


def narrowed(query: LogQuery, filters: Iterable[Filter]) -> tuple[LogQuery, list[Filter]]:
    """Return the query narrowed by the filters, and the filters that Spark must still apply."""
    left = []
    for each in filters:
        column: tuple[str, ...] = getattr(each, "attribute", ())
        name = column[0] if len(column) == 1 else ""
        if name in _NARROW and isinstance(each, _VALUES if name in _OF_PARTITIONS else _RANGES):
            query = _NARROW[name](query, each)
        elif name not in _NARROW or not isinstance(each, IsNotNull):
            left.append(each)
            continue
        if name not in _OF_PARTITIONS and (name == "timestamp" or (query.permissive and not query.drops)):
            left.append(each)  # so that Spark also filters error rows
    return query, left


def _only(name: str, query: LogQuery, each: Any) -> LogQuery:
    """Return the query in which the attribute `name`, a tuple or None, has only the values that a filter allows."""
    known, values = getattr(query, name), [each.value] if isinstance(each, EqualTo) else each.value
    changes: dict[str, Any] = {name: tuple(value for value in values if known is None or value in known)}
    return query._replace(**changes)


def _range(each: Any) -> tuple[Any, Any]:
    """Return the (lower, upper) bounds of a filter, such as (5, None) for `> 5` and for `>= 5`."""
    if isinstance(each, EqualTo):
        return each.value, each.value
    return (each.value, None) if isinstance(each, GreaterThan | GreaterThanOrEqual) else (None, each.value)


def _offset(query: LogQuery, each: Any) -> LogQuery:
    low, high = _range(each)
    if low is not None:
        query = query._replace(first_offset=max(query.first_offset, low + isinstance(each, GreaterThan)))
    if high is not None:
        query = query._replace(end_offset=min(query.end_offset, high + (not isinstance(each, LessThan))))
    return query


def _timestamp(query: LogQuery, each: Any) -> LogQuery:
    low, high = (None if v is None else floor((v - _EPOCH) / timedelta(milliseconds=1)) for v in _range(each))
    firsts = [time for time in (query.first_timestamp, low) if time is not None]
    ends = [time for time in (query.end_timestamp, None if high is None else high + 1) if time is not None]
    return query._replace(first_timestamp=max(firsts, default=None), end_timestamp=min(ends, default=None))


_OF_PARTITIONS: Final = {"topic": partial(_only, "filtered_topics"), "partition": partial(_only, "numbers")}
_NARROW: Final[dict[str, Any]] = {**_OF_PARTITIONS, "offset": _offset, "timestamp": _timestamp}
