from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from pyspark.sql import datasource as ds
from pyspark.sql import functions as F

from tagwire_spark.log_read.filters import narrowed
from tagwire_spark.log_read.query import NO_OFFSET, log_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SAMPLE = Path(__file__).parents[2] / "data" / "sample_log"
TOPIC, PARTITION, OFFSET, TIME = (("topic",), ("partition",), ("offset",), ("timestamp",))
MOMENT = datetime(1970, 1, 1, 0, 0, 1, 500, UTC)


@pytest.mark.parametrize(
    ("pushed", "changed"),
    [
        ([ds.EqualTo(TOPIC, "a"), ds.IsNotNull(TOPIC)], {"filtered_topics": ("a",)}),
        ([ds.In(PARTITION, (1, 2)), ds.EqualTo(PARTITION, 2), ds.IsNotNull(PARTITION)], {"numbers": (2,)}),
        ([ds.In(TOPIC, ("a", "b")), ds.EqualTo(TOPIC, "c")], {"filtered_topics": ()}),
        ([ds.GreaterThan(OFFSET, 5)], {"first_offset": 6}),
        ([ds.GreaterThanOrEqual(OFFSET, 5), ds.GreaterThan(OFFSET, 3)], {"first_offset": 5}),
        ([ds.LessThan(OFFSET, 5), ds.IsNotNull(OFFSET)], {"end_offset": 5}),
        ([ds.LessThanOrEqual(OFFSET, 5)], {"end_offset": 6}),
        ([ds.EqualTo(OFFSET, 5)], {"first_offset": 5, "end_offset": 6}),
        ([ds.EqualTo(OFFSET, -5)], {"end_offset": -4}),
    ],
)
def test_filters_that_are_applied(pushed: list[Any], changed: dict[str, Any]) -> None:
    query = log_query({"path": "x"})
    assert narrowed(query, pushed) == (query._replace(**changed), [])


@pytest.mark.parametrize(
    ("pushed", "options", "changed"),
    [
        (ds.GreaterThanOrEqual(TIME, MOMENT), {}, {"first_timestamp": 1000}),
        (ds.LessThan(TIME, MOMENT), {}, {"end_timestamp": 1001}),
        (ds.IsNotNull(TIME), {}, {}),
        (ds.GreaterThan(OFFSET, 5), {"mode": "PERMISSIVE"}, {"first_offset": 6}),
        (ds.IsNotNull(OFFSET), {"mode": "PERMISSIVE"}, {}),
        (ds.In(OFFSET, (1, 2)), {}, {}),
        (ds.EqualTo(("message", "offset"), 5), {}, {}),
        (ds.EqualTo(("key",), b"k"), {}, {}),
        (ds.IsNull(TOPIC), {}, {}),
        (ds.Not(ds.EqualTo(TOPIC, "a")), {}, {}),
    ],
)
def test_filters_that_are_left_to_spark(pushed: Any, options: dict[str, str], changed: dict[str, Any]) -> None:
    query = log_query({"path": "x", **options})
    assert narrowed(query, [pushed]) == (query._replace(**changed), [pushed])
    assert query.end_offset == NO_OFFSET


_BY_ANY = "partition in (0, 7) and offset < 4 and length(value) > 30"


@pytest.mark.parametrize(("where", "options"), [
    ("partition = 1 and offset > 5 and offset <= 20", {}), ("offset between 3 and 7", {}),
    ("topic = 'orders' and offset = 9", {}), (_BY_ANY, {}), ("offset < 0", {}), ("partition = 1 or offset = 2", {}),
    ("offset >= 28 and timestamp > timestamp '2020-01-01 00:00:00'", {}),
    (_BY_ANY, {"mode": "PERMISSIVE"}), (_BY_ANY, {"maxSplitBytes": "500"}),
])  # fmt: skip
def test_pushed_filters_give_the_rows_that_spark_selects(
    spark: "SparkSession", where: str, options: dict[str, str]
) -> None:
    def rows(pushdown: str) -> list[Any]:
        read = spark.read.format("kafka_log").options(pushdown=pushdown, **options).load(str(SAMPLE))
        return sorted(tuple(row) for row in read.where(where).select("partition", "offset", "value").collect())

    assert rows("true") == rows("false")


def test_explain_shows_pushed_filters(spark: "SparkSession", capsys: pytest.CaptureFixture[str]) -> None:
    df = spark.read.format("kafka_log").option("pushdown", "true").load(str(SAMPLE))
    df.where((F.col("partition") == 1) & (F.col("offset") > 5) & (F.length("value") > 3)).explain("formatted")
    text = capsys.readouterr().out
    [pushed] = [line for line in text.splitlines() if line.startswith("PushedFilters: ")]
    assert {"EqualTo(partition,1)", "GreaterThan(offset,5)"} <= set(pushed[len("PushedFilters: [") : -1].split(", "))
    [condition] = [line for line in text.splitlines() if line.startswith("Condition : ")]
    assert "offset" not in condition and "length(value" in condition
