import hashlib
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import datasource as ds
from pyspark.sql import functions as F
from small_logs import flip, write_segment
from written_logs import SAMPLE, read_rows

from tagwire import log
from tagwire.records import Record, build
from tagwire_spark.log_read.query import NO_OFFSET, log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import grouped, plan
from tagwire_spark.log_source import narrowed

pytestmark = pytest.mark.spark

Truth = dict[str, list[dict[str, Any]]]


def load(spark: SparkSession, path: Path | str, **options: Any) -> DataFrame:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return spark.read.format("kafka_log").options(**named).load(str(path))


def load_all(spark: SparkSession, logs: Path, **options: Any) -> DataFrame:
    """Load the logs of each broker separately, because different brokers have partitions with the same name."""
    return reduce(lambda one, more: one.union(more), [load(spark, each, **options) for each in sorted(logs.iterdir())])


def digest(value: Any) -> str | None:
    """Return the SHA-256 of an expected key or value. The test data gives either this hash or the bytes in hex."""
    if value is None:
        return None
    if isinstance(value, dict):
        return str(value["sha256"])
    return hashlib.sha256(bytes.fromhex(value)).hexdigest()


def test_all_records_are_those_that_kafka_sees(spark: SparkSession, logs: Path, truth: Truth) -> None:
    expected = {
        (f"{row['file']}", record["offset"]): (record["timestamp"], digest(record["key"]), digest(record["value"]))
        for rows in truth.values()
        for row in rows
        for record in row["records"]
    }
    df = load_all(spark, logs, includeControlRecords="true").select(
        "file", "offset", F.unix_millis("timestamp"), F.sha2("key", 256), F.sha2("value", 256)
    )
    got = {
        (Path(row[0]).relative_to(logs).as_posix(), row[1]): (-1 if row[2] is None else row[2], row[3], row[4])
        for row in df.collect()
    }
    assert got == expected and len(got) > 100


def test_headers_and_facts_of_batches(spark: SparkSession) -> None:
    folder = SAMPLE / "orders-1"
    rows = {row.offset: row for row in load(spark, folder).collect()}
    for batch in log.read(folder):
        for record in () if batch.is_control else batch:
            row = rows.pop(record.offset)
            assert [(h.key, h.value) for h in row.headers or ()] == [(k, v) for k, v in record.headers]
            assert (row.producerId, row.magic, row.compression) == (batch.producer_id, batch.magic, batch.compression)
            assert (row.tombstone, row.isControl) == (record.is_tombstone, False)
            assert f"{row.topic}-{row.partition}" == folder.name
    assert not rows


def test_headers_of_batches(spark: SparkSession, logs: Path, truth: Truth) -> None:
    df = load_all(spark, logs, level="batch", includeControlRecords="true").select(
        "file", "position", "lastOffset", "crc"
    )
    got = {(Path(row[0]).relative_to(logs).as_posix(), row[1]): row[2:] for row in df.collect()}
    expected = {
        (row["file"], row["position"]): (row["batch"]["lastOffset"], row["batch"]["crc"])
        for rows in truth.values()
        for row in rows
        if row["batch"]["magic"] == 2
    }
    assert {key: tuple(value) for key, value in got.items() if key in expected} == expected


@pytest.mark.parametrize("split_bytes", [pytest.param(200, marks=pytest.mark.thorough), 5000])
def test_each_record_is_in_exactly_one_split(logs: Path, split_bytes: int) -> None:
    def rows(**options: Any) -> list[Any]:
        given = [{"path": str(each), "includeControlRecords": "true", **options} for each in logs.iterdir()]
        batches = [
            batch
            for query in map(log_query, given)
            for split in plan(query)
            for batch in rows_of(split, query, full_schema(query))
        ]
        columns = ("file", "position", "offset")
        return sorted(tuple(row[name] for name in columns) for batch in batches for row in batch.to_pylist())

    assert rows(maxSplitBytes=split_bytes) == rows(maxSplitBytes=split_bytes, mode="PERMISSIVE") == rows()


def big_partition(logs: Path) -> Path:
    folders = [f for f in sorted(logs.glob("*/*")) if f.is_dir() and any(f.glob("*.log"))]
    return max(folders, key=lambda f: sum(b.count or 0 for b in log.read(f)))


