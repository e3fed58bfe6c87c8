"""Find the batch that contains an offset, in segments of any size whose index is correct, wrong or missing."""

from itertools import accumulate
from pathlib import Path
from struct import pack

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from native_engine import in_use
from small_logs import write_segment

from tagwire.log import Segment
from tagwire.log.file_bytes import JUMP
from tagwire.log.scan import Scan
from tagwire.records import Record, RecordBatch, build
from tagwire.records.building import BatchBuilder

Positions = list[tuple[int, RecordBatch]]


def made(kind: str, base: int, count: int, size: int) -> RecordBatch:
    if kind == "empty":
        return BatchBuilder("v2", base_offset=base, last_offset=base + count - 1, max_timestamp=100).build()
    records = [Record(base + n, 100, b"k", bytes(size)) for n in range(count)]
    return build(records, kind) if kind == "v2" else build(records, kind, compression="gzip")


@st.composite
def segments(draw: st.DrawFn, kinds: tuple[str, ...] = ("v2", "empty"), least_gap: int = 0) -> Positions:
    found, position, offset = [], 0, draw(st.integers(0, 5))
    for _ in range(draw(st.integers(0, 8))):
        count, size = draw(st.integers(1, 4)), draw(st.sampled_from([5, 400]))
        found.append((position, made(draw(st.sampled_from(kinds)), max(offset, 0), count, size)))
        position += found[-1][1].size
        offset = found[-1][1].last_offset + 1 + draw(st.integers(least_gap, 3))
    return found


def in_a_row(*batches: RecordBatch) -> Positions:
    positions = [0, *accumulate(batch.size for batch in batches)]
    return [*zip(positions, batches, strict=False)]


def encoded(batches: Positions) -> bytes:
    return b"".join(batch.encode() for _, batch in batches)


def by_loop(batches: Positions, offset: int) -> int:
    """Return the expected position, from a plain loop over all batches."""
    ends = [position + batch.size for position, batch in batches]
    return next((position for position, batch in batches if batch.last_offset >= offset), max(ends, default=0))


@in_use
@given(segments(("v2", "v2", "empty", "v1"), -4), st.integers(0, 40), st.sampled_from(["", "zeros", "cut", "bad"]))
@example(in_a_row(made("v2", 0, 1, 5)), 1, "zeros")
@example(in_a_row(made("v2", 0, 2, 5), made("v2", 1, 2, 5)), 2, "")  # the second batch repeats an offset
def test_native_search(batches: Positions, offset: int, ending: str) -> None:
    """The search must return None at a batch that is damaged, is not v2, or does not begin after the previous batch."""
    last = made("v2", 90, 2, 5).encode()
    end = {"": b"", "zeros": bytes(50), "cut": last[:-1], "bad": last[:-1] + b"\1"}[ending]
    found = Scan("x.log", encoded(batches) + end).first_with(offset)
    position = by_loop(batches, offset)
    reached = [batch for at, batch in batches if at <= position]
    steps = zip([-1, *(batch.last_offset for batch in reached)], reached, strict=False)
    readable = all(batch.format == "v2" and batch.base_offset > before for before, batch in steps)
    is_found = any(at == position for at, _ in batches) or ending in ("", "zeros")
    assert found == (position if readable and is_found else None)


@given(
    segments(("v2", "v2", "v2", "empty", "v1")),
    st.integers(0, 40),
    st.sampled_from(["none", "right", "inside", "late", "negative"]),
)
@example(in_a_row(*(made("v2", 4 * n, 4, 400) for n in range(4))), 11, "late")
@example(in_a_row(*(made("v2", 4 * n, 4, 400) for n in range(4))), 11, "negative")
def test_index_never_changes_the_position(
    tmp_path_factory: pytest.TempPathFactory, batches: Positions, offset: int, index: str
) -> None:
    path = write_segment(tmp_path_factory.mktemp("t"), encoded(batches))
    moved = {"inside": 7, "negative": -(1 << 31)}.get(index, 0)
    entries = [pack(">ii", batch.last_offset, position + moved) for position, batch in batches[1:]]
    if index == "late":
        entries = [pack(">ii", 0, position) for position, _ in batches[-1:]]
    if index != "none":
        path.with_suffix(".index").write_bytes(b"".join(entries))
    segment = Segment(path)
    with segment.opened() as data:
        assert segment.position_of(Scan(segment.name, data), offset) == by_loop(batches, offset)


@in_use
@pytest.mark.parametrize(("size", "lookups"), [(JUMP, []), (JUMP + 1, ["index"])])
def test_small_segments_need_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, lookups: list[str]
) -> None:
    batches = in_a_row(made("v2", 0, 2, 5), made("v2", 2, 2, 5))
    path = write_segment(tmp_path, encoded(batches).ljust(size, b"\0"))
    path.with_suffix(".index").write_bytes(pack(">ii", 3, batches[1][0]))
    asked: list[str] = []
    segment, sibling = Segment(path), Segment.sibling

    def noted(segment: Segment, kind: str) -> Path | None:
        asked.append(kind)
        return sibling(segment, kind)

    monkeypatch.setattr(Segment, "sibling", noted)
    with segment.opened() as data:
        assert segment.position_of(Scan(segment.name, data), 3) == batches[1][0]
    assert asked == lookups
