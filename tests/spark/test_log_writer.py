"""Segments written by `kafka_log`: equal to what was read, in every format; in order or refused; all or nothing."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

from tagwire import log
from tagwire.log.verify import verify_partition
from tagwire.records import Record, build
from tagwire_spark import PipelineError, commit, in_log_order
from tagwire_spark.arrow_types import arrow_schema
from tagwire_spark.log_plan import plan
from tagwire_spark.log_query import log_query
from tagwire_spark.log_rows import full_schema, rows_of
from tagwire_spark.log_source import LogSource
from tagwire_spark.log_target import log_target
from tagwire_spark.log_writer import LogWriter, Staged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SAMPLE = Path(__file__).parents[1] / "data" / "sample_log"
HEADERS = ArrayType(StructType().add("key", "string").add("value", "binary"))


def columns(text: str) -> StructType:
    """Columns by names and types, without Spark."""
    schema = StructType()
    for name, type in (part.split() for part in text.split(", ")):
        schema.add(name, HEADERS if type == "headers" else {"int": "integer"}.get(type, type))
    return schema


SIMPLE = columns("topic string, partition int, offset long, key binary, value binary")


def arrow_rows(path: Path, **options: Any) -> Iterator[Any]:
    """What reading gives, without Spark."""
    query = log_query({"path": str(path), "includeControlRecords": "true", **options})
    schema = full_schema(query)
    return (batch for split in plan(query) for batch in rows_of(split, query, schema))


def table(*rows: tuple[Any, ...], schema: StructType = SIMPLE) -> list[Any]:
    values: list[Any] = list(zip(*rows, strict=True)) or [[] for _ in schema]
    fields = arrow_schema(schema)
    arrays = [pa.array(each, type=field.type) for each, field in zip(values, fields, strict=True)]
    return [pa.record_batch(arrays, schema=fields)]


def job(root: Path, *tasks: list[Any], overwrite: bool = False, **options: Any) -> None:
    """A write of these tasks' Arrow batches, without Spark."""
    writer = LogWriter(log_target({"path": str(root), **options}), overwrite=overwrite)
    try:
        writer.commit([writer.write(iter(batches)) for batches in tasks])
    except PipelineError:
        writer.abort([])
        raise


def facts(folder: Path, format: Any = "auto") -> list[tuple[Any, ...]]:
    """Every record of a partition with what holds for its batch."""
    return [
        (batch.base_offset, batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.is_transactional,
         batch.is_control, batch.timestamp_type, batch.compression, batch.format, batch.partition_leader_epoch,
         record.offset, record.timestamp, record.key, record.value, record.headers, record.tombstone)
        for batch in log.Partition(folder).batches(format=format)
        for record in batch
    ]  # fmt: skip


def offsets(root: Path) -> dict[str, list[int]]:
    return {
        each.path.name: [record.offset for batch in each.batches() for record in batch]
        for each in log.find_partitions(root)
    }


