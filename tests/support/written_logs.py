"""Helpers for tests of writing: write logs with `kafka_log`, but without Spark, and read them."""

import errno
import os
import threading
from collections.abc import Callable, Container, Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, StructType

from tagwire import TagwireError, log
from tagwire.log.verify import verify_partition
from tagwire_spark import PipelineError
from tagwire_spark.columns.arrow_types import arrow_schema
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import plan
from tagwire_spark.log_source import LogReader, LogSource
from tagwire_spark.log_write import driver
from tagwire_spark.log_write.driver import LogStreamWriter, LogWriter, Staged
from tagwire_spark.log_write.micro_batch import MicroBatch
from tagwire_spark.log_write.target import log_target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLE = Path(__file__).parents[1] / "data" / "sample_log"
"""A log with two partitions, orders-0 and orders-1, of 30 records each."""
HEADERS = ArrayType(StructType().add("key", "string").add("value", "binary"))


def columns(text: str) -> StructType:
    """Return the Spark schema for columns such as `topic string, offset long`, without a Spark session."""
    schema = StructType()
    for name, type in (part.split() for part in text.split(", ")):
        schema.add(name, HEADERS if type == "headers" else {"int": "integer"}.get(type, type))
    return schema


SIMPLE = columns("topic string, partition int, offset long, key binary, value binary")


def arrow_rows(path: Path | str, **options: Any) -> Iterator[Any]:
    query = log_query({"path": str(path), **options})
    schema = full_schema(query)
    return (batch for split in plan(query) for batch in rows_of(split, query, schema))


def read_rows(path: Path | str, **options: Any) -> list[dict[str, Any]]:
    return [row for batch in arrow_rows(path, **options) for row in batch.to_pylist()]


def by_partition(path: Path | str, column: str = "value", **options: Any) -> dict[str, list[Any]]:
    """Return the values of a column, keyed by `topic-partition`, in the order of their offsets."""
    found: dict[str, list[Any]] = {}
    for row in sorted(read_rows(path, **options), key=lambda row: row["offset"]):
        found.setdefault(f"{row['topic']}-{row['partition']}", []).append(row[column])
    return found


def table(*rows: tuple[Any, ...], schema: StructType = SIMPLE) -> list[Any]:
    values: list[Any] = list(zip(*rows, strict=True)) or [[] for _ in schema]
    fields = arrow_schema(schema)
    arrays = [pa.array(each, type=field.type) for each, field in zip(values, fields, strict=True)]
    return [pa.record_batch(arrays, schema=fields)]


def job(root: Path, *tasks: list[Any], overwrite: bool = False, **options: Any) -> None:
    """Write to `kafka_log` without Spark, and commit. Each of `tasks` lists the Arrow batches of one task."""
    writer = LogWriter(log_target({"path": str(root), **options}), overwrite=overwrite)
    try:
        writer.commit([writer.write(iter(batches)) for batches in tasks])
    except PipelineError:
        writer.abort([])
        raise


def staged_in_run(
    monkeypatch: pytest.MonkeyPatch, root: Path | str, batch: MicroBatch, *tasks: list[Any], **options: Any
) -> tuple[LogStreamWriter, list[Staged]]:
    """Write the rows of a micro-batch, but don't commit them. Return a new writer object, which can commit them."""
    monkeypatch.setattr(driver, "batch_of_stream", lambda: batch)
    target = log_target({"path": str(root), **options}, is_stream=True)
    staged = [LogStreamWriter(target, overwrite=False).write(iter(each)) for each in tasks]
    return LogStreamWriter(target, overwrite=False), staged


def run_micro_batch(
    monkeypatch: pytest.MonkeyPatch,
    root: Path | str,
    query: str,
    number: int,
    *tasks: list[Any],
    committed: int | None = None,
    **options: Any,
) -> None:
    """Run a micro-batch as Spark does. `committed` is the number that the driver commits, by default `number`."""
    batch = MicroBatch(query, number, uuid4().hex)
    writer, staged = staged_in_run(monkeypatch, root, batch, *tasks, **options)
    try:
        writer.commit(staged, number if committed is None else committed)
    except PipelineError:
        writer.abort(staged, number)
        raise


