"""Check that missing segments in the requested range fail a batch read, unless the log is compacted."""

from pathlib import Path
from typing import Any

import pytest
from streamed_logs import batch, segment, stream, triggers
from written_logs import read_rows

from tagwire_spark import PipelineError


def log(folder: Path, *segments: list[bytes], bases: tuple[int, ...] = (0, 20, 30)) -> Path:
    found = segments or tuple([batch(base), batch(base + 5)] for base in bases)
    for base, batches in zip(bases, found, strict=True):
        segment(folder / "t-0", base, *batches)
    return folder


def count(path: Path, **options: Any) -> int:
    return len(read_rows(path, **options))


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(("empty", "end"), [(False, 10), (True, 5)], ids=["missing", "empty"])
@pytest.mark.parametrize("options", [{}, {"maxSplitBytes": "100"}, {"level": "batch"}, {"mode": "PERMISSIVE"}], ids=str)
def test_a_missing_or_empty_segment(tmp_path: Path, options: dict[str, str], empty: bool, end: int) -> None:
    folder = log(tmp_path, [batch(0)], [], [batch(20)], [], bases=(0, 5, 20, 25)) if empty else log(tmp_path)
    for read in (lambda: count(folder, **options), lambda: list(triggers(stream(folder, **options), {}))):
        with pytest.raises(PipelineError, match=rf"log ends before offset {end}, but the next .* at offset 20") as lost:
            read()
        assert lost.value.condition == "KAFKA_LOG_DATA_LOSS"
    assert count(folder, failOnDataLoss="false", **options) == (10 if empty else 30) // (5 if "level" in options else 1)


@pytest.mark.parametrize(("option", "offset", "rows"), [("endingOffsets", 10, 10), ("startingOffsets", 20, 20)])
def test_only_requested_offsets_count(tmp_path: Path, option: str, offset: int, rows: int) -> None:
    folder = log(tmp_path)
    assert count(folder, **{option: f'{{"t": {{"0": {offset}}}}}'}) == rows
    inside = offset + 1 if option == "endingOffsets" else offset - 1
    with pytest.raises(PipelineError, match="the next segment begins at offset 20"):
        count(folder, **{option: f'{{"t": {{"0": {inside}}}}}'})


def test_a_starting_offset_that_is_gone(tmp_path: Path) -> None:
    folder = log(tmp_path, bases=(20, 30))
    options = {"startingOffsets": '{"t": {"0": 7}}'}
    with pytest.raises(PipelineError, match="begins at offset 20, but the starting offset is 7"):
        count(folder, **options)
    assert count(folder, failOnDataLoss="false", **options) == 20
    assert count(folder) == 20


def test_gaps_that_are_no_data_loss(tmp_path: Path) -> None:
    """A gap is no data loss inside a segment, before a cleaner checkpoint, or in a log that `kafka_log` has written."""
    assert count(log(tmp_path / "inner", [batch(0), batch(7)], [batch(20)], bases=(0, 20))) == 15
    assert count(log(tmp_path / "first", [batch(4)], [batch(20)], bases=(0, 20))) == 10
    cleaned = log(tmp_path / "cleaned")
    (cleaned / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 30\n")
    assert count(cleaned) == 30
    written = log(tmp_path / "written")
    (written / "_SUCCESS").write_text('{"number": 1}')
    assert count(written) == 30


def test_damage_is_not_reported_as_a_lost_segment(tmp_path: Path) -> None:
    broken = bytearray(batch(5))
    broken[30] ^= 1
    folder = log(tmp_path, [batch(0), bytes(broken)], [batch(10)], bases=(0, 10))
    assert count(folder, mode="PERMISSIVE") == 11
    with pytest.raises(PipelineError) as rejected:
        count(folder)
    assert rejected.value.condition == "MALFORMED_KAFKA_LOG"
