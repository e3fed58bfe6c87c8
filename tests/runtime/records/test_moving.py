import gzip
import json
from array import array
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from native_engine import in_use
from random_logs import RandomLog
from small_logs import sealed

from tagwire import log
from tagwire.errors import DecodeError, EncodeError
from tagwire.log import rebatching
from tagwire.log.convert import Conversion, convert_partition
from tagwire.log.rebatching import BatchSize
from tagwire.records import BatchBuilder, Record, RecordBatch, build, read_batches
from tagwire.records.moving import (
    HAS_NO_KEY,
    HAS_NO_VALUE,
    IS_LAST,
    Movable,
    exact_header_of,
    movable,
    new_run,
    rebuilt,
)

pytestmark = in_use


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
    with_attributes = build([record.replace(attributes=3)], "v3")
    others = [build([record], name) for name in ("v1", "v3", "kip82-str")]
    assert [movable(each) for each in (*others, with_attributes, build([], "v2"), backwards)] == [None] * 6
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
    from tagwire._records import RecordRun, Source

    for range_of_records in ((0, 9, 1), (5, 4, 1), (-1, 2, 1), (0, 8, 9), (0, 8, -1)):
        with pytest.raises(ValueError, match="records in bytes"):
            Source(b"12345678", *range_of_records, (0, 0, False))
    source = Source(b"12345678", 0, 8, 1, (0, 0, False))
    with pytest.raises(ValueError, match="kept: expected 1 bytes, one per record, got 2"):
        RecordRun(0, None).take(source, b"\1\1", None, None)
    with pytest.raises(ValueError, match="most: expected a limit of 0 or more bytes, got -1"):
        source.lines(b"{", -1, False)


DATA = Path(__file__).parents[2] / "data" / "records" / "batches.jsonl.gz"
BATCHES = [bytes.fromhex(json.loads(line)["hex"]) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
LATEST = 1 << 52
PLAIN = [Record(n, 1_700_000_000_000 + n, b"k", b"v" * n, (("h", None),) * (n % 2)) for n in range(5)]


def parts(batch: RecordBatch) -> tuple[Any, list[Record]]:
    header = exact_header_of(batch, LATEST)
    assert header is not None
    return header, list(batch)


def test_batches_of_brokers() -> None:
    kinds = set()
    for data in BATCHES:
        [batch] = read_batches(data)
        header = exact_header_of(batch, LATEST)
        can_be = batch.magic == 2 and batch.compression == "none"
        assert (header is not None) == can_be
        if header is not None:
            assert rebuilt(header, batch).encode() == data
            assert len(header.data) == 61 and header.size == len(data)
            assert (header.timestamps is not None) == (batch.timestamp_type == "append")
            kinds.add(
                (len(batch) == 0, batch.is_control, batch.delete_horizon_ms is not None, header.timestamps is None)
            )
    assert len(kinds) >= 4


@pytest.mark.parametrize("format", ["v2", "v3", "v3-zigzag", "kip82-str"])
def test_formats_with_a_header(format: str) -> None:
    records = [Record(n, 5, b"k", None, tombstone=None) for n in range(3)] + [Record(7, 1 << 40, None, b"v")]
    batch = build(records, format)
    header, found = parts(batch)
    assert header.format == format and rebuilt(header, found).encode() == batch.encode()


def test_properties_that_only_the_header_has_are_kept() -> None:
    batch = build(PLAIN, "v2", base_offset=0, last_offset=99, max_timestamp=1 << 45, partition_leader_epoch=3)
    header, found = parts(batch)
    assert rebuilt(header, found).encode() == batch.encode() and rebuilt(header, found).last_offset == 99


def test_timestamps_that_the_records_columns_do_not_have() -> None:
    appended = build(PLAIN, "v2", timestamp_type="append", append_time=9)
    header, found = parts(appended)
    assert {record.timestamp for record in found} == {9} and header.timestamps == tuple(r.timestamp for r in PLAIN)
    assert rebuilt(header, found).encode() == appended.encode()
    far = build([Record(0, LATEST + 1, None, b""), Record(1, 5, None, b"")], "v2")
    header, found = parts(far)
    lost = [Record(record.offset, -1, record.key, record.value) for record in found]
    assert header.timestamps == (LATEST + 1, 5) and rebuilt(header, lost).encode() == far.encode()
    with pytest.raises(EncodeError, match="expected 2 records, one per timestamp"):
        rebuilt(header, found[:1])


def test_batches_that_are_kept_whole() -> None:
    assert exact_header_of(build(PLAIN, "v2", compression="gzip"), LATEST) is None
    plain = [Record(n, 5, b"k", b"v") for n in range(2)]
    assert all(exact_header_of(each, LATEST) is None for each in read_batches(build(plain, "v1").encode()))
    marked = [Record(0, 5, b"k", b"v", attributes=1)]
    assert exact_header_of(build(marked, "v2"), LATEST) is None


def test_changed_records_are_built_anew() -> None:
    header, found = parts(build(PLAIN, "v2"))
    changed: list[list[Record]] = [
        found[:-1],
        [*found, Record(9, 5, None, None)],
        [found[1], found[0], *found[2:]],
        [found[0].replace(value=b"x"), *found[1:]],
    ]
    for records in changed:
        with pytest.raises((DecodeError, EncodeError), match=r"crc|the original size"):
            rebuilt(header, records)
    with pytest.raises((DecodeError, EncodeError)):
        rebuilt(header._replace(data=header.data[:20]), found)


@pytest.mark.parametrize("changes", [{"format": "v1"}, {"size": 0}, {"size": 1 << 20}, {"data": b""}], ids=str)
def test_objects_that_are_not_headers(changes: dict[str, Any]) -> None:
    header, found = parts(build(PLAIN, "v2"))
    with pytest.raises((DecodeError, EncodeError)):
        rebuilt(header._replace(**changes), found)


def test_a_batch_without_records() -> None:
    batch = BatchBuilder("v2", base_offset=5, last_offset=9, max_timestamp=7).build()
    header, found = parts(batch)
    assert found == [] and rebuilt(header, []).encode() == batch.encode()
