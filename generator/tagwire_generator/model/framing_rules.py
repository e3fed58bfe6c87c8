"""Rules for the references between fields of a record format: lengths, checksums, counts and compression.

The keys `lengthOf`, `countOf` and `covers` name a later field of the same struct. The keys `when`, `deltaOf` and
`compression` name an earlier field of the same struct or of an enclosing struct. If several earlier fields have this
name, the nearest one is meant.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tagwire_generator.model.field_spec import FieldSpec
from tagwire_generator.model.framing_spec import REST, FramingSpec, codecs_violation
from tagwire_generator.model.spec_names import is_format_name
from tagwire_generator.model.struct_spec import StructGraph, StructSpec
from tagwire_generator.problems import Violation, quoted

if TYPE_CHECKING:
    from tagwire_generator.model.message_spec import MessageSpec


def framing_violations(message: "MessageSpec", graph: StructGraph) -> Iterator[Violation]:
    """Yield violations of the rules for lengths, counts, checksums and compression in a record format."""
    yield from _format_violations(message)
    if graph.cycle:
        return
    around = first_uses(graph)
    for position, struct in graph.owners():
        for index, spec in enumerate(struct.fields):
            before = fields_before(graph, around, position, index)
            for violation in _field_violations(struct, index, spec, before):
                yield Violation(
                    violation.rule, violation.key, violation.message, ("type", "message:members"), index, position
                )


def _format_violations(message: "MessageSpec") -> Iterator[Violation]:
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


def first_uses(graph: StructGraph) -> dict[int | None, tuple[int | None, int]]:
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
    graph: StructGraph, around: Mapping[int | None, tuple[int | None, int]], position: int | None, index: int
) -> dict[str, FieldSpec]:
    """Return the fields read before a field, by name. Fields of enclosing structs are included."""
    structs = dict(graph.owners())
    found: dict[str, FieldSpec] = {}
    while True:
        for spec in structs[position].fields[:index]:
            found.setdefault(spec.name, spec)
        if position is None or position not in around:
            return found
        position, index = around[position]


def _field_violations(
    struct: StructSpec, index: int, spec: FieldSpec, before: Mapping[str, FieldSpec]
) -> Iterator[Violation]:
    framing = spec.framing
    after = {later.name: later for later in struct.fields[index + 1 :]}
    yield from _framing_violations(struct, index, spec, after)
    if framing.when is not None:
        yield from _bits_reference(spec, "when", framing.when.field, framing.when.bits, before)
    if framing.compression:
        field, _, bits = framing.compression.partition(".")
        yield from _bits_reference(spec, "compression", field, bits, before)
        group = before[field].framing.group(bits) if field in before else None
        wrong = codecs_violation(spec.name, group) if group else None
        if wrong is not None:
            yield wrong
        if not (spec.type.is_array and after == {}) and spec.type.name != "bytes":
            text = f"field {spec.name} can't be compressed; only bytes, or an array at the end of its struct, can"
            yield Violation("TW008", "compression", text)
    if framing.delta_of and framing.delta_of not in before:
        text = f"field {spec.name} is a delta of {quoted(framing.delta_of)}, but no such field precedes it"
        yield Violation("TW006", "deltaOf", text)


def _framing_violations(
    struct: StructSpec, index: int, spec: FieldSpec, after: Mapping[str, FieldSpec]
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
    others = struct.fields[:index]
    for key, get in (("lengthOf", _length_of), ("countOf", _count_of)):
        name = get(framing)
        if name and any(get(other.framing) == name for other in others):
            text = f"field {spec.name} has {key} {name}, but so does an earlier field; keep one"
            yield Violation("TW007", key, text)
    is_counted = framing.count or any(_count_of(other.framing) == spec.name for other in others)
    if spec.type.is_array and not is_counted:
        text = f"field {spec.name} is {spec.type} of unknown length; set its key count, for example to varint or rest"
        yield Violation("TW003", "count", text)
    is_limited = any(_length_of(other.framing) == spec.name for other in others)
    if REST in (framing.length, framing.count) and after and not is_limited:
        text = f"field {spec.name} takes the rest of {struct.name}, but {next(iter(after))} follows it"
        yield Violation("TW007", "length" if framing.length == REST else "count", text)


def _length_of(framing: FramingSpec) -> str:
    return framing.length_of


def _count_of(framing: FramingSpec) -> str:
    return framing.count_of


def _bits_reference(
    spec: FieldSpec, key: str, field: str, bits: str, before: Mapping[str, FieldSpec]
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
