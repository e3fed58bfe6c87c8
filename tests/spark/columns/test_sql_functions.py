import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import tagwire_messages as messages
from tagwire_spark import (
    PipelineError,
    decode_messages,
    from_message,
    from_message_udf,
    from_record,
    from_record_udf,
    register,
    to_message,
    to_message_udf,
)
from tagwire_spark.columns import sql_functions as sql

pytestmark = pytest.mark.spark

BEAT = messages.HeartbeatRequest(group_id="g", generation_id=7, member_id="m")
KEY = messages.registry.encode_record(messages.OffsetCommitKey(group="g", topic="orders", partition=1), 0)
VALUE = messages.registry.encode_record(messages.OffsetCommitValue(offset=42), 3)


@pytest.fixture
def view(spark: SparkSession) -> Iterator[SparkSession]:
    register(spark)
    rows = [(0, bytearray(BEAT.encode(4)), 4), (1, bytearray(BEAT.encode(0)), 0), (2, None, 4)]
    spark.createDataFrame(rows, "n int, value binary, version int").createOrReplaceTempView("beats")
    yield spark
    spark.catalog.dropTempView("beats")


def test_from_message_and_back_in_sql(view: SparkSession) -> None:
    read = "from_message(value, 'HeartbeatRequest', version)"
    found = view.sql(
        f"select {read} as m, to_message({read}, 'HeartbeatRequest', version) = value as same from beats order by n"
    )
    first, second, third = found.collect()
    assert json.loads(first.m) == BEAT.to_json(4) and json.loads(second.m) == BEAT.to_json(0)
    assert (first.same, second.same, third.m, third.same) == (True, True, None, None)
    [(group,)] = view.sql(f"select get_json_object({read}, '$.groupId') from beats where n = 0").collect()
    assert group == "g"


def test_to_message_of_a_struct_in_sql(view: SparkSession) -> None:
    struct = "named_struct('group_id', 'g', 'generation_id', 7, 'member_id', 'm')"
    [(encoded,)] = view.sql(f"select to_message({struct}, 'HeartbeatRequest', 4)").collect()
    assert encoded == BEAT.encode(4)


def test_from_record_in_sql(view: SparkSession) -> None:
    pair = f"unhex('{VALUE.hex()}'), 'group', unhex('{KEY.hex()}')"
    [(key, value, bad)] = view.sql(
        f"select from_record(unhex('{KEY.hex()}'), 'group'), from_record({pair}),"
        f" from_record(unhex('00'), 'group', null, map('mode', 'PERMISSIVE'))"
    ).collect()
    expected = ("OffsetCommitKey", "OffsetCommitValue", 3, None)
    assert (key.message, value.message, value.version, value._error) == expected
    assert json.loads(value.body)["offset"] == 42 and bad.message is None and bad._error.reason


def test_udfs_for_one_message_return_structs(view: SparkSession) -> None:
    spark = view
    registered: Any = spark.udf.register
    registered("from_beat", from_message_udf("HeartbeatRequest", fields=["group_id", "generation_id"]))
    registered("to_beat", to_message_udf("HeartbeatRequest", 4))
    registered("from_group", from_record_udf("group"))
    rows = spark.sql("select m.* from (select from_beat(value, version) as m from beats where n < 2)").collect()
    assert [tuple(row) for row in rows] == [("g", 7), ("g", 7)]
    [(encoded, record)] = spark.sql(
        f"select to_beat(named_struct('group_id', 'x')), from_group(unhex('{KEY.hex()}')).message"
    ).collect()
    assert encoded == messages.HeartbeatRequest(group_id="x").encode(4) and record == "OffsetCommitKey"
    column = from_message_udf("HeartbeatRequest", 4)("value").getField("member_id")
    assert spark.table("beats").where("n = 0").select(column).first()[0] == "m"  # type: ignore[index]


def test_columns_are_named_after_the_function(view: SparkSession) -> None:
    df = view.table("beats")
    columns = (from_message("value", "HeartbeatRequest", 4), to_message(F.struct(), "HeartbeatRequest", 4),
               from_record("value", "group"))  # fmt: skip
    assert df.select(*columns).columns == ["from_message(value)", "to_message(struct())", "from_record(value)"]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("from_message(value, 'HeartbeatRequest', 99)", "HeartbeatRequest"),
        ("from_message(value, 'NoSuch', 4)", "KAFKA_MESSAGE_NOT_FOUND"),
        (
            "from_message(value, 'HeartbeatRequest')",
            "Expected from_message(data, messageName, version[, options]), got 2 arguments.",
        ),
        ("from_message(value, 'HeartbeatRequest', null)", "row 0: HeartbeatRequest: the version is null"),
        ("from_message(value, cast(null as string), 4)", "row 0: messageName: expected the name of a message"),
        ("from_message(value, 'HeartbeatRequest', '4')", "expected an integer, got the Arrow type 'string'"),
        ("from_message('text', 'HeartbeatRequest', 4)", "data: expected binary, got the Arrow type 'string'"),
        (
            "to_message(7, 'HeartbeatRequest', 4)",
            "value: expected a struct or a JSON string, got the Arrow type 'int32'",
        ),
        ("to_message('{}', 'HeartbeatRequest', cast(null as int))", "row 0: HeartbeatRequest: the version is null"),
        ("from_record(value, 'group', value, map(), 1)", "Expected from_record(data, log[, key[, options]]), got 5"),
        ("from_message(value, 'HeartbeatRequest', 4, map('mood', 'good'))", "Unknown option 'mood'"),
        ("from_message(substring(value, 1, 2), 'HeartbeatRequest', 4)", "row 0: HeartbeatRequest v4: "),
        ("to_message('{', 'HeartbeatRequest', 4)", "row 0: HeartbeatRequest v4: "),
        ("from_record(value, 'nogroup')", "Unknown log 'nogroup'"),
        ("from_record(value, 'group')", "row 0: "),
    ],
)
def test_rejected_input_in_sql(view: SparkSession, call: str, text: str) -> None:
    with pytest.raises(PySparkException) as rejected:
        view.sql(f"select {call} from beats where n = 0").collect()
    assert text in str(rejected.value)


