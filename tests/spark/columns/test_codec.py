"""Read and write the types of the tagwire dialect with Spark: numbers, times, decimals, enums, shared structs.

The tests generate a package from specs and ship it to the workers. The bytes are computed by hand.
"""

import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command import tagwire_result
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType
from small_logs import write_segment

from tagwire.records import Record, build
from tagwire_spark import PipelineError, decode_messages, from_message, schema_of_message, to_message
from tagwire_spark.columns.arrow_types import arrow_schema
from tagwire_spark.columns.codec import decoding, encoding
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import plan

pytestmark = pytest.mark.spark

PACKAGE = {"package": "trades"}
SIDE = {
    "name": "Side",
    "type": "register",
    "keys": "int8",
    "entries": [{"key": 0, "name": "BUY"}, {"key": 1, "name": "SELL"}],
}
MONEY = {"name": "Money", "type": "struct", "dialect": "tagwire", "validVersions": "0-1"} | {
    "fields": [
        {"name": "Amount", "type": "bytes", "versions": "0+", "semantic": "decimal", "precision": 12, "scale": 2},
        {"name": "At", "type": "int64", "versions": "1+", "semantic": "timestamp_s"},
    ],
}


def field(name: str, kind: str, semantic: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "versions": "0+", **({"semantic": semantic} if semantic else {}), **more}


HEAD = {"name": "Trade", "type": "data", "dialect": "tagwire", "validVersions": "0-1", "flexibleVersions": "1+"}
TRADE: dict[str, Any] = HEAD | {
    "imports": [{"name": "Money", "structVersions": {"0": 0, "1+": 1}}],
    "fields": [
        field("Id", "uint64"),
        field("Parts", "[]uint64"),
        field("Parent", "uint64", nullableVersions="0+", default="null"),
        field("Side", "int8", enum="Side"),
        field("Done", "int64", "timestamp_ms"),
        field("Seen", "int64", "timestamp_ns"),
        field("Took", "int64", "duration_ns"),
        field("Left", "int64", "duration_s", nullableVersions="0+", default="null"),
        field("Price", "Money"),
        field("Fees", "[]Money"),
    ],
}
SPECS = {"Side": SIDE, "Money": MONEY, "Trade": TRADE}

V0 = bytes.fromhex(
    # The fields of this line are id 2^63 + 1, parts 1 and 2^64 - 1, and parent 7.
    "8000000000000001  00000002 0000000000000001 ffffffffffffffff  01 0000000000000007"
    # The fields of this line are side SELL, done at 2023-11-14T22:13:20.5Z, seen 2000 ns after 1970, and took -1000 ns.
    "01  0000018bcfe569f4  00000000000007d0  fffffffffffffc18"
    "ff  00000002 04d2  00000001 00000001 ff"  # `left` null; `price` 12.34; `fees`: count 1, -0.01
)
V1 = bytes.fromhex(
    "0000000000000005  01  ff  09  ffffffffffffffff  0000000000000000  0000000000000000  01 000000000000003c"
    "03 04d2 0000000000000001 00  02 02 01 0000000000000000 00  01 09 01 aa"
)
"""The first line contains `id` 5, no parts, no parent, `side` 9 (which has no name), `done` 1 ms before 1970, `seen` at
the start of 1970, `took` 0 ns, and `left` 60 s. The second line contains the price (12.34, at 1 s after 1970), one fee
(0.01, in 1970), and a tag section with the unknown tag 9."""
ROW0 = {
    "id": Decimal(2**63 + 1),
    "parts": [Decimal(1), Decimal(2**64 - 1)],
    "parent": Decimal(7),
    "side": 1,
    "done": datetime(2023, 11, 14, 22, 13, 20, 500000),
    "seen": datetime(1970, 1, 1, 0, 0, 0, 2),
    "took": timedelta(microseconds=-1),
    "left": None,
}


