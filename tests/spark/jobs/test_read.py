import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructType
from streamed_logs import batch, segment
from written_logs import read_rows

from tagwire_spark import PipelineError
from tagwire_spark.jobs import read, read_logs
from tagwire_spark.log_read.query import LogQuery, log_query
from tagwire_spark.log_read.rows import full_schema, rows_of_task

pytestmark = pytest.mark.spark


def many(root: Path) -> Path:
    """Create four partitions of three segments each, and two folders that reads must ignore."""
    for folder in ("a-0", "a-1", "b-0", "deeper/c-7"):
        (root / folder).mkdir(parents=True)
        for base in (0, 10, 20):
            segment(root / folder, base, batch(base), batch(base + 5))
    segment(root / f"a-2.{'0' * 32}-delete", 0, batch(0))
    segment(root / ".hidden", 0, batch(0))
    return root


def positions(df: Any) -> list[Any]:
    return sorted(map(tuple, df.select("topic", "partition", "offset", "file", "position").collect()))


@pytest.mark.parametrize("options", [
    {}, {"subscribe": "a"}, {"assign": '{"a": [1], "c": [7]}'}, {"startingOffsets": '{"a": {"0": 12}}'},
    {"maxSplitBytes": "300"}, {"mode": "PERMISSIVE"}, {"level": "batch"},
])  # fmt: skip
def test_the_rows_of_the_source(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    root = many(tmp_path)
    source = spark.read.format("kafka_log").options(**options).load(str(root))
    found = read_logs(spark, root, options=options, tasks=3)
    assert found.schema == source.schema
    names = ["topic", "partition", "baseOffset" if "level" in options else "offset", "position"]
    expected = source.select(names).collect()
    assert len(expected) == len({*expected}) > 0
    assert sorted(found.select(names).collect()) == sorted(expected)


def test_logs_of_real_brokers(spark: SparkSession, logs: Path) -> None:
    options: dict[str, Any] = {"isolation.level": "read_committed", "includeControlRecords": True}
    expected = positions(spark.read.format("kafka_log").options(**options).load(str(logs / "kafka4")))
    assert expected and positions(read_logs(spark, logs / "kafka4", options=options, tasks=2)) == expected


def test_columns_tasks_and_paths(spark: SparkSession, tmp_path: Path) -> None:
    root = many(tmp_path)
    one = read_logs(spark, [root / "a-0", f"{root}/b-*"], "OFFSET long NOT NULL", tasks=5)
    assert one.schema == StructType().add("OFFSET", LongType(), nullable=False) and one.rdd.getNumPartitions() == 5
    assert sorted(row.OFFSET for row in one.collect()) == sorted([*range(30), *range(30)])
    file = read_logs(spark, root / "a-1" / f"{10:020}.log", StructType().add("offset", LongType()))
    assert sorted(row.offset for row in file.collect()) == [*range(10, 20)]
    assert file.rdd.getNumPartitions() == int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    # A deleted partition (folder "*-delete") is read only if the path names its folder.
    deleted = read_logs(spark, root / f"a-2.{'0' * 32}-delete", "offset long", tasks=1)
    assert deleted.count() == 5


@pytest.mark.parametrize(("arguments", "text"), [
    ({"options": {"pushdown": "true"}}, "Option pushdown can't be used with read_logs"),
    ({"options": {"Path": "x"}}, "Option Path can't be used with read_logs"),
    ({"options": {"nonsense": "x"}}, "nonsense"),
    ({"schema": "offset int"}, "Column offset: expected bigint, got int"),
    ({"schema": StructType().add("colour", LongType())}, "kafka_log has no column colour"),
    ({"schema": "bigint"}, "schema: expected columns with their types"),
    ({"tasks": 0}, "tasks: expected 1 or more, got 0"),
])  # fmt: skip
def test_arguments_that_are_rejected(spark: SparkSession, tmp_path: Path, arguments: Any, text: str) -> None:
    with pytest.raises(PipelineError, match=text):
        read_logs(spark, many(tmp_path), **arguments)


def test_nothing_to_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "gone"):
        with pytest.raises(PipelineError, match=f"KAFKA_LOG_NOT_FOUND.*{path.name}"):
            read_logs(spark, path)
    with pytest.raises(PipelineError, match="k: a Path can't represent a URL"):
        read_logs(spark, [Path("memory://k")])
    with pytest.raises(PipelineError, match="read_logs does not support patterns in a URL"):
        read_logs(spark, "memory://k/orders-*")


