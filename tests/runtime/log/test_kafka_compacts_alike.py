"""Check that tagwire and Kafka's own cleaner keep the same records in brokers' logs and random logs.

These tests need Java 17 and Maven, like test_broker_opens_converted_logs.py. tagwire compacts each log once. Kafka's
cleaner runs until nothing changes, up to three times.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from random_logs import DAY, NOW, RandomLog

from tagwire import log
from tagwire.log.batch_rules import OpenTransactions
from tagwire.log.compact import compact_partition
from tagwire.log.compaction import Compaction
from tagwire.log.verify import verify_partition
from tagwire.records import RecordBatch

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("CleanLogs.java")
ROUNDS = 3


class Case(NamedTuple):
    folder: Path
    now: int
    dirty_from: int | None
    rounds: int = ROUNDS


def stable_end(partition: log.Partition) -> int:
    """Return a broker's last stable offset: where the first open transaction begins.

    If no transaction is open, return an offset above all others.
    """
    transactions = OpenTransactions()
    for batch in partition.batches():
        transactions.see(batch, len(batch))
    return min(transactions.open.values(), default=1 << 40)


def clean(jars: Path, cases: list[Case], folder: Path) -> list[Path]:
    copies, lines = [], []
    for number, case in enumerate(cases):
        copy = folder / str(number) / case.folder.name
        shutil.copytree(case.folder, copy)
        segments = log.Partition(copy).segments
        end = min(segments[-1].base_offset or 0, stable_end(log.Partition(copy)))
        dirty = max(case.dirty_from or 0, segments[0].base_offset or 0)
        words = (copy, case.now, DAY, dirty, end, case.rounds)
        lines.append("\t".join(map(str, words)))
        copies.append(copy)
    orders = folder / "orders"
    orders.write_text("\n".join(lines))
    command = ["java", "-cp", f"{jars}/*", str(PROGRAM), str(orders)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return copies


def seen(batch: RecordBatch) -> tuple[Any, ...]:
    """Return what both cleaners must keep of a batch: only its records if Kafka converts the batch to v2."""
    if batch.magic < 2 or (batch.count and batch.partition_leader_epoch < 0):
        return tuple(batch)
    codec = batch.compression if len(batch) else "none"
    return (
        *(batch.format, batch.base_offset, batch.last_offset, batch.max_timestamp, batch.base_timestamp, codec),
        *(batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.partition_leader_epoch),
        *(batch.is_transactional, batch.is_control, batch.delete_horizon_ms, batch.timestamp_type, list(batch)),
    )


def compare(jars: Path, cases: list[Case], folder: Path) -> int:
    count = 0
    for number, (case, theirs) in enumerate(zip(cases, clean(jars, cases, folder / "theirs"), strict=True)):
        ours = folder / "ours" / str(number)
        compact_partition(log.Partition(case.folder), ours, Compaction(now=case.now, dirty_from=case.dirty_from))
        assert [each.problems for each in verify_partition(log.Partition(ours)) if each.problems] == []
        found = [seen(batch) for batch in log.Partition(ours).batches()]
        assert found == [seen(batch) for batch in log.Partition(theirs).batches()], case
        count += len(found)
    return count


def test_logs_from_seeds(jars: Path, tmp_path: Path) -> None:
    cases = []
    for seed in range(150):
        folder = tmp_path / "logs" / f"alpha-{seed}"
        RandomLog(seed).write(folder)
        cases.append(Case(folder, NOW, None))
    assert compare(jars, cases, tmp_path) > 3000


def test_old_formats(jars: Path, tmp_path: Path) -> None:
    """In old formats, only tombstones before the cleaner checkpoint are removed."""
    cases = []
    for seed, magics in enumerate([("v0",), ("v1",), ("v0", "v1"), ("v1", "v2"), ("v0", "v1", "v2")] * 12):
        folder = tmp_path / "logs" / f"alpha-{seed}"
        bases = RandomLog(1000 + seed, magics, 40).write(folder, 8)
        cases.append(Case(folder, NOW, bases[len(bases) // 2], 1 if "v2" not in magics else ROUNDS))
    assert compare(jars, cases, tmp_path) > 500


def test_logs_of_brokers(jars: Path, copy_of: Callable[[str], Path], tmp_path: Path) -> None:
    names = (
        *("kafka4/alpha-compact-txn-0", "kafka4/alpha-compact-horizon-0", "kafka4/alpha-txn-many-0"),
        *("kafka4/__consumer_offsets-1", "kafka4/__transaction_state-0", "kafka28/alpha-m1-compact-lz4-0"),
    )
    folders = [copy_of(name) for name in names]
    for path in (path for folder in folders for path in folder.glob("*.log")):
        os.utime(path)  # set the current time, because the archive has no modification times
    cases = [Case(folder, now, None) for folder in folders for now in (NOW, NOW + 10_000 * DAY)]
    assert compare(jars, cases, tmp_path) > 100
