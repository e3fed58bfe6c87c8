"""The simple parts of layouts, which contain no other types: lengths, numbers, unions, and parts of record formats.

`tagwire.layout` exports all of them; import them from there. Record formats add:

    Extent        the number of bytes that follow
    Count         the number of elements of an array
    Checksum      a CRC of the bytes that follow
    Bits          a named bit, or group of bits, of an integer
    Compression   how an array or bytes are compressed
    Order         the field by which array elements are sorted, in ascending order
    Condition     when an item is present

Messages of tagwire's own dialect add:

    Union         a group of tagged fields; a struct has exactly one of them

The writer computes Extent, Count and Checksum, so they are not among a struct's values. But a struct that is decoded to
a dict keeps its checksums, for inspection.
"""

from __future__ import annotations

from tagwire.lazy import FrozenData
from tagwire.wire.types import WIRE_TYPES, WireType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from dataclasses import KW_ONLY
    from typing import ClassVar, Final


class LengthCode(FrozenData):
    """The encoding of a length or a count.

    `code` is the format character of the `struct` module for a fixed-width number, or "" for a varint, which is zig-zag
    if `zigzag` is set. `bias` is added on the wire: a compact length is n + 1, so that 0 means null. `null` is the wire
    value of null, or None if null is not allowed.
    """

    name: str
    code: str
    width: int
    """The minimum size of an encoded length, in bytes."""
    _: KW_ONLY
    zigzag: bool = False
    bias: int = 0
    null: int | None = None


INT16: Final = LengthCode("int16", "h", 2, null=-1)
"""How the lengths of strings are encoded in versions that are not flexible."""
INT32: Final = LengthCode("int32", "i", 4, null=-1)
"""How the lengths of bytes and the counts of arrays are encoded in versions that are not flexible."""
COMPACT: Final = LengthCode("compact", "", 1, bias=1, null=0)
"""How lengths and counts are encoded in flexible versions (KIP-482): n becomes the unsigned varint n + 1."""
VARINT: Final = LengthCode("varint", "", 1, zigzag=True, null=-1)
"""How lengths are encoded in records of magic 2: as signed (zigzag) varints."""
UVARINT: Final = LengthCode("uvarint", "", 1)
"""How lengths and counts that can't be null are encoded: as plain unsigned varints."""


class Fixed(FrozenData):
    """A primitive of fixed width."""

    wire: WireType

    @property
    def minimum(self) -> int:
        return self.wire.width

    def __str__(self) -> str:
        return self.wire.label


class NullableFixed(FrozenData):
    """A primitive of fixed width that may be null.

    An int8 marker precedes it, as in nullable structs: -1 for null, or 1 before a value. A tagged field has no marker:
    it is null if it is absent.
    """

    nullable: ClassVar = True
    wire: WireType
    marker: str

    @property
    def minimum(self) -> int:
        return 1 if self.marker else self.wire.width

    def __str__(self) -> str:
        return f"nullable {self.wire.name}"


class Varint(FrozenData):
    """An integer as a varint: zig-zag (`varint`, `varlong`) or unsigned (`uvarint`, `uvarlong`).

    If `signed` is true, a `uvarint` or `uvarlong` can also be negative. A negative number is encoded as its two's
    complement, in the maximum number of bytes.
    """

    minimum: ClassVar = 1
    bits: int
    _: KW_ONLY
    zigzag: bool
    signed: bool = False

    def __post_init__(self) -> None:
        self.signed = self.signed or self.zigzag

    @property
    def low(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << self.bits - 1) - 1 if self.signed else (1 << self.bits) - 1

    def __str__(self) -> str:
        name = ("" if self.zigzag else "u") + ("varint" if self.bits == 32 else "varlong")
        return f"signed {name}" if self.signed and not self.zigzag else name


class Extent(FrozenData):
    """The length, in bytes, of the item named `of`. If `of` is "", it is the length of all later items of the struct.

    If `counts_itself` is true, the length includes the length field's own bytes.
    """

    code: Fixed | Varint
    of: str = ""
    _: KW_ONLY
    counts_itself: bool = False

    @property
    def minimum(self) -> int:
        return self.code.minimum

    def __str__(self) -> str:
        return f"{self.code} length"


class Count(FrozenData):
    """The number of elements of the array whose name is `of`."""

    code: Fixed | Varint
    of: str

    @property
    def minimum(self) -> int:
        return self.code.minimum

    def __str__(self) -> str:
        return f"{self.code} count"


class Checksum(FrozenData):
    """A uint32 checksum (crc32 or crc32c) of all bytes from the item named `first` to the end of the struct."""

    minimum: ClassVar = 4
    algorithm: str
    first: str

    @property
    def wire(self) -> WireType:
        return WIRE_TYPES["uint32"]

    def __str__(self) -> str:
        return self.algorithm


class Bits(FrozenData):
    """A bit, or a group of bits, of an integer, selected by `mask`.

    `values` has the names of the group's values 0, 1, 2 and so on. If any value has a name, values without a name are
    rejected.
    """

    name: str
    mask: int
    values: tuple[str, ...] = ()

    @property
    def shift(self) -> int:
        """The position of the group's lowest bit; bit 0 is the least significant."""
        return (self.mask & -self.mask).bit_length() - 1

    def of(self, number: int) -> int:
        """Return the value of this bit group in `number`."""
        return (number & self.mask) >> self.shift

    def put(self, number: int, value: int) -> int:
        """Return `number` with this bit group set to `value`."""
        return number & ~self.mask | value << self.shift & self.mask

    def meaning(self, number: int) -> str | bool | int:
        """Return what the bit group means in `number`: the name of its value, a bool for a single bit, or a number."""
        value = self.of(number)
        if value < len(self.values):
            return self.values[value]
        return bool(value) if self.mask.bit_count() == 1 else value


def named_bits(groups: Iterable[Bits], number: int) -> dict[str, str | bool | int]:
    """Return what each bit group means in `number`, by the group's name: {"compression": "gzip"}."""
    return {group.name: group.meaning(number) for group in groups}


def bit_names(groups: Iterable[Bits], number: int) -> list[str]:
    """Describe the nonzero bit groups: `compression gzip`, `transactional`, `has headers`."""
    words = []
    for group in groups:
        if group.of(number):
            name, meaning = group.name.removeprefix("is_").replace("_", " "), group.meaning(number)
            words.append(name if meaning is True else f"{name} {meaning}")
    return words


class Compression(FrozenData):
    """How an item is compressed: the bits `bits` of the field `field` contain the codec's number (0: uncompressed).

    The item is either an array at the end of its struct, or a value that has its own length and contains messages of
    the same format.
    """

    field: str
    bits: Bits


class Order(FrozenData):
    """The rule that the elements of an array are sorted by one of their fields, in strictly ascending order.

    `field` is the field's name. If `unsigned` is true, its values are compared as unsigned numbers.
    """

    field: str
    _: KW_ONLY
    unsigned: bool


class Condition(FrozenData):
    """The condition under which an item is present: `field & mask == equals`.

    `field` is an earlier item, in the same struct or in an enclosing struct.
    """

    field: str
    mask: int
    equals: int


class Union(FrozenData):
    """A group of tagged fields, of which a struct has exactly one. `alternatives` has their names in spec order.

    An alternative is present if it is not null. A struct with unknown tagged fields may have no alternative, because
    one of the unknown fields may be an alternative from a newer spec.
    """

    name: str
    alternatives: tuple[str, ...]

    def __str__(self) -> str:
        return f"union {self.name} of {' and '.join(self.alternatives)}"
