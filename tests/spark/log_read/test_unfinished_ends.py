from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from streamed_logs import batch, rows, segment, stream, triggers
from written_logs import once, read_rows

from tagwire_spark import PipelineError
from tagwire_spark.log_read import splits
from tagwire_spark.log_read.query import log_query

LAST = batch(40, size=300)
TAILS = {
    "body": LAST[:100],
    "header": LAST[:30],
    "preallocated body": LAST[:100] + bytes(5000),
    "preallocated header": LAST[:20] + bytes(5000),
    "zero-filled body": LAST[:200] + bytes(len(LAST) - 200),
}
TIME = 1_700_000_000_000
STREAMED: dict[str, str] = {
    "maxBytesPerTrigger": "400",
    "isolation.level": "read_committed",
    "startingOffsetsByTimestamp": f'{{"t": {{"0": {TIME + 2}}}}}',
    "maxSplitBytes": "70",
    "mode": "PERMISSIVE",
    "level": "batch",
}
READ = {name: value for name, value in STREAMED.items() if not name.startswith("max")} | {
    "endingOffsetsByTimestamp": f'{{"t": {{"0": {TIME + 60_000}}}}}',
    "endingOffsets": '{"t": {"0": 40}}',
    "startingOffsets": '{"t": {"0": 35}}',
    "maxSplitBytes": "70",
}


def pairs(options: dict[str, str]) -> list[dict[str, str]]:
    return [dict(pair) for pair in combinations(options.items(), 2)]


@pytest.fixture(params=[pytest.param(each, marks=pytest.mark.thorough if "header" in each else ()) for each in TAILS])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    segment(tmp_path / "t-0", 0, *(batch(5 * n) for n in range(4)))
    segment(tmp_path / "t-0", 20, *(batch(5 * n) for n in range(4, 8)), TAILS[request.param])
    return tmp_path


def offsets(found: list[dict[str, Any]]) -> list[int]:
    return [row.get("offset", row["baseOffset"]) for row in found]


@pytest.mark.parametrize("options", pairs(STREAMED), ids=" ".join)
def test_streams_wait_for_the_rest_of_a_batch(folder: Path, options: dict[str, str]) -> None:
    step = 5 if "level" in options else 1
    reader = stream(folder, startingOffsetsByTimestampStrategy="latest", **options)
    start = reader.initialOffset()
    first = start["t"]["0"]
    got = [*triggers(reader, start)]
    assert [each for _, part in got for each in offsets(part)] == [*range(first // step * step, 40, step)]
    end = got[-1][0]
    assert end == {"t": {"0": 40}}
    segment(folder / "t-0", 20, *(batch(5 * n) for n in range(4, 8)), LAST, batch(45, size=300)[:-4])
    later = reader.latestOffset(end, reader.getDefaultReadLimit())
    assert later == {"t": {"0": 45}} and offsets(rows(reader, end, later)) == [*range(40, 45, step)]


@pytest.mark.parametrize("options", pairs(READ), ids=" ".join)
def test_partial(folder: Path, options: dict[str, str]) -> None:
    step = 5 if "level" in options else 1
    first = 2 if "startingOffsetsByTimestamp" in options else 35 if "startingOffsets" in options else 0
    found = read_rows(folder, partial="true", **options)
    assert offsets(found) == [*range(first // step * step, 40, step)]


def test_an_unknown_magic_byte_is_damage(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0), LAST[:16] + b"x" + LAST[17:])
    for read in (lambda: read_rows(tmp_path, partial="true"), stream(tmp_path).initialOffset):
        with pytest.raises(PipelineError, match=r"MALFORMED_KAFKA_LOG\].*found magic 120"):
            read()


def test_a_batch_that_is_completed_while_a_read_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment(tmp_path / "t-0", 0, batch(0), LAST[:100], bytes(5000))
    once(monkeypatch, splits, "_damage_after", lambda: segment(tmp_path / "t-0", 0, batch(0), LAST, LAST[:50]))
    assert offsets(read_rows(tmp_path, partial="true")) == [*range(5)]


def test_tasks_do_not_read_the_zeros_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "_SPLIT_BYTES", 1000)
    segment(tmp_path / "t-0", 0, batch(0), bytes(5000))
    assert [each.end for each in splits.plan(log_query({"path": str(tmp_path)}))] == [len(batch(0))]
    segment(tmp_path / "t-0", 0, batch(0), LAST[:100], bytes(5000))
    with pytest.raises(PipelineError, match="MALFORMED_KAFKA_LOG"):
        read_rows(tmp_path)
