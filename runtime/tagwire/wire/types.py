"""The table of primitive wire types.

To add a type, add a row. Each row is an instance of a class in `tagwire.wire.families`. Sources: Kafka's protocol
guide, and KIP-482 for the unsigned varint lengths.
"""

from __future__ import annotations

from tagwire.wire.families import (
    STRING_MAX,
    BinaryType,
    BooleanType,
    FloatingType,
    IntegerType,
    TextType,
    UuidType,
)
from tagwire.wire.wire_type import WireType

# False at run time, but type checkers treat this name as true. Importing `typing.TYPE_CHECKING` would be slow.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

__all__ = ["KAFKA_TYPES", "RECORD_TYPES", "STRING_MAX", "WIRE_TYPES", "IntegerType", "WireType", "wire_type"]


def _integer(name: str, code: str, width: int, *, signed: bool) -> WireType:
    bits = 8 * width
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return IntegerType(name, code, width, low, high)


class _WireTypes(dict[str, WireType]):
    """The wire types by name. Types with an argument, such as bytes[16], are created on first lookup."""

    def __missing__(self, name: str) -> WireType:
        found = wire_type(name)
        if found is None:
            raise KeyError(name)
        return found


WIRE_TYPES: Final[dict[str, WireType]] = _WireTypes(
    (row.name, row)
    for row in (
        BooleanType("bool", "B", 1),
        _integer("int8", "b", 1, signed=True),
        _integer("uint8", "B", 1, signed=False),
        _integer("int16", "h", 2, signed=True),
        _integer("uint16", "H", 2, signed=False),
        _integer("int32", "i", 4, signed=True),
        _integer("uint32", "I", 4, signed=False),
        _integer("int64", "q", 8, signed=True),
        _integer("uint64", "Q", 8, signed=False),
        FloatingType("float32", "f", 4),
        FloatingType("float64", "d", 8),
        UuidType("uuid", "16s", 16),
        TextType("string"),
        BinaryType("bytes"),
        BinaryType("records"),
    )
)

_with_arguments: Final[dict[tuple[str, str], WireType]] = {}


def wire_type(name: str, semantic: str = "") -> WireType | None:
    """Return the wire type for a spec's `type` and `semantic`, or None if no such type exists. Results are cached."""
    row = WIRE_TYPES.get(name)
    if row is not None and not semantic:
        return row
    if row is None and not name.startswith("bytes["):
        return None
    found = _with_arguments.get((name, semantic))
    if found is None:
        from tagwire.wire.extensions import with_arguments

        base = with_arguments(name, row, "") if row is None and not semantic else row or wire_type(name)
        created = with_arguments(name, base, semantic)
        if created is None:
            return None
        found = _with_arguments.setdefault((name, semantic), created)
    return found


KAFKA_TYPES: Final = frozenset(
    ["bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "uuid", "string", "bytes", "records"]
)
"""The types that Kafka's own specs may use; every other type is an extension of the tagwire dialect."""

RECORD_TYPES: Final[dict[str, WireType]] = {
    row.name: row
    for row in (
        IntegerType("varint", low=-(1 << 31), high=(1 << 31) - 1),
        IntegerType("varlong", low=-(1 << 63), high=(1 << 63) - 1),
        IntegerType("uvarint", high=(1 << 32) - 1),
        IntegerType("uvarlong", high=(1 << 64) - 1),
        IntegerType("crc32", high=(1 << 32) - 1),
        IntegerType("crc32c", high=(1 << 32) - 1),
    )
}
"""Types for record formats only: variable-width integers and checksums. A layout says how each is encoded."""
