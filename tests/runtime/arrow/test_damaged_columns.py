from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from column_values import columns_of, expected_row
from damage import Sample, damaged, samples
from mistaken_values import with_odd_value
from native_engine import native

import tagwire
import tagwire_messages as messages
from tagwire import EncodeError, Limits, arrow
from tagwire.arrow.errors import described
from tagwire.arrow.shape import Column, ColumnSelection, message_column
from tagwire.message.field_table import layout_of
from tagwire.wire.unknown_tags import NO_TAGS

pytestmark = [native, pytest.mark.usefixtures("native_in_use")]
EVERY = 8
"""The number of damaged rows per sample."""
LETTERS = bytes(range(0x41, 0x41 + 41))


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [{}, {"strict": False}, {"limits": Limits(elements=3, unknown_tags=1, depth=2, bytes=300)}]
)
def test_columns_and_rows_reject_the_same_messages(how: dict[str, Any]) -> None:
    random = Random(5)
    rejected = 0
    for sample in samples():
        rows = [sample.data, *(damaged(sample, random) for _ in range(EVERY))]
        expected = [expected_row(sample, row, **how) for row in rows]
        rejected += sum(row["error"] is not None for row in expected)
        assert repr(columns_of(sample, rows, errors="column", **how)) == repr(expected), sample
        as_nulls = [row["value"] for row in expected]
        assert repr(columns_of(sample, rows, errors="null", **how)) == repr(as_nulls), sample
    assert len(samples()) * EVERY * 0.05 < rejected < len(samples()) * EVERY


@pytest.mark.parametrize("odd", ["\u00e9".encode(), b"\x80", b"\xff", b"\xc3", b"\x7f", b"\0"], ids=bytes.hex)
def test_one_unusual_byte_at_each_position_of_a_string(odd: bytes) -> None:
    """Try each position, because the UTF-8 check reads several bytes at a time, and its last two reads overlap."""
    cls: Any = messages.DescribeGroupsRequest
    strings = [LETTERS[:index] + odd + LETTERS[index:size] for size in range(41) for index in range(size + 1)]
    # The long first row makes the buffers large enough for all later rows.
    rows = [b"\x02" + bytes([len(text) + 1]) + text + b"\0\0" for text in [LETTERS, *strings]]
    found = pa.array(arrow.decode_column(pa.array(rows), cls, 5, errors="null")).to_pylist()
    is_text = all(byte < 0x80 for byte in odd) or len(odd) == 2
    assert [row and row["groups"] for row in found[1:]] == [[text.decode()] if is_text else None for text in strings]


@pytest.mark.slow
def test_fields_that_are_not_chosen_are_checked_all_the_same() -> None:
    random = Random(6)
    for sample in samples():
        rows = [damaged(sample, random) for _ in range(EVERY)]
        verdicts = [expected_row(sample, row)["error"] for row in rows]
        root = message_column("", [layout_of(sample.cls, sample.version).root], ColumnSelection(None))
        for fields in ([], [random.choice(paths)] if (paths := paths_of(root)) else []):
            found = columns_of(sample, rows, errors="column", fields=fields)
            assert [row["error"] for row in found] == verdicts, (sample, fields)


def paths_of(column: Column, before: str = "") -> list[str]:
    found = []
    for child in column.children:
        path = f"{before}{child.name}"
        inside = child.children[0] if child.format == "+l" else child
        found += [path, *(paths_of(inside, f"{path}.") if inside.format == "+s" else [])]
    return found


@pytest.mark.slow
def test_selected_field_equals_the_field_among_all() -> None:
    random = Random(7)
    for sample in random.sample(samples(), 300):
        root = message_column("", [layout_of(sample.cls, sample.version).root], ColumnSelection(None))
        (everything,) = columns_of(sample, [sample.data])
        for path in paths_of(root):
            (chosen,) = columns_of(sample, [sample.data], fields=[path])
            assert repr(chosen) == repr(only(everything, path.split("."))), (sample, path)


def only(value: Any, path: list[str]) -> Any:
    if not path or value is None:
        return value
    if isinstance(value, list):
        return [only(element, path) for element in value]
    return {path[0]: only(value[path[0]], path[1:])}


def encoded(message: Any, version: int) -> dict[str, Any]:
    try:
        return {"value": message.encode(version), "error": None}
    except EncodeError as error:
        return {"value": None, "error": described(error)}


@pytest.mark.slow
def test_columns_and_rows_reject_the_same_values() -> None:
    random = Random(8)
    tried = rejected = 0
    for number in range(20_000):
        sample = samples()[number % len(samples())]
        message = with_odd_value(sample.cls.decode(sample.data, sample.version), random)
        array = as_array(sample, message)
        if array is None:
            continue
        tried += 1
        (found,) = pa.array(arrow.encode_column(array, sample.cls, sample.version, errors="column")).to_pylist()
        expected = encoded(message, sample.version)
        rejected += expected["error"] is not None
        assert found["value"] == expected["value"], (sample, message)
        assert (found["error"] is None) == (expected["error"] is None), (sample, message)
        if expected["error"] is not None:
            assert found["error"]["path"] == expected["error"]["path"], (sample, message)
    assert tried > 2000 and 130 < rejected < tried - 700, (tried, rejected)


def as_array(sample: Sample, message: Any) -> Any:
    """Return the message as an Arrow array with 64-bit integers and offsets, or None if Arrow can't represent it."""
    root = message_column(
        "", [layout_of(sample.cls, version).root for version in sample.cls.VERSIONS], ColumnSelection(None)
    )
    try:
        return pa.array([plain(root, message)], wide_type(root))
    except (Unfit, pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
        return None


class Unfit(Exception):
    """Raised for a value that pyarrow and tagwire would interpret differently."""


KINDS: dict[str, Callable[[Any], bool]] = {
    "b": lambda value: type(value) is bool,
    "g": lambda value: type(value) is float,
    "u": lambda value: isinstance(value, str),
    "z": lambda value: type(value) is bytes,
    "+l": lambda value: isinstance(value, tuple | list),
    "+s": lambda value: isinstance(value, tagwire.Struct),
    "+m": lambda value: isinstance(value, dict) or not value,
    "w:16": lambda value: hasattr(value, "int") and hasattr(value, "bytes"),
}


def plain(column: Column, value: Any) -> Any:
    if value is None:
        return None
    if not KINDS.get(column.format, lambda value: type(value) is int)(value):
        raise Unfit
    if column.format == "+s":
        if column.cls is not None and type(value) is not column.cls:
            raise Unfit
        if column.child("unknown_tags") is None and value.unknown_tags is not NO_TAGS:
            raise Unfit  # the struct's columns can't represent unknown tags
        return {child.name: plain(child, getattr(value, child.name)) for child in column.children}
    if column.format == "+l":
        return [plain(column.children[0], element) for element in value]
    if column.format == "+m":
        if any(type(tag) is not int for tag in value):
            raise Unfit
        return [(tag, plain(column.children[0].children[1], data)) for tag, data in value.items()]
    return value.bytes if column.format == "w:16" else value


def wide_type(column: Column) -> Any:
    if column.format == "+s":
        return pa.struct([pa.field(child.name, wide_type(child)) for child in column.children])
    if column.format == "+l":
        return pa.large_list(wide_type(column.children[0]))
    if column.format == "+m":
        return pa.map_(pa.int64(), pa.large_binary())
    kinds = {"b": pa.bool_(), "g": pa.float64(), "u": pa.large_string(), "z": pa.binary_view(), "w:16": pa.binary(16)}
    return kinds.get(column.format, pa.int64())
