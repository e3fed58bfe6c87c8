"""Record formats: their base class, and the lengths, counts and checksums of their fields (`Framing`).

Each format is a class with a single layout. Programs don't use these classes: `tagwire.records` finds formats by name.
Encoding and decoding use the native engine if it supports the layout, otherwise the interpreter.
"""

from __future__ import annotations

from tagwire.errors import SchemaError
from tagwire.layout import (
    INT16,
    INT32,
    UVARINT,
    VARINT,
    Array,
    Bits,
    Checksum,
    Compression,
    Condition,
    Count,
    Extent,
    Fixed,
    Item,
    LengthCode,
    Nested,
    Order,
    Sized,
    Type,
    Varint,
)
from tagwire.lazy import FrozenData
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.declarations import field
from tagwire.message.field_table import layout_of_format
from tagwire.message.struct_class import Struct
from tagwire.wire.types import WIRE_TYPES
from tagwire.wire.unknown_tags import NO_TAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import KW_ONLY
    from typing import Any, ClassVar, Final, TypeVar

    from tagwire._engine import Plan
    from tagwire.layout import Layout, StructLayout
    from tagwire.message.field_table import FieldRow

    F = TypeVar("F", bound="RecordFormat")
else:
    from tagwire.lazy import ClassVar

VARINTS: Final = {
    "varint": Varint(32, zigzag=True),
    "varlong": Varint(64, zigzag=True),
    "uvarint": Varint(32, zigzag=False),
    "uvarlong": Varint(64, zigzag=False),
}
"""The integer types of variable width, by their names in specs."""

CHECKSUMS: Final = ("crc32", "crc32c")
"""The types of computed fields that contain a checksum."""

LENGTHS: Final[dict[str, LengthCode | None]] = {
    "int16": INT16,
    "int32": INT32,
    "varint": VARINT,
    "uvarint": UVARINT,
    "rest": None,
}
"""The types of length prefixes, by name.

`rest` means that there is no prefix, and that the value consists of all remaining bytes.
"""


class Framing(FrozenData):
    """Describes how a field of a record format is written.

    Arguments that refer to another field contain its attribute name; "" means none.

    - `length` and `count`: the type of the length or count before the value (a key of `LENGTHS`).
    - `length_of`: the field whose length in bytes this field contains; "rest" means all later fields.
    - `count_of`: the array whose number of elements this field contains.
    - `covers`: the first field that this checksum covers; it also covers all later fields.
    - `compression`: the field that selects the codec, and the name of the bit group in that field.
    """

    _: KW_ONLY
    length: str = ""
    count: str = ""
    length_of: str = ""
    counts_itself: bool = False
    extent: str = ""
    count_of: str = ""
    counted_by: str = ""
    covers: str = ""
    bits: tuple[Bits, ...] = ()
    when: Condition | None = None
    relative_to: str = ""
    compression: Compression | None = None
    equals: int | None = None
    rewritten: bool = False
    ascending: Order | None = None
    filled: bool = False
    signed: bool = False


class FormatStruct(Struct):
    """A struct in a record format. It has no unknown tags."""

    __slots__ = ()

    HAS_TAGS: ClassVar[bool] = False
    if TYPE_CHECKING:
        unknown_tags: Mapping[int, bytes] = field("", "", "", default=NO_TAGS, init=False)


class RecordFormat(FormatStruct):
    """The base class of record formats. An object is a decoded batch (v2, v3) or message-set entry (v0, v1).

    Lengths, counts and checksums are not stored: decoding verifies them, and encoding computes them.
    """

    __slots__ = ()

    NAME: ClassVar[str]
    """The format's name in its spec."""
    KIND: ClassVar[str] = "format"
    FORMAT: ClassVar[str]
    """The short name of the format, such as `v2`."""
    DISCRIMINATOR: ClassVar[str] = ""
    """The attribute whose value identifies this format, usually the magic byte, or "" if there is no such attribute."""

    if TYPE_CHECKING:
        _layout: ClassVar[Layout]
        _plan: ClassVar[Plan | None]

    @classmethod
    def layout(cls) -> Layout:
        """Return the format's layout. The layout's version is None."""
        return layout_of_format(cls)

    @classmethod
    def decode(cls: type[F], data: Any, *, strict: bool = True, limits: Limits = DEFAULT_LIMITS) -> F:
        """Decode and decompress `data` (any bytes-like object), which must contain exactly one batch or message.

        Raises DecodeError for invalid data, and LimitError if `data` exceeds `limits`.
        """
        from tagwire.interpreter.reader import decode
        from tagwire.wire.buffers import as_bytes

        plan = cls._native_plan()
        if plan is not None:
            result: F = plan.decode(data, strict=strict, limits=limits)
            return result
        value, _ = decode(cls.layout(), as_bytes(data), whole=True, strict=strict, limits=limits)
        found: F = value
        return found

    def encode(self) -> bytes:
        """Encode, computing all lengths, counts and checksums. Raises EncodeError for an invalid value."""
        from tagwire.interpreter.writer import encode

        plan = self._native_plan()
        return encode(self.layout(), self) if plan is None else plan.encode(self)

    def encoded_size(self) -> int:
        """Return the number of bytes that `encode` would return. Raises the same errors as `encode`."""
        from tagwire.interpreter.writer import encoded_size

        plan = self._native_plan()
        return encoded_size(self.layout(), self) if plan is None else plan.encoded_size(self)

    @classmethod
    def _native_plan(cls) -> Plan | None:
        if "_plan" not in cls.__dict__:
            from tagwire.message.engines import native_plan

            cls._plan = native_plan(cls.layout())
        return cls._plan


def record_item(row: FieldRow, framing: Framing, struct: StructLayout | None) -> Item:
    """Convert a row of a field table to a layout item. `struct` is the layout of the field's struct, if any.

    Raises SchemaError for an unknown type.
    """
    return Item(
        row.name,
        _type(row, framing, struct),
        json_name=row.json_name,
        default=row.default,
        condition=framing.when,
        extent=framing.extent,
        equals=framing.equals,
        bits=framing.bits,
        relative_to=framing.relative_to,
        compression=framing.compression,
        rewritten=framing.rewritten,
    )


def _type(row: FieldRow, framing: Framing, struct: StructLayout | None) -> Type:
    if row.type.startswith("[]"):
        element = Nested(struct) if struct else _plain(row.type[2:], framing)
        assert not isinstance(element, Extent | Count | Checksum)
        return Array(
            element,
            LENGTHS[framing.count] if framing.count else None,
            nullable=False,
            counted_by=framing.counted_by,
            order=framing.ascending,
            filled=framing.filled,
        )
    if struct is not None:
        return Nested(struct)
    if row.type in CHECKSUMS:
        return Checksum(row.type, framing.covers)
    wire = WIRE_TYPES.get(row.type)
    if wire is not None and wire.length:
        return Sized(wire, LENGTHS[framing.length], nullable=bool(row.nullable))
    number = _plain(row.type, framing)
    if framing.length_of:
        of = "" if framing.length_of == "rest" else framing.length_of
        return Extent(number, of, counts_itself=framing.counts_itself)
    return Count(number, framing.count_of) if framing.count_of else number


def _plain(name: str, framing: Framing) -> Fixed | Varint:
    varint = VARINTS.get(name)
    if varint is not None:
        return Varint(varint.bits, zigzag=varint.zigzag, signed=framing.signed)
    wire = WIRE_TYPES.get(name)
    if wire is None or not wire.is_fixed:
        raise SchemaError(f"{name!r} is not a number type; expected one of {', '.join([*VARINTS, *WIRE_TYPES])}")
    return Fixed(wire)
