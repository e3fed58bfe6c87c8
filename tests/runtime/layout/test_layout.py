from collections.abc import Iterator
from typing import Any

import pytest
from sample_messages.poll import PollRequest, PollTopic, Rack

from tagwire.errors import SchemaError, UnsupportedVersionError
from tagwire.layout import (
    COMPACT,
    DEFAULT_STRUCT,
    INT16,
    INT32,
    VARINT,
    Array,
    Bits,
    Extent,
    Fixed,
    Item,
    Layout,
    Nested,
    OptionalBuffer,
    Sized,
    StructLayout,
    TaggedSection,
    Varint,
)
from tagwire.layout.parts import FrozenData, bit_names
from tagwire.message.field_table import FieldRow, OptionalFields, layout_of
from tagwire.records import format_of
from tagwire.versions import Versions
from tagwire.wire.types import WIRE_TYPES

INT = Fixed(WIRE_TYPES["int32"])
TEXT = Sized(WIRE_TYPES["string"], COMPACT, nullable=True)
EMPTY = StructLayout("Empty", ())


@pytest.mark.parametrize(
    ("type", "text", "minimum"),
    [
        (INT, "int32", 4),
        (Fixed(WIRE_TYPES["uuid"]), "uuid", 16),
        (TEXT, "nullable compact string", 1),
        (Sized(WIRE_TYPES["string"], INT16, nullable=False), "string", 2),
        (Sized(WIRE_TYPES["records"], INT32, nullable=True), "nullable records", 4),
        (Sized(WIRE_TYPES["bytes"], VARINT, nullable=False), "varint bytes", 1),
        (Array(INT, COMPACT, nullable=True), "nullable compact []int32", 1),
        (Array(INT, None, nullable=False), "[]int32", 0),
        (Varint(32, zigzag=True), "varint", 1),
        (Varint(64, zigzag=True), "varlong", 1),
        (Varint(32, zigzag=False), "uvarint", 1),
        (Varint(64, zigzag=False), "uvarlong", 1),
        (Nested(EMPTY), "Empty", 0),
        (Nested(EMPTY, "int8"), "nullable Empty", 1),
    ],
)
def test_types_name_themselves(type: Any, text: str, minimum: int) -> None:
    assert (str(type), type.minimum) == (text, minimum)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Array(Nested(EMPTY), INT32, nullable=False), "array elements of type Empty can be encoded in 0 bytes"),
        (lambda: Nested(EMPTY, "int16"), "null marker: expected 'int8' or 'uvarint', got 'int16'"),
        (
            lambda: OptionalBuffer((), INT32),
            "length of an optional buffer: expected type 'varint' or 'uvarint', got 'int32'",
        ),
        (lambda: TaggedSection((Item("a", INT),)), "a: expected a tag (0 to 2147483647), got None"),
        (lambda: TaggedSection((Item("a", INT, tag=-1),)), "a: expected a tag (0 to 2147483647), got -1"),
        (lambda: OptionalBuffer((Item("a", INT, tag=65536),)), "a: expected a tag (0 to 65535), got 65536"),
        (lambda: TaggedSection((Item("a", INT, tag=3), Item("b", INT, tag=3))), "a and b both have tag 3"),
        (lambda: StructLayout("S", (Item("a", INT), Item("a", INT))), "S has two fields named a"),
        (
            lambda: StructLayout("S", (Item("a", INT),), section=TaggedSection((Item("a", INT, tag=0),))),
            "S has two fields named a",
        ),
        (
            lambda: OptionalFields(Versions(0, 1), length_varint="signed"),
            "length_varint: expected 'zigzag' or 'unsigned', got 'signed'",
        ),
    ],
)
def test_contradictions_are_rejected(make: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        make()
    assert message in str(caught.value)


def test_tagged_fields_are_in_tag_order() -> None:
    section = TaggedSection((Item("b", INT, tag=7), Item("a", INT, tag=2)))
    assert [item.name for item in section.fields] == ["a", "b"]


def test_minimum_and_depth_of_structs() -> None:
    inner = StructLayout("Inner", (Item("a", INT),), section=TaggedSection())
    outer = StructLayout(
        "Outer",
        (Item("size", Extent(Varint(32, zigzag=False))), Item("x", Array(Nested(inner), INT32, nullable=False))),
    )
    assert (inner.minimum, inner.depth) == (5, 1)
    assert (outer.minimum, outer.depth) == (5, 2)


def test_defaults() -> None:
    struct = StructLayout("Outer", (Item("x", INT, default=3), Item("y", Nested(EMPTY), default=DEFAULT_STRUCT)))
    one, other = struct.default_value(), struct.default_value()
    assert one == {"x": 3, "y": {}} and one["y"] is not other["y"]


def test_layouts_are_plain_data() -> None:
    assert Array(INT, COMPACT, nullable=True) == Array(Fixed(WIRE_TYPES["int32"]), COMPACT, nullable=True) != INT
    assert hash(Varint(32, zigzag=True)) == hash(Varint(32, zigzag=True))
    assert repr(Varint(32, zigzag=True)) == "Varint(bits=32, zigzag=True)"
    assert repr(Bits("a", 1)) == "Bits(name='a', mask=1)"
    assert repr(Bits("a", 2, ("no", "yes"))) == "Bits(name='a', mask=2, values=('no', 'yes'))"
    assert repr(EMPTY) == "StructLayout(name='Empty', items=(), section=None, missing=(), cls=None)"
    assert str(Layout("A", 3, EMPTY)) == "A v3" and str(Layout("A", None, EMPTY)) == "A"


def parts(value: Any) -> Iterator[FrozenData]:
    if isinstance(value, FrozenData):
        yield value
        for _, part in value.given():
            yield from parts(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from parts(part)


@pytest.mark.parametrize(
    "layout",
    [
        *(layout_of(PollRequest, version) for version in range(4)),
        *(format_of(name).layout for name in ("v1", "v2", "v3", "kip82-int+kip87")),
    ],
    ids=str,
)
def test_parts_of_a_layout_equal_their_copies(layout: Layout) -> None:
    for part in parts(layout):
        assert part.replace() == part and repr(part.replace()) == repr(part)
        for name, value in part.given():
            assert part.replace(**{name: value}) == part, name
    assert layout.root.replace(name="Other").name == "Other"
    assert layout.root.replace(name="Other") != layout.root


def test_which_structs_may_be_null() -> None:
    assert [Nested(EMPTY, marker).nullable for marker in ("", "int8", "uvarint")] == [False, True, True]


ATTRIBUTES = (
    Bits("compression", 0b111, ("none", "gzip", "snappy")),
    Bits("is_transactional", 0b10000),
    Bits("has_headers", 0b100000),
    Bits("level", 0b11000000),
)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0b00000000, []),
        (0b00000001, ["compression gzip"]),
        (0b00000010, ["compression snappy"]),
        (0b00000111, ["compression 7"]),  # an unknown codec
        (0b00010000, ["transactional"]),
        (0b00110001, ["compression gzip", "transactional", "has headers"]),
        (0b10000000, ["level 2"]),
        (0b11001000, ["level 3"]),  # bit 3 is unused
    ],
)
def test_names_of_bits(number: int, words: list[str]) -> None:
    assert bit_names(ATTRIBUTES, number) == words


