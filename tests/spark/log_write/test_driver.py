import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from written_logs import SAMPLE, arrow_rows, columns, facts, files, job, offsets, problems, save, table

from tagwire import log
from tagwire_spark import PipelineError, in_log_order
from tagwire_spark.files.commit_folder import DONE
from tagwire_spark.log_source import LogSource
from tagwire_spark.log_write.driver import LogWriter
from tagwire_spark.log_write.target import log_target

pytestmark = pytest.mark.spark


def test_logs_of_brokers_are_written_back_with_all_properties(logs: Path, tmp_path: Path) -> None:
    count = aborted = 0
    for source in log.find_partitions(logs):
        if source.topic is None:
            continue
        root = tmp_path / source.path.parent.name
        job(root, list(arrow_rows(source.path, includeControlRecords="true")), segmentBytes=3000)
        target = root / source.path.name
        expected = facts(source.path)
        if not expected:
            assert not target.exists()
            continue
        assert facts(target) == expected, source
        assert problems(target) == [], source
        got = [each for segment in log.Partition(target).segments for each in segment.aborted_transactions]
        if not source.segments[0].base_offset:  # all transactions begin in this log
            assert got == [e for s in source.segments for e in s.aborted_transactions if e.first_offset in
                           {row[0] for row in expected}], source  # fmt: skip
        count, aborted = count + len(expected), aborted + len(got)
        assert log.Partition(target).leader_epochs or expected[0][9] < 0
    assert count > 100 and aborted > 5