@pytest.fixture(scope="module")
def spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Yield a session in which the driver and the workers can import `trades`, a package shipped as a zip file."""
    folder = tmp_path_factory.mktemp("trades")
    (folder / "specs").mkdir()
    for name, spec in SPECS.items():
        (folder / "specs" / f"{name}.json").write_text(json.dumps(spec))
    with pytest.MonkeyPatch.context() as patch:
        settings = '[[tool.tagwire.sets]]\nspecs = "specs"\npackage = "trades"\noutput = "src"\n'
        (folder / "pyproject.toml").write_text(settings)
        patch.chdir(folder)
        result = tagwire_result("generate")
        assert result.exit_code == 0, result.output
    archive = folder / "trades.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in sorted((folder / "src").rglob("*.py")):
            zipped.write(path, path.relative_to(folder / "src"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder / "src"))
        spark.sparkContext.addPyFile(str(archive))
        yield spark


def messages(spark: SparkSession, *rows: bytes) -> DataFrame:
    return spark.createDataFrame([(n, bytearray(row)) for n, row in enumerate(rows)], "n int, value binary")


@pytest.mark.usefixtures("spark")
def test_the_types_in_spark() -> None:
    money = "struct<amount:decimal(12,2),at:timestamp>"
    assert schema_of_message("Trade", 1, PACKAGE).simpleString() == (
        "struct<id:decimal(20,0),parts:array<decimal(20,0)>,parent:decimal(20,0),side:tinyint,done:timestamp,"
        "seen:timestamp,took:interval day to second,left:interval day to second,"
        f"price:{money},fees:array<{money}>>"
    )


def test_functions_and_batches_give_equal_rows(spark: SparkSession) -> None:
    """Check that `from_message` and `decode_messages` return equal rows."""
    df = messages(spark, V0)
    [by_function] = df.select(from_message("value", "Trade", 0, PACKAGE).alias("m")).select("m.*").collect()
    [by_batch] = decode_messages(df, "Trade", 0, PACKAGE, into=None, keep=[]).collect()
    for row in (by_function.asDict(True), by_batch.asDict(True)):
        assert {name: utc(row[name]) for name in ROW0} == ROW0
        assert row["price"] == {"amount": Decimal("12.34")}
        assert row["fees"] == [{"amount": Decimal("-0.01")}]


def utc(value: Any) -> Any:
    """Convert a datetime from local time to UTC."""
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


def test_versions_of_a_shared_struct(spark: SparkSession) -> None:
    options = {**PACKAGE, "unknown.tagged.fields": "binary"}
    df = messages(spark, V0, V1).select("n", from_message("value", "Trade", F.col("n"), options).alias("m"))
    one, other = (row.m for row in df.orderBy("n").collect())
    assert (utc(one.price.at), utc(other.price.at)) == (datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 1))
    assert [fee.amount for fee in other.fees] == [Decimal("0.01")]
    assert (other.side, other.parent, other.parts, other.left) == (9, None, [], timedelta(minutes=1))
    assert utc(other.done) == datetime(1969, 12, 31, 23, 59, 59, 999000)
    assert dict(other.unknown_tags) == {9: b"\xaa"}


def test_round_trip_through_a_shuffle(spark: SparkSession) -> None:
    """Check rows after a shuffle, which converts decoded columns from Arrow to Spark's own format."""
    options = {**PACKAGE, "unknown.tagged.fields": "binary"}
    read = messages(spark, V0, V1).select("n", from_message("value", "Trade", F.col("n"), options).alias("m"))
    there = read.repartition(1).selectExpr("n", "m")
    again = there.select("n", to_message("m", "Trade", F.col("n"), PACKAGE).alias("again")).orderBy("n").collect()
    assert [bytes(row.again) for row in again] == [V0, V1]


