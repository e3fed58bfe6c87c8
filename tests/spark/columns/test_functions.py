import os
import sys
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tagwire_messages as messages
from tagwire.errors import TagwireError
from tagwire_drafts import kip482
from tagwire_messages.offset_commit_request import OffsetCommitRequestPartition as Partition
from tagwire_messages.offset_commit_request import OffsetCommitRequestTopic as Topic
from tagwire_spark import (
    PipelineError,
    decode_messages,
    from_message,
    from_record,
    schema_of_message,
    spark_conf,
    to_message,
)
from tagwire_spark.columns.codec import decoding, encoding
from tagwire_spark.columns.functions import record_reading

pytestmark = pytest.mark.spark

COMMIT = messages.OffsetCommitRequest(
    group_id="billing", topics=[Topic(name="orders", partitions=[Partition(partition_index=1, committed_offset=42)])]
)
OLD = messages.OffsetCommitRequest(group_id="old", retention_time_ms=1000)
PERMISSIVE = {"mode": "PERMISSIVE"}


@pytest.fixture(scope="module")
def commits(spark: SparkSession) -> DataFrame:
    rows = [(1, COMMIT.encode(8), 8), (2, OLD.encode(2), 2), (3, None, 8), (4, COMMIT.encode(8)[:-3], 8)]
    return spark.createDataFrame([(n, bytearray(d) if d else None, v) for n, d, v in rows], "n int, data binary, v int")


def test_the_struct_is_that_of_the_schema(commits: DataFrame) -> None:
    for version in (8, None):
        column = from_message("data", "OffsetCommitRequest", version or F.col("v"))
        schema = commits.select(column.alias("m")).schema
        assert schema["m"].dataType.simpleString() == schema_of_message("OffsetCommitRequest", version).simpleString()
        found: Any = schema["m"].dataType
        partition = found["topics"].dataType.elementType["partitions"].dataType.elementType
        assert partition["committed_offset"].metadata["comment"].startswith("The")
        assert found == schema_of_message("OffsetCommitRequest", version)


def test_versions_in_a_column_and_chosen_fields(commits: DataFrame) -> None:
    column = from_message("data", "OffsetCommitRequest", "v", fields=["group_id", "retention_time_ms"]).alias("m")
    rows = commits.where("n < 4").orderBy("n").select(column).collect()
    assert [row.m and tuple(row.m) for row in rows] == [("billing", -1), ("old", 1000), None]


def test_unsigned_numbers_are_wider() -> None:
    listeners: Any = schema_of_message("BrokerRegistrationRequest")["listeners"].dataType
    assert listeners.elementType["port"].dataType.simpleString() == "int", "the port is a uint16"


def test_fields_of_some_versions() -> None:
    names = schema_of_message("OffsetCommitRequest", options={"versions": "3-5"}).fieldNames()
    assert "retention_time_ms" in names and "group_instance_id" not in names


def test_invalid_row_becomes_a_row_of_nulls(commits: DataFrame) -> None:
    column = from_message("data", "OffsetCommitRequest", "v", PERMISSIVE, fields=["group_id"]).alias("m")
    rows = commits.orderBy("n").select(column).collect()
    assert [row.m and row.m.group_id for row in rows] == ["billing", "old", None, None]
    assert [row.m and row.m._error for row in rows[:3]] == [None, None, None]
    error = rows[3].m._error
    with pytest.raises(TagwireError) as rejected:
        messages.OffsetCommitRequest.decode(COMMIT.encode(8)[:-3], 8)
    expected: Any = rejected.value
    assert (error.path, error.offset) == (expected.path, expected.offset)
    assert error.reason in str(expected)


def test_round_trip(commits: DataFrame) -> None:
    struct = from_message("data", "OffsetCommitRequest", "v", PERMISSIVE)
    rows = (
        commits.where("n < 4").select("data", to_message(struct, "OffsetCommitRequest", "v").alias("again")).collect()
    )
    assert [row.again for row in rows] == [row.data for row in rows]


def test_a_value_that_a_version_cannot_carry(spark: SparkSession) -> None:
    struct = F.struct(F.lit(None).cast("string").alias("group_id"))
    column = to_message(struct, "OffsetCommitRequest", 5, PERMISSIVE)
    assert spark.range(1).select(column.alias("x")).collect()[0].x is None
    with pytest.raises(PySparkException, match=r"\[UNENCODABLE_KAFKA_MESSAGE\].*group_id"):
        spark.range(1).select(to_message(struct, "OffsetCommitRequest", 5)).collect()


