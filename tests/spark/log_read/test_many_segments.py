from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from native_engine import in_use
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType
from small_logs import flip
from streamed_logs import segment

from tagwire.records import Record, build
from tagwire_spark import PipelineError
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of, rows_of_task
from tagwire_spark.log_read.splits import Split, plan
from tagwire_spark.log_source import LogReader

ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"
COMMITTED: dict[str, Any] = {"isolation.level": "read_committed"}


def batch(first: int, producer: int = -1, key: bytes = b"k") -> bytes:
    records = [Record(first + n, 1_700_000_000_000 + n, key, b"v%d" % n) for n in range(4)]
    return build(records, "v2", producer_id=producer, is_transactional=producer >= 0).encode()


def marker(offset: int, producer: int, key: bytes) -> bytes:
    record = Record(offset, 1_700_000_000_000, key, bytes(6))
    return build([record], "v2", producer_id=producer, is_transactional=True, is_control=True).encode()


def segments(root: Path, count: int, partitions: int = 3) -> None:
    """Write segments of partitions that have the same offsets. A transaction ends in the partition's next segment."""
    for number in range(count):
        first = number // partitions * 10
        is_aborted = number % partitions == 1
        batches = [batch(first), batch(first + 4, producer=5)]
        if first:
            batches.insert(0, marker(first - 2, 5, ABORT if is_aborted else COMMIT))
        segment(root / f"t-{number % partitions}", max(0, first - 2), *batches)


def read(path: Path, *, together: bool, names: list[str] | None = None, **options: Any) -> list[dict[str, Any]]:
    query = log_query({"path": str(path), **options})
    schema = full_schema(query)
    if names is not None:
        schema = StructType([schema[name] for name in names])
    splits = plan(query)
    parts = [splits] if together else [[split] for split in splits]
    return [row for part in parts for each in rows_of_task(part, query, schema) for row in each.to_pylist()]


def arrow_batches(path: Path, **options: Any) -> Iterator[Any]:
    query = log_query({"path": str(path), **options})
    return rows_of_task(plan(query), query, full_schema(query))


@in_use
@pytest.mark.parametrize("options", [{}, {"mode": "PERMISSIVE"}, {"isolation.level": "read_committed"}], ids=str)
def test_many_segments_share_an_arrow_batch(tmp_path: Path, options: dict[str, Any]) -> None:
    segments(tmp_path, 300)
    batches = list(arrow_batches(tmp_path, **options))
    assert len(batches) == 1 and len(set(batches[0].column("file").to_pylist())) == 300


def test_a_thousand_segments_are_few_tasks(tmp_path: Path) -> None:
    segments(tmp_path, 1000)
    query = log_query({"path": str(tmp_path)})
    schema = full_schema(query)
    tasks: list[InputPartition] = [*LogReader(query, schema, schema.names).partitions()]
    assert len(tasks) == 2 and sum(len(task.value) for task in tasks) == 1000


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "PERMISSIVE"},
        {"isolation.level": "read_committed"},
        {"isolation.level": "read_committed", "mode": "PERMISSIVE", "includeControlRecords": "true"},
        {"startingOffsets": '{"t": {"1": 13}}', "endingOffsets": '{"t": {"0": 17, "2": 21}}'},
        {"recordsFromTimestamp": "1700000000001", "recordsBeforeTimestamp": "1700000000003"},
    ],
    ids=str,
)
def test_rows_equal_those_of_separate_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    segments(tmp_path, 12)
    together = read(tmp_path, together=True, **options)
    assert together == read(tmp_path, together=False, **options)
    assert {(row["topic"], row["partition"]) for row in together} == {("t", 0), ("t", 1), ("t", 2)}
    assert all(Path(row["file"]).parent.name == f"t-{row['partition']}" for row in together)
    narrow = read(tmp_path, together=True, names=["partition", "offset"], **options)
    assert narrow == [{name: row[name] for name in ("partition", "offset")} for row in together]
    monkeypatch.setattr("tagwire.log.column_stream.engine", lambda: "python")
    assert together == read(tmp_path, together=True, **options)


def test_committed_rows_of_partitions_with_the_same_offsets(tmp_path: Path) -> None:
    """Aborted transactions in partition 1 must not hide rows at the same offsets in the other partitions."""
    segments(tmp_path, 9)
    found = read(tmp_path, together=True, **COMMITTED)
    offsets = {n: [row["offset"] for row in found if row["partition"] == n] for n in range(3)}
    committed = [*range(8), *range(10, 18), *range(20, 24)]
    assert offsets == {0: committed, 1: [n for n in committed if n % 10 < 4], 2: committed}


def test_damaged_segments_among_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that both engines return the same rows around a wrong checksum, and around invalid records."""
    segments(tmp_path, 9)
    paths = sorted(tmp_path.rglob("*.log"))
    flip(paths[4])
    good = build([Record(n, 1_700_000_000_000, b"k", b"v") for n in range(16, 18)], "v2")
    paths[7].write_bytes(good.replace(count=3).encode())
    cases: list[dict[str, Any]] = [{}, {"isolation.level": "read_committed"}, {"startingOffsets": '{"t": {"2": 4}}'}]
    for options in cases:
        found = read(tmp_path, together=True, mode="PERMISSIVE", **options)
        assert {row["file"] for row in found if row["_error"]} >= {str(paths[4])}
        with monkeypatch.context() as patch:
            patch.setattr("tagwire.log.column_stream.engine", lambda: "python")
            assert found == read(tmp_path, together=True, mode="PERMISSIVE", **options)
        left = read(tmp_path, together=True, mode="DROPMALFORMED", **options)
        assert left == [{k: v for k, v in row.items() if k != "_error"} for row in found if row["_error"] is None]


def test_error_comes_after_the_rows_of_earlier_splits(tmp_path: Path) -> None:
    segments(tmp_path, 9)
    paths = sorted(tmp_path.rglob("*.log"))
    flip(paths[4])
    got = []
    with pytest.raises(PipelineError, match=rf"MALFORMED_KAFKA_LOG\] {paths[4]}"):
        for each in arrow_batches(tmp_path):
            got += each.to_pylist()
    assert {row["file"] for row in got} == {*map(str, paths[:5])}


def test_a_null_names_its_own_segment(tmp_path: Path) -> None:
    segments(tmp_path, 6)
    path = sorted(tmp_path.rglob("*.log"))[5]
    path.write_bytes(build([Record(8, 1_700_000_000_000, None, b"v")], "v2").encode())
    query = log_query({"path": str(tmp_path)})
    schema = StructType().add("key", full_schema(query)["key"].dataType, nullable=False)
    with pytest.raises(PipelineError, match=rf"{path}: column key has a null"):
        list(rows_of_task(plan(query), query, schema))


def test_deleted_segment_does_not_affect_the_others(tmp_path: Path) -> None:
    segments(tmp_path, 6)
    query = log_query({"path": str(tmp_path)})
    splits, errors = plan(query), list[tuple[PipelineError, Split]]()
    Path(splits[2].file).unlink()
    rows = rows_of_task(splits, query, full_schema(query), lambda *each: errors.append(each))
    found = {row["file"] for each in rows for row in each.to_pylist()}
    assert found == {split.file for split in splits} - {splits[2].file}
    assert [(error.condition, split) for error, split in errors] == [("KAFKA_LOG_NOT_FOUND", splits[2])]
    with pytest.raises(PipelineError, match="KAFKA_LOG_CHANGED"):
        list(rows_of(splits[2], query, full_schema(query)))
