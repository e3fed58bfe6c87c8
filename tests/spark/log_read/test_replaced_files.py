import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from streamed_logs import batch, segment, stream
from written_logs import job, table

from tagwire_spark import PipelineError
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import plan


def planned(path: object, **options: Any) -> Callable[[], list[int]]:
    query = log_query({"path": str(path), **options})
    splits = plan(query)
    schema = full_schema(query)
    return lambda: [r["offset"] for s in splits for each in rows_of(s, query, schema) for r in each.to_pylist()]


def replaced(path: Path, data: bytes) -> None:
    other = path.with_suffix(".swap")
    other.write_bytes(data)
    other.replace(path)


def same_bytes(path: Path) -> None:
    """Replace a file with another file of the same size and modification time, but with a different last byte."""
    status = path.stat()
    replaced(path, path.read_bytes()[:-1] + b"x")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def rewritten(path: Path) -> None:
    """Rewrite a file in place with the same bytes, which changes only its modification time."""
    data = path.read_bytes()
    status = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


CHANGES = [
    lambda path: replaced(path, batch(0, 5)),
    lambda path: replaced(path, batch(0) + batch(5) + batch(10)),
    same_bytes,
    rewritten,
    lambda path: os.truncate(path, len(batch(0))),
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_replaced_segment_is_detected(tmp_path: Path, change: Callable[[Path], None], mode: str) -> None:
    first = segment(tmp_path / "t-0", 0, batch(0), batch(5))
    segment(tmp_path / "t-0", 10, batch(10))
    read = planned(tmp_path, mode=mode)
    assert read() == [*range(15)]
    change(first)
    with pytest.raises(PipelineError, match=r"^\[KAFKA_LOG_CHANGED\] .*0000\.log was .*it was .*, and is now "):
        read()


@pytest.mark.parametrize(("change", "found"), [
    (lambda path: path.write_bytes(path.read_bytes() + batch(10)), range(15)),
    (lambda path: replaced(path, path.read_bytes() + batch(10)), None),
    (lambda path: os.truncate(path, len(batch(0))), None),
])  # fmt: skip
def test_the_last_segment_may_grow(tmp_path: Path, change: Callable[[Path], None], found: Any) -> None:
    path = segment(tmp_path / "t-0", 0, batch(0), batch(5))
    read = planned(tmp_path)
    change(path)
    if found is None:
        with pytest.raises(PipelineError, match="KAFKA_LOG_CHANGED"):
            read()
    else:
        assert read() == list(range(10))  # without the new batches


WRITTEN_OVER = [
    batch(0, 5, 50),
    batch(0) + batch(5) + batch(10),
    batch(0, 4) + batch(4, 6),
    batch(0) + batch(5, 5, 39) + b"more",
]


@pytest.mark.parametrize("of_stream", [True, False])
@pytest.mark.parametrize("data", WRITTEN_OVER)
def test_overwritten_last_segment_has_not_grown(tmp_path: Path, data: bytes, of_stream: bool) -> None:
    """A last segment that was overwritten in place, as by `cp`, must be rejected even if it hasn't become smaller."""
    path = segment(tmp_path / "t-0", 0, batch(0, 5, 45), batch(5, 5, 39))
    size, read = path.stat().st_size, planned(tmp_path)
    reader = stream(tmp_path)
    [task] = reader.partitions({}, {"t": {"0": 10}})
    path.write_bytes(data.ljust(size, b"\0"))
    os.utime(path, ns=(0, 0))
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_CHANGED.*0000\.log was overwritten"):
        list(reader.read(task)) if of_stream else read()


@pytest.mark.parametrize("rest", [bytes(3000), b""])
def test_a_preallocated_segment_is_filled_and_cut(tmp_path: Path, rest: bytes) -> None:
    path = segment(tmp_path / "t-0", 0, batch(0), bytes(4000))
    reader = stream(tmp_path)
    [task] = reader.partitions({}, {"t": {"0": 5}})
    path.write_bytes(batch(0) + batch(5) + rest)
    os.utime(path, ns=(0, 0))
    assert [row["offset"] for each in reader.read(task) for row in each.to_pylist()] == [*range(5)]


@pytest.mark.parametrize("torn", [batch(5)[:100], batch(5)[:100] + bytes(60), batch(5, 5, 90)[:100]])
@pytest.mark.parametrize("of_stream", [True, False])
def test_an_unfinished_batch_is_completed_or_replaced(tmp_path: Path, torn: bytes, of_stream: bool) -> None:
    path = segment(tmp_path / "t-0", 0, batch(0), torn)
    reader, read = stream(tmp_path), planned(tmp_path, partial="true")
    [task] = reader.partitions({}, {"t": {"0": 5}})
    path.write_bytes(batch(0) + batch(5))
    os.utime(path, ns=(0, 0))
    rows = [row["offset"] for each in reader.read(task) for row in each.to_pylist()] if of_stream else read()
    assert rows == [*range(5)]


def test_an_overwrite_while_it_is_read(tmp_path: Path) -> None:
    rows = [("t", 0, n, None, b"v") for n in range(20)]
    job(tmp_path, table(*rows[:10]))
    job(tmp_path, table(*rows[10:]))
    read = planned(tmp_path)
    job(tmp_path, table(*((t, p, n, k, b"another") for t, p, n, k, _ in rows)), overwrite=True)
    with pytest.raises(PipelineError, match="KAFKA_LOG_CHANGED"):
        read()


def test_replaced_remote_segment_is_detected() -> None:
    memory = fsspec.filesystem("memory")
    try:
        for base in (0, 10):
            memory.pipe(f"/t-0/{base:020}.log", batch(base) + batch(base + 5))
        read = planned("memory://t-0")
        assert read() == list(range(20))
        memory.pipe(f"/t-0/{0:020}.log", batch(0) + batch(5))
        with pytest.raises(PipelineError, match=r"KAFKA_LOG_CHANGED.*memory://t-0/0*\.log was .* created "):
            read()
    finally:
        memory.rm("/t-0", recursive=True)


def test_a_stream_reads_no_other_segment(tmp_path: Path) -> None:
    first = segment(tmp_path / "t-0", 0, batch(0), batch(5))
    segment(tmp_path / "t-0", 10, batch(10))
    for fails in ("true", "false"):
        reader = stream(tmp_path, failOnDataLoss=fails)
        [task] = reader.partitions({}, {"t": {"0": 15}})
        replaced(first, batch(0, 5))
        with pytest.raises(PipelineError, match="KAFKA_LOG_CHANGED"):
            list(reader.read(task))
