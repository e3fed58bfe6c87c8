from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest
from streamed_logs import segment
from written_logs import read_rows

from tagwire.records import Record, build
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.splits import plan

pytestmark = pytest.mark.thorough

START = 1_700_000_000_000
SEGMENTS, BATCHES, RECORDS = 5, 20, 5


def log_of(folder: Path, times: list[int]) -> None:
    """Write segments and indexes. Each batch with a new highest timestamp gets an entry in the time index."""
    for number in range(SEGMENTS):
        base = number * BATCHES * RECORDS
        batches, index, times_reached = [], b"", b""
        position, latest = 0, -1
        for first in range(0, BATCHES * RECORDS, RECORDS):
            part = times[base + first : base + first + RECORDS]
            records = [Record(base + first + n, time, b"k", bytes(100)) for n, time in enumerate(part)]
            batches.append(build(records, "v2").encode())
            index += pack(">ii", first, position) if position else b""
            if max(part) > latest:
                latest = max(part)
                times_reached += pack(">qi", latest, first + RECORDS - 1)
            position += len(batches[-1])
        path = segment(folder, base, *batches)
        path.with_suffix(".index").write_bytes(index)
        path.with_suffix(".timeindex").write_bytes(times_reached)


def ascending() -> list[int]:
    return [START + n for n in range(SEGMENTS * BATCHES * RECORDS)]


def shuffled(seed: int) -> list[int]:
    draw = Random(seed)
    return [time + draw.randrange(-60, 60) for time in ascending()]


def read(path: Path, first: int, **options: Any) -> list[int]:
    return [row["offset"] for row in read_rows(path, recordsFromTimestamp=first, **options)]


@pytest.mark.parametrize("first", [0, 3, 99, 100, 250, 487, 500])
def test_only_possible_matches_are_planned(tmp_path: Path, first: int) -> None:
    log_of(tmp_path / "t-0", ascending())
    splits = plan(log_query({"path": str(tmp_path), "recordsFromTimestamp": START + first}))
    assert len(splits) == min(SEGMENTS - first // 100, SEGMENTS) if first < 500 else 1
    assert first % 100 == 0 or splits[0].first_offset >= first - RECORDS
    assert read(tmp_path, START + first) == list(range(first, 500))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_records_in_any_order_of_time(tmp_path: Path, seed: int, mode: str) -> None:
    times = shuffled(seed)
    log_of(tmp_path / "t-0", times)
    for first in range(START - 70, START + 600, 37):
        expected = [offset for offset, time in enumerate(times) if time >= first]
        assert read(tmp_path, first, mode=mode, maxSplitBytes=2000) == expected


@pytest.mark.parametrize("wrong", [
    lambda path: path.write_bytes(path.with_name(f"{0:020}.timeindex").read_bytes()),  # another segment's index
    lambda path: path.write_bytes(pack(">qi", START + 10, 99)),  # the timestamp is too low
    lambda path: path.write_bytes(pack(">qi", START + 10, 5000)),
    lambda path: path.write_bytes(b"\xff" * 36),
    lambda path: path.write_bytes(bytes(36)),
    lambda path: path.write_bytes(path.read_bytes()[:24]),  # truncated
    lambda path: path.unlink(),
])  # fmt: skip
def test_a_wrong_time_index_hides_nothing(tmp_path: Path, wrong: Any) -> None:
    log_of(tmp_path / "t-0", ascending())
    wrong(tmp_path / "t-0" / f"{300:020}.timeindex")
    for first in (250, 305, 399, 450):
        assert read(tmp_path, START + first) == list(range(first, 500))
