"""Layouts: plain data that describes one version of a message, or a record format, in wire order.

A layout applies to a single version, so it has no version ranges. You can write layouts by hand; generated classes
derive theirs from field tables with versions (`tagwire.message.field_table`).

    structs    structs with their items and tag sections
    types      the types of strings, bytes, arrays and structs
    parts      all other types, and the parts that only record formats use
"""

from tagwire.layout.parts import (
    COMPACT,
    INT16,
    INT32,
    UVARINT,
    VARINT,
    Bits,
    Checksum,
    Compression,
    Condition,
    Count,
    Extent,
    Fixed,
    LengthCode,
    NullableFixed,
    Order,
    Union,
    Varint,
)
from tagwire.layout.structs import (
    DEFAULT_STRUCT,
    Item,
    Layout,
    Missing,
    OptionalBuffer,
    StructLayout,
    TaggedSection,
    fresh,
)
from tagwire.layout.types import Array, Framing, Nested, Sized, Type, innermost, nested_struct, primitive

__all__ = [
    "COMPACT",
    "DEFAULT_STRUCT",
    "INT16",
    "INT32",
    "UVARINT",
    "VARINT",
    "Array",
    "Bits",
    "Checksum",
    "Compression",
    "Condition",
    "Count",
    "Extent",
    "Fixed",
    "Framing",
    "Item",
    "Layout",
    "LengthCode",
    "Missing",
    "Nested",
    "NullableFixed",
    "OptionalBuffer",
    "Order",
    "Sized",
    "StructLayout",
    "TaggedSection",
    "Type",
    "Union",
    "Varint",
    "fresh",
    "innermost",
    "nested_struct",
    "primitive",
]
