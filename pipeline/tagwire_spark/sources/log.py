"""The data source `kafka_log`: Kafka log segments as a DataFrame, without a broker.

Spark's Python sources have no column pruning: `count()` would read everything. Only the columns of the user's schema
are read, and `level=batch` reads only batch headers.
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
from tagwire_spark.log_read.splits import packed, plan
from tagwire_spark.log_read.stream import LogStreamReader, stream_query
from tagwire_spark.log_write.driver import LogStreamWriter, LogWriter
from tagwire_spark.log_write.target import check_columns, log_target


class LogSource(DataSource):
    """`spark.read.format("kafka_log")` and `df.write`: see docs/spark-read.md and docs/spark-write.md."""

    @classmethod
    def name(cls) -> str:
        """Return the source's name for `format`."""
        return "kafka_log"

    def schema(self) -> StructType:
        """Return all columns that the options allow."""
        return full_schema(log_query(_of_both(self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader for these columns."""
        query = log_query(self.options)
        columns = check_requested_columns(self.name(), schema, full_schema(query, strict=True))
        # A reader with pushFilters fails unless Spark enables pushdown, so option pushdown must request one.
        pushes = str(self.options.get("pushdown", "false")).lower() == "true"
        return (PushingLogReader if pushes else LogReader)(query, columns, schema.names)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream of these columns."""
        asked = stream_query(self.options)
        columns = check_requested_columns(self.name(), schema, full_schema(asked.query, strict=True))
        return LogStreamReader(asked, columns, schema.names)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of these columns."""
        target = log_target(self.options)
        check_columns(schema, target)
        return LogWriter(target, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return the writer of a stream of these columns; `overwrite` is for output mode complete."""
        target = log_target(self.options, is_stream=True)
        check_columns(schema, target)
        return LogStreamWriter(target, overwrite=overwrite)


def _of_both(options: Any) -> dict[str, Any]:
    """Return the options without stream options: Spark asks for columns before it knows whether this is a stream."""
    left_out = {"startingoffsets", *(name.lower() for name in STREAM_OPTIONS)}
    return {name: value for name, value in options.items() if name.lower() not in left_out}


class LogReader(DataSourceReader):
    """Plans on the driver, reads on workers."""

    def __init__(self, query: LogQuery, schema: StructType, names: Sequence[str]) -> None:
        self.query = query
        self.columns = schema
        self.names = [*names]
        """The column names in the query."""

    def partitions(self) -> Sequence[InputPartition]:
        """Return a partition for each task."""
        return [InputPartition(splits) for splits in packed(plan(self.query), self.query)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the Arrow batches of a task's splits. Without any splits, Spark calls this once with None."""
        yield from under_names(rows_of_task(partition.value or (), self.query, self.columns), self.names)


class PushingLogReader(LogReader):
    """A reader that narrows the query by its filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Use filters to read less, and return those that Spark has to apply to the rows."""
        self.query, left = narrowed(self.query, filters)
        return left