def test_values_from_sql(spark: SparkSession) -> None:
    """Check that uint64 fields accept all numeric types, and that times are rounded down."""
    struct = """named_struct(
        'id', cast(7 as bigint), 'parts', array(cast(18446744073709551615 as decimal(20,0))), 'parent', 8BD,
        'done', timestamp_micros(-1), 'seen', timestamp_micros(3), 'took', interval '1' second,
        'left', interval '1.9' second, 'price', named_struct('amount', 1.5BD)) as m"""
    [row] = spark.range(1).selectExpr(struct).select(to_message("m", "Trade", 0, PACKAGE).alias("m")).collect()
    trade = decoding("Trade", 0, PACKAGE, None).cls.decode(bytes(row.m), 0)
    fields: Any = trade
    assert (fields.id, fields.parts, fields.parent) == (7, (2**64 - 1,), 8)
    assert (fields.done, fields.seen, fields.took, fields.left) == (-1, 3000, 10**9, 1)
    assert fields.price.amount == b"\0\x96"  # 150 in two bytes: 0x96 alone would be negative


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_both_engines_return_the_declared_types(tmp_path: Path, isolation: str) -> None:
    """Returned columns must have the declared types, because Spark itself doesn't check them."""
    folder = write_segment(tmp_path / "trades-0", build([Record(0, 1_700_000_000_000, None, V0)], "v2")).parent
    options = {**PACKAGE, "message": "Trade", "version": "0", "isolation.level": isolation}
    query = log_query({"path": str(folder), **options})
    schema = StructType([StructField("message", schema_of_message("Trade", 0, PACKAGE, nullable=False))])
    assert full_schema(query, strict=True)["message"].dataType == schema["message"].dataType
    [batch] = [batch for split in plan(query) for batch in rows_of(split, query, schema)]
    assert batch.schema == arrow_schema(schema)
    [row] = batch.to_pylist()
    assert {name: utc(row["message"][name]) for name in ROW0} == ROW0


LATE = V0.replace(bytes.fromhex("ff 00000002 04d2"), bytes.fromhex("01 7fffffffffffffff 00000002 04d2"))
"""A trade whose `left` is 2^63 - 1 seconds, which overflows Spark's 64-bit microseconds."""


def test_a_time_that_spark_cannot_hold(spark: SparkSession) -> None:
    df = messages(spark, V0, LATE)
    with pytest.raises(PySparkException, match=r"\[MALFORMED_KAFKA_MESSAGE\] row 1: Trade: left has a value that does"):
        df.coalesce(1).select(from_message("value", "Trade", 0, PACKAGE)).collect()
    permissive = from_message("value", "Trade", 0, {**PACKAGE, "mode": "PERMISSIVE"}).alias("m")
    good, bad = (row.m for row in df.orderBy("n").select(permissive).collect())
    assert (good.id, good._error) == (ROW0["id"], None)
    assert (bad.id, bad._error.path) == (None, "left")
    assert bad._error.reason == "has a value that does not fit the Arrow type duration[us]"
    [row] = df.where("n = 1").select(from_message("value", "Trade", 0, PACKAGE, fields=["id"]).alias("m")).collect()
    assert row.m.id == ROW0["id"]


@pytest.mark.usefixtures("spark")
def test_numbers_that_no_message_holds() -> None:
    ids = pa.array([{"id": Decimal(n)} for n in (5, -1, 2**64)], pa.struct([("id", pa.decimal128(20, 0))]))
    encoder = encoding("Trade", 0, PACKAGE)
    with pytest.raises(PipelineError, match=r"\[UNENCODABLE_KAFKA_MESSAGE\] row 1: Trade: id has a value that does"):
        encoder.encode(ids)
    encoded = encoding("Trade", 0, {**PACKAGE, "mode": "PERMISSIVE"}).encode(ids)
    assert [each is None for each in encoded.to_pylist()] == [False, True, True]
    assert encoder.encode(ids.slice(0, 1)).to_pylist()[0][:8] == (5).to_bytes(8, "big")


@pytest.mark.usefixtures("spark")
def test_sliced_columns_and_nulls() -> None:
    """Values outside the slice or inside a null must not be converted."""
    data = pa.array([V0, None, V0, LATE]).slice(1, 2)
    found = decoding("Trade", 0, PACKAGE, ["parts", "price"]).decode(data)
    assert found.to_pylist() == [None, {"parts": ROW0["parts"], "price": {"amount": Decimal("12.34")}}]
    type = pa.struct([("parts", pa.list_(pa.decimal128(20, 0)))])
    rows = pa.array([{"parts": [Decimal(-1)]}, None, {"parts": [Decimal(3)]}, {"parts": []}], type).slice(1)
    encoded = encoding("Trade", 0, PACKAGE).encode(rows).to_pylist()
    assert [each and each[8:12].hex() for each in encoded] == [None, "00000001", "00000000"]
