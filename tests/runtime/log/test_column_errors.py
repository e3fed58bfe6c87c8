from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from log_rows import ROWS, found, plain
from record_damage import damaged, records_for
from small_logs import write_segment

from tagwire import Limits, log
from tagwire.arrow import ColumnError
from tagwire.frames.known_packages import RECORD_FORMATS
from tagwire.log.column_table import column_names
from tagwire.records import FormatError, Record, build, format_of

pytestmark = [pytest.mark.usefixtures("each_engine"), pytest.mark.thorough]


def outcome(path: Path, counts: Iterable[int]) -> tuple[Any, ...]:
    """Return the sum of `counts` and the attributes of the error that ended it, which must name the file `path`."""
    total = 0
    try:
        for count in counts:
            total += count
    except log.LogError as error:
        assert error.file == str(path)
        return total, error.offset, error.path, error.found, error.rule
    return total, None


def verdict(path: Path, format: str) -> tuple[Any, ...]:
    return outcome(path, (1 for batch in log.Segment(path).batches(format=format) for _ in ROWS["record"](batch)))


def verdict_of_columns(path: Path, format: str) -> tuple[Any, ...]:
    return outcome(path, map(len, log.columns(path, format=format)))


@pytest.mark.parametrize("name", RECORD_FORMATS)
def test_columns_and_reader_find_damage_at_the_same_position(name: str, tmp_path: Path) -> None:
    random = Random(name)
    path = tmp_path / "segment"
    whole = build(records_for(name, random, 3), name).encode()
    right = 0
    for data in damaged(name, random, 150):
        path.write_bytes(whole + data)
        expected = verdict(path, name)
        assert verdict_of_columns(path, name) == expected, data.hex()
        right += expected[1] is None
    assert 0 < right < 150


@pytest.mark.parametrize("name", ["v0", "v1", "v2", "v3"])
def test_damage_of_formats_that_are_found_out(name: str, tmp_path: Path) -> None:
    random = Random(name)
    path = tmp_path / "segment"
    whole = build(records_for(name, random, 3), name).encode()
    for data in damaged(name, random, 150):
        path.write_bytes(whole + data + whole)
        assert verdict_of_columns(path, "auto") == verdict(path, "auto"), data.hex()


def test_headers_are_read_without_their_checksum(tmp_path: Path) -> None:
    data = bytearray(build([Record(0, 5, b"k", b"v")], "v2").encode())
    data[-1] ^= 1
    path = write_segment(tmp_path, data)
    assert len(found(path, level="batch")) == 1
    with pytest.raises(log.LogError, match="crc at byte 17"):
        list(log.columns(path))
    data[16] = 9
    path.write_bytes(data)
    with pytest.raises(log.LogError) as raised:
        list(log.columns(path, level="batch"))
    assert (raised.value.rule, raised.value.offset) == ("TWL103", 16)


def test_rows_before_an_error_are_handed_out(tmp_path: Path) -> None:
    batch = build([Record(0, 5, b"k", b"v"), Record(1, 5, b"k", b"v")], "v2").encode()
    path = write_segment(tmp_path, batch + batch[:-1])
    rows = []
    with pytest.raises(log.LogError) as raised:
        for array in log.columns(path, ["offset"]):
            rows += pa.array(array).to_pylist()
    assert rows == [{"offset": 0}, {"offset": 1}] and raised.value.rule == "TWL101"


@pytest.mark.parametrize("level", ROWS)
def test_skipping(level: str, tmp_path: Path) -> None:
    batches = [build([Record(n, 5, b"k", bytes(40))], "v2").encode() for n in range(4)]
    # level=batch doesn't verify checksums, so the cut must be inside the length field to be detected.
    cut = 30 if level == "record" else 10
    path = write_segment(tmp_path, batches[0] + batches[1][:cut] + batches[2] + b"\xff" * 50 + batches[3])
    columns = log.columns(path, level=level, errors="skip")
    name = "offset" if level == "record" else "base_offset"
    assert [row[name] for row in plain(pa.table(columns))] == [0, 2, 3]
    size = len(batches[0])
    ranges = [(each.position, each.end) for each in columns.skipped]
    assert ranges == [(size, size + cut), (2 * size + cut, 2 * size + cut + 50)]
    assert all(isinstance(each.error, log.LogError) for each in columns.skipped)


def test_records_before_an_error_are_returned(tmp_path: Path) -> None:
    right = [Record(0, 5, b"k", b"v"), Record(1, 5, b"k", b"v")]
    data = build(right, "v2")
    wrong = data.replace(base_offset=2, count=3).encode()
    path = write_segment(tmp_path, data, wrong, data.replace(base_offset=4))
    columns = log.columns(path, errors="skip")
    assert [row["offset"] for row in plain(pa.table(columns))] == [0, 1, 4, 5]
    (left_out,) = columns.skipped
    assert (left_out.position, left_out.end, left_out.error.rule) == (data.size, data.size + len(wrong), "TWL106")


