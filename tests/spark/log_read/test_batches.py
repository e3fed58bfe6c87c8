import gzip
import os
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from small_logs import flip, message, sealed
from streamed_logs import batch, segment, stream, triggers
from written_logs import arrow_rows, once, read_rows

from tagwire import TagwireError
from tagwire.log import column_stream
from tagwire.log.file_bytes import FileBytes
from tagwire.records import Record, build
from tagwire_spark import PipelineError
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import plan

BATCHES = 12


def damaged(folder: Path, number: int, at: int, *, index: bool = True) -> int:
    """Write a segment of equally large batches in which byte `at` of batch `number` is wrong. Return the batch size.

    If `index` is true, also write an index with an entry for each batch except the first.
    """
    batches = [batch(5 * n, size=400) for n in range(BATCHES)]
    path, size = segment(folder, 0, *batches), len(batches[0])
    flip(path, number * size + at, 0x7F)
    if index:
        path.with_suffix(".index").write_bytes(b"".join(pack(">ii", 5 * n, n * size) for n in range(1, BATCHES)))
    return size


def read(path: Path, size: int, *, cut: bool = True, **options: Any) -> list[int]:
    query = log_query({"path": str(path), "maxSplitBytes": 3 * size, **options})
    splits = plan(query)
    assert (len(splits) > 1) is cut
    found, errors = [], []
    for split in splits:
        try:
            for each in rows_of(split, query, full_schema(query)):
                every = [row["baseOffset" if query.by_batch else "offset"] for row in each.to_pylist()]
                found += [offset for offset in every if offset is not None]
        except PipelineError as error:
            errors.append(error)
    if errors:
        assert {error.condition for error in errors} == {"MALFORMED_KAFKA_LOG"}
        raise errors[0]
    return sorted(found)


# A byte of a batch header is damaged: in the length (8 and 11), magic (16), checksum (17) or last offset delta (23).
@pytest.mark.parametrize("at", [8, 11, 16, 17, 23])
@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("level", ["record", "batch"])
def test_damaged_header_fails_the_read_by_default(tmp_path: Path, at: int, index: bool, level: str) -> None:
    for number in range(BATCHES):
        folder = tmp_path / str(number)
        size = damaged(folder / "t-0", number, at, index=index)
        with pytest.raises(PipelineError, match=f"{0:020}.log"):
            read(folder, size, level=level)


@pytest.mark.parametrize("number", range(BATCHES))
def test_data_after_a_damaged_header_is_read_in_permissive(tmp_path: Path, number: int) -> None:
    size = damaged(tmp_path / "t-0", number, 16)
    every = set(range(5 * BATCHES))
    assert read(tmp_path, size, mode="PERMISSIVE") == sorted(every - set(range(5 * number, 5 * number + 5)))


def test_damaged_headers_before_the_first_offset_and_at_a_cut(tmp_path: Path) -> None:
    size = damaged(tmp_path / "t-0", 1, 16)
    flip(tmp_path / "t-0" / f"{0:020}.log", 6 * size + 16, 0x7F)
    with pytest.raises(PipelineError):
        read(tmp_path, size, startingOffsets='{"t": {"0": 15}}')


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("level", ["record", "batch"])
@pytest.mark.parametrize(("number", "at"), [(0, 1), (3, 1), (5, 1), (5, 7), (8, 1), (8, 7)])
def test_wrong_base_offset_fails_the_read(tmp_path: Path, level: str, number: int, at: int) -> None:
    """Check that a wrong base offset, which no checksum covers, fails the read, no matter where splits begin."""
    size = damaged(tmp_path / "t-0", number, at)
    found = (5 * number) ^ 0x7F if at == 7 else 0
    named = number if at == 7 and found < 5 * number else number + 1
    text = f"byte {named * size}: found base offset {found if named == number else 5 * named}, expected"
    for split_bytes in (size, 3 * size, 20 * size):
        for options in (
            {},
            {"endingOffsets": '{"t": {"0": 50}}'},
            {"startingOffsets": f'{{"t": {{"0": {5 * number}}}}}'},
        ):
            with pytest.raises(PipelineError, match=text):
                read(tmp_path, size, cut=split_bytes < 20 * size, level=level, maxSplitBytes=split_bytes, **options)


@pytest.mark.usefixtures("each_engine")
def test_offsets_of_a_segment_are_between_its_name_and_the_next(tmp_path: Path) -> None:
    size = damaged(tmp_path / "t-0", 11, 7)
    assert len(read(tmp_path, size)) == 5 * BATCHES  # a wrong offset in the log's last batch can't be detected
    segment(tmp_path / "t-0", 60, batch(60, 1))
    with pytest.raises(
        PipelineError, match=f"byte {11 * size}: found last offset 76, expected an offset less than 60, the"
    ):
        read(tmp_path, size)
    (tmp_path / "t-0" / f"{0:020}.log").rename(tmp_path / "t-0" / f"{5:020}.log")
    with pytest.raises(PipelineError, match="byte 0: found base offset 0, expected at least 5, because offsets must"):
        read(tmp_path, size)


