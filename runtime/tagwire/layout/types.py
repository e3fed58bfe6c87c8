"""The layout types of strings, bytes, arrays and structs. All other layout types are in `parts`."""

from __future__ import annotations

from tagwire.errors import SchemaError
from tagwire.layout.parts import (
    COMPACT,
    INT16,
    INT32,
    Checksum,
    Count,
    Extent,
    Fixed,
    FrozenData,
    LengthCode,
    NullableFixed,
    Order,
    Varint,
)
from tagwire.wire.types import WireType
from tagwire.wire.varint import UVARINT_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tagwire.layout.structs import StructLayout


class Sized(FrozenData):
    """A string or bytes: a length, then the bytes. If `length` is None, they extend to the end of the data."""

    __slots__ = ("length", "longest", "nullable", "wire")

    def __init__(self, wire: WireType, length: LengthCode | None, *, nullable: bool) -> None:
        self.wire = wire
        self.length = length
        self.nullable = nullable
        self.longest = wire.longest if length and length.name in (COMPACT.name, wire.length) else UVARINT_MAX
        """The maximum length: Kafka limits the strings of messages, but not those of records."""

    def given(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in super().given() if name != "longest"]

    @property
    def minimum(self) -> int:
        return self.length.width if self.length else 0

    def __str__(self) -> str:
        return _sized_name(self, self.wire.name)


class Array(FrozenData):
    """An array: a count, then the elements.

    If `length` is None, the item named `counted_by` has the count (see `Count`). If `counted_by` is also empty, the
    elements extend to the end of the data. If `order` is set, the elements must ascend. If `filled` is true, there
    must be at least one element. `unique` names the fields of the elements' unique key.
    """

    __slots__ = ("counted_by", "element", "filled", "length", "nullable", "order", "unique")

    def __init__(
        self,
        element: Type,
        length: LengthCode | None,
        *,
        nullable: bool,
        counted_by: str = "",
        order: Order | None = None,
        filled: bool = False,
        unique: tuple[str, ...] = (),
    ) -> None:
        if element.minimum < 1:
            raise SchemaError(
                f"array elements of type {element} can be encoded in 0 bytes, so a short input could declare any "
                "number of elements; add a field to the element type"
            )
        self.element = element
        self.length = length
        self.nullable = nullable
        self.counted_by = counted_by
        self.order = order
        self.filled = filled
        self.unique = unique

    def given(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in super().given() if name != "unique" or value]

    @property
    def minimum(self) -> int:
        return self.length.width if self.length else 0

    def __str__(self) -> str:
        element = str(self.element)
        if isinstance(self.element, Sized) and self.element.length == self.length and self.length is not None:
            element = element.removeprefix(f"{self.length.name} ")
        return _sized_name(self, f"[]{element}")


class Nested(FrozenData):
    """A struct. If it is nullable, a marker precedes it: an int8 or, in a tagged field, a uvarint.

    The marker is 1 before a struct. For null, an int8 marker is -1, and a uvarint marker is 0.
    """

    __slots__ = ("marker", "struct")

    def __init__(self, struct: StructLayout, marker: str = "") -> None:
        if marker not in ("", "int8", "uvarint"):
            raise SchemaError(f"null marker: expected 'int8' or 'uvarint', got {marker!r}")
        self.struct = struct
        self.marker = marker

    @property
    def nullable(self) -> bool:
        return bool(self.marker)

    @property
    def minimum(self) -> int:
        return 1 if self.marker else self.struct.minimum

    def __str__(self) -> str:
        return f"nullable {self.struct.name}" if self.marker else self.struct.name


def primitive(
    wire: WireType, *, compact: bool = False, nullable: bool, is_tagged: bool = False
) -> Fixed | NullableFixed | Sized:
    """Return the layout type of a message field whose values have this wire type."""
    if wire.is_fixed:
        return NullableFixed(wire, "" if is_tagged else "int8") if nullable else Fixed(wire)
    return Sized(wire, COMPACT if compact else INT16 if wire.length == INT16.name else INT32, nullable=nullable)


Framing = Extent | Count | Checksum
"""The types of lengths, counts and checksums. A writer computes their values from the items after them."""

Type = Fixed | NullableFixed | Varint | Sized | Array | Nested | Framing


def _sized_name(sized: Sized | Array, name: str) -> str:
    words = ["nullable"] if sized.nullable else []
    if sized.length is not None and sized.length not in (INT16, INT32):
        words.append(sized.length.name)
    return " ".join([*words, name])


def innermost(type: Type) -> Type:
    """Return the element type of an array, or of the innermost of nested arrays. Other types are returned unchanged."""
    while isinstance(type, Array):
        type = type.element
    return type


def nested_struct(type: Type) -> StructLayout | None:
    """Return the struct of a `Nested` type or of an array's innermost elements, or None for all other types."""
    inner = innermost(type)
    return inner.struct if isinstance(inner, Nested) else None
