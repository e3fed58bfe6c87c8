"""Run the example for a topic with several message types, with `kafka_log` instead of Spark's Kafka source."""

import importlib.util
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from written_logs import columns, job, table

import tagwire_messages as messages
from tagwire_messages.offset_commit_request import OffsetCommitRequestPartition as Partition
from tagwire_messages.offset_commit_request import OffsetCommitRequestTopic as Topic

pytestmark = pytest.mark.spark

BEAT = messages.HeartbeatRequest(group_id="g", generation_id=7, member_id="m")
COMMIT = messages.OffsetCommitRequest(
    group_id="g", topics=[Topic(name="orders", partitions=[Partition(partition_index=1, committed_offset=42)])]
)
RECORDS = [
    (BEAT.encode(0), {"message": "HeartbeatRequest", "version": "0"}),
    (BEAT.encode(4), {"message": "HeartbeatRequest", "version": "4"}),
    (COMMIT.encode(8), {"message": "OffsetCommitRequest", "version": "8"}),
    (COMMIT.encode(2), {"message": "OffsetCommitRequest", "version": "2"}),
    (BEAT.encode(4)[:-3], {"message": "HeartbeatRequest", "version": "4"}),
    (BEAT.encode(4), {"message": "HeartbeatRequest", "version": "four"}),
    (BEAT.encode(4), {"message": "HeartbeatRequest", "version": "99"}),
    (BEAT.encode(4), {"message": "NoSuchRequest", "version": "4"}),
    (BEAT.encode(4), {}),
    (None, {"message": "HeartbeatRequest", "version": "4"}),
]


def append(root: Path, *records: tuple[Any, ...]) -> None:
    rows = [
        ("t", value, [{"key": k, "value": v.encode()} for k, v in names.items()] or None) for value, names in records
    ]
    job(root, table(*rows, schema=columns("topic string, value binary, headers headers")))


def example(name: str) -> Any:
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_message_has_a_table_and_invalid_rows_another(spark: SparkSession, tmp_path: Path) -> None:
    topic = example("spark_topic")

    def run() -> None:
        records = spark.readStream.format("kafka_log").load(str(tmp_path / "logs"))
        query = topic.tables(records, str(tmp_path / "tables"))
        assert query.awaitTermination(600) and query.exception() is None

    def rows(name: str, *names: str) -> list[tuple[Any, ...]]:
        found = spark.read.parquet(str(tmp_path / "tables" / name)).orderBy("offset").select("offset", *names)
        return [tuple(row) for row in found.collect()]

    append(tmp_path / "logs", *RECORDS)
    run()
    assert rows("HeartbeatRequest", "group_id", "generation_id") == [(0, "g", 7), (1, "g", 7)]
    commits = rows("OffsetCommitRequest", "topics")
    assert [(offset, topics[0].partitions[0].committed_offset) for offset, topics in commits] == [(2, 42), (3, 42)]
    bad: dict[int, str] = {row[0]: row[1] for row in rows("bad", "reason")}
    parts = {
        4: "found", 5: "the version is null", 6: "has no version 99", 7: "the header message is NoSuchRequest",
        8: "the header message is missing", 9: "no value",
    }  # fmt: skip
    assert bad.keys() == parts.keys()
    assert [text for offset, text in parts.items() if text not in bad[offset]] == []
    append(tmp_path / "logs", (BEAT.encode(1), {"message": "HeartbeatRequest", "version": "1"}))
    run()
    assert [row[0] for row in rows("HeartbeatRequest")] == [0, 1, 10]


def test_day_gives_two_tables_and_a_plot(spark: SparkSession, tmp_path: Path) -> None:
    """Check the report for six heartbeats in three hours, a truncated heartbeat, and a record without a value."""
    start, values = datetime(2026, 11, 26, 8, tzinfo=UTC), [*([BEAT.encode(4)] * 6), BEAT.encode(4)[:-3], None]
    rows = [("requests", start + timedelta(minutes=25 * n), value) for n, value in enumerate(values)]
    job(tmp_path / "logs", table(*rows, schema=columns("topic string, timestamp timestamp, value binary")))
    report = tmp_path / "report"
    example("spark_day").summarize(spark, str(tmp_path / "logs"), "requests", str(report))
    by_hour = sorted(map(tuple, spark.read.parquet(str(report / "by_hour")).collect()))
    assert by_hour == [(f"2026-11-26 {hour}:00", "g", count) for hour, count in (("08", 3), ("09", 2), ("10", 1))]
    invalid = spark.read.parquet(str(report / "invalid")).orderBy("offset").select("offset", "reason").collect()
    assert [row[0] for row in invalid] == [6, 7] and "found" in invalid[0][1] and invalid[1][1] == "no value"
    assert (report / "day.svg").read_text().count("<rect") == 3