@pytest.mark.usefixtures("each_engine")
def test_wrong_base_offset_before_the_requested_range_is_ignored(tmp_path: Path) -> None:
    size = damaged(tmp_path / "t-0", 9, 7, index=False)  # batch 9 gets base offset 82 instead of 45
    flip(tmp_path / "t-0" / f"{0:020}.log", 9 * size + 7, 82 ^ 30)
    assert read(tmp_path, size, cut=False, maxSplitBytes=20 * size, startingOffsets='{"t": {"0": 50}}') == [
        *range(50, 60)
    ]
    with pytest.raises(PipelineError, match=f"byte {9 * size}: found base offset 30, expected at least 45"):
        read(tmp_path, size, cut=False, maxSplitBytes=20 * size, startingOffsets='{"t": {"0": 44}}')


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("number", [0, 3, 9])
def test_wrong_base_offset_hides_only_its_own_batch(tmp_path: Path, number: int) -> None:
    """In PERMISSIVE mode, a wrong base offset must hide only its own batch."""
    size = damaged(tmp_path / "t-0", number, 1)
    expected = [n for n in range(50) if n // 5 != number]
    for split_bytes in (1 << 20, 3 * size):
        options = {"endingOffsets": '{"t": {"0": 50}}', "mode": "PERMISSIVE", "maxSplitBytes": split_bytes}
        assert read(tmp_path, size, cut=split_bytes == 3 * size, **options) == expected


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("cut", [True, False])
def test_wrong_base_offset_of_the_last_requested_batch_fails_the_read(tmp_path: Path, cut: bool) -> None:
    """A batch that seems to be after the query's end, because its offset is wrong, must not go unnoticed."""
    size = damaged(tmp_path / "t-0", 8, 5)
    split_size = size if cut else BATCHES * size
    with pytest.raises(PipelineError, match=f"byte {9 * size}: found base offset 45, expected at least"):
        read(tmp_path, split_size, cut=cut, endingOffsets='{"t": {"0": 45}}')


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("number", [3, 4])
def test_wrong_base_offset_before_damage_does_not_end_the_read(tmp_path: Path, cut: bool, number: int) -> None:
    size = damaged(tmp_path / "t-0", 2, 6)
    flip(tmp_path / "t-0" / f"{0:020}.log", number * size + 16, 0x7F)
    ends = '{"t": {"0": 50}}'
    split_size = size if cut else BATCHES * size
    first = f"byte {number * size + 16}: found magic" if number == 3 else f"byte {3 * size}: found base offset 15"
    with pytest.raises(PipelineError, match=first):
        read(tmp_path, split_size, cut=cut, endingOffsets=ends)
    found = read(tmp_path, split_size, cut=cut, mode="PERMISSIVE", endingOffsets=ends)
    assert found == [n for n in range(50) if n // 5 not in (2, number)]


@pytest.mark.usefixtures("each_engine")
def test_wrong_base_offset_at_the_end_of_an_arrow_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows after a log batch with a wrong offset must be read, even if that log batch is the last in an Arrow batch."""
    monkeypatch.setattr(column_stream, "_ROWS", 1)
    size = damaged(tmp_path / "t-0", 2, 6)
    ends = '{"t": {"0": 50}}'
    found = read(tmp_path, BATCHES * size, cut=False, endingOffsets=ends, mode="PERMISSIVE")
    assert found == [n for n in range(50) if n // 5 != 2]
    with pytest.raises(PipelineError, match=f"byte {3 * size}: found base offset 15"):
        read(tmp_path, BATCHES * size, cut=False, endingOffsets=ends)


@pytest.mark.parametrize("level", ["record", "batch"])
def test_first_batch_after_an_end_in_a_gap_ends_the_read(tmp_path: Path, level: str) -> None:
    first, second, third = (batch(n, 1) for n in (0, 5, 9))
    for last in (third + b"damaged" * 20, third[:-3]):
        segment(tmp_path / "t-0", 0, first, second, last)
        assert len(read_rows(tmp_path, endingOffsets='{"t": {"0": 3}}', level=level)) == 1


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("cut", [True, False])
def test_value_with_a_batch_inside_a_damaged_batch(tmp_path: Path, cut: bool) -> None:
    """A batch inside a record's value must not be read, even if the outer batch is damaged."""
    inner = build([Record(1, 5, b"k", b"wrong")], "v2").encode()
    batches = [build([Record(n + 2, 5, b"k", inner + bytes(200))], "v2").encode() for n in range(6)]
    data = bytearray(b"".join(batches))
    data[3 * len(batches[0]) : 3 * len(batches[0]) + 40] = bytes(40)
    segment(tmp_path / "t-0", 0, bytes(data))
    split_bytes = len(batches[0]) if cut else len(data)
    assert read(tmp_path, 1, mode="PERMISSIVE", maxSplitBytes=split_bytes, cut=cut) == [2, 3, 4, 6, 7]


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("level", ["record", "batch"])
def test_wrong_offsets_appear_in_permissive_rows(tmp_path: Path, level: str) -> None:
    size = damaged(tmp_path / "t-0", 4, 0)
    flip(tmp_path / "t-0" / f"{0:020}.log", 4 * size, 0x7F ^ 0x80)
    with pytest.raises(
        PipelineError, match=f"byte {4 * size}: found base offset -{(1 << 63) - 20}, expected at least 20"
    ):
        read(tmp_path, size, level=level)
    found = read(tmp_path, size, level=level, mode="PERMISSIVE")
    assert len(found) == (5 * BATCHES if level == "record" else BATCHES)
    assert found[0] == 20 - (1 << 63)


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_a_segment_that_is_cut_while_a_task_reads_it_is_an_error(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = segment(tmp_path / "alpha-0", 0, *(batch(30 * n, 30, 500) for n in range(200)))
    once(monkeypatch, FileBytes, "read", lambda: os.truncate(path, 100_000), after=True)
    with pytest.raises(TagwireError, match="was truncated while it was read"):
        list(arrow_rows(tmp_path, mode=mode))


OPTIONS: list[dict[str, str]] = [
    {},
    {"level": "batch"},
    {"isolation.level": "read_committed"},
    {"maxSplitBytes": "60"},
    {"startingOffsets": '{"t": {"0": 3}}'},
    {"endingOffsets": '{"t": {"0": 8}}'},
    {"startingOffsetsByTimestamp": '{"t": {"0": 3}}'},
]


def wrapper(first: int, magic: int) -> bytes:
    records = [Record(first + n, 5 if magic else -1, b"k", b"value") for n in range(3)]
    return build(records, f"v{magic}", compression="gzip").encode()


def payload(magic: int, bend: str) -> bytes:
    inner = b"".join(message(n if magic else 3 + n, magic, b"value") for n in range(3))
    if bend == "a short message":
        inner = inner[:-3]
    elif bend == "an inner length":
        inner = inner[:8] + b"\x7f" + inner[9:]
    packed = bytearray(gzip.compress(inner))
    if bend in ("header", "middle", "end"):
        packed[{"header": 1, "middle": len(packed) // 2, "end": -3}[bend]] ^= 0xFF
    return b"" if bend == "nothing" else bytes(packed)


@pytest.mark.parametrize("bend", ["header", "middle", "end", "nothing", "a short message", "an inner length"])
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_around_damage_are_read(tmp_path: Path, magic: int, bend: str) -> None:
    path = segment(
        tmp_path / "t-0", 0, wrapper(0, magic), message(5, magic, payload(magic, bend), 1), wrapper(6, magic)
    )
    for options in OPTIONS if magic else OPTIONS[:-1]:  # messages of magic 0 have no timestamps
        rows = read_rows(tmp_path, mode="PERMISSIVE", **options)
        if "level" in options:
            assert [row["lastOffset"] for row in rows if not row["_error"]] in ([2, 5, 8], [2, 8])
            continue
        good = [row["offset"] for row in rows if not row["_error"] and not 3 <= row["offset"] < 6]
        expected = [n for n in (0, 1, 2, 6, 7, 8) if n < (8 if "endingOffsets" in options else 9)]
        assert good == [n for n in expected if n >= (3 if "startingOffsets" in options else 0)] or "Time" in str(
            options
        )
        assert {row["file"] for row in rows if row["_error"]} == {str(path)}
        dropped = read_rows(tmp_path, mode="DROPMALFORMED", **options)
        assert [row["offset"] for row in dropped] == [row["offset"] for row in rows if not row["_error"]]
        with pytest.raises(PipelineError, match=rf"MALFORMED_KAFKA_LOG\] {path}: "):
            list(arrow_rows(tmp_path, **options))
    reader = stream(tmp_path, mode="PERMISSIVE", maxBytesPerTrigger=50)
    found: list[Any] = [row for _, part in triggers(reader, {}) for row in part]
    assert [row["offset"] for row in found if not row["_error"]][-3:] == [6, 7, 8]


def test_header_keys_that_are_numbers_have_names(tmp_path: Path) -> None:
    record = Record(0, 5, b"k", b"v", ((1, b"me"), (70_000, b"x")))
    segment(tmp_path / "t-0", 0, build([record, Record(1, 5, b"k", b"v")], "kip82-int").encode())
    [batch] = arrow_rows(tmp_path, recordFormat="kip82-int")
    assert batch.column("headerNames").to_pylist() == [["client.id", "70000"], None]


def test_a_lenient_read_takes_header_keys_that_are_not_utf_8(tmp_path: Path) -> None:
    data = build([Record(0, 5, b"k", b"v", (("key", b"x"),))], "v2").encode().replace(b"key", b"k\xffy")
    segment(tmp_path / "t-0", 0, sealed(data))
    with pytest.raises(PipelineError, match="MALFORMED_KAFKA_LOG"):
        list(arrow_rows(tmp_path))
    [batch] = arrow_rows(tmp_path, strict="false")
    assert batch.column("headers").to_pylist() == [[{"key": "k\ufffdy", "value": b"x"}]]
