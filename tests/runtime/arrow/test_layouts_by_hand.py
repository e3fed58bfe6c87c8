"""Test columns with layouts that no message has, such as varints and arrays without a count.

Decoding and encoding are compared with the layout interpreter, on valid bytes and on all small changes to them.
"""

from importlib import import_module
from itertools import product
from pprint import pformat
from typing import Any

import pyarrow as pa
import pytest
from native_engine import native

import tagwire
from tagwire import Limits, arrow
from tagwire.arrow.shape import Column, ColumnSelection, message_column, with_error
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode
from tagwire.layout import (
    DEFAULT_STRUCT,
    INT32,
    UVARINT,
    VARINT,
    Array,
    Extent,
    Fixed,
    Item,
    Layout,
    Nested,
    OptionalBuffer,
    Sized,
    StructLayout,
    TaggedSection,
    Type,
    Varint,
)
from tagwire.message.field_table import FieldRow
from tagwire.versions import Versions
from tagwire.wire.types import WIRE_TYPES, IntegerType
from tagwire.wire.unknown_tags import NO_TAGS

STRING, BYTES, INT8 = WIRE_TYPES["string"], WIRE_TYPES["bytes"], Fixed(WIRE_TYPES["int8"])
UINT8 = Fixed(IntegerType("uint8", "B", 1, 0, 255))
UINT64 = Fixed(IntegerType("uint64", "Q", 8, 0, 2**64 - 1))
NUMBERS = Array(INT8, INT32, nullable=False)
RECORDS = StructLayout("records", (Item("raw", Sized(WIRE_TYPES["records"], UVARINT, nullable=False), default=None),))
ANY = Limits()


def inner(type: Type = INT8, **more: Any) -> StructLayout:
    return StructLayout("inner", (Item("number", type, default=0),), **more)


def sized(size: Fixed | Varint, type: Type = INT8) -> StructLayout:
    return StructLayout("inner", (Item("size", Extent(size)), Item("number", type, default=0)))


def tagged(section: Any, type: Type, default: Any, **more: Any) -> StructLayout:
    return inner(section=section((Item("extra", type, tag=2, default=default),), **more))


def with_tags(extras: Any, tags: Any) -> list[Any]:
    return [{"number": 1, "extra": extra, "unknown_tags": unknown} for extra, unknown in product(extras, tags)]


TYPES: list[tuple[Type, list[Any]]] = [
    (UINT8, [0, 255]),
    (UINT64, [0, 2**63, 2**64 - 1]),
    (Fixed(WIRE_TYPES["float64"]), [0.0, -1.5, float("inf")]),
    (Varint(32, zigzag=True), [0, -1, 64, 2**31 - 1, -(2**31)]),
    (Varint(32, zigzag=False), [0, 128, 2**32 - 1]),
    (Varint(64, zigzag=True), [0, -1, 2**63 - 1, -(2**63)]),
    (Varint(64, zigzag=False), [0, 2**63, 2**64 - 1]),
    (Sized(BYTES, VARINT, nullable=True), [None, b"", b"x" * 200]),
    (Sized(BYTES, UVARINT, nullable=False), [b"", b"x" * 200]),
    (Sized(STRING, VARINT, nullable=True), [None, "", "x" * 40_000, "é", "\U0010ffff", "ab€"]),
    (Array(INT8, VARINT, nullable=True), [None, [], [1, -2, 3]]),
    (Array(INT8, None, nullable=False), [[], [1, 2, 3]]),
    (Array(Sized(STRING, INT32, nullable=True), INT32, nullable=False), [[None, "a"], []]),
    (Array(Array(INT8, INT32, nullable=True), INT32, nullable=False), [[[1], None, []]]),
    (Array(Varint(64, zigzag=True), None, nullable=False), [[1, -1, 1 << 40], []]),
    (Nested(sized(Varint(32, zigzag=True))), [{"number": 5}]),
    (Nested(sized(Varint(32, zigzag=True), Sized(BYTES, INT32, nullable=False))), [{"number": b"x" * 300}]),
    (Nested(sized(Fixed(WIRE_TYPES["int32"])), "int8"), [{"number": 5}, None]),
    (Array(Nested(inner(), "int8"), INT32, nullable=False), [[{"number": 5}, None]]),
    (Array(Nested(inner(), "uvarint"), None, nullable=False), [[{"number": 5}, None], []]),
    (
        Nested(tagged(TaggedSection, Sized(STRING, VARINT, nullable=True), "d")),
        with_tags(("d", None, "x"), ({}, {1: b"", 7: b"z"})),
    ),
    (
        Nested(tagged(OptionalBuffer, UINT64, 7, length=UVARINT, counts_tag=True)),
        with_tags((7, 2**64 - 1), ({}, {1: b"y", 9: b"z"})),
    ),
    (Nested(tagged(OptionalBuffer, NUMBERS, (), length=VARINT)), with_tags(([], [1]), ({},))),
    # Records are null by default, even if they are not nullable.
    (Nested(tagged(TaggedSection, Nested(RECORDS), DEFAULT_STRUCT)), with_tags(({"raw": None}, {"raw": b"x"}), ({},))),
]


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: sorted(each.items()) if name == "unknown_tags" else plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple) else value


