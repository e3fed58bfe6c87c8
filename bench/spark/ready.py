"""The ceiling of Spark's Python sources: one that hands over Arrow batches as they are in files, and does nothing else.

What it takes is Spark's: a worker, the way from there into the JVM, and rows
made of Arrow columns. No source in Python is faster with rows of that shape.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from tagwire_spark.columns.arrow_types import arrow_schema
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import rows_of_task
from tagwire_spark.log_read.splits import packed, plan

__all__ = ["ready_rows"]


def ready_rows(spark: Any, name: str, schema: Any, log: Path, folder: Path, **options: Any) -> Any:
    """A DataFrame of what `kafka_log` makes of a log, with these columns, which `folder` keeps as Arrow batches."""
    if not folder.exists():
        _make(schema, log, folder, options)
    files = sorted(map(str, folder.iterdir()))
    spark.dataSource.register(_source(name, files))
    return spark.read.format(name).schema(schema).load()


def _make(schema: Any, log: Path, folder: Path, options: dict[str, Any]) -> None:
    """A file for each task of `kafka_log`, of the batches that it makes."""
    query = log_query({"path": str(log), **{name: str(value) for name, value in options.items()}})
    partial = folder.with_name(f".{folder.name}")
    partial.mkdir(parents=True, exist_ok=True)
    for number, splits in enumerate(packed(plan(query), query)):
        with pa.ipc.new_file(str(partial / f"{number:05}.arrow"), arrow_schema(schema)) as file:
            for batch in rows_of_task(splits, query, schema):
                file.write_batch(batch)
    partial.rename(folder)


def _source(called: str, files: list[str]) -> Any:
    """A source of these files, defined here so that it travels to workers by value."""

    class Reader(DataSourceReader):
        def partitions(self) -> list[InputPartition]:
            return [InputPartition(file) for file in files]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            from tagwire_spark.worker import settle_worker

            settle_worker()
            opened = pa.ipc.open_file(pa.memory_map(partition.value))
            for number in range(opened.num_record_batches):
                yield opened.get_batch(number)

    class Ready(DataSource):
        @classmethod
        def name(cls) -> str:
            return called

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader()

    return Ready
