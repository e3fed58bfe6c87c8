"""The data source `kafka_log`, which shows Kafka log segments as a DataFrame, without a broker.

Spark does not tell Python sources which columns a query uses, so even `count()` reads all columns of the schema. To
read less, pass a schema with fewer columns, or use `level=batch`, which reads only batch headers.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    Filter,
    InputPartition,
)
from pyspark.sql.types import StructType

from tagwire_spark.columns.schema_check import check_requested_columns, under_names
from tagwire_spark.log_read.filters import narrowed
from tagwire_spark.log_read.query import STREAM_OPTIONS, LogQuery, log_query
from tagwire_spark.log_read.rows import full_schema, rows_of_task
from tagwire_spark.log_read.splits import plan
from tagwire_spark.log_read.stream import LogStreamReader, stream_query
from tagwire_spark.log_read.tasks import grouped
from tagwire_spark.log_write.driver import LogStreamWriter, LogWriter
from tagwire_spark.log_write.target import check_columns, log_target


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
        pushes = str(self.options.get("pushdown", "false")).lower() == "true"
        return (PushingLogReader if pushes else LogReader)(query, columns, schema.names)

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
    """A batch reader that uses Spark's filters to read less."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Narrow the query with Spark's filters. Return the filters that Spark must still apply to the rows."""
        self.query, left = narrowed(self.query, filters)
        return left
