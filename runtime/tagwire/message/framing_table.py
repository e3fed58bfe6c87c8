"""Make layouts from the field tables of record formats. `Framing` describes the formats' lengths and checksums."""

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
from tagwire.layout.parts import FrozenData
from tagwire.wire.types import WIRE_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from tagwire.layout import StructLayout
    from tagwire.message.field_table import FieldRow

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

    __slots__ = (
        "ascending",
        "bits",
        "compression",
        "count",
        "count_of",
        "counted_by",
        "counts_itself",
        "covers",
        "equals",
        "extent",
        "filled",
        "length",
        "length_of",
        "relative_to",
        "rewritten",
        "signed",
        "when",
    )

    def __init__(
        self,
        *,
        length: str = "",
        count: str = "",
        length_of: str = "",
        counts_itself: bool = False,
        extent: str = "",
        count_of: str = "",
        counted_by: str = "",
        covers: str = "",
        bits: tuple[Bits, ...] = (),
        when: Condition | None = None,
        relative_to: str = "",
        compression: Compression | None = None,
        equals: int | None = None,
        rewritten: bool = False,
        ascending: Order | None = None,
        filled: bool = False,
        signed: bool = False,
    ) -> None:
        self.length = length
        self.count = count
        self.length_of = length_of
        self.counts_itself = counts_itself
        self.extent = extent
        self.count_of = count_of
        self.counted_by = counted_by
        self.covers = covers
        self.bits = bits
        self.when = when
        self.relative_to = relative_to
        self.compression = compression
        self.equals = equals
        self.rewritten = rewritten
        self.ascending = ascending
        self.filled = filled
        self.signed = signed

    def given(self) -> list[tuple[str, object]]:
        """Return (name, value) for each constructor argument that differs from its default."""
        plain = Framing()
        return [(name, value) for name, value in super().given() if value != getattr(plain, name)]


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
