"""The model of record formats in specs: their attributes, the framing of their fields, and the rules for both.

The framing of a field consists of its lengths, counts, checksum, compression and condition. The keys `lengthOf`,
`countOf` and `covers` name a later field of the same struct. The keys `when`, `deltaOf` and `compression` name an
earlier field of the same struct or of an enclosing struct. If several earlier fields have this name, the nearest one is
meant.

The last functions are about the key `recordFormats`, with which a field of a message names record formats.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tagwire.message.record_format import CHECKSUMS, LENGTHS
from tagwire.versions import Versions
from tagwire.wire.compression import CODECS
from tagwire.wire.types import RECORD_TYPES, IntegerType
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.spec_names import NAME_RULE, is_format_name, is_name
from tagwire_generator.problems import Violation, named, quoted

if TYPE_CHECKING:
    from tagwire_generator.model.field_spec import FieldSpec
    from tagwire_generator.model.message_spec import MessageSpec
    from tagwire_generator.model.struct_spec import StructGraph, StructSpec


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement in the format's proposal that `field` takes `bytes` bytes if its value is `value`."""

    field: str
    value: int
    bytes: int
    text: str = ""
    """The claim in the proposal's own words."""


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """The attributes that only specs of record formats have."""

    name: str
    """The name that programs use for the format, such as `kip82-int+kip87`."""
    discriminator: str = ""
    """The field whose value tells a reader that the bytes have this format and not another."""
    claims: tuple[Claim, ...] = ()


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
    """The name of the bits that contain the codec of this field, such as `Attributes.Compression`."""
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


def _codecs_violation(name: str, group: BitsSpec) -> Violation | None:
    """Return a violation if these bits can't select a field's codec, or None if they can."""
    unknown = [value for value in group.values if value not in CODECS]
    if group.values and group.values[0] == "none" and not unknown:
        return None
    text = f"the codec of field {name} is in {group.name}, whose values are {', '.join(group.values) or 'not named'}"
    text += f"; the first value must be none, and the others can be {', '.join(CODECS[1:])}"
    return Violation("TW008", "compression", text)


def format_violations(message: "MessageSpec", graph: "StructGraph") -> Iterator[Violation]:
    """Yield violations of the rules for lengths, counts, checksums and compression in a record format."""
    yield from _attribute_violations(message)
    if graph.cycle:
        return
    around = first_uses(graph)
    for position, struct in graph.owners():
        for index, spec in enumerate(struct.fields):
            before = fields_before(graph, around, position, index)
            for violation in _reference_violations(struct, index, spec, before):
                yield replace(violation, needs=("type", "message:members"), field=index, struct=position)


def _attribute_violations(message: "MessageSpec") -> Iterator[Violation]:
    format = message.format
    assert format is not None
    if not is_format_name(format.name):
        text = f"{quoted(format.name)} can't be a format's name; use lower-case letters, digits, - and +"
        yield Violation("TW010", "format", text)
    fields = {spec.name: spec for spec in message.fields}
    if format.discriminator:
        spec = fields.get(format.discriminator)
        if spec is None or spec.framing.equals is None:
            name = quoted(format.discriminator)
            text = f"the discriminator {name} must be a field of the message, with the key equals"
            yield Violation("TW009", "discriminator", text, ("fields", "members"))
    for claim in format.claims:
        if claim.field not in fields:
            text = f"a claim is about {quoted(claim.field)}, but the format has no such field"
            yield Violation("TW011", "claims", text, ("fields", "members"))


def first_uses(graph: "StructGraph") -> dict[int | None, tuple[int | None, int]]:
    """Find, for each struct, the first field that has this struct as its type.

    Return a dict from the struct's index to (index of the enclosing struct, index of the field).
    The index of the message itself is None.
    """
    around: dict[int | None, tuple[int | None, int]] = {}
    for position, _, index, spec in graph.members():
        target = graph.target(spec)
        if target is not None:
            around.setdefault(target, (position, index))
    return around


def fields_before(
    graph: "StructGraph", around: Mapping[int | None, tuple[int | None, int]], position: int | None, index: int
) -> dict[str, "FieldSpec"]:
    """Return the fields read before a field, by name. Fields of enclosing structs are included."""
    structs = dict(graph.owners())
    found: dict[str, FieldSpec] = {}
    while True:
        for spec in structs[position].fields[:index]:
            found.setdefault(spec.name, spec)
        if position is None or position not in around:
            return found
        position, index = around[position]