def files(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def problems(root: Path, format: Any = "auto") -> list[Any]:
    return [
        (report.file.name, problem)
        for partition in log.find_partitions(root)
        for report in verify_partition(partition, format)
        for problem in report.problems
    ]


# ---------------------------------------------------------------- equal


def test_logs_of_brokers_come_back(logs: Path, tmp_path: Path) -> None:
    """Every record with what its batch says, and the transactions that were aborted."""
    count = aborted = 0
    for source in log.find_partitions(logs):
        if source.topic is None:
            continue
        root = tmp_path / source.path.parent.name
        job(root, list(arrow_rows(source.path)), segmentBytes=3000)
        target = root / source.path.name
        expected = facts(source.path)
        if not expected:
            assert not target.exists()
            continue
        assert facts(target) == expected, source
        assert problems(target) == [], source
        got = [each for segment in log.Partition(target).segments for each in segment.aborted_transactions]
        if not source.segments[0].base_offset:  # else transactions may have begun before
            assert got == [e for s in source.segments for e in s.aborted_transactions if e.first_offset in
                           {row[0] for row in expected}], source  # fmt: skip
        count, aborted = count + len(expected), aborted + len(got)
        assert log.Partition(target).leader_epochs or expected[0][9] < 0
    assert count > 100 and aborted > 5


@pytest.mark.parametrize(
    ("format", "codec", "headers"),
    [
        ("v0", "none", ()),
        ("v0", "gzip", ()),
        ("v1", "none", ()),
        ("v1", "lz4", ()),
        ("v2", "none", (("h", b"1"), ("h", None))),
        ("v2", "zstd", (("h", b"1"),)),
        ("kip82-int", "none", (("7", b"1"),)),
        ("kip82-str", "gzip", (("h", b"1"),)),
        ("kip87", "snappy", ()),
        ("kip82-int+kip87", "none", (("7", b"1"),)),
        ("v3", "zstd", (("h", b"1"),)),
        ("v3-zigzag", "none", (("h", b"1"),)),
    ],
)
def test_every_format(tmp_path: Path, format: str, codec: str, headers: Any) -> None:
    schema = columns(
        "topic string, offset long, timestamp timestamp, key binary, value binary, "
        "headers headers, tombstone boolean"
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
    made = tuple((int(key) if format.startswith("kip82-int") else key, value) for key, value in headers)
    assert [r.headers for r in got] == [made if n % 2 else () for n in range(200)]
    batch = next(log.Partition(tmp_path / "t-0").batches(format=format))
    assert (batch.format, batch.compression) == (format, codec)
    if format in ("v0", "v1", "v2", "v3"):
        assert problems(tmp_path, format) == []
    assert codec != "none" or len(log.Partition(tmp_path / "t-0").segments) > 1


def test_sizes_of_batches(tmp_path: Path) -> None:
    rows = [("t", 0, n, None, bytes(100)) for n in range(1000)] + [("t", 0, 1000, None, bytes(50_000))]
    job(tmp_path, table(*rows))
    batches = list(log.read(tmp_path / "t-0"))
    assert max(batch.size for batch in batches[:-1]) <= 16384 and len(batches) < 12
    assert len(batches[-1]) == 1  # larger than a batch is to be
    assert offsets(tmp_path) == {"t-0": list(range(1001))}


def test_offsets_far_apart_are_in_segments_of_their_own(tmp_path: Path) -> None:
    rows = [("t", 0, offset, None, b"v") for offset in (0, 1 << 31, (1 << 31) + 1, 1 << 40)]
    job(tmp_path, table(*rows))
    assert [segment.base_offset for segment in log.Partition(tmp_path / "t-0").segments] == [0, 1 << 31, 1 << 40]
    assert problems(tmp_path) == []


# ---------------------------------------------------------------- through Spark


def save(df: "DataFrame", root: Path, mode: str = "append", **options: Any) -> None:
    df.write.format("kafka_log").mode(mode).options(**options).save(str(root))


def test_reading_and_writing_through_spark(spark: "SparkSession", tmp_path: Path) -> None:
    df = spark.read.format("kafka_log").option("includeControlRecords", "true").load(str(SAMPLE))
    save(in_log_order(df), tmp_path)
    assert {p.name: facts(p) for p in tmp_path.glob("orders-*")} == {p.name: facts(p) for p in SAMPLE.glob("orders-*")}
    assert problems(tmp_path) == []
    manifest = json.loads((tmp_path / commit.DONE).read_text())
    assert manifest["facts"]["orders-0"]["records"] == 30
    assert not list(tmp_path.glob(".*"))  # brokers start with no folders that they don't know


def test_rows_of_ones_own(spark: "SparkSession", tmp_path: Path) -> None:
    """Texts, no offsets, a topic by option; a second job goes on behind the first."""
    df = spark.range(10).selectExpr("cast(id % 2 as int) as partition", "concat('v', id) as value")
    for _ in range(2):
        save(in_log_order(df), tmp_path, topic="made", compression="gzip")
    assert offsets(tmp_path) == {"made-0": list(range(10)), "made-1": list(range(10))}
    assert problems(tmp_path) == []
    read = spark.read.format("kafka_log").load(str(tmp_path))
    assert sorted(row[0] for row in read.selectExpr("cast(value as string)").collect()) == sorted(
        f"v{n}" for n in [*range(10), *range(10)]
    )


def test_ranges_of_a_partition_by_several_tasks(spark: "SparkSession", tmp_path: Path) -> None:
    df = spark.range(1000).selectExpr("'t' as topic", "id as offset", "cast(id as string) as value")
    save(df.repartitionByRange(3, "topic", "offset").sortWithinPartitions("topic", "offset"), tmp_path)
    assert offsets(tmp_path) == {"t-0": list(range(1000))} and problems(tmp_path) == []
    assert len(log.Partition(tmp_path / "t-0").segments) == 3


def test_skew_and_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    """Nearly all rows in one partition; tasks that get none; a DataFrame without rows."""
    topic = "case when id < 4990 then 'hot' else concat('t', id) end as topic"
    df = spark.range(5000).selectExpr(topic, "id as offset")
    save(in_log_order(df.withColumn("value", F.lit("v"))), tmp_path)
    assert {name: len(each) for name, each in offsets(tmp_path).items()} == {
        "hot-0": 4990,
        **{f"t{n}-0": 1 for n in range(4990, 5000)},
    }
    before = files(tmp_path)
    save(df.where("false").withColumn("value", F.lit("v")), tmp_path)
    assert {k: v for k, v in files(tmp_path).items() if k != commit.DONE} == {
        k: v for k, v in before.items() if k != commit.DONE
    }


def test_modes(spark: "SparkSession", tmp_path: Path) -> None:
    def rows(topic: str) -> "DataFrame":
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


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("tasks", "condition"),
    [
        ([[("t", 0, 5), ("t", 0, 5)]], "KAFKA_LOG_ROWS_NOT_IN_ORDER"),
        ([[("t", 0, 5), ("t", 0, 4)]], "KAFKA_LOG_ROWS_NOT_IN_ORDER"),
        ([[("t", 0, 5), ("t", 1, 0), ("t", 0, 6)]], "KAFKA_LOG_ROWS_NOT_IN_ORDER"),
        ([[("t", 0, 5), ("t", 0, 9)], [("t", 0, 7)]], "KAFKA_LOG_ROWS_NOT_IN_ORDER"),
        ([[("t", 0, 2)]], "KAFKA_LOG_EXISTS"),
        ([[("t", 0, -5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("t", 0, None)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("../t", 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("..", 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("", 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[(None, 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("t", -1, 5)]], "UNENCODABLE_KAFKA_RECORD"),
        ([[("t" * 250, 0, 5)]], "UNENCODABLE_KAFKA_RECORD"),
    ],
)
def test_rows_that_are_refused(tmp_path: Path, tasks: list[list[tuple[Any, ...]]], condition: str) -> None:
    job(tmp_path, table(*[("t", 0, n, None, b"v") for n in range(3)]))
    before = files(tmp_path)
    with pytest.raises(PipelineError, match=rf"^\[{condition}\].*SQLSTATE") as refused:
        job(tmp_path, *[table(*[(*row, b"k", b"v") for row in rows]) for rows in tasks])
    assert refused.value.getCondition() == condition
    assert files(tmp_path) == before  # and nothing is left of it


@pytest.mark.parametrize(
    ("ddl", "row", "options", "text"),
    [
        ("topic string, value binary, headers headers",
         ("t", b"v", [{"key": "h", "value": b""}]), {"recordFormat": "v1"}, "headers"),
        ("topic string, value binary, headers headers",
         ("t", b"v", [{"key": "h", "value": b""}]), {"recordFormat": "kip82-int"}, "numbers for names"),
        ("topic string, value binary, headers headers", ("t", b"v", [None]), {}, "header that is null"),
        ("topic string, value binary, headers headers", ("t", b"v", [{"key": None, "value": b""}]), {}, "not nullable"),
        ("topic string, value binary, producerId long", ("t", b"v", 7), {"recordFormat": "v1"}, "producer_id"),
        ("topic string, value binary, tombstone boolean", ("t", b"v", True), {}, "tombstone"),
        ("topic string, value binary, compression string", ("t", b"v", "zstd"), {"recordFormat": "v1"}, "compression"),
        ("topic string, value binary, format string", ("t", b"v", "v9"), {}, "v9"),
        ("topic string, value binary, offset long, baseOffset long", ("t", b"v", 3, 4), {}, "baseOffset 4"),
    ],
)  # fmt: skip
def test_records_that_a_format_has_no_place_for(
    tmp_path: Path, ddl: str, row: tuple[Any, ...], options: dict[str, Any], text: str
) -> None:
    with pytest.raises(PipelineError, match="UNENCODABLE_KAFKA_RECORD") as refused:
        job(tmp_path, table(row, schema=columns(ddl)), **options)
    assert text in str(refused.value) and files(tmp_path) == {}


@pytest.mark.parametrize(
    ("ddl", "options", "text"),
    [
        ("value binary", {}, "topic"),
        ("topic string, key binary", {}, "no column value"),
        ("topic string, value binary, more int", {}, "more"),
        ("topic string, value int", {}, "binary or string"),
        ("topic string, value binary, headers string", {}, "array<struct<key:string,value:binary>>"),
        ("topic string, value binary", {"recordFormat": "v9"}, "v9"),
        ("topic string, value binary", {"compression": "rar"}, "rar"),
        ("topic string, value binary", {"recordFormat": "v1", "compression": "zstd"}, "zstd"),
        ("topic string, value binary", {"batchBytes": "0"}, "batchBytes"),
        ("topic string, value binary", {"segmentBytes": str(1 << 31)}, "segmentBytes"),
        ("topic string, value binary", {"batchSize": "7"}, "batchBytes"),
        ("topic string, value binary", {"path": "memory://logs"}, "mount"),
        ("topic string, value binary", {"path": ""}, "no path"),
    ],
)
def test_writes_that_are_refused_before_they_begin(
    tmp_path: Path, ddl: str, options: dict[str, str], text: str
) -> None:
    source = LogSource({"path": str(tmp_path / "new"), **options})
    with pytest.raises(PipelineError) as refused:
        source.writer(columns(ddl), overwrite=False)
    assert text in str(refused.value) and not (tmp_path / "new").exists()


def test_places_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PipelineError, match="KAFKA_LOG_WRITE_FAILED"):
        job(tmp_path / "file" / "logs", table(("t", 0, 0, None, b"v")))


def test_a_log_that_a_broker_has_open(tmp_path: Path) -> None:
    """Zeros behind the last batch would stand in the middle of the log."""
    (tmp_path / "t-0").mkdir()
    data = build([Record(n, 5, None, b"v") for n in range(3)], "v2").encode()
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(data + bytes(1000))
    with pytest.raises(PipelineError, match="1000 bytes behind its last batch"):
        job(tmp_path, table(("t", 0, 3, None, b"v")))


def test_transactions_by_two_tasks(tmp_path: Path, logs: Path) -> None:
    batches = list(arrow_rows(logs / "kafka4" / "alpha-txn-many-0"))
    half = batches[0].num_rows // 2
    with pytest.raises(PipelineError, match="2 tasks have written alpha-txn-many-0"):
        job(tmp_path, [batches[0].slice(0, half)], [batches[0].slice(half), *batches[1:]])


def test_transactions_that_go_on_in_another_job(tmp_path: Path, logs: Path) -> None:
    """What was open in the log that is there is aborted by what is appended, and the index says so."""
    source = logs / "kafka4" / "alpha-txn-many-0"
    batches = list(arrow_rows(source))
    rows = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    for cut in range(0, rows.num_rows, rows.num_rows // 5):
        root = tmp_path / str(cut)
        job(root, [rows.slice(0, cut)])
        job(root, [rows.slice(cut)])
        got = [e for s in log.Partition(root / source.name).segments for e in s.aborted_transactions]
        assert got == [e for s in log.Partition(source).segments for e in s.aborted_transactions]


# ---------------------------------------------------------------- all or nothing


class Stop(BaseException):
    """The end of a process."""


def written(root: Path) -> tuple[Path, LogWriter, list[Staged]]:
    """A folder with a log, and a write that is ready to be committed: it goes on in one, and begins another."""
    job(root, table(*[("t", 0, n, None, b"v") for n in range(3)]))
    writer = LogWriter(log_target({"path": str(root)}), overwrite=False)
    tasks = [table(("t", 0, 3, None, b"v")), table(("u", 0, 0, None, b"v"))]
    return root, writer, [writer.write(iter(each)) for each in tasks]


BEFORE = {"t-0": [0, 1, 2]}
AFTER = {"t-0": [0, 1, 2, 3], "u-0": [0]}


def read_offsets(root: Path) -> dict[str, list[int]]:
    """As the source sees them."""
    found: dict[str, list[int]] = {}
    for batch in arrow_rows(root):
        for row in batch.to_pylist():
            found.setdefault(f"{row['topic']}-{row['partition']}", []).append(row["offset"])
    return {name: sorted(each) for name, each in found.items()}


def test_what_is_staged_is_not_seen(tmp_path: Path) -> None:
    root, writer, staged = written(tmp_path)
    assert read_offsets(root) == offsets(root) == BEFORE
    writer.abort([*staged, None])
    assert read_offsets(root) == BEFORE and not list(root.glob(".*"))


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_driver_that_dies_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool) -> None:
    """Killed before each step of a commit; the next reader finds all of the job, or nothing."""
    seen = []
    for steps in range(40):
        root, writer, staged = written(tmp_path / str(steps))
        writer.overwrite = overwrite
        left = steps

        def step(name: str, original: Any, *arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Stop
            return original(*arguments, **named)

        with monkeypatch.context() as patch:
            for name in ("replace", "rename", "unlink", "mkdir", "rmdir", "write_text"):
                original = getattr(Path, name)
                patch.setattr(Path, name, lambda *a, _n=name, _o=original, **k: step(_n, _o, *a, **k))
            try:
                writer.commit(staged)
            except Stop:
                pass
            else:
                break
        found = read_offsets(root)
        assert found in (BEFORE, {"t-0": [3], "u-0": [0]} if overwrite else AFTER), steps
        seen.append(found == BEFORE)
        assert problems(root) == []
    else:
        pytest.fail("a commit never came to its end")
    assert seen == sorted(seen, reverse=True) and True in seen and False in seen


def test_who_appends_next_does_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, writer, staged = written(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(commit, "_do", lambda job: (_ for _ in ()).throw(Stop()))
        with pytest.raises(Stop):
            writer.commit(staged)
    writer.abort(staged)  # what was committed stays so
    job(root, table(("t", 0, 4, None, b"v")))
    assert offsets(root) == {"t-0": [0, 1, 2, 3, 4], "u-0": [0]}


def test_a_commit_that_is_no_json(tmp_path: Path) -> None:
    job(tmp_path, table(("t", 0, 0, None, b"v")))
    (tmp_path / ".tagwire-1.json").write_text("{")
    with pytest.raises(PipelineError, match="KAFKA_LOG_WRITE_FAILED"):
        list(arrow_rows(tmp_path))


def test_two_writers_at_once(tmp_path: Path) -> None:
    """Both begin behind the same offset; the second to commit is refused, and has changed nothing."""
    root, first, staged = written(tmp_path)
    second = LogWriter(log_target({"path": str(root)}), overwrite=False)
    other = [second.write(iter(table(("t", 0, 3, None, b"w"))))]
    first.commit(staged)
    with pytest.raises(PipelineError, match="KAFKA_LOG_EXISTS"):
        second.commit(other)
    second.abort(other)
    assert offsets(root) == AFTER and not list(root.glob(".*"))


def test_an_attempt_that_comes_too_late(tmp_path: Path) -> None:
    root, writer, staged = written(tmp_path)
    writer.commit(staged)
    with pytest.raises(PipelineError, match="came too late"):
        writer.write(iter(table(("t", 0, 9, None, b"v"))))
    assert offsets(root) == AFTER and not list(root.glob(".*"))


def test_readers_wait_for_a_commit(tmp_path: Path) -> None:
    """Another process that plans while a commit is under way sees none of it, and then all."""
    root, writer, staged = written(tmp_path)
    program = (
        "import sys; from tagwire_spark.log_plan import plan; from tagwire_spark.log_query import log_query;"
        "print('ready', flush=True); print(len(plan(log_query({'path': sys.argv[1]}))))"
    )
    with commit.alone(root):
        reader = subprocess.Popen([sys.executable, "-c", program, str(root)], stdout=subprocess.PIPE, text=True)
        assert reader.stdout is not None and reader.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            reader.wait(0.3)
    writer.commit(staged)
    assert reader.stdout is not None and reader.stdout.readline() in ("1\n", "3\n")
    reader.wait(30)


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_tasks_that_are_tried_again(spark: "SparkSession", tmp_path: Path, how: str) -> None:
    """A task that fails, and a worker that is killed, when they have written half of their rows: Spark tries again."""

    class DyingWriter(LogWriter):
        def write(self, iterator: Iterator[Any]) -> Staged:
            return super().write(self.dying(iterator))

        def dying(self, iterator: Iterator[Any]) -> Iterator[Any]:
            for batch in iterator:
                yield batch.slice(0, batch.num_rows // 2)
                if batch.num_rows and not Path(self.job.root, "died").exists():
                    Path(self.job.root, "died").touch()
                    if how == "kill":
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise ValueError("for the first time")
                yield batch.slice(batch.num_rows // 2)

    class DyingSource(LogSource):
        @classmethod
        def name(cls) -> str:
            return "kafka_log_dying"

        def writer(self, schema: StructType, overwrite: bool) -> LogWriter:
            return DyingWriter(log_target(self.options), overwrite=overwrite)

    spark.dataSource.register(DyingSource)
    df = spark.range(1000).selectExpr("'t' topic", "cast(id % 2 as int) partition", "id as offset", "'v' as value")
    in_log_order(df).write.format("kafka_log_dying").mode("append").save(str(tmp_path))
    assert (tmp_path / "died").exists()
    assert offsets(tmp_path) == {"t-0": list(range(0, 1000, 2)), "t-1": list(range(1, 1000, 2))}
    assert problems(tmp_path) == [] and not list(tmp_path.glob(".*"))


def test_a_job_that_fails_leaves_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    before = files(tmp_path)
    df = spark.read.format("kafka_log").load(str(SAMPLE)).orderBy("value")
    with pytest.raises(PySparkException, match="KAFKA_LOG_ROWS_NOT_IN_ORDER"):
        save(df, tmp_path)
    assert files(tmp_path) == before and not list(tmp_path.glob(".*"))
