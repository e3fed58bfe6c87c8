"""What only a field of a record format has, as its spec says it: how it is framed, packed and when it is there.

`FramingSpec` checks what one field can know of itself; what it says about other
fields is for `framing_rules`, which see the whole format.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tagwire.message.framing_table import CHECKSUMS, LENGTHS
from tagwire.wire.compression import CODECS
from tagwire.wire.types import RECORD_TYPES, IntegerType
from tagwire_generator.diagnostics.problems import quoted
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.spec_names import NAME_RULE, is_name
from tagwire_generator.model.violations import Violation

REST: Final = "rest"
"""In the place of a field's name: all that follows in the struct."""


@dataclass(frozen=True, slots=True)
class BitsSpec:
    """A named group of bits, `low` and `high` included; `values` names what it can hold, from 0 on."""

    name: str
    low: int
    high: int
    values: tuple[str, ...] = ()
    about: str = ""

    @property
    def mask(self) -> int:
        """The bits, as a number."""
        return (1 << self.high + 1) - (1 << self.low)


@dataclass(frozen=True, slots=True)
class When:
    """A field is there only where another one, or a group of its bits, has this value."""

    field: str
    bits: str
    equals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingSpec:
    """Names are those of fields in the spec; "" means none, `REST` everything that follows."""

    length: str = ""
    """Before bytes and texts: int16, int32, varint, uvarint, or rest."""
    count: str = ""
    """Before elements: as `length`."""
    length_of: str = ""
    includes_itself: bool = False
    count_of: str = ""
    covers: str = ""
    """The first field that a checksum covers."""
    bits: tuple[BitsSpec, ...] = ()
    when: When | None = None
    delta_of: str = ""
    compression: str = ""
    """`Field.Bits`: how what is in the field is packed."""
    equals: int | None = None
    rewritten: bool = False
    """Brokers change it in place."""
    ascending: str = ""
    """The elements ascend by this field of theirs."""
    not_empty: bool = False
    signed: bool = False

    def group(self, name: str) -> BitsSpec | None:
        """The bits of that name."""
        return next((group for group in self.bits if group.name == name), None)


def framing_violations(name: str, type: FieldType, framing: FramingSpec) -> Iterator[Violation]:
    """The rules that a field of a record format keeps by itself."""
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
        text = f"{where}; a checksum needs covers, and no other type has it"
        yield Violation("TW004", "covers" if framing.covers else "type", text, ("type", "covers"))
    if framing.includes_itself and (not framing.length_of or type.name in RECORD_TYPES):
        text = f"{where}; only a length of fixed width can include itself"
        yield Violation("TW002", "includesItself", text, ("type", "lengthOf"))
    if framing.signed and type.name not in ("uvarint", "uvarlong"):
        yield Violation("TW002", "signed", f"{where}, but only uvarint and uvarlong can be signed", ("type",))
    for key, wanted in (("ascending", framing.ascending), ("notEmpty", framing.not_empty)):
        if wanted and not type.is_array:
            yield Violation("TW002", key, f"{where}, but only arrays have {key}", ("type",))
    yield from _bits_violations(name, type, framing)


def _length_violations(where: str, type: FieldType, framing: FramingSpec) -> Iterator[Violation]:
    """How long a text is, how many elements there are."""
    is_sized = type.scalar is not None and type.scalar.length != ""
    if is_sized and not framing.length:
        text = f"{where}; set length to how its length is written: {', '.join(LENGTHS)}"
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
            yield Violation("TW005", "bits", f"{what} overlap others")
        else:
            taken |= group.mask
        if group.low <= group.high and len(group.values) > 1 << min(group.high - group.low + 1, 16):
            yield Violation("TW005", "bits", f"{what} have {len(group.values)} values, more than they can hold")
        seen.add(group.name.lower())


def codecs_violation(name: str, group: BitsSpec) -> Violation | None:
    """The rule that bits break which say how a field is packed, if they break one."""
    unknown = [value for value in group.values if value not in CODECS]
    if group.values and group.values[0] == "none" and not unknown:
        return None
    text = (
        f"field {name} is compressed as {group.name} says, but its values are {', '.join(group.values) or 'not named'}"
    )
    return Violation("TW008", "compression", f"{text}; name none first, then some of {', '.join(CODECS[1:])}")
