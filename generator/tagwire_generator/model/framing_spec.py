"""The framing, compression and condition of a field in a record format, as written in the spec.

`FramingSpec` checks single fields; `framing_rules` checks references between fields.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tagwire.message.record_format import CHECKSUMS, LENGTHS
from tagwire.wire.compression import CODECS
from tagwire.wire.types import RECORD_TYPES, IntegerType
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.spec_names import NAME_RULE, is_name
from tagwire_generator.problems import Violation, quoted

REST: Final = "rest"
"""The word in specs for all remaining bytes of a struct: a field takes them, or holds their length (`lengthOf`)."""


@dataclass(frozen=True, slots=True)
class BitsSpec:
    """A named group of bits, from `low` to `high` inclusive. `values` are the names of its values 0, 1, 2 and so on."""

    name: str
    low: int
    high: int
    values: tuple[str, ...] = ()
    about: str = ""

    @property
    def mask(self) -> int:
        return (1 << self.high + 1) - (1 << self.low)


@dataclass(frozen=True, slots=True)
class When:
    """A condition: the field exists only if another field, or a group of bits in it, has this value."""

    field: str
    bits: str
    equals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingSpec:
    """How a field of a record format is encoded: its length, count, checksum, compression, condition and so on.

    Unless described otherwise, an attribute of type str is the name of another field, or "" for none.
    """

    length: str = ""
    """The length encoding of bytes or a string: int16, int32, varint or uvarint.

    With "rest", no length is encoded: the value consists of all remaining bytes.
    """
    count: str = ""
    """How an array's number of elements is encoded. The possible values are the same as for `length`."""
    length_of: str = ""
    includes_itself: bool = False
    count_of: str = ""
    covers: str = ""
    """If this field is a checksum, the first field that it covers."""
    bits: tuple[BitsSpec, ...] = ()
    when: When | None = None
    delta_of: str = ""
    compression: str = ""
    """The name of the bits that tell which codec compresses this field, such as `Attributes.Compression`."""
    equals: int | None = None
    rewritten: bool = False
    """Whether brokers overwrite the field in stored batches."""
    ascending: str = ""
    """The field by which the elements of an array must be sorted, in ascending order."""
    not_empty: bool = False
    signed: bool = False

    def group(self, name: str) -> BitsSpec | None:
        return next((group for group in self.bits if group.name == name), None)


def framing_violations(name: str, type: FieldType, framing: FramingSpec) -> Iterator[Violation]:
    """Yield a violation for each rule that the framing of this field breaks."""
    where = f"field {name} is {type}"
    is_number = isinstance(type.scalar, IntegerType) and type.name not in CHECKSUMS
    yield from _length_violations(where, type, framing)
    for key, value in (
        ("lengthOf", framing.length_of),
        ("countOf", framing.count_of),
        ("bits", framing.bits),
        ("deltaOf", framing.delta_of),
        ("equals", framing.equals is not None),
    ):
        if value and not is_number:
            yield Violation("TW002", key, f"{where}, but only an integer can have {key}", ("type",))
    if (type.name in CHECKSUMS) != bool(framing.covers):
        text = f"{where}; checksums require the key covers, and other types can't have it"
        yield Violation("TW004", "covers" if framing.covers else "type", text, ("type", "covers"))
    if framing.includes_itself and (not framing.length_of or type.name in RECORD_TYPES):
        text = f"{where}; only a length of fixed width can include itself"
        yield Violation("TW002", "includesItself", text, ("type", "lengthOf"))
    if framing.signed and type.name not in ("uvarint", "uvarlong"):
        yield Violation("TW002", "signed", f"{where}, but only uvarint and uvarlong can be signed", ("type",))
    for key, is_set in (("ascending", framing.ascending), ("notEmpty", framing.not_empty)):
        if is_set and not type.is_array:
            yield Violation("TW002", key, f"{where}, but only arrays have {key}", ("type",))
    yield from _bits_violations(name, type, framing)


def _length_violations(where: str, type: FieldType, framing: FramingSpec) -> Iterator[Violation]:
    is_sized = type.scalar is not None and type.scalar.length != ""
    if is_sized and not framing.length:
        text = f"{where}; set the key length to the encoding of its length: {', '.join(LENGTHS)}"
        yield Violation("TW003", "type", text, ("length",))
    if framing.length and not is_sized:
        yield Violation("TW003", "length", f"{where}, but only string and bytes have a length before them", ("type",))
    if framing.count and not type.is_array:
        yield Violation("TW003", "count", f"{where}, but only arrays have a count before them", ("type",))
    for key, value in (("length", framing.length), ("count", framing.count)):
        if value and value not in LENGTHS:
            text = f"{quoted(value)} is not a {key}; use one of {', '.join(LENGTHS)}"
            yield Violation("TW003", key, text)


def _bits_violations(name: str, type: FieldType, framing: FramingSpec) -> Iterator[Violation]:
    width = 8 * type.scalar.width if type.scalar else 0
    taken = 0
    seen: set[str] = set()
    for group in framing.bits:
        what = f"bits {quoted(group.name)} of field {name}"
        if not is_name(group.name):
            yield Violation("TW005", "bits", f"{what}: {NAME_RULE}")
        if group.name.lower() in seen:
            yield Violation("TW005", "bits", f"{what} are declared twice")
        if not 0 <= group.low <= group.high < (width or 32):
            yield Violation("TW005", "bits", f"{what} are not among the bits 0 to {(width or 32) - 1}", ("type",))
        elif group.mask & taken:
            yield Violation("TW005", "bits", f"{what} overlap other bits")
        else:
            taken |= group.mask
        if group.low <= group.high and len(group.values) > 1 << min(group.high - group.low + 1, 16):
            yield Violation("TW005", "bits", f"{what} have {len(group.values)} values, more than their width allows")
        seen.add(group.name.lower())


def codecs_violation(name: str, group: BitsSpec) -> Violation | None:
    """Return a violation if these bits can't select a field's codec, or None if they can."""
    unknown = [value for value in group.values if value not in CODECS]
    if group.values and group.values[0] == "none" and not unknown:
        return None
    text = f"the codec of field {name} is in {group.name}, whose values are {', '.join(group.values) or 'not named'}"
    text += f"; the first value must be none, and the others can be {', '.join(CODECS[1:])}"
    return Violation("TW008", "compression", text)