def variants(data: bytes) -> list[bytes]:
    found = [data, *(data[:end] for end in range(min(len(data), 40)))]
    for index in range(min(len(data), 14)):
        for byte in (0, 1, 2, 0x7F, 0x80, 0xBF, 0xE0, 0xED, 0xF4, 0xFE, 0xFF):
            found += [data[:index] + bytes([byte]) + data[index + 1 :], data[:index] + bytes([byte]) + data[index:]]
    return found


def verdict(layout: Layout, data: bytes) -> Any:
    try:
        value, _ = decode(layout, data, whole=True, strict=True, limits=ANY)
    except tagwire.DecodeError as error:
        return error.path, error.offset
    struct = value["value"]
    if isinstance(struct, dict) and "extra" in struct:
        struct.setdefault("unknown_tags", {})  # the interpreter omits an empty dict
    return plain(value)


@native
@pytest.mark.parametrize(("type", "values"), TYPES, ids=lambda each: str(each)[:40])
def test_layouts_by_hand(type: Type, values: list[Any]) -> None:
    module = import_module("tagwire._columns")
    layout = Layout("outer", None, StructLayout("outer", (Item("value", type),)))
    value = message_column("value", [layout.root], ColumnSelection(None))
    root = with_error(value)
    decoder = module.Decoder(value, root, value, {0: layout}, "outer", None, module.Spares(0))
    rows = [each for good in values for each in variants(encode(layout, {"value": good}))]
    columns = pa.array(decoder.decode(pa.array(rows, pa.binary()), None, "column", True, ANY))
    columns.validate(full=True)
    for row, found in zip(rows, columns.to_pylist(), strict=True):
        error = found["error"]
        seen = (error["path"], error["offset"]) if error else found["value"]
        # Compare strings, because NaN is not equal to itself.
        assert pformat(verdict(layout, row)) == pformat(seen), row.hex()
    target = Column("", "z", nullable=True)
    encoder = module.Encoder(value, target, target, {0: layout}, "outer", None, module.Spares(0))
    good = decoder.decode(pa.array([encode(layout, {"value": each}) for each in values]), None, "raise", True, ANY)
    encoded = pa.array(encoder.encode(pa.array(good).field("value"), None, "raise"))
    assert encoded.to_pylist() == [encode(layout, {"value": each}) for each in values]


ALL = Versions.parse("0+")


class ManyTags(tagwire.Message):
    """A message with 65 tagged fields. C code marks the fields it has seen in an integer, which has only 64 bits."""

    __slots__ = (*(f"field_{number}" for number in range(65)), "unknown_tags")
    NAME = "ManyTags"
    VERSIONS = Versions(0, 0)
    FLEXIBLE_VERSIONS = Versions(0, 0)
    FIELDS = tuple(
        FieldRow(f"field_{number}", f"Field{number}", "int32", ALL, default=0, tag=number, tagged=ALL)
        for number in range(65)
    )

    def __init__(self, *, unknown_tags: Any = NO_TAGS, **fields: int) -> None:
        self.unknown_tags = unknown_tags
        for number in range(65):
            setattr(self, f"field_{number}", fields.get(f"field_{number}", 0))


@native
def test_layouts_that_native_columns_do_not_support(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWIRE_ENGINE", "native")
    rows = [ManyTags(field_3=7, field_64=-1).encode(0), None, ManyTags().encode(0)]
    decoded = arrow.decode_column(pa.array(rows), ManyTags, 0)
    assert isinstance(decoded, pa.StructArray)
    found = decoded.to_pylist()
    assert (found[0]["field_3"], found[0]["field_64"], found[1], found[2]["field_3"]) == (7, -1, None, 0)
    assert arrow.encode_column(decoded, ManyTags, 0).to_pylist() == rows
