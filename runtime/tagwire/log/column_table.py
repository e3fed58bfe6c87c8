"""The columns of a log: what they are called, their Arrow types, and their values by way of objects.

A column has the name and meaning of an attribute of `Record` or `RecordBatch`, if there is
one. The native engine fills the same columns without objects; this module is used where it
can't, and tests compare the two.
"""

from collections.abc import Iterable
from typing import Any, Final

from tagwire.arrow.errors import ColumnError
from tagwire.arrow.shape import Column, Selection, message_column
from tagwire.layout import Array, Nested
from tagwire.log.errors import refuse
from tagwire.records import Format, FormatSet, Record, RecordBatch
from tagwire.records.format_set import AUTO, format_set
from tagwire.text_format import near

__all__ = ["LEVELS", "batch_values", "column_names", "is_uniform", "record_values", "root_column"]

_TIME: Final = "tsm:UTC"
_PLACE: Final = (
    Column("file", "i", is_words=True),
    Column("position", "l"),
    Column("size", "l"),
)
_HEAD: Final = (
    Column("format", "i", is_words=True),
    Column("magic", "i"),
    Column("compression", "i", is_words=True),
    Column("timestamp_type", "i", nullable=True, is_words=True),
    Column("base_offset", "l", nullable=True),
    Column("last_offset", "l"),
    Column("partition_leader_epoch", "i"),
    Column("producer_id", "l"),
    Column("producer_epoch", "i"),
    Column("base_sequence", "i"),
    Column("is_transactional", "b"),
    Column("is_control", "b"),
    Column("delete_horizon_ms", _TIME, nullable=True),
    Column("crc", "l"),
)
_OF_BATCH: Final = (
    Column("base_timestamp", _TIME, nullable=True),
    Column("max_timestamp", _TIME, nullable=True),
    Column("count", "i", nullable=True),
)
_OF_RECORD: Final = (
    Column("offset", "l"),
    Column("timestamp", _TIME, nullable=True),
    Column("key", "z", nullable=True),
    Column("value", "z", nullable=True),
    Column("tombstone", "b"),
    Column("attributes", "i"),
)
_HEADERS: Final = "headers"
LEVELS: Final = ("record", "batch")
_INTEGERS: Final = {"i": 1 << 31, "l": 1 << 63, _TIME: 1 << 63}
"""Formats of numbers, and the first number above their range."""


def _columns(level: str, formats: FormatSet) -> tuple[Column, ...]:
    """All columns of a level."""
    if level == "batch":
        return (*_HEAD, *_OF_BATCH, *_PLACE)
    return (*_OF_RECORD, _headers(formats), *_HEAD, *_PLACE)


def _headers(formats: FormatSet) -> Column:
    """The type of headers: keys are text, or int32 if all formats with headers have int32 keys."""
    found = [_pair(format) for format in formats.formats if _HEADERS in format.has]
    has_numbers = bool(found) and all(pair[0].format == "i" for pair in found)
    may_be_null = not found or any(pair[1].nullable for pair in found)
    pair = Column("key", "i" if has_numbers else "u"), Column("value", "z", nullable=may_be_null)
    return Column(_HEADERS, "+l", default=(), children=(Column("item", "+s", children=pair),))


def _pair(format: Format) -> tuple[Column, ...]:
    item = next(item for item in format.record.items if item.name == _HEADERS)
    assert isinstance(item.type, Array) and isinstance(item.type.element, Nested)
    return message_column("item", [item.type.element.struct], Selection(("key", "value"))).children


def is_uniform(root: Column, formats: FormatSet) -> bool:
    """Whether header keys are of one type in all formats, or not wanted: native code changes none to text."""
    headers = root.child(_HEADERS)
    key = None if headers is None else headers.children[0].children[0].format
    return key is None or all(_pair(each)[0].format == key for each in formats.formats if _HEADERS in each.has)


def column_names(level: str) -> list[str]:
    """The names of a level's columns."""
    return [column.name for column in _columns(level, format_set(AUTO))]


def root_column(level: str, names: Iterable[str] | None, formats: FormatSet) -> Column:
    """The struct of the requested columns, in that order; None for all. Raises ColumnError for unknown names."""
    if level not in LEVELS:
        raise ColumnError(f"level is {level!r}; 'record' or 'batch' was expected")
    if isinstance(names, str):
        raise ColumnError(f"columns is the string {names!r}; expected a list of names: [{names!r}]")
    there = {column.name: column for column in _columns(level, formats)}
    wanted = list(there if names is None else names)
    for name in wanted:
        if name not in there:
            raise ColumnError(f"there is no column {name!r} with level={level!r}{near(name, list(there))}")
        if wanted.count(name) > 1:
            raise ColumnError(f"column {name!r} is named twice")
    return Column("", "+s", children=tuple(there[name] for name in wanted))


# ---------------------------------------------------------------- values by way of objects


def batch_values(
    root: Column, batch: RecordBatch, format: Format, file: str, position: int, *, heads_only: bool
) -> dict[str, Any]:
    """The values of a batch for these columns. Raises LogError for a number that does not fit its column.

    With `heads_only` nothing is unpacked; a wrapper then has no base offset, because that is in its packed bytes.
    """
    values: dict[str, Any] = {"file": file, "position": position}
    for column in root.children:
        name = column.name
        if name == "timestamp_type":
            values[name] = batch.timestamp_type if name in format.bits else None
        elif name == "base_offset" and heads_only and format.records is None and batch.codec != "none":
            values[name] = None
        elif name == "last_offset" and heads_only and format.records is None:
            values[name] = format.role(batch._head, "base_offset")  # pyright: ignore[reportPrivateUsage]
        elif name not in values and (heads_only or name not in _OF_RECORDS):
            values[name] = getattr(batch, name)
    return _checked(root, values, file, position)


def record_values(root: Column, record: Record, shared: dict[str, Any], file: str, position: int) -> dict[str, Any]:
    """The values of a record, including those of its batch. Raises LogError as `batch_values`."""
    values = dict(shared)
    for column in root.children:
        name = column.name
        if name == "tombstone":
            values[name] = record.is_tombstone
        elif name == _HEADERS:
            as_key = str if column.children[0].children[0].format == "u" else int
            values[name] = [{"key": as_key(key), "value": value} for key, value in record.headers]
        elif name in _OF_RECORDS:
            values[name] = getattr(record, name)
    return _checked(root, values, file, position)


_OF_RECORDS: Final = frozenset((*(column.name for column in _OF_RECORD), _HEADERS))


def _checked(root: Column, values: dict[str, Any], file: str, position: int) -> dict[str, Any]:
    for column in root.children:
        bound = _INTEGERS.get(column.format)
        value = values.get(column.name)
        if bound is None or value is None or column.is_words:
            continue
        if not -bound <= value < bound:
            bits = 64 if bound >> 32 else 32
            refuse(file, "TWL106", position, f"{column.name} {value}", f"a number of {bits} bits")
        if column.format == _TIME and value == -1:
            values[column.name] = None
    return values