def test_a_uuid_is_binary(spark: SparkSession) -> None:
    data = bytearray(messages.MetadataResponse(topics=[]).encode(12))
    df = spark.createDataFrame([(data,)], "value binary")
    assert "topic_id:binary" in schema_of_message("MetadataResponse", 12).simpleString()
    column = to_message(from_message("value", "MetadataResponse", 12), "MetadataResponse", 12)
    assert df.select(column.alias("x")).collect()[0].x == data


def test_messages_of_another_package(spark: SparkSession) -> None:
    df = spark.createDataFrame([(bytearray(kip482.FooRequest().encode(9)),)], "value binary")
    by_class = from_message("value", kip482.FooRequest, 9)
    by_name = from_message("value", "FooRequest", 9, {"package": "tagwire_drafts.kip482"})
    [row] = df.select(by_class.alias("a"), by_name.alias("b")).collect()
    assert row.a == row.b and row.a is not None


@pytest.mark.parametrize("into", ["message", None])
def test_a_whole_dataframe(commits: DataFrame, into: str | None) -> None:
    decoded = decode_messages(
        commits.where("n < 4"), "OffsetCommitRequest", "v", data="data", fields=["group_id"], into=into, keep=["n"]
    )
    group = "message.group_id" if into else "group_id"
    expected = [(1, "billing"), (2, "old"), (3, None)]
    assert [tuple(row) for row in decoded.orderBy("n").select("n", group).collect()] == expected
    assert decoded.columns == ["n", into or "group_id"]


def test_columns_whose_names_need_quotes_in_sql(commits: DataFrame) -> None:
    odd = commits.where("n = 1").selectExpr("data `the.data`", "v `a version`", "n `x.n`", "n `y``n`")
    [row] = decode_messages(odd, "OffsetCommitRequest", "a version", data="the.data", fields=["group_id"]).collect()
    assert row.asDict(recursive=True) == {"a version": 8, "x.n": 1, "y`n": 1, "message": {"group_id": "billing"}}


def test_duplicate_column_is_rejected(commits: DataFrame) -> None:
    twice = commits.select("n", "data", "n")
    with pytest.raises(PipelineError, match="Column 'n' exists 2 times"):
        decode_messages(twice, "OffsetCommitRequest", 8, data="data")
    assert decode_messages(twice, "OffsetCommitRequest", 8, data="data", keep=[]).columns == ["message"]


def test_a_whole_dataframe_without_rows(spark: SparkSession) -> None:
    none = spark.createDataFrame([], "data binary")
    assert decode_messages(none, "OffsetCommitRequest", 8, data="data").collect() == []


@pytest.mark.parametrize("version", [True, 8.0, None, b"8"], ids=repr)
def test_version_that_is_not_a_number_is_rejected(commits: DataFrame, version: Any) -> None:
    with pytest.raises(PipelineError, match="version: expected a number"):
        decode_messages(commits, "OffsetCommitRequest", version, data="data")
    with pytest.raises(PipelineError, match="version: expected a number"):
        from_message("data", "OffsetCommitRequest", version)


@pytest.mark.parametrize("call", ["decode", "encode"])
def test_value_without_a_version_is_an_error(call: str) -> None:
    data = pa.array([COMMIT.encode(8), None, OLD.encode(2)])
    versions = pa.array([8, None, None], pa.int32())
    run: Any
    if call == "encode":
        structs = decoding("OffsetCommitRequest", None, {}, None).decode(data, pa.array([8, None, 2], pa.int32()))
        strict, calm = encoding("OffsetCommitRequest", None, {}), encoding("OffsetCommitRequest", None, PERMISSIVE)
        assert calm.encode(structs, versions).to_pylist() == [COMMIT.encode(8), None, None]
        data, run = structs, strict.encode
    else:
        run = decoding("OffsetCommitRequest", None, {}, None).decode
        calm_rows = decoding("OffsetCommitRequest", None, PERMISSIVE, None).decode(data, versions).to_pylist()
        assert (calm_rows[0]["group_id"], calm_rows[0]["_error"], calm_rows[1]) == ("billing", None, None)
        assert calm_rows[2]["group_id"] is None
        assert calm_rows[2]["_error"] == {"path": "", "offset": None, "reason": "the version is null"}
    with pytest.raises(PipelineError, match=r"UNSUPPORTED_KAFKA_MESSAGE_VERSION\] row 2: .*the version is null"):
        run(data, versions)