@pytest.mark.parametrize(("format", "codec", "headers"), [
    ("v0", "none", ()), ("v0", "gzip", ()), ("v1", "none", ()), ("v1", "lz4", ()),
    ("v2", "none", (("h", b"1"), ("h", None))), ("v2", "zstd", (("h", b"1"),)), ("kip82-int", "none", (("7", b"1"),)),
    ("kip82-str", "gzip", (("h", b"1"),)), ("kip87", "snappy", ()), ("kip82-int+kip87", "none", (("7", b"1"),)),
    ("v3", "zstd", (("h", b"1"),)), ("v3-zigzag", "none", (("h", b"1"),)),
])  # fmt: skip
def test_every_format(tmp_path: Path, format: str, codec: str, headers: Any) -> None:
    schema = columns(
        "topic string, offset long, timestamp timestamp, key binary, value binary, headers headers, tombstone boolean"
    )
    pairs = [{"key": key, "value": value} for key, value in headers]
    time = None if format == "v0" else 1_700_000_000_123_000
    rows = [
        ("t", 5 + 2 * n, time, b"k%d" % n, None if n % 7 == 3 else b"v" * n, pairs if n % 2 else None, n % 7 == 3)
        for n in range(200)
    ]
    [batches] = table(*rows, schema=schema)
    options: dict[str, Any] = {"recordFormat": format, "compression": codec, "batchRecords": 30, "segmentBytes": 4000}
    job(tmp_path, [batches.slice(0, 77), batches.slice(77)], **options)
    got = [record for batch in log.Partition(tmp_path / "t-0").batches(format=format) for record in batch]
    assert [(r.offset, r.key, r.value, r.is_tombstone) for r in got] == [(r[1], r[3], r[4], r[6]) for r in rows]
    assert [r.timestamp for r in got] == [-1 if time is None else time // 1000] * len(rows)
    expected = tuple((int(key) if format.startswith("kip82-int") else key, value) for key, value in headers)
    assert [r.headers for r in got] == [expected if n % 2 else () for n in range(200)]
    batch = next(log.Partition(tmp_path / "t-0").batches(format=format))
    assert (batch.format, batch.compression) == (format, codec)
    if format in ("v0", "v1", "v2", "v3"):
        assert problems(tmp_path, format) == []
    assert codec != "none" or len(log.Partition(tmp_path / "t-0").segments) > 1


def test_batches_are_limited_in_size(tmp_path: Path) -> None:
    rows = [("t", 0, n, None, bytes(100)) for n in range(1000)] + [("t", 0, 1000, None, bytes(50_000))]
    job(tmp_path, table(*rows))
    batches = list(log.read(tmp_path / "t-0"))
    assert max(batch.size for batch in batches[:-1]) <= 16384 and len(batches) < 12
    assert len(batches[-1]) == 1  # a single record may exceed the batch limit
    assert offsets(tmp_path) == {"t-0": list(range(1001))}


def test_offsets_far_apart_are_in_segments_of_their_own(tmp_path: Path) -> None:
    rows = [("t", 0, offset, None, b"v") for offset in (0, 1 << 31, (1 << 31) + 1, 1 << 40)]
    job(tmp_path, table(*rows))
    assert [segment.base_offset for segment in log.Partition(tmp_path / "t-0").segments] == [0, 1 << 31, 1 << 40]
    assert problems(tmp_path) == []


@pytest.mark.parametrize("segment_bytes", [1, 1 << 20])
def test_batch_split_into_several(tmp_path: Path, segment_bytes: int) -> None:
    """If rows with the same baseOffset become several batches, only the first batch begins at that offset."""
    schema = columns("topic string, offset long, value binary, compression string, baseOffset long")
    rows = [(3, "none"), (5, "gzip"), (6, "none"), (7, "none"), (8, "gzip")]
    job(tmp_path, table(*[("t", n, b"v", codec, 2) for n, codec in rows], schema=schema), segmentBytes=segment_bytes)
    batch_headers = [(batch.base_offset, batch.last_offset) for batch in log.read(tmp_path / "t-0")]
    assert batch_headers == [(2, 3), (5, 5), (6, 7), (8, 8)]
    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    ("at_once", "text"),
    [
        (True, "baseOffset 2 were split between two tasks, at offset 5; leave out column baseOffset"),
        (False, "offset 2 can't be appended; .* the baseOffset of the record at offset 5; leave out column baseOffset"),
    ],
)
def test_rows_of_one_batch_that_are_not_adjacent(tmp_path: Path, at_once: bool, text: str) -> None:
    """Check that two tasks or writes can't have rows with the same baseOffset, unless an option sets batch sizes."""
    schema = columns("topic string, offset long, value binary, baseOffset long")
    one, other = (table(*[("t", n, b"v", 2) for n in part], schema=schema) for part in ((3, 4), (5, 6)))
    jobs = [(other, one)] if at_once else [(one,), (other,)]

    def write(root: Path, **options: Any) -> None:
        for tasks in jobs:
            job(root, *tasks, **options)

    with pytest.raises(PipelineError, match=text):
        write(tmp_path / "rejected")
    write(tmp_path / "made", batchBytes=100)
    assert offsets(tmp_path / "made") == {"t-0": [3, 4, 5, 6]} and problems(tmp_path / "made") == []


def test_reading_and_writing_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.read.format("kafka_log").option("includeControlRecords", "true").load(str(SAMPLE))
    save(in_log_order(df), tmp_path)
    assert {p.name: facts(p) for p in tmp_path.glob("orders-*")} == {p.name: facts(p) for p in SAMPLE.glob("orders-*")}
    assert problems(tmp_path) == []
    manifest = json.loads((tmp_path / DONE).read_text())
    assert manifest["facts"]["orders-0"]["records"] == 30
    assert not list(tmp_path.glob(".*"))  # brokers reject hidden folders