def test_numbers_that_no_column_can_hold(tmp_path: Path) -> None:
    path = write_segment(
        tmp_path, build([Record(0, 5, b"k", b"v"), Record(1, 5, b"k", b"v")], "v2").replace(base_offset=2**63 - 1)
    )
    with pytest.raises(log.LogError, match=f"{2**63}, expected a 64-bit number"):
        list(log.columns(path))


@pytest.mark.parametrize("name", [name for name in RECORD_FORMATS if "count" in format_of(name).fields])
@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("count", [-1, -(2**31), 1, 3])
def test_wrong_record_count(name: str, codec: str, count: int, tmp_path: Path) -> None:
    right = build([Record(0, 5, b"k", b"v"), Record(1, 5, b"k", b"v")], name, compression=codec)
    path = write_segment(tmp_path, right, right.replace(count=count))
    expected = verdict(path, name)
    assert expected[1] is not None
    assert verdict_of_columns(path, name) == expected


@pytest.mark.parametrize("errors", ["raise", "skip"])
@pytest.mark.parametrize("level", ROWS)
@pytest.mark.parametrize(
    "change", [{"base_offset": 2**63 - 1}, {"base_timestamp": 2**63 - 1}, {"base_timestamp": -(2**63)}], ids=str
)
def test_overflows_matter_in_requested_columns_only(
    change: dict[str, int], level: str, errors: str, tmp_path: Path
) -> None:
    right = build([Record(1, 7, b"k", b"v"), Record(2, 5, b"k", b"v"), Record(3, 9, b"k", b"v")], "v2")
    path = write_segment(tmp_path, right, right.replace(**change), right)
    numbers = dict(enumerate(wide(path, level)))
    wrong = {
        row for row, values in numbers.items() if not all(-(2**63) <= (each or 0) < 2**63 for each in values.values())
    }
    for name in column_names(level):
        bad = {row for row, values in numbers.items() if not -(2**63) <= (values.get(name) or 0) < 2**63}
        columns = log.columns(path, [name], level=level, errors=errors)
        count = 0
        try:
            for array in columns:
                count += len(array)
        except log.LogError as error:
            assert errors == "raise" and wrong, name
            assert (error.rule, right.size <= error.offset <= 2 * right.size) == ("TWL106", True)
        else:
            assert bad <= wrong if columns.skipped else not bad, name
            assert count < len(numbers) if columns.skipped else count == len(numbers)


def wide(path: Path, level: str) -> Iterator[dict[str, int | None]]:
    names = ("base_offset", "last_offset", "base_timestamp", "max_timestamp")
    for batch in log.read(path):
        header = {name: getattr(batch, name) for name in names}
        for offset, timestamp in ((0, 0), (1, -2), (2, 2)) if level == "record" else ():
            yield {**header, "offset": batch.base_offset + offset, "timestamp": batch.base_timestamp + timestamp}
        if level == "batch":
            yield header


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(decompressed_bytes=1000), "decompressed_bytes"),
        (Limits(records=2), "Limits.records"),
        (Limits(headers=0), "Limits.headers"),
    ],
    ids=str,
)
def test_limits(limits: Limits, expected: str, tmp_path: Path) -> None:
    batch = build([Record(n, 5, b"k", bytes(1000), [("h", b"")]) for n in range(3)], "v2", compression="gzip")
    path = write_segment(tmp_path, batch)
    with pytest.raises(log.LogError, match=expected):
        list(log.columns(path, limits=limits))


@pytest.mark.parametrize("level", ROWS)
@pytest.mark.parametrize(
    "limits", [Limits(records=5), Limits(headers=2), Limits(elements=9), Limits(bytes=2000)], ids=str
)
def test_limits_that_are_not_exceeded(limits: Limits, level: str, tmp_path: Path) -> None:
    path = write_segment(tmp_path, build([Record(n, 5, b"k", b"v", [("h", b"")]) for n in range(3)], "v2"))
    assert plain(pa.table(log.columns(path, level=level, limits=limits))) == found(path, level=level)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"columns": ["ofset"]}, ColumnError, "there is no column 'ofset' with level='record'; did you mean 'offset'"),
        ({"columns": ["key"], "level": "batch"}, ColumnError, "there is no column 'key' with level='batch'"),
        ({"columns": ["key", "key"]}, ColumnError, "'key' is named twice"),
        ({"columns": "key"}, ColumnError, r"columns: expected a list of names, got the string 'key'; write \['key'\]"),
        ({"level": "records"}, ColumnError, "level: expected 'record' or 'batch', got 'records'"),
        ({"errors": "null"}, ColumnError, "errors: expected 'raise' or 'skip', got 'null'"),
        ({"format": "v9"}, FormatError, "there is no record format 'v9'"),
        ({"path": "nowhere"}, log.LogPathError, "there is no such file"),
        ({"path": "."}, log.LogPathError, "no log segment found"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_invalid_options(options: dict[str, Any], error: type[Exception], text: str, tmp_path: Path) -> None:
    (tmp_path / "segment").write_bytes(b"")
    with pytest.raises(error, match=text):
        log.columns(
            tmp_path / options.get("path", "segment"),
            **{name: wish for name, wish in options.items() if name != "path"},
        )