def test_empty_values_and_missing_versions(spark: SparkSession) -> None:
    """Check that an empty value (a truncated message) and a null version each cause an error in their own row only."""
    rows = [(1, bytearray(), 8), (2, bytearray(COMMIT.encode(8)), None), (3, bytearray(COMMIT.encode(8)), 99)]
    df = spark.createDataFrame(rows, "n int, data binary, v int")
    column = from_message("data", "OffsetCommitRequest", "v", PERMISSIVE, fields=["group_id"])
    empty, unknown, future = [row.m for row in df.orderBy("n").select(column.alias("m")).collect()]
    assert (empty.group_id, empty._error.path, empty._error.offset) == (None, "group_id", 0)
    assert (unknown.group_id, unknown._error.reason) == (None, "the version is null")
    assert future.group_id is None and "has no version 99" in future._error.reason


def test_records_of_a_coordinator(spark: SparkSession) -> None:
    registry = messages.registry
    key = bytearray(registry.encode_record(messages.OffsetCommitKey(group="g", topic="t", partition=3), 0))
    value = bytearray(registry.encode_record(messages.OffsetCommitValue(offset=42), 3))
    df = spark.createDataFrame([(key, value), (key, None), (None, value)], "key binary, value binary")
    read = df.select(
        from_record("key", "group", options=PERMISSIVE).alias("k"),
        from_record("value", "group", "key", PERMISSIVE).alias("v"),
    )
    first, tombstone, keyless = read.collect()
    assert (first.k.message, first.v.message, first.v.version) == ("OffsetCommitKey", "OffsetCommitValue", 3)
    assert '"partition":3' in first.k.body and '"offset":42' in first.v.body
    assert tombstone.v is None and keyless.k is None and keyless.v._error.offset == 0


def test_records_of_a_metadata_log(spark: SparkSession) -> None:
    data = bytearray(messages.registry.encode_record(messages.TopicRecord(name="t"), 0))
    df = spark.createDataFrame([(data,), (bytearray(b"\x01"),)], "value binary")
    [row] = df.limit(1).select(from_record("value", "cluster").alias("r")).collect()
    assert row.r.message == "TopicRecord" and '"name":"t"' in row.r.body
    with pytest.raises(PySparkException, match=r"\[MALFORMED_KAFKA_RECORD\]"):
        df.select(from_record("value", "cluster")).collect()


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
@pytest.mark.parametrize(("columns", "text"), [
    ((["x"],), "data: expected binary, got the Arrow type 'string'"),
    (([b"x"], ["x"]), "key: expected binary, got the Arrow type 'string'"),
    (([1],), "data: expected binary, got the Arrow type 'int64'"),
])  # fmt: skip
def test_records_that_are_not_bytes(mode: str, columns: tuple[list[Any], ...], text: str) -> None:
    reading = record_reading("group", {"mode": mode})
    with pytest.raises(PipelineError, match=r"^\[MALFORMED_KAFKA_RECORD\]") as rejected:
        reading.read(*map(pa.array, columns))
    assert text in str(rejected.value)


def test_records_of_every_type_of_bytes() -> None:
    key = messages.registry.encode_record(messages.OffsetCommitKey(group="g", topic="t", partition=3), 0)
    for type in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(len(key))):
        assert record_reading("group", {}).read(pa.array([key, None], type)).is_null().to_pylist() == [False, True]
    assert record_reading("group", {}).read(pa.nulls(2)).null_count == 2