def test_errors_of_workers_name_the_file(spark: SparkSession, tmp_path: Path) -> None:
    path = many(tmp_path) / "b-0" / f"{10:020}.log"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Exception, match=r"MALFORMED_KAFKA_LOG.*b-0/0+10\.log"):
        read_logs(spark, tmp_path, "offset long", tasks=2).collect()
    (tmp_path / "a-1" / f"{10:020}.log").unlink()
    with pytest.raises(Exception, match=r"KAFKA_LOG_DATA_LOSS.*a-1/0+\.log ends before offset 10"):
        read_logs(spark, tmp_path, "offset long", {"subscribe": "a"}, tasks=2).collect()


def test_writes_are_read_completely_or_not_at_all(spark: SparkSession, tmp_path: Path) -> None:
    """Check that a read fails if another write is committed after the read was planned."""
    folder = str(tmp_path / "written")
    rows = spark.range(40).selectExpr("'t' topic", "cast(id % 4 as int) partition", "cast(id as string) value")
    rows.write.format("kafka_log").mode("append").save(folder)
    planned = read_logs(spark, folder, "offset long", tasks=2)
    assert planned.count() == 40
    rows.write.format("kafka_log").mode("append").save(folder)
    with pytest.raises(Exception, match=r"KAFKA_LOG_CHANGED.*written: another write was committed after the read was"):
        planned.count()
    assert read_logs(spark, folder, "offset long", tasks=2).count() == 80


def offsets_of(query: LogQuery) -> list[tuple[str, int, int]]:
    """Plan a read, and run its tasks in this process. Return the topic, partition and offset of each row."""
    schema = full_schema(query)
    tasks = [
        pickle.loads(task.as_py())
        for unit in read._units(query)
        for plan in read._planned(query, 0, unit)
        for task in plan.column(0)
    ]
    rows = [row for task in tasks for each in rows_of_task(task, query, schema) for row in each.to_pylist()]
    return sorted((row["topic"], row["partition"], row["offset"]) for row in rows)


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Any]:
    memory = fsspec.filesystem("memory")
    for path in many(tmp_path).rglob("*.log"):
        memory.pipe(f"/k/{path.relative_to(tmp_path).as_posix()}", path.read_bytes())
    yield memory
    memory.rm("/k", recursive=True)


def test_a_bucket(bucket: Any) -> None:
    query = log_query({"path": "memory://k", "isolation.level": "read_committed"})
    every = read_rows("memory://k")
    expected = sorted((row["topic"], row["partition"], row["offset"]) for row in every)
    assert len(expected) == 120 and offsets_of(query) == expected
    query = log_query({"path": "memory://k", "subscribe": "b"})
    assert offsets_of(query) == [("b", 0, offset) for offset in range(30)]
    for path in ("memory://k/a-1", "memory://k/a-1/"):
        assert len(offsets_of(log_query({"path": path}))) == 30
    assert len(offsets_of(log_query({"path": f"memory://k/a-1/{10:020}.log"}))) == 10


def test_the_driver_lists_folders_alone(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    level = MemoryFileSystem.ls

    def ls(self: Any, path: str, *arguments: Any, **named: Any) -> Any:
        listed.append(path)
        return level(self, path, *arguments, **named)

    def find(*_: Any, **__: Any) -> None:
        pytest.fail("everything is listed")

    monkeypatch.setattr(MemoryFileSystem, "ls", ls)
    monkeypatch.setattr(MemoryFileSystem, "find", find)
    units = [*read._units(log_query({"path": "memory://k"}))]
    assert [unit[0] for unit in units] == [f"memory://k/{each}" for each in ("a-0", "a-1", "b-0", "deeper/c-7")]
    assert listed == ["/k", "/k/deeper"]


@pytest.mark.parametrize("path", ["memory://nothing", "memory://k/.hidden/none"])
@pytest.mark.usefixtures("bucket")
def test_a_bucket_without_logs(path: str) -> None:
    with pytest.raises(PipelineError, match="KAFKA_LOG_NOT_FOUND"):
        list(read._units(log_query({"path": path})))