def test_rows_of_strings_without_offsets(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(10).selectExpr("cast(id % 2 as int) as Partition", "concat('v', id) as VALUE")
    for _ in range(2):
        save(in_log_order(df), tmp_path, topic="made", compression="gzip")
    assert offsets(tmp_path) == {"made-0": list(range(10)), "made-1": list(range(10))}
    assert problems(tmp_path) == []
    read = spark.read.format("kafka_log").load(str(tmp_path))
    assert sorted(row[0] for row in read.selectExpr("cast(value as string)").collect()) == sorted(
        f"v{n}" for n in [*range(10), *range(10)]
    )


def test_ranges_of_a_partition_by_several_tasks(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(1000).selectExpr("'t' as topic", "id as offset", "cast(id as string) as value")
    save(df.repartitionByRange(3, "topic", "offset").sortWithinPartitions("topic", "offset"), tmp_path)
    assert offsets(tmp_path) == {"t-0": list(range(1000))} and problems(tmp_path) == []
    assert len(log.Partition(tmp_path / "t-0").segments) == 3


@pytest.mark.parametrize(("partitions", "open_bytes"), [(5, 1), (5, 2000), (5, 64 << 20), (65, 64 << 20)])
def test_alternating_partitions_give_full_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int, open_bytes: int
) -> None:
    monkeypatch.setattr("tagwire_spark.log_write.staging._OPEN_BYTES", open_bytes)
    rows = [("t", n % partitions, n // partitions, None, b"v%d" % n) for n in range(20 * partitions)]
    job(tmp_path, table(*rows), segmentBytes=400)
    assert offsets(tmp_path) == {f"t-{n}": [*range(20)] for n in range(partitions)} and problems(tmp_path) == []
    values = [record.value for batch in log.read(tmp_path / "t-3") for record in batch]
    assert values == [b"v%d" % n for n in range(3, 20 * partitions, partitions)]
    assert len(list(log.read(tmp_path / "t-3"))) == {1: 20, 2000: 10}.get(open_bytes, 1)


def test_alternating_partitions_have_few_files_open(tmp_path: Path) -> None:
    """If rows alternate between many partitions and each row is a batch, only a few files may be open at once."""
    open_files = []

    def batches() -> Iterator[Any]:
        for n in range(300):
            yield from table(("t", n % 150, n // 150, None, b"v"))
            open_files.append(len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else 0)

    writer = LogWriter(log_target({"path": str(tmp_path), "batchRecords": "1"}), overwrite=False)
    writer.commit([writer.write(batches())])
    assert max(open_files) - open_files[0] <= 66
    assert offsets(tmp_path) == {f"t-{n}": [0, 1] for n in range(150)}


def test_skewed_and_empty_data(spark: SparkSession, tmp_path: Path) -> None:
    topic = "case when id < 4990 then 'hot' else concat('t', id) end as topic"
    df = spark.range(5000).selectExpr(topic, "id as offset")
    save(in_log_order(df.withColumn("value", F.lit("v"))), tmp_path)
    assert {name: len(each) for name, each in offsets(tmp_path).items()} == {
        "hot-0": 4990,
        **{f"t{n}-0": 1 for n in range(4990, 5000)},
    }
    before = files(tmp_path)
    save(df.where("false").withColumn("value", F.lit("v")), tmp_path)
    assert {k: v for k, v in files(tmp_path).items() if k != DONE} == {k: v for k, v in before.items() if k != DONE}


def test_modes(spark: SparkSession, tmp_path: Path) -> None:
    def rows(topic: str) -> DataFrame:
        return spark.range(3).selectExpr(f"'{topic}' as topic", "'v' as value").coalesce(1)

    save(rows("a"), tmp_path)
    save(rows("b"), tmp_path)
    (tmp_path / "b-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA")
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    save(rows("b"), tmp_path, "overwrite", partitionOverwriteMode="dynamic")
    assert offsets(tmp_path) == {"a-0": [0, 1, 2], "b-0": [0, 1, 2]}
    save(rows("b"), tmp_path, "overwrite")
    assert offsets(tmp_path) == {"b-0": [0, 1, 2]} and not (tmp_path / "recovery-point-offset-checkpoint").exists()
    assert (tmp_path / "b-0" / "partition.metadata").exists()
    with pytest.raises(PySparkException, match="KAFKA_LOG_EXISTS"):
        save(rows("b"), tmp_path, ifExists="error")
    assert offsets(tmp_path) == {"b-0": [0, 1, 2]}
    with pytest.raises(PySparkException, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
        save(rows("b"), tmp_path, "errorifexists")
    save(rows("b").where("false"), tmp_path, "overwrite")
    assert offsets(tmp_path) == {} and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("tasks", "condition"),
    [
        ([[("t", 0, 5), ("t", 0, 5)]], "KAFKA_LOG_ROWS_NOT_IN_ORDER"),
        ([[("t", 0, 5), ("t", 0, 4)]], "KAFKA_LOG_ROWS_NOT_IN_ORDER"),
        ([[("t", 0, 5), ("t", 1, 0), ("t", 0, 4)]], "KAFKA_LOG_ROWS_NOT_IN_ORDER"),
        ([[("t", 0, 5), ("t", 0, 9)], [("t", 0, 7)]], "KAFKA_LOG_ROWS_NOT_IN_ORDER"),
        ([[("t", 0, 2)]], "KAFKA_LOG_EXISTS"),
        ([[("t", 0, -5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("t", 0, None)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("../t", 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("..", 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("", 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[(None, 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("t" * 250, 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
    ],
)
def test_rows_that_are_rejected(tmp_path: Path, tasks: list[list[tuple[Any, ...]]], condition: str) -> None:
    job(tmp_path, table(*[("t", 0, n, None, b"v") for n in range(3)]))
    before = files(tmp_path)
    with pytest.raises(PipelineError, match=rf"^\[{condition}\].*SQLSTATE") as rejected:
        job(tmp_path, *[table(*[(*row, b"k", b"v") for row in rows]) for rows in tasks])
    assert rejected.value.getCondition() == condition
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("ddl", "row", "options", "text"),
    [
        ("topic string, value binary, headers headers",
         ("t", b"v", [{"key": "h", "value": b""}]), {"recordFormat": "v1"}, "headers"),
        ("topic string, value binary, headers headers",
         ("t", b"v", [{"key": "h", "value": b""}]), {"recordFormat": "kip82-int"}, "is not an integer"),
        ("topic string, value binary, headers headers", ("t", b"v", [None]), {}, "has a null header"),
        ("topic string, value binary, headers headers", ("t", b"v", [{"key": None, "value": b""}]), {}, "not nullable"),
        ("topic string, value binary, producerId long", ("t", b"v", 7), {"recordFormat": "v1"}, "producer_id"),
        ("topic string, value binary, tombstone boolean", ("t", b"v", True), {}, "tombstone"),
        ("topic string, value binary, compression string", ("t", b"v", "zstd"), {"recordFormat": "v1"}, "compression"),
        ("topic string, value binary, format string", ("t", b"v", "v9"), {}, "v9"),
        ("topic string, value binary, offset long, baseOffset long", ("t", b"v", 3, 4), {}, "baseOffset 4"),
        ("topic string, value binary, partition long", ("t", b"v", 1 << 31), {}, "'t-2147483648': expected"),
        ("topic string, value binary, partition long", ("t", b"v", -1), {}, "'t--1': expected a topic"),
        ("topic string, value binary", ("a/b", b"v"), {}, "'a/b-0': expected a topic of 1 to 249 characters a-z, A-Z"),
    ],
)  # fmt: skip
def test_records_that_a_format_has_no_place_for(
    tmp_path: Path, ddl: str, row: tuple[Any, ...], options: dict[str, Any], text: str
) -> None:
    with pytest.raises(PipelineError, match="UNENCODABLE_KAFKA_RECORD") as rejected:
        job(tmp_path, table(row, schema=columns(ddl)), **options)
    assert text in str(rejected.value) and files(tmp_path) == {}


@pytest.mark.parametrize(
    ("ddl", "options", "text"),
    [
        ("value binary", {}, "topic"),
        ("topic string, key binary", {}, "Column 'value' is missing"),
        ("topic string, value binary, more int", {}, "more"),
        ("topic string, value binary, Value binary", {}, "Columns value and Value are the same column"),
        ("topic string, value int", {}, "binary or string"),
        ("topic string, value binary, headers string", {}, "array<struct<key:string,value:binary>>"),
        ("topic string, value binary", {"recordFormat": "v9"}, "v9"),
        ("topic string, value binary", {"compression": "rar"}, "rar"),
        ("topic string, value binary", {"recordFormat": "v1", "compression": "zstd"}, "zstd"),
        ("topic string, value binary", {"batchBytes": "0"}, "batchBytes"),
        ("topic string, value binary", {"segmentBytes": str(1 << 31)}, "segmentBytes"),
        ("topic string, value binary", {"batchSize": "7"}, "topic; did you mean 'batchId'? SQL"),
        ("topic string, value binary", {"path": "memory://logs"}, "mount"),
        ("topic string, value binary", {"path": "s3://"}, "expected a URL with a bucket"),
        ("topic string, value binary", {"path": ""}, "path is missing"),
    ],
)
def test_writes_that_are_rejected_before_they_begin(
    tmp_path: Path, ddl: str, options: dict[str, str], text: str
) -> None:
    source = LogSource({"path": str(tmp_path / "new"), **options})
    with pytest.raises(PipelineError) as rejected:
        source.writer(columns(ddl), overwrite=False)
    assert text in str(rejected.value) and not (tmp_path / "new").exists()


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_write_that_was_ported_from_kafka(tmp_path: Path, is_stream: bool) -> None:
    """Connection options of Kafka's sink are ignored with a warning. The option `topic` overrides the column."""
    options: dict[str, Any] = {
        "kafka.bootstrap.servers": "broker:9092",
        "Kafka.acks": "all",
        "topic": "b",
        "includeHeaders": "true",
    }
    with pytest.warns(UserWarning, match="ignores these options: Kafka.acks, kafka.bootstrap.servers"):
        assert log_target({"path": str(tmp_path), **options}, is_stream=is_stream).topic == "b"
    with pytest.warns(UserWarning, match="does not connect to a broker"):
        job(tmp_path, table(("a", 0, 0, None, b"v")), **options)
    assert offsets(tmp_path) == {"b-0": [0]}


@pytest.mark.parametrize("has_path", [False, True])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_tables_are_rejected(spark: SparkSession, tmp_path: Path, has_path: bool, mode: str) -> None:
    writer = spark.range(1).selectExpr("'t' as topic", "'v' as value").write.format("kafka_log").mode(mode)
    if has_path:
        writer = writer.option("path", str(tmp_path / "logs"))
    text = r"INVALID_TAGWIRE_OPTION.*a table's options .*saveAsTable.*CREATE TEMPORARY VIEW"
    with pytest.raises(PySparkException, match=text):
        writer.saveAsTable("table_of_logs")
    assert not spark.catalog.tableExists("table_of_logs") and files(tmp_path) == {}
    with pytest.raises(PySparkException, match=text):
        spark.sql(f"create table table_of_logs using kafka_log options (path '{SAMPLE}')")
    assert not spark.catalog.tableExists("table_of_logs")


def test_paths_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PipelineError, match="KAFKA_LOG_WRITE_FAILED"):
        job(tmp_path / "file" / "logs", table(("t", 0, 0, None, b"v")))


def test_transactions_by_two_tasks(tmp_path: Path, logs: Path) -> None:
    batches = list(arrow_rows(logs / "kafka4" / "alpha-txn-many-0", includeControlRecords="true"))
    half = batches[0].num_rows // 2
    with pytest.raises(PipelineError, match="2 tasks wrote alpha-txn-many-0"):
        job(tmp_path, [batches[0].slice(0, half)], [batches[0].slice(half), *batches[1:]])


@pytest.mark.parametrize("format", ["kip87", "kip82-int+kip87"])
def test_null_without_the_tombstone_flag(tmp_path: Path, format: str) -> None:
    """Null values without the tombstone flag are accepted in rows with offsets, but not in new records."""
    schema = columns("topic string, partition int, offset long, value binary, tombstone boolean")
    values = [(None, False), (None, True), (b"v", False)]
    job(tmp_path, table(*(("t", 0, n, *each) for n, each in enumerate(values)), schema=schema), recordFormat=format)
    records = [record for batch in log.read(tmp_path / "t-0", format=format) for record in batch]
    assert [(each.value, each.is_tombstone) for each in records] == values
    new = table(("t", None, False), schema=columns("topic string, value binary, tombstone boolean"))
    with pytest.raises(
        PipelineError, match=r"UNENCODABLE_KAFKA_RECORD.*older readers would treat the record as a tombstone"
    ):
        job(tmp_path / "new", new, recordFormat=format)