def test_permissive_mode_in_sql() -> None:
    """In PERMISSIVE mode, decoding errors go into the row's JSON, and encoding errors return null."""
    options = pa.array([[("mode", "PERMISSIVE")]] * 2, pa.map_(pa.string(), pa.string()))
    names, versions = pa.array(["HeartbeatRequest"] * 2), pa.array([4, 4])
    good, bad = sql._from_message(pa.array([BEAT.encode(4), b"\x07"]), names, versions, options).to_pylist()
    assert json.loads(good) == BEAT.to_json(4) and set(json.loads(bad)["_error"]) == {"path", "offset", "reason"}
    assert sql._to_message(pa.array([good, "{"]), names, versions, options).to_pylist() == [BEAT.encode(4), None]
    assert sql._to_message(pa.array([good, good]), names, pa.array([4, 0])).to_pylist() == [
        BEAT.encode(4),
        BEAT.encode(0),
    ]
    with pytest.raises(PipelineError, match="expected the same log and options in all rows"):
        sql._from_record(pa.array([KEY, KEY]), pa.array(["group", "share"]))


def test_nulls_in_sql() -> None:
    """Check that a null value becomes null, whatever the other arguments are, and that a null version is an error."""
    nothing, beat = pa.array([None, None], pa.binary()), pa.array([BEAT.encode(4), None])
    names, versions = pa.array(["HeartbeatRequest", None]), pa.array([None, None], pa.int32())
    permissive = pa.array([[("mode", "PERMISSIVE")]] * 2, pa.map_(pa.string(), pa.string()))
    for data in (nothing, pa.nulls(2)):
        for columns in ((names, versions), (pa.nulls(2), pa.nulls(2))):
            assert sql._from_message(data, *columns).to_pylist() == [None, None]
            assert sql._to_message(data, *columns).to_pylist() == [None, None]
    error, null = sql._from_message(beat, names, versions, permissive).to_pylist()
    assert json.loads(error) == {"_error": {"path": "", "offset": None, "reason": "the version is null"}} and not null
    texts = pa.array([json.dumps(BEAT.to_json(4)), None])
    assert sql._to_message(texts, names, versions, permissive).to_pylist() == [None, None]
    with pytest.raises(PipelineError, match="row 0: HeartbeatRequest: the version is null"):
        sql._to_message(texts, names, versions)


def test_the_message_is_named_once_and_the_row_is_the_right_one() -> None:
    names, versions = pa.array(["HeartbeatRequest"] * 3), pa.array([4, 4, 0])
    text_of_beat = json.dumps(BEAT.to_json(4))
    faults = [
        (sql._from_message, pa.array([BEAT.encode(4), BEAT.encode(4), b"\x07"]), "row 2: HeartbeatRequest v0: "),
        (sql._to_message, pa.array([text_of_beat, "{", "{"]), "row 1: HeartbeatRequest v4: "),
        (sql._to_message, pa.array([{"group_id": "g"}, {"group_id": "g"}, {"group_id": None}]), "row 2: Heartbeat"),
    ]
    for run, data, text in faults:
        with pytest.raises(PipelineError) as rejected:
            run(data, names, versions)
        assert text in str(rejected.value) and str(rejected.value).count("HeartbeatRequest") == 1


@pytest.mark.parametrize(
    ("make", "counts"),
    [
        (lambda: from_message_udf("HeartbeatRequest", 4), {1}),
        (lambda: from_message_udf("HeartbeatRequest"), {2}),
        (lambda: to_message_udf("HeartbeatRequest", 4), {1}),
        (lambda: to_message_udf("HeartbeatRequest"), {2}),
        (lambda: from_record_udf("group"), {1, 2}),
    ],
)
def test_extra_arguments_of_udfs_are_rejected(spark: SparkSession, make: Any, counts: set[int]) -> None:
    """Check that extra arguments are rejected. In SQL, they are not rejected before a task calls the function."""
    udf = make()
    for count in range(4):
        if count in counts:
            udf(*["x"] * count)
            continue
        expected = rf"INVALID_TAGWIRE_OPTION\] Expected {udf.__name__}\(.*\), got {count} argument"
        with pytest.raises(PipelineError, match=expected):
            udf(*["x"] * count)
        if count:
            with pytest.raises(PipelineError, match=expected):
                udf.func(*[pa.nulls(1)] * count)


def test_rows_are_named_by_their_place(spark: SparkSession) -> None:
    rows = [("orders", 3, 70 + n, bytearray(data)) for n, data in enumerate((BEAT.encode(4), b"\x07"))]
    df = spark.createDataFrame(rows, "topic string, partition int, offset long, value binary").coalesce(1)
    place = "topic orders, partition 3, offset 71: HeartbeatRequest v4"
    with pytest.raises(PySparkException, match=rf"\[MALFORMED_KAFKA_MESSAGE\] {place}: .*SQLSTATE: 22023"):
        decode_messages(df, "HeartbeatRequest", 4).collect()
    with pytest.raises(PySparkException, match="row 1: HeartbeatRequest v4: "):
        decode_messages(df, "HeartbeatRequest", 4, keep=["topic"]).collect()