def register_source(
    spark: "SparkSession", source: str, *, reader: type[LogReader] = LogReader, writer: type[LogWriter] = LogWriter
) -> None:
    """Register `kafka_log` under another name, with other classes for reading or writing."""

    class Source(LogSource):
        @classmethod
        def name(cls) -> str:
            return source

        def reader(self, schema: StructType) -> LogReader:
            return reader(log_query(self.options), schema, schema.names)

        def writer(self, schema: StructType, overwrite: bool) -> LogWriter:
            return writer(log_target(self.options), overwrite=overwrite)

    spark.dataSource.register(Source)


def commit_or_abort(writer: LogWriter, messages: list[Any]) -> None:
    """Commit a write, or abort it if it is rejected, as Spark does."""
    try:
        writer.commit(messages)
    except PipelineError:
        writer.abort(messages)
        raise


def at_once(*calls: Callable[[], object]) -> list[str]:
    """Make calls in concurrent threads. Return the condition (such as KAFKA_LOG_EXISTS) or class of each error."""
    start, found = threading.Barrier(len(calls)), []

    def run(call: Callable[[], object]) -> None:
        start.wait(30)
        try:
            call()
        except TagwireError as error:
            found.append(error.condition if isinstance(error, PipelineError) else type(error).__name__)

    threads = [threading.Thread(target=run, args=(each,)) for each in calls]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    return found


def failing_calls(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, error: int, fails: Callable[[Path], bool]
) -> None:
    """Make a function raise an OSError with this number if `fails` is true for the path that it is called with."""
    call = getattr(module, name)

    def called(path: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(path, str | Path) and fails(Path(path)):
            raise OSError(error, os.strerror(error), str(path))
        return call(path, *arguments, **named)

    monkeypatch.setattr(module, name, called)


class Stop(BaseException):
    """An exception that simulates the death of a process."""


@contextmanager
def failing_steps(steps: Container[int], *names: str, error: type[BaseException] | None = None) -> Generator[None]:
    """Fail calls of these methods of `Path` (by default, `replace`) with an I/O error, or raise `error`.

    `steps` contains the numbers of the calls to fail. The first call has the number 1.
    """
    numbers = count(1)

    def counted(original: Any) -> Any:
        def step(path: Path, *arguments: Any, **named: Any) -> Any:
            if next(numbers) in steps:
                raise error or OSError(errno.EIO, "Input/output error", str(path))
            return original(path, *arguments, **named)

        return step

    with pytest.MonkeyPatch.context() as patch:
        for name in names or ("replace",):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        yield


def once(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, extra: Callable[[], object], *, after: bool = False
) -> None:
    """Patch a function to run `extra` before its first call, or after it."""
    real, waiting = getattr(owner, name), [extra]

    def called(*arguments: Any) -> Any:
        call = waiting.pop() if waiting else lambda: None
        if after:
            result = real(*arguments)
            call()
            return result
        call()
        return real(*arguments)

    monkeypatch.setattr(owner, name, called)


def facts(folder: Path, format: Any = "auto") -> list[tuple[Any, ...]]:
    return [
        (batch.base_offset, batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.is_transactional,
         batch.is_control, batch.timestamp_type, batch.compression, batch.format, batch.partition_leader_epoch,
         record.offset, record.timestamp, record.key, record.value, record.headers, record.tombstone)
        for batch in log.Partition(folder).batches(format=format)
        for record in batch
    ]  # fmt: skip


def offsets(root: Path) -> dict[str, list[int]]:
    return {
        each.path.name: [record.offset for batch in each.batches() for record in batch]
        for each in log.find_partitions(root)
    }


def files(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def problems(root: Path, format: Any = "auto") -> list[Any]:
    return [
        (report.file.name, problem)
        for partition in log.find_partitions(root)
        for report in verify_partition(partition, format)
        for problem in report.problems
    ]


def save(df: "DataFrame", root: Path, mode: str = "append", **options: Any) -> None:
    df.write.format("kafka_log").mode(mode).options(**options).save(str(root))
