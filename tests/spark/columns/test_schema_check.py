from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, MapType, StringType, StructField, StructType
from small_logs import write_segment

import tagwire_messages as messages
from tagwire.records import Record, build
from tagwire_messages.offset_commit_request import OffsetCommitRequestPartition as Partition
from tagwire_messages.offset_commit_request import OffsetCommitRequestTopic as Topic
from tagwire_spark import PipelineError, decode_messages, from_message, schema_of_message
from tagwire_spark.columns.schema_check import check_requested_columns

pytestmark = pytest.mark.spark

COMMIT = messages.OffsetCommitRequest(
    group_id="billing",
    topics=[
        Topic(name="orders", partitions=[Partition(partition_index=1, committed_offset=42, committed_metadata=None)])
    ],
)
CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
NAME, VERSION = "OffsetCommitRequest", 8
BILLING = ("billing", None, 42, None)


def partitions(type: Any) -> Any:
    return type["topics"].dataType.elementType["partitions"].dataType.elementType


def test_fields_are_nullable_where_their_spec_says_so() -> None:
    found: Any = schema_of_message(NAME, VERSION, nullable=False)
    assert [field.name for field in found if field.nullable] == ["group_instance_id"]
    assert not found["topics"].dataType.containsNull
    assert [field.name for field in partitions(found) if field.nullable] == ["committed_metadata"]


@pytest.mark.parametrize(("mode", "nullable"), [("FAILFAST", True), ("PERMISSIVE", True), ("PERMISSIVE", False)])
def test_fields_of_a_message_that_may_be_null_are_nullable(mode: str, nullable: bool) -> None:
    """In PERMISSIVE mode, the fields of a message that can't be decoded are null, even if the message is not null."""
    found: Any = schema_of_message(NAME, VERSION, {"mode": mode}, nullable=nullable)
    assert all(field.nullable for field in found)
    assert not found["topics"].dataType.containsNull
    assert [field.name for field in partitions(found) if field.nullable] == ["committed_metadata"]


def test_null_messages(spark: SparkSession) -> None:
    """Check that all fields of a null message are null, even non-nullable fields."""
    df = spark.createDataFrame([(bytearray(COMMIT.encode(VERSION)),), (None,)], "value binary")
    for decoded in (
        df.select(from_message("value", NAME, VERSION).alias("m")).select("m.*"),
        decode_messages(df, NAME, VERSION, into="m").select("m.*"),
        decode_messages(df, NAME, VERSION, into=None),
    ):
        offset = F.col("topics")[0]["partitions"][0]["committed_offset"]
        chosen = decoded.select(
            "group_id", "group_instance_id", offset, F.col("topics")[0]["partitions"][0]["committed_metadata"]
        )
        assert {tuple(row) for row in chosen.collect()} == {BILLING, (None,) * 4}
        assert decoded.where("group_id is null").count() == decoded.where("topics is null").count() == 1


def test_arrow_and_null_structs_in_a_message(spark: SparkSession) -> None:
    """Check that `toArrow` accepts null structs in a message. It would fail if their fields were NOT NULL."""
    name, cursor = "DescribeTopicPartitionsRequest", messages.describe_topic_partitions_request.Cursor
    rows = [messages.DescribeTopicPartitionsRequest(cursor=each) for each in (None, cursor(topic_name="t"))]
    df = spark.createDataFrame([(bytearray(row.encode(0)),) for row in rows] + [(None,)], "value binary")
    found: Any = schema_of_message(name, 0)
    assert found["cursor"].nullable and all(field.nullable for field in found["cursor"].dataType)
    for decoded in (df.select(from_message("value", name, 0).alias("m")), decode_messages(df, name, 0, into="m")):
        read = decoded.select("m").toArrow()["m"].to_pylist()
        assert sorted(((row or {}).get("cursor") or {}).get("topic_name", "") for row in read) == ["", "", "t"]
        assert read.count(None) == 1


