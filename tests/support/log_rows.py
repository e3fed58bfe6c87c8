"""Read the rows of a log with `log.read`, as expected values for tests of columns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tagwire import log

PARTITIONS = (
    "kafka0.8/alpha-b0.8-compact-none-0",
    "kafka0.8/__consumer_offsets-0",
    "kafka0.9/__consumer_offsets-0",
    "kafka0.11/alpha-b0.11-compact-gzip-0",
    "kafka28/__transaction_state-1",
    "kafka28/alpha-m0-segs-0",
    "kafka28/alpha-m1-compact-lz4-0",
    "kafka28/alpha-upgrade2-0",
    "kafka4/__cluster_metadata-0",
    "kafka4/__consumer_offsets-1",
    "kafka4/__share_group_state-1",
    "kafka4/__transaction_state-0",
    "kafka4/alpha-compact-horizon-0",
    "kafka4/alpha-compact-txn-0",
    "kafka4/alpha-delrec-0",
    "kafka4/alpha-txn-many-0",
)
"""Logs that brokers of several versions have written."""

MESSAGES = ("v0", "v1", "kip82-int", "kip82-int-signed", "kip87", "kip82-int+kip87")
"""Formats without batches."""


def millis(value: int | None) -> int | None:
    return None if value == -1 else value


_COPIED = (
    *("format", "magic", "compression", "last_offset", "partition_leader_epoch", "producer_id", "producer_epoch"),
    *("base_sequence", "is_transactional", "is_control", "crc", "size", "file", "position"),
)
"""Columns of a batch that have the value of the attribute of the same name."""


def of_batch(batch: Any) -> dict[str, Any]:
    return {name: getattr(batch, name) for name in _COPIED} | {
        "timestamp_type": None if batch.format == "v0" else batch.timestamp_type,
        "delete_horizon_ms": millis(batch.delete_horizon_ms),
    }


def batch_headers(batch: Any) -> Iterator[dict[str, Any]]:
    packed_message = batch.format in MESSAGES and batch.compression != "none"
    yield of_batch(batch) | {
        "base_offset": None if packed_message else batch.base_offset,
        "base_timestamp": millis(batch.base_timestamp),
        "max_timestamp": millis(batch.max_timestamp),
        "count": batch.count,
    }


def records(batch: Any) -> Iterator[dict[str, Any]]:
    shared = of_batch(batch) | {"base_offset": batch.base_offset}
    for record in batch:
        yield shared | {
            "offset": record.offset,
            "timestamp": millis(record.timestamp),
            "key": record.key,
            "value": record.value,
            "tombstone": record.is_tombstone,
            "attributes": record.attributes,
            "headers": [{"key": key, "value": value} for key, value in record.headers],
        }


ROWS = {"record": records, "batch": batch_headers}


def expected(path: Path, level: str, format: Any = "auto") -> list[dict[str, Any]]:
    segments = log.Partition(path).segments if path.is_dir() else (log.Segment(path),)
    return [row for segment in segments for batch in segment.batches(format=format) for row in ROWS[level](batch)]


def plain(table: Any) -> list[dict[str, Any]]:
    types = [pa.int64() if pa.types.is_timestamp(field.type) else field.type for field in table.schema]
    rows: list[dict[str, Any]] = table.cast(pa.schema(list(zip(table.column_names, types, strict=True)))).to_pylist()
    return rows


def found(path: Path, **options: Any) -> list[dict[str, Any]]:
    return plain(pa.table(log.columns(path, **options)))


def same(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
    assert len(rows) == len(others)
    for row, other in zip(rows, others, strict=True):
        assert row == other