@pytest.mark.parametrize(
    ("call", "condition", "text"),
    [
        (lambda: from_message("x", "OfsetCommitRequest", 8), "KAFKA_MESSAGE_NOT_FOUND", "mitRequest'? SQL"),
        (lambda: from_message("x", "OffsetCommitRequest", 99), "UNSUPPORTED_KAFKA_MESSAGE_VERSION", "supported"),
        (lambda: to_message("x", "OffsetCommitRequest", 99), "UNSUPPORTED_KAFKA_MESSAGE_VERSION", "supported"),
        (
            lambda: from_message("x", "OffsetCommitRequest", 8, fields=["nothing"]),
            "FIELD_OF_KAFKA_MESSAGE_NOT_FOUND",
            "nothing",
        ),
        (lambda: from_message("x", "OffsetCommitRequest", 8, {"modus": "X"}), "INVALID_TAGWIRE_OPTION", "'mode'"),
        (lambda: from_message("x", "OffsetCommitRequest", 8, {"mode": "DROP"}), "INVALID_TAGWIRE_OPTION", "FAILFAST"),
        (lambda: from_message("x", "OffsetCommitRequest", 8, {"package": "json"}), "INVALID_TAGWIRE_OPTION", "json"),
        (lambda: from_message("x", "OffsetCommitRequest", "v", {"versions": "x"}), "INVALID_TAGWIRE_OPTION", "x"),
        (lambda: from_message("x", "OffsetCommitRequest", True), "INVALID_TAGWIRE_OPTION", "True"),
        (lambda: from_message("x", "OffsetCommitRequest", 8, fields="group_id"), "INVALID_TAGWIRE_OPTION", "list"),
        (lambda: from_record("x", "groups"), "INVALID_TAGWIRE_OPTION", "transaction"),
    ],
)
def test_arguments_that_are_rejected_immediately(spark: SparkSession, call: Any, condition: str, text: str) -> None:
    with pytest.raises(PipelineError) as rejected:
        call()
    assert (rejected.value.getCondition(), f"[{condition}]" in str(rejected.value)) == (condition, True)
    assert text in str(rejected.value) and rejected.value.getSqlState() in str(rejected.value)


@pytest.mark.parametrize(("arguments", "fields", "condition", "text"), [
    (("HeartbeatRequest", 1 << 70), None, "UNSUPPORTED_KAFKA_MESSAGE_VERSION", "no version 1180591620717411303424;"),
    (("HeartbeatRequest", -1), None, "UNSUPPORTED_KAFKA_MESSAGE_VERSION", "no version -1; supported versions are 0-4"),
    (("HeartbeatRequest", None, {"versions": "9-12"}), None, "UNSUPPORTED_KAFKA_MESSAGE_VERSION", "no version 9-12;"),
    (("HeartbeatRequest", 4.0), None, "INVALID_TAGWIRE_OPTION", "a column of integers, got 4.0"),
    (("HeartbeatRequest", "4"), None, "INVALID_TAGWIRE_OPTION", "a column of integers, got '4'"),
    ((None, 4), None, "INVALID_TAGWIRE_OPTION", "messageName: expected the name of a message or its class, got None"),
    ((dict, 4), None, "INVALID_TAGWIRE_OPTION", "messageName: expected the name of a message or its"),
    (("HeartbeatRequest", 4), 5, "INVALID_TAGWIRE_OPTION", "fields: expected a list of paths, such as"),
    (("HeartbeatRequest", 4), ["group_id", 5], "INVALID_TAGWIRE_OPTION", "fields: expected a list of paths, such as"),
    (("HeartbeatRequest", 4, 5), None, "INVALID_TAGWIRE_OPTION", "options: expected names with their values, such as"),
    (("HeartbeatRequest", 4, {5: "x"}), None, "INVALID_TAGWIRE_OPTION", "Unknown option 5; options are mode"),
])  # fmt: skip
def test_arguments_of_other_types(arguments: Any, fields: Any, condition: str, text: str) -> None:
    with pytest.raises(PipelineError) as rejected:
        schema_of_message(*arguments, fields=fields)
    assert rejected.value.condition == condition and text in str(rejected.value)


def test_a_dataframe_without_the_column(commits: DataFrame) -> None:
    with pytest.raises(PipelineError, match="There is no column 'value'"):
        decode_messages(commits, "OffsetCommitRequest", 8)
    with pytest.raises(PipelineError, match="columns would be duplicated: n; rename"):
        decode_messages(commits, "OffsetCommitRequest", 8, data="data", into="n")


def test_settings_replace_the_python_that_finds_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `spark_conf`, Spark looks up data sources with this Python, not the first `python3` on the PATH."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert spark_conf()["spark.pyspark.python"] == sys.executable == os.environ["PYSPARK_PYTHON"]
    monkeypatch.setenv("PYSPARK_PYTHON", "another")
    assert spark_conf() and os.environ["PYSPARK_PYTHON"] == "another"
