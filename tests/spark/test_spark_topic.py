"""Run the example of a Kafka topic with several message types, with `kafka_log` instead of Spark's Kafka source."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from written_logs import columns, job, table

import tagwire_messages as messages
from tagwire_messages.offset_commit_request import OffsetCommitRequestPartition as Partition
from tagwire_messages.offset_commit_request import OffsetCommitRequestTopic as Topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "spark_topic.py"
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


def test_each_message_has_a_table_and_what_is_bad_another(spark: "SparkSession", tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("spark_topic", EXAMPLE)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    def run() -> None:
        records = spark.readStream.format("kafka_log").load(str(tmp_path / "logs"))
        query = example.tables(records, str(tmp_path / "tables"))
        assert query.awaitTermination(120) and query.exception() is None

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
