import os
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from native_engine import in_use
from pyspark.sql.streaming.datasource import ReadAllAvailable
from streamed_logs import batch, segment, stream
from written_logs import read_rows

from tagwire.log import Partition, directory, indexes
from tagwire.log.file_bytes import pread
from tagwire.log.scan import Scan
from tagwire_spark.log_read import splits
from tagwire_spark.log_read.batches import _start_hint
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import plan

STEP = 16384
"""The distance between index entries in bytes. It equals a producer's default batch size."""


def large(folder: Path, base: int, size: int, *, preallocated: bool = False) -> Path:
    """Write a sparse segment with only a first and a last batch, but the index of a full segment."""
    path = segment(folder, base, batch(base))
    entries = [(5 * n, n * STEP) for n in range(1, size // STEP)]
    last = batch(base + entries[-1][0])
    with path.open("r+b") as file:
        file.seek(entries[-1][1])
        file.write(last)
        file.truncate(size if preallocated else entries[-1][1] + len(last))
    with path.with_suffix(".index").open("wb") as file:
        file.write(b"".join(pack(">ii", *each) for each in entries))
        if preallocated:
            file.truncate(10 << 20)
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that collects the size of each read of an index. The test fails if an index is read as a whole."""
    sizes: list[int] = []

    def counted(file: Any, size: int, start: int) -> bytes:
        sizes.append(size)
        return pread(file, size, start)

    def whole(path: Path, *_: Any) -> bytes:
        if path.suffix in (".index", ".timeindex"):
            pytest.fail(f"{path} is read whole")
        return path.read_bytes()

    monkeypatch.setattr("tagwire.log.indexes.pread", counted)
    monkeypatch.setattr(indexes, "read_file", whole)
    return sizes


@pytest.mark.thorough
@pytest.mark.parametrize("preallocated", [False, True])
def test_driver_does_not_read_indexes(tmp_path: Path, reads: list[int], preallocated: bool) -> None:
    """Check that the driver's work doesn't grow with the number of splits. It reads an index only before zeros."""
    large(tmp_path / "t-0", 1000, 1 << 30, preallocated=preallocated)
    query = log_query({"path": str(tmp_path)})
    parts = plan(query)
    assert len(parts) == 16 and max(each.end - each.start for each in parts) <= (64 << 20)
    assert [each.start for each in parts[1:]] == [each.end for each in parts[:-1]]
    assert sum(reads) < (512 if preallocated else 1)
    for each in parts[1:]:
        # A task begins one batch before its split, to check the first batch's offset.
        before = each.start // STEP - 1
        assert _start_hint(each, query) == (before * STEP, 1000 + before * 5)
    assert sum(reads) < 15 * 512


@pytest.mark.thorough
def test_a_task_reads_no_more_of_an_index_than_its_logarithm(tmp_path: Path, reads: list[int]) -> None:
    found = []
    for power in (22, 26, 30):
        folder = tmp_path / str(power)
        folder.mkdir()
        large(folder / "t-0", 0, 1 << power)
        query = log_query({"path": str(folder), "maxSplitBytes": (1 << power) // 4})
        parts = plan(query)
        reads.clear()
        _start_hint(parts[1], query)
        found.append(len(reads))
    assert 0 < found[2] - found[1] <= found[1] - found[0] + 2


@pytest.mark.thorough
def test_requested_offsets_are_looked_up(tmp_path: Path, reads: list[int]) -> None:
    large(tmp_path / "t-0", 0, 1 << 30)
    query = log_query({"path": str(tmp_path), "startingOffsets": '{"t": {"0": 300000}}'})
    parts = plan(query)
    assert parts[0].hint == (60_000 * STEP, 300_000) and len(parts) == 2
    assert sum(reads) < 4096


@pytest.mark.thorough
def test_a_stream_bisects_as_well(tmp_path: Path, reads: list[int]) -> None:
    for base in (0, 500_000):
        large(tmp_path / "t-0", base, 1 << 30, preallocated=base > 0)
    reader = stream(tmp_path)
    end = reader.latestOffset({}, ReadAllAvailable())
    assert end == {"t": {"0": 500_000 + ((1 << 30) // STEP - 1) * 5 + 5}}
    assert sum(reads) < 1024
    reader.partitions({"t": {"0": 700_000}}, end)
    assert sum(reads) < 16384


@pytest.mark.parametrize(("scheme", "size"), [
    pytest.param("", 1, marks=pytest.mark.thorough), ("", 400), ("", 1 << 20), ("local://", 400),
])  # fmt: skip
@pytest.mark.parametrize("entries", [
    [], [(0, 0)], [(7, 900), (3, 500), (9, 100)], [(5, -4), (6, 1 << 30)], [(5, 300)] * 9, [(6, 2 * len(batch(0)) + 1)],
])  # fmt: skip
@pytest.mark.parametrize("rest", [b"", b"\0" * 16, b"\0" * 5, b"\1\2\3"])
def test_no_index_hides_a_record(
    tmp_path: Path, entries: list[tuple[int, int]], rest: bytes, scheme: str, size: int
) -> None:
    path = segment(tmp_path / "t-0", 0, *(batch(first) for first in range(0, 50, 5)))
    path.with_suffix(".index").write_bytes(b"".join(pack(">ii", *each) for each in entries) + rest)
    assert [row["offset"] for row in read_rows(f"{scheme}{tmp_path}", maxSplitBytes=size)] == list(range(50))


@pytest.mark.thorough
def test_lookup_agrees_with_the_whole_index(logs: Path) -> None:
    entries = 0
    for folder in sorted(logs.glob("*/*-*")):
        for each in Partition(folder).segments if folder.is_dir() else ():
            index = each.offset_index
            if index is None:
                continue
            entries += len(index)
            for offset in range((each.base_offset or 0), (each.base_offset or 0) + 60):
                entry = each.index_entry(offset)
                assert (entry.position if entry else 0) == index.position(offset)
            assert each.index_entry() == (index[-1] if index else None)
    assert entries > 50


def listings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    listed: list[str] = []
    original = Partition.__init__

    def counted(self: Partition, path: Any) -> None:
        listed.append(os.path.basename(path))  # noqa: PTH119
        original(self, path)

    monkeypatch.setattr(Partition, "__init__", counted)
    return listed


@pytest.mark.thorough
def test_folders_of_other_partitions_are_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        segment(tmp_path / f"t-{number}", 0, batch(0))
    listed, searched, search = listings(monkeypatch), list[Path](), directory.is_partition

    def counted(path: Path) -> bool:
        searched.append(path)
        return search(path)

    monkeypatch.setattr(directory, "is_partition", counted)
    assert len(plan(log_query({"path": str(tmp_path), "assign": '{"t": [7]}'}))) == 1 and set(listed) == {"t-7"}
    assert sorted(searched) == sorted([tmp_path, *tmp_path.iterdir()])  # each folder is searched only once
    listed.clear()
    assert stream(tmp_path, subscribePattern="u.*").latestOffset({}, ReadAllAvailable()) == {} and not listed


@pytest.mark.thorough
def test_a_micro_batch_lists_the_partitions_that_have_news_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        segment(tmp_path / f"t-{number}", 0, batch(0))
    reader, listed = stream(tmp_path), listings(monkeypatch)
    start = reader.latestOffset({}, ReadAllAvailable())
    assert sorted(listed) == ["t-0", "t-1", "t-2"]
    segment(tmp_path / "t-1", 0, batch(0), batch(5))
    listed.clear()
    [task] = reader.partitions(start, {"t": {"0": 5, "1": 10, "2": 5}})
    assert listed == ["t-1"]
    assert [row["offset"] for found in reader.read(task) for row in found.to_pylist()] == [*range(5, 10)]


@pytest.mark.thorough
def test_tasks_grow_instead_of_being_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(batch(0))
    for base in (0, 500):
        segment(tmp_path / "t-0", base, *(batch(base + 5 * n) for n in range(100)))
    monkeypatch.setattr(splits, "_SPLIT_BYTES", size)
    for most, found in ((1000, 200), (50, 50), (8, 8), (2, 2)):
        monkeypatch.setattr(splits, "_TASKS", most)
        parts = plan(log_query({"path": str(tmp_path)}))
        assert len(parts) == found and sum(each.end - each.start for each in parts) == 200 * size
    assert len(plan(log_query({"path": str(tmp_path), "maxSplitBytes": str(size)}))) == 200
    assert len(plan(log_query({"path": str(tmp_path), "minPartitions": "20"}))) == 20
    monkeypatch.setattr(splits, "_TASKS", 1)
    one = str(tmp_path / "t-0" / f"{0:020}.log")
    assert [len(plan(log_query({"path": one, "minPartitions": str(most)}))) for most in (1, 2, 3)] == [1, 2, 3]


@pytest.mark.thorough
def test_parts_before_the_first_requested_batch_are_not_counted(tmp_path: Path) -> None:
    """Bytes before the first requested offset must not count. The remaining bytes are few enough for one task."""
    for number in range(5):
        large(tmp_path / f"t-{number}", 0, 1 << 30)
    last = {str(number): ((1 << 30) // STEP - 1) * 5 for number in range(5)}
    reader = stream(tmp_path)
    [task] = reader.partitions({"t": last}, {"t": {number: offset + 5 for number, offset in last.items()}})
    assert sorted(each.partition for each in task.value) == [*range(5)]
    assert all(each.hint for each in task.value)


BATCHES = 40


def filled(folder: Path) -> int:
    return segment(folder, 0, *(batch(5 * n, size=400) for n in range(BATCHES))).stat().st_size // BATCHES


def offsets(path: Path, split_bytes: int) -> list[list[int]]:
    query = log_query({"path": str(path), "maxSplitBytes": split_bytes})
    schema = full_schema(query)
    return [
        [row["offset"] for batch in rows_of(split, query, schema) for row in batch.to_pylist()] for split in plan(query)
    ]


@in_use
def test_native_code_skips_headers_before_a_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    span = Scan.span

    def counted(scan: Scan, position: int) -> Any:
        seen.append(position)
        return span(scan, position)

    size = filled(tmp_path / "t-0")
    monkeypatch.setattr(Scan, "span", counted)
    found = offsets(tmp_path, 10 * size)
    assert found == [[*range(first, first + 50)] for first in range(0, 5 * BATCHES, 50)]
    assert seen == [10 * size, 20 * size, 30 * size]


def test_a_split_may_begin_within_a_batch_or_within_zeros(tmp_path: Path) -> None:
    found = offsets(tmp_path, 10 * filled(tmp_path / "t-0") - 7)
    assert [each[0] for each in found] == [0, 50, 100, 150]
    assert [offset for each in found for offset in each] == [*range(5 * BATCHES)]
    segment(tmp_path / "t-0", 0, bytes(100_000))
    assert offsets(tmp_path, 30_000) == [[], [], [], []]


def test_small_remainder_joins_the_last_split(tmp_path: Path) -> None:
    size = filled(tmp_path / "t-0")
    assert [len(each) for each in offsets(tmp_path, 13 * size)] == [65, 65, 70]
    assert [len(each) for each in offsets(tmp_path, 12 * size)] == [60, 60, 60, 20]
