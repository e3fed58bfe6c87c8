from typing import Any

import pytest

from tagwire.errors import SchemaError
from tagwire.layout import (
    DEFAULT_STRUCT,
    INT32,
    Array,
    Extent,
    Fixed,
    Item,
    Nested,
    OptionalBuffer,
    StructLayout,
    TaggedSection,
    Varint,
)
from tagwire.message.field_table import OptionalFields
from tagwire.versions import Versions
from tagwire.wire.types import WIRE_TYPES

INT = Fixed(WIRE_TYPES["int32"])
EMPTY = StructLayout("Empty", ())


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
