import json
from pathlib import Path
from typing import Any

import pytest
from small_logs import flip
from streamed_logs import batch, segment, stream
from written_logs import read_rows

from tagwire.log import LogError, Partition
from tagwire.records import Record, build
from tagwire_spark import PipelineError
from tagwire_spark.log_read.log_offsets import LogEnd, end_of

BATCHES = batch(20, size=10), batch(25, size=30), batch(30, size=60)
LAST = batch(35, size=90)
FIRST_TWO, THREE = len(b"".join(BATCHES[:2])), len(b"".join(BATCHES))


@pytest.mark.parametrize(("base", "content", "expected"), [
    (20, (), (20, 0, 0, 0)),
    (20, (LAST[:100],), (20, 0, 100, 0)),
    (0, (LAST[:100],), (0, 0, 100, 0)),
    (20, (*BATCHES, LAST), (40, THREE + len(LAST), 0, THREE)),
    (20, (*BATCHES, LAST[:100]), (35, THREE, 100, FIRST_TWO)),
    (20, (*BATCHES, LAST[:100], bytes(len(LAST) - 100)), (35, THREE, len(LAST), FIRST_TWO)),
])  # fmt: skip
def test_end_after_the_last_whole_batch(
    tmp_path: Path, base: int, content: tuple[bytes, ...], expected: tuple[int, ...]
) -> None:
    segment(tmp_path / "alpha-0", base, *content)
    assert end_of(Partition(tmp_path / "alpha-0").segments) == LogEnd(*expected)


def test_the_first_batch_after_a_damaged_start_has_any_offset(tmp_path: Path) -> None:
    damaged, whole = bytes([7]) * 80, batch(0, count=1)
    segment(tmp_path / "alpha-0", 0, damaged, whole, damaged)
    segments = Partition(tmp_path / "alpha-0").segments
    assert end_of(segments, permissive=True) == LogEnd(1, 80 + len(whole), 80, 80)
    with pytest.raises(LogError):
        end_of(segments)


TIMES = (10, 20, 15, 30, 12, 40, 35, 50)
"""The times of the records at offsets 0 to 7, which are not in order."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = [Record(n, time, None, b"v") for n, time in enumerate(TIMES)]
    batches = [build(records[n : n + 2], "v2").encode() for n in (0, 2, 4, 6)]
    for partition in (0, 1):
        segment(tmp_path / f"t-{partition}", 0, *batches[:2])
        segment(tmp_path / f"t-{partition}", 4, *batches[2:])
    return tmp_path


def read(path: Path, **options: Any) -> list[tuple[int, int]]:
    return sorted((row["partition"], row["offset"]) for row in read_rows(path, **options))


def times(**of: int) -> str:
    return json.dumps({"t": {name[1:]: time for name, time in of.items()}})


@pytest.mark.parametrize(("time", "offset"), [(0, 0), (10, 0), (11, 1), (20, 1), (21, 3), (31, 5), (41, 7), (50, 7)])
def test_time_selects_the_first_record_that_is_not_earlier(folder: Path, time: int, offset: int) -> None:
    """A time must select the first record with this or a later timestamp, even if records after it are earlier."""
    other = [(1, n) for n in range(8)]
    assert read(folder, startingOffsetsByTimestamp=times(p0=time)) == [(0, n) for n in range(offset, 8)] + other
    assert read(folder, endingOffsetsByTimestamp=times(p0=time)) == [(0, n) for n in range(offset)] + other
    assert stream(folder, startingOffsetsByTimestamp=times(p0=time)).initialOffset() == {"t": {"0": offset, "1": 0}}


def test_a_time_that_no_record_has_reached(folder: Path) -> None:
    too_high = times(p0=51)
    with pytest.raises(PipelineError, match=r"t-0 has no record with timestamp 51 or later; .*Strategy=latest"):
        read(folder, startingOffsetsByTimestamp=too_high)
    rest = [(1, n) for n in range(8)]
    assert read(folder, startingOffsetsByTimestamp=too_high, startingOffsetsByTimestampStrategy="latest") == rest
    assert len(read(folder, endingOffsetsByTimestamp=too_high)) == 16
    options = {"startingOffsetsByTimestamp": too_high, "startingOffsetsByTimestampStrategy": "latest"}
    assert stream(folder, **options).initialOffset() == {"t": {"0": 8, "1": 0}}


def test_times_take_precedence_over_offsets(folder: Path) -> None:
    bounds = {"startingOffsets": '{"t": {"0": 4, "1": 1}}', "endingOffsets": '{"t": {"0": 6, "1": 2}}'}
    given = {"startingOffsetsByTimestamp": times(p0=20), "endingOffsetsByTimestamp": times(p0=50)}
    assert read(folder, **given, **bounds) == read(folder, **given)


def test_damage_before_the_record(folder: Path) -> None:
    path = folder / "t-0" / f"{0:020}.log"
    flip(path, 30)
    with pytest.raises(PipelineError, match=path.name):
        read(folder / "t-0", startingOffsetsByTimestamp=times(p0=15))
    found = read(folder / "t-0", startingOffsetsByTimestamp=times(p0=15), mode="PERMISSIVE")
    assert [offset for _, offset in found] == [2, 3, 4, 5, 6, 7]
