"""The layout types of strings, bytes, arrays and structs. All other layout types are in `parts`."""

from __future__ import annotations

from functools import cache, cached_property

from tagwire.errors import SchemaError
from tagwire.layout.parts import (
    COMPACT,
    INT16,
    INT32,
    Checksum,
    Count,
    Extent,
    Fixed,
    LengthCode,
    NullableFixed,
    Order,
    Varint,
)
from tagwire.lazy import FrozenData
from tagwire.wire.types import WireType
from tagwire.wire.varint import UVARINT_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY

    from tagwire.layout.structs import StructLayout


class Sized(FrozenData):
    """A string or bytes: a length, then the bytes. If `length` is None, they extend to the end of the data."""

    wire: WireType
    length: LengthCode | None
    _: KW_ONLY
    nullable: bool

    @cached_property
    def longest(self) -> int:
        """The maximum length: Kafka limits the strings of messages, but not those of records."""
        is_limited = self.length and self.length.name in (COMPACT.name, self.wire.length)
        return self.wire.longest if is_limited else UVARINT_MAX

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

    element: Type
    length: LengthCode | None
    _: KW_ONLY
    nullable: bool
    counted_by: str = ""
    order: Order | None = None
    filled: bool = False
    unique: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.element.minimum < 1:
            raise SchemaError(
                f"array elements of type {self.element} can be encoded in 0 bytes, so a short input could declare any "
                "number of elements; add a field to the element type"
            )

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

    struct: StructLayout
    marker: str = ""

    def __post_init__(self) -> None:
        if self.marker not in ("", "int8", "uvarint"):
            raise SchemaError(f"null marker: expected 'int8' or 'uvarint', got {self.marker!r}")

    @property
    def nullable(self) -> bool:
        return bool(self.marker)

    @property
    def minimum(self) -> int:
        return 1 if self.marker else self.struct.minimum

    def __str__(self) -> str:
        return f"nullable {self.struct.name}" if self.marker else self.struct.name


@cache
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