@pytest.mark.parametrize(
    ("number", "value", "expected"),
    [(0, 3, 0b11000000), (0b11111111, 1, 0b01111111), (0b01, 2, 0b10000001), (0, 5, 0b01000000)],
)
def test_a_group_of_bits_is_changed_alone(number: int, value: int, expected: int) -> None:
    assert ATTRIBUTES[3].put(number, value) == expected
    assert ATTRIBUTES[3].of(expected) == value & 3


def described(struct: StructLayout) -> list[str]:
    tagged = struct.section.fields if struct.section else ()
    return [f"{item.name}: {item.type}" for item in struct.items] + [
        f"{item.tag} {item.name}: {item.type}" for item in tagged
    ]


def test_each_version_has_its_own_layout() -> None:
    expected = ["topics: []PollTopic", "urgent: bool", "ratio: float64", "port: uint16", "payload: bytes"]
    assert described(layout_of(PollRequest, 0).root) == expected
    expected = ["topics: nullable []PollTopic", "urgent: bool", "ratio: float64", "max_wait_ms: int32", "quota: int64"]
    assert described(layout_of(PollRequest, 1).root)[:5] == expected
    assert described(layout_of(PollRequest, 2).root) == [
        "topics: nullable compact []PollTopic",
        "urgent: bool",
        "ratio: float64",
        "max_wait_ms: int32",
        "quota: int64",
        "payload: nullable compact bytes",
        "snapshot: nullable compact records",
        "cursor: nullable Rack",
        "0 reason: nullable compact string",
        "1 rack: Rack",
    ]
    assert described(layout_of(PollRequest, 3).root)[-1] == "2 weight: float64"


def test_markers_and_classes() -> None:
    by_name = {item.name: item.type for item in layout_of(PollRequest, 2).root.fields}
    cursor, topics = by_name["cursor"], by_name["topics"]
    assert isinstance(cursor, Nested) and cursor.marker == "int8" and cursor.struct.cls is Rack
    assert isinstance(topics, Array) and isinstance(topics.element, Nested)
    assert topics.element.struct.cls is PollTopic and isinstance(topics.element.struct.section, TaggedSection)


def test_fields_missing_from_a_version_are_listed() -> None:
    missing = {field.name: (field.default_value(), field.ignorable) for field in layout_of(PollRequest, 0).root.missing}
    assert missing == {
        "max_wait_ms": (500, True),
        "quota": (0, False),
        "snapshot": (None, False),
        "cursor": (None, False),
        "reason": (None, True),
        "rack": (Rack(), False),
        "weight": (1.0, False),
    }


def test_layouts_are_made_once_and_only_for_valid_versions() -> None:
    assert layout_of(PollRequest, 1) is layout_of(PollRequest, 1)
    with pytest.raises(UnsupportedVersionError, match="PollRequest has no version 4; supported versions are 0-3"):
        layout_of(PollRequest, 4)


@pytest.mark.parametrize(
    ("spec_name", "json_name"), [("ThrottleTimeMs", "throttleTimeMs"), ("ISR", "iSR"), ("name", "name")]
)
def test_json_names(spec_name: str, json_name: str) -> None:
    assert FieldRow("x", spec_name, "int8", "0+", default=0).json_name == json_name
