"""Helpers for tests of streams: write growing logs, and read them as `kafka_log` streams without Spark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from small_logs import write_segment

from tagwire.records import Record, build
from tagwire_spark.log_read.rows import full_schema
from tagwire_spark.log_read.stream import LogStreamReader, stream_query


def stream(path: Path | str, **options: Any) -> LogStreamReader:
    query = stream_query({"path": str(path), **{name.replace("__", "."): str(v) for name, v in options.items()}})
    schema = full_schema(query.query)
    return LogStreamReader(query, schema, schema.names)


def rows(reader: LogStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
    tasks = reader.partitions(start, end)
    return [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]


def triggers(reader: LogStreamReader, start: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Run micro-batches as Spark does, until there is no new data. Yield each micro-batch's end offset and rows."""
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
        yield end, rows(reader, start, end)
        start = end


def batch(first: int, count: int = 5, size: int = 40) -> bytes:
    records = [Record(first + n, 1_700_000_000_000 + n, b"k", bytes(size)) for n in range(count)]
    return build(records, "v2").encode()


def segment(folder: Path, base: int, *batches: bytes) -> Path:
    return write_segment(folder, *batches, base=base)