def test_arrow_and_undecodable_rows(spark: SparkSession) -> None:
    """Check that `toArrow` accepts undecodable rows, which have null structs."""
    name = "FetchSnapshotRequest"
    partition = messages.fetch_snapshot_request.PartitionSnapshot()
    topic = messages.fetch_snapshot_request.TopicSnapshot(partitions=[partition])
    data = messages.FetchSnapshotRequest(topics=[topic]).encode(1)
    df = spark.createDataFrame([(bytearray(data),), (bytearray(data[:-1]),), (None,)], "value binary")
    column = from_message("value", name, 1, {"mode": "PERMISSIVE"})
    read = df.select(column.alias("m")).toArrow()["m"].to_pylist()
    assert sum(1 for row in read if row and row["topics"]) == 1 and read.count(None) == 1


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = (COMMIT.encode(VERSION), COMMIT.encode(VERSION), None)
    records = [Record(n, 1_700_000_000_000, b"k", value) for n, value in enumerate(values)]
    return write_segment(tmp_path_factory.mktemp("not_null") / "commits-0", build(records, "v2")).parent


def read(spark: SparkSession, log: Path, schema: StructType | str, **options: str) -> list[Any]:
    reader = spark.read.format("kafka_log").options(message=NAME, version=VERSION, **options)
    rows: list[Any] = reader.schema(schema).load(str(log)).collect()
    return rows


@pytest.mark.parametrize("options", [{}, {"isolation.level": "read_committed"}], ids=["natively", "by objects"])
def test_a_schema_may_be_less_strict_than_the_message(spark: SparkSession, log: Path, options: dict[str, str]) -> None:
    message = schema_of_message(NAME, VERSION, nullable=False)
    strict = read(spark, log, StructType([StructField("message", message)]), **options)
    loose = read(spark, log, f"message {message.simpleString()}", **options)
    assert strict == loose
    assert [row.message and row.message.topics[0].partitions[0].committed_offset for row in strict] == [42, 42, None]


@pytest.mark.parametrize("options", [{}, {"isolation.level": "read_committed"}], ids=["natively", "by objects"])
def test_a_column_that_has_no_null_may_be_declared_so(spark: SparkSession, log: Path, options: dict[str, str]) -> None:
    schema = "key binary not null, offset bigint not null"
    assert [row.offset for row in read(spark, log, schema, **options)] == [0, 1, 2]
    with pytest.raises(PySparkException, match=r"NOT_NULL_ASSERT_VIOLATION\].*0\.log: column value has a null"):
        read(spark, log, "value binary not null", **options)


def test_a_null_in_a_capture(spark: SparkSession) -> None:
    reader = spark.read.format("kafka_rpc").option("body", "none")
    assert reader.schema("apiKey int not null").load(str(CAPTURES)).count() > 0
    with pytest.raises(PySparkException, match=r"NOT_NULL_ASSERT_VIOLATION\].*jsonl\.gz: column latencyMs has a null"):
        reader.schema("latencyMs double not null").load(str(CAPTURES)).collect()


THERE = StructType(
    [
        StructField(
            "message", StructType([StructField("name", StringType()), StructField("id", IntegerType(), False)])
        ),
        StructField("ids", ArrayType(LongType())),
        StructField("tags", MapType(IntegerType(), BinaryType(), valueContainsNull=True)),
    ]
)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (StructField("id", IntegerType()), "source has no column id; it has message, ids, tags"),
        (StructField("ids", ArrayType(IntegerType())), "Column ids: expected array<bigint>, got array<int>"),
        (
            StructField("message", StructType([StructField("name", StringType(), False), THERE[0].dataType["id"]])),  # type: ignore[index]
            "message.name may be null",
        ),
        (StructField("ids", ArrayType(LongType(), containsNull=False)), "ids.element may be null"),
        (StructField("tags", MapType(IntegerType(), BinaryType(), valueContainsNull=False)), "tags.value may be null"),
    ],
)
def test_missing_and_nullable_columns_are_rejected(field: StructField, text: str) -> None:
    check_requested_columns("source", THERE, THERE)
    with pytest.raises(PipelineError, match=r"\[UNKNOWN_COLUMN_OF_SOURCE\]") as rejected:
        check_requested_columns("source", StructType([field]), THERE)
    assert text in str(rejected.value)
