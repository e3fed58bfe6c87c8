"""The primitive wire types: one table, one row for each.

Everything that must know a primitive (layouts, serializers, tracer, JSON, the
generator's annotations and default rules) asks its row here, so that a new
type is one new row. Sources: the table of Kafka's protocol guide for the fixed
types, KIP-482 for the unsigned varint lengths.

A row's `family` says how a value is handled in Python:

    integer   int, range checked
    boolean   bool, one byte 0 or 1
    floating  float, IEEE-754
    uuid      uuid.UUID, 16 bytes, most significant first
    text      str, UTF-8 with a length before it
    binary    bytes with a length before them
"""

from __future__ import annotations

# Known to type checkers by its name. `typing` takes longer to import than all of this package's core.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    Family = Literal["integer", "boolean", "floating", "uuid", "text", "binary"]

__all__ = ["RECORD_TYPES", "STRING_MAX", "WIRE_TYPES", "WireType"]

STRING_MAX: Final = 32767
"""The longest string in UTF-8 bytes, compact or not."""


class WireType:
    """A primitive: its name in specs, its `struct` code and width in bytes, its values."""

    __slots__ = ("annotation", "code", "family", "high", "low", "name", "width")

    def __init__(
        self, name: str, family: Family, annotation: str, code: str = "", width: int = 0, low: int = 0, high: int = 0
    ) -> None:
        self.name = name
        self.family: Family = family
        self.annotation = annotation
        """The Python type, as generated code writes it."""
        self.code = code
        """The `struct` code, big-endian; "" for types with a length."""
        self.width = width
        """Bytes on the wire; 0 for types with a length."""
        self.low = low
        self.high = high

    @property
    def is_fixed(self) -> bool:
        """Whether every value takes `width` bytes."""
        return self.width > 0

    def __repr__(self) -> str:
        return f"<wire type {self.name}>"


def _integer(name: str, code: str, width: int, *, signed: bool) -> WireType:
    bits = 8 * width
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return WireType(name, "integer", "int", code, width, low, high)


WIRE_TYPES: Final[dict[str, WireType]] = {
    row.name: row
    for row in (
        WireType("bool", "boolean", "bool", "B", 1),
        _integer("int8", "b", 1, signed=True),
        _integer("int16", "h", 2, signed=True),
        _integer("uint16", "H", 2, signed=False),
        _integer("int32", "i", 4, signed=True),
        _integer("uint32", "I", 4, signed=False),
        _integer("int64", "q", 8, signed=True),
        WireType("float64", "floating", "float", "d", 8),
        WireType("uuid", "uuid", "UUID", "16s", 16),
        WireType("string", "text", "str"),
        WireType("bytes", "binary", "bytes"),
        WireType("records", "binary", "bytes"),
    )
}

RECORD_TYPES: Final[dict[str, WireType]] = {
    row.name: row
    for row in (
        WireType("varint", "integer", "int", low=-(1 << 31), high=(1 << 31) - 1),
        WireType("varlong", "integer", "int", low=-(1 << 63), high=(1 << 63) - 1),
        WireType("uvarint", "integer", "int", high=(1 << 32) - 1),
        WireType("uvarlong", "integer", "int", high=(1 << 64) - 1),
        WireType("crc32", "integer", "int", high=(1 << 32) - 1),
        WireType("crc32c", "integer", "int", high=(1 << 32) - 1),
    )
}
"""What only record formats have: integers of variable width, and checksums; layouts say how they are written."""
