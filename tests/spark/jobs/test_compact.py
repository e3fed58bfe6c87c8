import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from compacted_logs import OLD, one, write
from pyspark.sql import SparkSession
from random_logs import DAY, NOW, RandomLog

from tagwire.log import find_partitions
from tagwire.log.compact import CompactReport, compact_partition
from tagwire.log.compaction import Compaction
from tagwire.log.convert import copy_directory_files
from tagwire.log.names import segment_file
from tagwire.records import Record, build
from tagwire_spark import PipelineError
from tagwire_spark.jobs import compact, compact_logs
from tagwire_spark.jobs.compact import Task, compact_whole
from tagwire_spark.jobs.outputs import Staging
from tagwire_spark.jobs.tasks import TASK_BYTES, run_units

pytestmark = pytest.mark.spark


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Split every partition into several tasks. Return a list of the kinds of work that the tasks do."""
    monkeypatch.setattr(compact, "TASK_BYTES", -1)
    done: list[str] = []

    def noted(spark: Any, units: Sequence[Any], *rest: Any) -> list[Any]:
        done.extend(unit.work.func.__name__ for unit in units)
        return run_units(spark, units, *rest)

    monkeypatch.setattr(compact, "run_units", noted)
    return done


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            of_log = path.suffix in (".log", ".index", ".timeindex", ".txnindex")
            found[path.relative_to(folder).as_posix()] = path.read_bytes(), path.stat().st_mtime_ns * of_log
    return found


def on_one_machine(logs: Path, output: Path, rules: dict[str, Any]) -> list[CompactReport]:
    found = sorted(find_partitions(logs), key=lambda each: each.path)
    reports = [compact_partition(each, output / each.path.relative_to(logs), Compaction(**rules)) for each in found]
    folders = sorted({each.path.parent for each in found})
    copy_directory_files([(each, output / each.relative_to(logs)) for each in folders], keeps_producers=True)
    return reports


@pytest.mark.parametrize(
    "rules",
    [
        {"include_active": True},
        {"include_active": True, "segment_bytes": 3000, "now": NOW + DAY},
        {"now": NOW + 3 * DAY, "min_compaction_lag_ms": 3_600_000},
        {"include_active": True, "dirty_from": 1030},
    ],
    ids=lambda rules: "-".join(rules),
)
def test_random_logs(spark: SparkSession, tmp_path: Path, apart: list[str], rules: dict[str, Any]) -> None:
    logs = tmp_path / "logs"
    for seed in range(24):
        RandomLog(seed, [("v2",), ("v1", "v2"), ("v0", "v1", "v2")][seed % 3]).write(logs / f"alpha-{seed}", most=9)
    rules = {"now": NOW} | rules
    expected = on_one_machine(logs, tmp_path / "one", rules)
    got = compact_logs(spark, logs, tmp_path / "many", **rules)
    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    assert sorted(got, key=lambda each: str(each.partition)) == expected
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "one", "many"}
    if "dirty_from" in rules:
        assert set(apart) == {"compact_whole"}
    else:
        assert apart.count("rewrite") > 50 and "compact_whole" not in apart


def test_logs_of_brokers(spark: SparkSession, logs: Path, tmp_path: Path, apart: list[str]) -> None:
    rules: dict[str, Any] = {"now": 1 << 50, "include_active": True, "drop_keyless": True}
    expected = on_one_machine(logs, tmp_path / "one", rules)
    got = compact_logs(spark, logs, tmp_path / "many", **rules)
    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    assert sorted(got, key=lambda each: str(each.partition)) == expected
    assert apart.count("rewrite") > 20 and "compact_whole" not in apart


def test_most_records_have_one_key(spark: SparkSession, tmp_path: Path, apart: list[str]) -> None:
    keys = [[b"key %d" % number, *[b"hot"] * 8, None] for number in range(40)]
    batches = [[one(10 * number + n, key, b"v") for n, key in enumerate(some)] for number, some in enumerate(keys)]
    log = write(tmp_path / "logs" / "alpha-0", *batches)
    rules: dict[str, Any] = {"now": NOW, "include_active": True, "drop_keyless": True}
    [expected] = on_one_machine(log.parent, tmp_path / "one", rules)
    [got] = compact_logs(spark, log.parent, tmp_path / "many", **rules)
    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    assert got == expected and (got.keys, got.segments[3].removed) == (41, {"superseded": 8, "no_key": 1})
    compact_logs(spark, tmp_path / "many", tmp_path / "again", **rules)
    assert contents(tmp_path / "again") == contents(tmp_path / "many")
    with pytest.raises(PipelineError, match=r"\d0\.log: the record at offset \d+9 has no key.*drop_keyless"):
        compact_logs(spark, log.parent, tmp_path / "rejected", now=NOW, include_active=True)
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "one", "many", "again"}


def test_active_and_truncated_segments_are_copied(spark: SparkSession, tmp_path: Path, apart: list[str]) -> None:
    log = write(tmp_path / "logs" / "alpha-0", *([one(n, b"%d" % (n % 3), b"v")] for n in range(8)))
    with (log / segment_file(7, "log")).open("ab") as active:
        active.write(one(8, b"1", b"v").encode()[:-5])
    expected = on_one_machine(log.parent, tmp_path / "one", {"now": NOW})
    assert compact_logs(spark, log.parent, tmp_path / "many", now=NOW) == expected
    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    assert (apart.count("summary_of"), apart.count("rewrite"), apart.count("copy_unchanged")) == (8, 7, 1)


def test_logs_that_are_not_in_order_go_in_one_task(spark: SparkSession, tmp_path: Path, apart: list[str]) -> None:
    log = write(
        tmp_path / "logs" / "alpha-0",
        [one(0, b"a", b"v"), one(0, b"b", b"v"), one(1, b"a", b"v")],
        [one(2, b"c", b"v")],
    )
    write(tmp_path / "logs" / "beta-0", [one(0, b"a", b"v"), one(1, b"a", b"v")])
    expected = on_one_machine(log.parent, tmp_path / "one", {"now": NOW, "include_active": True})
    assert compact_logs(spark, log.parent, tmp_path / "many", now=NOW, include_active=True) == expected
    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    assert apart == ["summary_of", "summary_of", "summary_of", "compact_whole", "rewrite"]


def test_damage_is_reported_and_nothing_is_left(spark: SparkSession, tmp_path: Path, apart: list[str]) -> None:
    log = write(tmp_path / "logs" / "alpha-0", *([one(n, b"%d" % n, b"v")] for n in range(4)))
    path = log / segment_file(2, "log")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(PipelineError, match=rf"^\[MALFORMED_KAFKA_LOG\] .*{path.name}: .*crc at byte"):
        compact_logs(spark, log.parent, tmp_path / "many", now=NOW)
    assert [each.name for each in tmp_path.iterdir()] == ["logs"]


@pytest.mark.usefixtures("apart")
def test_empty_logs_and_segments(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "logs" / "none-0").mkdir(parents=True)
    (tmp_path / "logs" / "empty-0").mkdir()
    write(tmp_path / "logs" / "rolled-0", [one(0, b"a", b"v")], [one(1, b"a", b"v")], [one(3, b"b", b"v")])
    for file in ("empty-0", 7), ("rolled-0", 2), ("rolled-0", 4):
        (tmp_path / "logs" / file[0] / segment_file(file[1], "log")).touch()
    every: tuple[dict[str, Any], ...] = (
        {"now": NOW, "include_active": True},
        {"now": NOW, "include_active": True, "segment_bytes": 100},  # too small for two segments with records
        {"now": OLD, "min_compaction_lag_ms": 2},  # compacts nothing, so it copies all segments of `rolled-0`
        {"now": OLD + 4, "min_compaction_lag_ms": 2},  # copies the last two segments
    )
    for name, rules in zip("abcd", every, strict=True):
        expected = on_one_machine(tmp_path / "logs", tmp_path / "one" / name, rules)
        got = compact_logs(spark, tmp_path / "logs", tmp_path / "many" / name, **rules)
        assert sorted(got, key=lambda each: str(each.partition)) == expected
        assert contents(tmp_path / "many" / name) == contents(tmp_path / "one" / name)


def test_small_logs_are_compacted_in_one_task_at_the_current_time(
    spark: SparkSession, tmp_path: Path, apart: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "TASK_BYTES", TASK_BYTES)
    now = int(time.time() * 1000)
    times = [now - 10 * DAY, now - 5 * DAY, now]
    log = write(
        tmp_path / "logs" / "alpha-0", *([build([Record(n, at, b"k", b"v")], "v2")] for n, at in enumerate(times))
    )
    for path, at in zip(sorted(log.iterdir()), times, strict=True):
        os.utime(path, ns=(at * 1_000_000, at * 1_000_000))
    [report] = compact_logs(spark, log.parent, tmp_path / "out", include_active=True, min_compaction_lag_ms=3 * DAY)
    assert (report.compacted_to, apart) == (2, ["compact_whole"])


def test_each_attempt_has_its_own_folder(tmp_path: Path) -> None:
    log = write(tmp_path / "alpha-0", [one(0, b"a", b"v"), one(1, b"a", b"v")])
    (tmp_path / "job" / "attempts").mkdir(parents=True)
    task = Task(Staging(tmp_path / "job"), Compaction(now=NOW))
    first, second = (compact_whole(task, str(log), None) for _ in range(2))
    assert first.attempt != second.attempt and first.partition == second.partition


def test_no_features_missing_from_spark_connect() -> None:
    jobs = Path(compact.__file__).parent
    for path in jobs.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for word in ("sparkContext", ".rdd", "broadcast", "_jvm", "accumulator"):
            assert word not in text, (path, word)