def _reference_violations(
    struct: "StructSpec", index: int, spec: "FieldSpec", before: Mapping[str, "FieldSpec"]
) -> Iterator[Violation]:
    framing = spec.framing
    after = {later.name: later for later in struct.fields[index + 1 :]}
    yield from _sibling_violations(struct, index, spec, after)
    if framing.when is not None:
        yield from _bits_reference(spec, "when", framing.when.field, framing.when.bits, before)
    if framing.compression:
        field, _, bits = framing.compression.partition(".")
        yield from _bits_reference(spec, "compression", field, bits, before)
        group = before[field].framing.group(bits) if field in before else None
        wrong = _codecs_violation(spec.name, group) if group else None
        if wrong is not None:
            yield wrong
        if not (spec.type.is_array and after == {}) and spec.type.name != "bytes":
            text = f"field {spec.name} can't be compressed; only bytes, or an array at the end of its struct, can"
            yield Violation("TW008", "compression", text)
    if framing.delta_of and framing.delta_of not in before:
        text = f"field {spec.name} is a delta of {quoted(framing.delta_of)}, but no such field precedes it"
        yield Violation("TW006", "deltaOf", text)


def _sibling_violations(
    struct: "StructSpec", index: int, spec: "FieldSpec", after: Mapping[str, "FieldSpec"]
) -> Iterator[Violation]:
    framing = spec.framing
    for key, name in (("lengthOf", framing.length_of), ("countOf", framing.count_of), ("covers", framing.covers)):
        if name and name not in after and not (key == "lengthOf" and name == REST):
            text = f"field {spec.name} names {quoted(name)} in {key}, but no such field follows it in {struct.name}"
            yield Violation("TW006", key, text)
        elif name in after and after[name].framing.when != (None if key == "covers" else framing.when):
            text = f"field {spec.name} names {name} in {key}, but the two fields depend on different conditions"
            yield Violation("TW006", key, text)
    counted = after.get(framing.count_of)
    if counted is not None and not (counted.type.is_array and not counted.framing.count):
        text = f"field {spec.name} counts {framing.count_of}, which must be an array without its own count"
        yield Violation("TW003", "countOf", text)
    lengths = [other.framing.length_of for other in struct.fields[:index]]
    counts = [other.framing.count_of for other in struct.fields[:index]]
    for key, name, taken in (("lengthOf", framing.length_of, lengths), ("countOf", framing.count_of, counts)):
        if name and name in taken:
            text = f"field {spec.name} has {key} {name}, but so does an earlier field; keep one"
            yield Violation("TW007", key, text)
    if spec.type.is_array and not framing.count and spec.name not in counts:
        text = f"field {spec.name} is {spec.type} of unknown length; set its key count, for example to varint or rest"
        yield Violation("TW003", "count", text)
    if REST in (framing.length, framing.count) and after and spec.name not in lengths:
        text = f"field {spec.name} takes the rest of {struct.name}, but {next(iter(after))} follows it"
        yield Violation("TW007", "length" if framing.length == REST else "count", text)


def _bits_reference(
    spec: "FieldSpec", key: str, field: str, bits: str, before: Mapping[str, "FieldSpec"]
) -> Iterator[Violation]:
    """Yield a violation if no earlier field is named `field`, or if that field has no bits named `bits`."""
    other = before.get(field)
    if other is None:
        text = f"field {spec.name} names {quoted(field)} in {key}, but no such field precedes it"
        yield Violation("TW006", key, text)
    elif (bits or key == "compression") and other.framing.group(bits) is None:
        known = ", ".join(group.name for group in other.framing.bits) or "none"
        text = f"field {spec.name} names {quoted(f'{field}.{bits}')} in {key}, but the bits of {field} are: {known}"
        yield Violation("TW006", key, text)


RecordFormats = tuple[tuple[Versions, str], ...]
"""Ascending version ranges, each with the name of a record format."""

_KEY = "recordFormats"
_WITH_RECORDS = ("records", "bytes")


def record_format_of(formats: RecordFormats, version: int) -> str:
    """Return the name of the record format in a version, or "" if the spec names none."""
    return next((name for versions, name in formats if version in versions), "")


def record_format_violations(
    field: str, type: FieldType, versions: Versions, formats: RecordFormats
) -> Iterator[Violation]:
    """Yield violations in the recordFormats of a field."""
    if not formats:
        return
    if type.is_array or type.name not in _WITH_RECORDS:
        text = f"field {named(field)} is {type}, but only records and bytes have recordFormats; remove the key"
        yield Violation("TW414", _KEY, text, ("type",))
    for range, name in formats:
        if not is_format_name(name):
            text = (
                f"{quoted(name)} for versions {range} can't be a format's name; use lower-case letters, digits, - and +"
            )
            yield Violation("TW416", _KEY, text)
    yield from _range_violations(field, versions, formats)


def _range_violations(field: str, versions: Versions, formats: RecordFormats) -> Iterator[Violation]:
    where = f"recordFormats of {named(field)}"
    if not all(range for range, _ in formats):
        yield Violation("TW415", _KEY, f"{where} has an empty range; remove it")
        return
    for (before, _), (range, _) in pairwise(formats):
        if range.lowest != before.highest + 1:
            text = f"{where} has {before}, then {range}; the ranges must follow each other without gap or overlap"
            yield Violation("TW415", _KEY, text)
            return
    described = Versions(formats[0][0].lowest, formats[-1][0].highest)
    if not versions <= described:
        text = f"{where} covers versions {described}, but the field exists in {versions}; name a format for all of them"
        yield Violation("TW415", _KEY, text, ("versions",))