@pytest.mark.parametrize("pushdown", ["false", "true"])
def test_offsets_and_filters(spark: SparkSession, logs: Path, pushdown: str) -> None:
    folder = big_partition(logs)
    topic, _, number = folder.name.rpartition("-")
    every = sorted(row.offset for row in load(spark, folder).select("offset").collect())
    first, end = every[len(every) // 3], every[2 * len(every) // 3]
    expected = [offset for offset in every if first <= offset < end]
    bounds = {
        "startingOffsets": f'{{"{topic}": {{"{number}": {first}}}}}',
        "endingOffsets": f'{{"{topic}": {{"{number}": {end}}}}}',
    }
    by_option = load(spark, folder, pushdown=pushdown, **bounds)
    by_filter = load(spark, folder.parent, pushdown=pushdown).where(
        (F.col("topic") == topic) & (F.col("partition") == int(number)) & F.col("offset").between(first, end - 1)
    )
    for df in (by_option, by_filter):
        assert sorted(row.offset for row in df.select("offset").collect()) == expected


def test_aborted_transactions(spark: SparkSession, logs: Path) -> None:
    found = 0
    for broker in sorted(path for path in logs.iterdir() if path.is_dir()):
        aborted = {
            (partition.topic, partition.partition, each.producer_id, each.first_offset, each.last_offset)
            for partition in log.find_partitions(broker)
            for segment in partition.segments
            for each in segment.aborted_transactions
        }
        columns = ("topic", "partition", "producerId", "offset", "isTransactional")
        every = load(spark, broker).select(*columns).collect()
        expected = [
            row
            for row in every
            if not any(
                row.isTransactional and (row[0], row[1], row[2]) == each[:3] and each[3] <= row.offset <= each[4]
                for each in aborted
            )
        ]
        got = load(spark, broker, isolation__level="read_committed").select(*columns).collect()
        assert sorted(got) == sorted(expected)
        found += len(every) - len(expected)
    assert found


def damaged(logs: Path, folder: Path) -> tuple[Path, int, int]:
    source = big_partition(logs)
    target = Path(copytree(source, folder / source.name))
    segment = max(log.Partition(target).segments, key=lambda each: each.size)
    batches = list(segment.batches())
    batch = batches[len(batches) // 2]
    flip(segment.path, batch.position + batch.size - 1)
    return target, batch.position, len(batch)


@pytest.mark.parametrize("split_bytes", [300, 1 << 26])
def test_damage_is_a_row(spark: SparkSession, logs: Path, tmp_path: Path, split_bytes: int) -> None:
    folder, position, lost = damaged(logs, tmp_path)
    whole = load(spark, big_partition(logs)).count()
    df = load(spark, folder, mode="PERMISSIVE", maxSplitBytes=split_bytes)
    [error] = df.where("_error is not null").collect()
    assert (error.position, error._error.path, error.offset) == (position, "crc", None)
    assert df.where("_error is null").count() == whole - lost


@pytest.mark.parametrize("scheme", ["foo", "s3x"])
def test_file_systems_that_do_not_exist(spark: SparkSession, scheme: str) -> None:
    with pytest.raises(PySparkException, match=rf"\[KAFKA_LOG_NOT_FOUND\] {scheme}://x can't be reached by fsspec"):
        load(spark, f"{scheme}://x").count()


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_tombstones_and_undecodable_values(spark: SparkSession, tmp_path: Path, isolation: str) -> None:
    import tagwire_messages as messages

    whole = messages.HeartbeatRequest(group_id="g").encode(4)
    records = [Record(n, 1_700_000_000_000, None, value) for n, value in enumerate((whole, None, b"", whole[:-3]))]
    folder = write_segment(tmp_path / "beats-0", build(records, "v2")).parent
    options: dict[str, Any] = {"message": "HeartbeatRequest", "version": 4, "fields": "group_id"}
    two = load(spark, folder, **options, endingOffsets='{"beats": {"0": 2}}').orderBy("offset").collect()
    assert [row.message and row.message.group_id for row in two] == ["g", None]
    options["isolation.level"] = isolation
    reader = spark.read.format("kafka_log").schema("message struct<group_id:string>").options(**options)
    with pytest.raises(
        PySparkException, match=r"0\.log: the record at offset 2: HeartbeatRequest v4: group_id at byte 0"
    ):
        reader.load(str(folder)).collect()
    found = load(spark, folder, **options, mode="PERMISSIVE").orderBy("offset").selectExpr("message.*").collect()
    assert [row.group_id for row in found] == ["g", None, None, None]
    assert [row._error and row._error.offset for row in found] == [None, None, 0, len(whole) - 3]


def test_paths_and_columns_that_do_not_exist(spark: SparkSession, logs: Path) -> None:
    with pytest.raises(PySparkException, match=r"\[KAFKA_LOG_NOT_FOUND\].*SQLSTATE: 42K03"):
        load(spark, logs / "nowhere").count()
    with pytest.raises(PySparkException, match="The path is missing"):
        spark.read.format("kafka_log").load().count()
    for schema in ("offset int", "ofset long"):
        with pytest.raises(PySparkException, match=r"\[UNKNOWN_COLUMN_OF_SOURCE\]"):
            spark.read.format("kafka_log").schema(schema).load(str(logs)).count()


def test_columns_in_any_case(spark: SparkSession) -> None:
    df = spark.read.format("kafka_log").schema("OFFSET long, Key binary").load(str(SAMPLE))
    expected = load(spark, SAMPLE).select("offset", "key")
    assert df.columns == ["OFFSET", "Key"]
    assert sorted(map(tuple, df.collect())) == sorted(map(tuple, expected.collect()))


def test_minimum_number_of_tasks(logs: Path) -> None:
    folder = big_partition(logs)
    for most in (1, 4, 16):
        query = log_query({"path": str(folder), "minPartitions": most})
        splits = plan(query)
        # Small splits may share a task.
        assert len(grouped(splits, query)) >= most * 3 // 4
        rows = [row["offset"] for s in splits for b in rows_of(s, query, full_schema(query)) for row in b.to_pylist()]
        assert rows == [record.offset for batch in log.read(folder) if not batch.is_control for record in batch]


def test_drop_malformed_omits_error_rows(tmp_path: Path) -> None:
    batches = [build([Record(n + k, 5, b"k", b"v") for k in range(3)], "v2") for n in (0, 3, 6)]
    flip(write_segment(tmp_path / "t-0", *batches), batches[0].size + 70)
    left = read_rows(tmp_path, mode="dropmalformed")
    assert [row["offset"] for row in left] == [0, 1, 2, 6, 7, 8] and "_error" not in left[0]
    assert [row["offset"] for row in read_rows(tmp_path, mode="PERMISSIVE")] == [0, 1, 2, None, 6, 7, 8]


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
    ("topic = 'nothing'", {"subscribe": "orders"}),
    ("offset >= 28 and timestamp > timestamp '2020-01-01 00:00:00'", {}),
    (_BY_ANY, {"mode": "PERMISSIVE"}), (_BY_ANY, {"maxSplitBytes": "500"}),
])  # fmt: skip
def test_pushed_filters_give_the_rows_that_spark_selects(
    spark: SparkSession, where: str, options: dict[str, str]
) -> None:
    def rows(pushdown: str) -> list[Any]:
        read = spark.read.format("kafka_log").options(pushdown=pushdown, **options).load(str(SAMPLE))
        return sorted(tuple(row) for row in read.where(where).select("partition", "offset", "value").collect())

    assert rows("true") == rows("false")


def test_explain_shows_pushed_filters(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    df = spark.read.format("kafka_log").option("pushdown", "true").load(str(SAMPLE))
    df.where((F.col("partition") == 1) & (F.col("offset") > 5) & (F.length("value") > 3)).explain("formatted")
    text = capsys.readouterr().out
    [pushed] = [line for line in text.splitlines() if line.startswith("PushedFilters: ")]
    assert {"EqualTo(partition,1)", "GreaterThan(offset,5)"} <= set(pushed[len("PushedFilters: [") : -1].split(", "))
    [condition] = [line for line in text.splitlines() if line.startswith("Condition : ")]
    assert "offset" not in condition and "length(value" in condition
