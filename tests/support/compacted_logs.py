"""Write small logs to compact them, and check what is left: batches of one record, transactions and their markers."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from random_logs import DAY, NOW
from small_logs import write_segment

from tagwire import log
from tagwire.log.compact import CompactReport, compact_partition
from tagwire.log.compaction import Compaction
from tagwire.log.verify import verify_partition
from tagwire.records import Record, RecordBatch, build

COMMIT, ABORT = b"\0\0\0\1", b"\0\0\0\0"
OLD = NOW - 30 * DAY


def write(folder: Path, *segments: Sequence[RecordBatch], modified: Sequence[int] = ()) -> Path:
    """Write segments, and set the times of their last changes, which are `OLD` by default."""
    for batches, time in zip(segments, modified or [OLD] * len(segments), strict=True):
        path = write_segment(folder, *batches, base=batches[0].base_offset)
        os.utime(path, ns=(time * 1_000_000, time * 1_000_000))
    return folder


def compact(folder: Path, **options: Any) -> tuple[CompactReport, list[RecordBatch]]:
    """Compact a partition, by default including its active segment, and check that compacting again changes nothing."""
    rules: dict[str, Any] = {"now": NOW, "include_active": True} | options
    target, again = folder.with_name("compacted-0"), folder.with_name("again-0")
    report = compact_partition(log.Partition(folder), target, Compaction(**rules))
    files = list(verify_partition(log.Partition(target), rules.get("format", "auto")))
    assert [each for each in files if each.problems] == []
    compact_partition(log.Partition(target), again, Compaction(**rules))
    assert contents(again) == contents(target)
    return report, list(log.Partition(target).batches(None, rules.get("format", "auto")))


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def one(offset: int, key: bytes | None, value: bytes | None, format: str = "v2", **settings: Any) -> RecordBatch:
    return build([Record(offset, OLD + offset, key, value)], format, **settings)


def offsets(batches: Sequence[RecordBatch]) -> list[int]:
    return [record.offset for batch in batches for record in batch]


def txn(offset: int, key: bytes, value: bytes | None = b"v", producer: int = 1, **settings: Any) -> RecordBatch:
    numbers: dict[str, Any] = {"producer_id": producer, "producer_epoch": 0, "base_sequence": offset}
    return one(offset, key, value, is_transactional=True, **numbers | settings)


def marker(offset: int, kind: bytes, producer: int = 1, epoch: int = 0, **settings: Any) -> RecordBatch:
    record = Record(offset, OLD + offset, kind, b"\0\0\0\0\0\0")
    flags = {"is_transactional": True, "is_control": True}
    return build([record], "v2", producer_id=producer, producer_epoch=epoch, **flags, **settings)
