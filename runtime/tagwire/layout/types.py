"""The types of items that have a length of their own or hold other types; those without either are in `parts`."""

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
    """Text or bytes with a length before them, or, where `length` is None, to the end of the enclosing extent."""

    __slots__ = ("length", "longest", "nullable", "wire")

    def __init__(self, wire: WireType, length: LengthCode | None, *, nullable: bool) -> None:
        self.wire = wire
        self.length = length
        self.nullable = nullable
        self.longest = wire.longest if length and length.name in (COMPACT.name, wire.length) else UVARINT_MAX
        """The most bytes that it may have: Kafka bounds the strings of messages, but not those of records."""

    def given(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in super().given() if name != "longest"]

    @property
    def minimum(self) -> int:
        return self.length.width if self.length else 0

    def __str__(self) -> str:
        return _text(self, self.wire.name)


class Array(FrozenData):
    """Elements with a count before them.

    Where `length` is None, there are as many as the item `counted_by` says
    (see `Count`), and without that, as many as fill the enclosing extent.
    `order` says that they ascend; with `filled` there is at least one. `unique`
    names the fields that together are different in each element.
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
                f"an element of {element} may take no byte at all, so that its count can't be held against the input; "
                "give it a field"
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
            element = element.removeprefix(f"{self.length.name} ")  # said once is enough
        return _text(self, f"[]{element}")


class Nested(FrozenData):
    """A struct; where it may be null, a marker stands before it.

    The marker is an int8 of -1 or 1, and in a tagged field an unsigned varint
    of 0 or 1.
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
    """How a value of a wire type stands in a message."""
    if wire.is_fixed:
        return NullableFixed(wire, "" if is_tagged else "int8") if nullable else Fixed(wire)
    return Sized(wire, COMPACT if compact else INT16 if wire.length == INT16.name else INT32, nullable=nullable)


Framing = Extent | Count | Checksum
"""What a writer works out from what follows."""

Type = Fixed | NullableFixed | Varint | Sized | Array | Nested | Framing


def _text(sized: Sized | Array, name: str) -> str:
    words = ["nullable"] if sized.nullable else []
    if sized.length is not None and sized.length not in (INT16, INT32):
        words.append(sized.length.name)
    return " ".join([*words, name])


def innermost(type: Type) -> Type:
    """What is in an array, or in arrays of arrays; of other types, itself."""
    while isinstance(type, Array):
        type = type.element
    return type


def nested_struct(type: Type) -> StructLayout | None:
    """The struct that a type holds, one or many."""
    inner = innermost(type)
    return inner.struct if isinstance(inner, Nested) else None
