from array import array
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from random_logs import RandomLog
from small_logs import sealed

from tagwire import engine, log
from tagwire.errors import DecodeError
from tagwire.log import rebatching
from tagwire.log.convert import Conversion, convert_partition
from tagwire.log.rebatching import BatchSize
from tagwire.records import BatchBuilder, Record, RecordBatch, build, read_batches
from tagwire.records.moving import HAS_NO_KEY, HAS_NO_VALUE, IS_LAST, Movable, movable, new_run

pytestmark = pytest.mark.skipif(engine() != "native", reason="the native engine does not run")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.thorough
@pytest.mark.parametrize("size", [BatchSize(bytes=400), BatchSize(records=5), BatchSize(bytes=90, records=2)], ids=str)
@pytest.mark.parametrize("to", [None, "v2", "v1"])
def test_converted_as_by_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str | None, size: BatchSize
) -> None:
    moved: list[Movable | None] = []

    def counted(batch: RecordBatch, *, stored: bool) -> Movable | None:
        moved.append(movable(batch, stored=stored))
        return moved[-1]

    def by_turns(batch: RecordBatch, *, stored: bool) -> Movable | None:
        return movable(batch, stored=stored) if batch.base_offset % 3 else None

    for seed in range(4):
        folder = tmp_path / str(seed) / "alpha-0"
        RandomLog(seed, [("v2",), ("v1", "v2")][seed % 2]).write(folder)
        functions: dict[str, Any] = {"native": counted, "mixed": by_turns, "objects": lambda batch, stored: None}
        for name, function in functions.items():
            monkeypatch.setattr(rebatching, "movable", function)
            convert_partition(log.Partition(folder), folder.with_name(name), Conversion(to, "none", size))
        expected = contents(folder.with_name("objects"))
        assert contents(folder.with_name("native")) == contents(folder.with_name("mixed")) == expected
    assert (len([each for each in moved if each]) > 50) == (to != "v1")


def samples() -> Iterator[RecordBatch]:
    headers = (("trace", b"1"), ("é", None))
    records = [Record(5, 1_000, b"k", b"v" * 200, headers), Record(6, 999, None, b""), Record(9, 5_000, b"", None)]
    for settings in ({}, {"compression": "gzip"}, {"delete_horizon_ms": 77}):
        yield build(records, "v2", last_offset=11, **settings)
    same = [record.replace(timestamp=42, attributes=-7) for record in records]
    yield build(same, "v2", timestamp_type="append", append_time=42)


@pytest.mark.parametrize("base_timestamp", [None, 0, 1 << 40])
def test_moved_records_equal_what_a_builder_writes(base_timestamp: int | None) -> None:
    for batch in samples():
        for kept in (None, b"\1\0\1", b"\0\1\1"):
            found = movable(batch)
            assert found is not None
            run = new_run(3, base_timestamp)
            found.move(run, kept)
            records = [record for number, record in enumerate(batch) if kept is None or kept[number]]
            moved = BatchBuilder("v2", base_offset=3).build_run(run)
            first = records[0].timestamp if base_timestamp is None else base_timestamp
            expected = build(records, "v2", base_offset=3, base_timestamp=first)
            assert (moved.encode(), found.left, len(run)) == (expected.encode(), 0, len(records))


def test_facts_of_records() -> None:
    for batch in samples():
        found = movable(batch, array("q", [-1, 4, 6, 8, 9, 1 << 60]))
        assert found is not None
        assert list(found.facts) == [0, IS_LAST | HAS_NO_KEY, IS_LAST | HAS_NO_VALUE]


def test_batches_that_native_code_does_not_move() -> None:
    record = Record(0, 1, b"k", b"v")
    backwards = build([Record(4, 1, b"a", b"b"), Record(4, 1, b"a", b"b")], "v2")
    for batch in (
        build([record], "v1"),
        build([record], "v3"),
        build([record], "kip82-str"),
        build([], "v2"),
        backwards,
    ):
        assert movable(batch) is None
    unreachable = movable(build([Record(0, 1, b"k", b"v"), Record(1, 1, b"k", b"v")], "v2"))
    assert unreachable is not None
    unreachable.move(new_run(7, None))
    assert (unreachable.left, unreachable.next_offset) == (2, None)
    far = movable(build([Record(0, 1, b"k", b"v")], "v2", base_timestamp=0))
    assert far is not None
    far.move(new_run(0, -(1 << 63)))
    assert (far.left, far.next_offset) == (1, None)


def test_damaged_records_are_left_to_python() -> None:
    """Change a byte of a batch, and correct its checksum.

    The native code must either reject the batch, or move exactly the records that Python reads.
    """
    pick, rejected = Random(3), 0
    for batch in samples():
        if batch.compression != "none":
            continue
        for _ in range(400):
            data = bytearray(batch.encode())
            data[pick.randrange(61, len(data))] = pick.randrange(256)
            [damaged] = read_batches(sealed(data))
            try:
                records = list(damaged)
            except DecodeError:
                records = []
            found = movable(damaged)
            rejected += found is None
            if found is not None:
                run = new_run(found.batch.base_offset, 0)
                found.move(run)
                moved = BatchBuilder("v2", base_offset=found.batch.base_offset).build_run(run)
                assert list(moved) == records != []
    assert rejected > 100


def test_positions_out_of_range() -> None:
    from tagwire._records import RecordRun, facts

    for range_of_records in ((0, 9, 1), (5, 4, 1), (-1, 2, 1), (0, 8, 9), (0, 8, -1)):
        with pytest.raises(ValueError, match="records in bytes"):
            facts(b"12345678", *range_of_records, (0, 0, False), b"")
        with pytest.raises(ValueError, match="records in bytes"):
            RecordRun(0, None).take(b"12345678", *range_of_records, (0, 0, False), None, None, None)
    marks: Any = b"\1\1"
    with pytest.raises(ValueError, match="kept: expected 1 bytes, one per record, got 2"):
        RecordRun(0, None).take(b"12345678", 0, 8, 1, (0, 0, False), marks, None, None)
