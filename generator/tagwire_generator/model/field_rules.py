"""Field rules that depend on the message's dialect, versions and options."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tagwire.text_format import near
from tagwire.versions import NONE
from tagwire.wire.types import RECORD_TYPES
from tagwire_generator.model.field_spec import ENTITY_TYPES, MAX_DRAFT_TAG, FieldSpec
from tagwire_generator.model.struct_spec import StructGraph, StructSpec
from tagwire_generator.problems import Violation, named, quoted

if TYPE_CHECKING:
    from tagwire_generator.model.message_spec import MessageSpec


def field_violations(message: "MessageSpec", graph: StructGraph) -> Iterator[Violation]:
    """Yield the violations in the fields of a message and of its structs."""
    is_draft = message.dialect == "draft"
    for position, owner, index, spec in graph.members():
        found = [*_version_violations(spec, owner, graph, position), *_entity_violations(message, spec)]
        found += _null_violations(spec) if message.is_extended else _extension_violations(message, spec)
        found += _draft_violations(message, spec) if is_draft else _flexible_violations(message, spec)
        if spec.type.name in RECORD_TYPES and message.format is None:
            text = f"field {spec.name} is {spec.type}, but only record formats have {spec.type.name}; use an integer"
            found.append(Violation("TW001", "type", text))
        if spec.map_key and position is None and message.kind != "struct":
            text = f"field {spec.name} is a map key of the message itself; only elements of arrays have keys"
            found.append(Violation("TW413", "mapKey", text))
        for violation in found:
            yield Violation(violation.rule, violation.key, violation.message, violation.needs, index, position)
    for position, owner in graph.owners():
        if is_draft:
            yield from _draft_reserved_violations(owner, position)
        elif not message.options.tag_gaps:
            yield from _gap_violations(owner, position)


def _entity_violations(message: "MessageSpec", spec: FieldSpec) -> Iterator[Violation]:
    entity, types = spec.entity_type, ENTITY_TYPES | dict(message.options.entity_types)
    if entity == "unknown":
        return
    if entity not in types:
        yield Violation("TW112", "entityType", f"unknown entity type {quoted(entity)}{near(entity, types)}")
    elif types[entity] not in ("", spec.type.name):
        text = f"field {named(spec.name)} is {spec.type}, but a {entity} is {types[entity]}; change one of them"
        yield Violation("TW407", "entityType", text, ("type",))


def _extension_violations(message: "MessageSpec", spec: FieldSpec) -> Iterator[Violation]:
    if spec.nullable_versions and not spec.type.can_be_null and spec.can_be_null:
        where = f"field {spec.name} is {spec.type}, which has no null"
        text = f"{where}, but has nullableVersions {spec.nullable_versions}; remove them"
        yield Violation("TW406", "nullableVersions", f"{text}, or {_required(message)}", ("type",))
    if spec.type.is_extension:
        where = f"field {spec.name} is {spec.type}, which is an extension, but the spec is plain Kafka"
        yield Violation("TW709", "type", f"{where}; {_required(message)}, or use another type")


def _null_violations(spec: FieldSpec) -> Iterator[Violation]:
    if spec.must_be_null_by_default and spec.default is not None:
        text = f"field {spec.name} is {spec.type}, tagged and nullable, but not null by default"
        remedy = 'null is written by leaving out the field, so write "default": "null"'
        yield Violation("TW511", "nullableVersions", f"{text}; {remedy}", ("default", "type"))


def _required(message: "MessageSpec") -> str:
    """Return a hint that tells the author how to enable the tagwire dialect for this spec."""
    if message.format is not None:
        return 'give the spec set the option dialect = "tagwire"'
    return 'add "dialect": "tagwire" to the spec'


def _version_violations(
    spec: FieldSpec, owner: StructSpec, graph: StructGraph, position: int | None
) -> Iterator[Violation]:
    present = graph.present[position]
    if not present:
        return
    if not spec.versions & present and spec.struct is None:
        text = f"field {spec.name} exists in versions {spec.versions}, but {owner.name} only in {present}"
        if spec.is_optional:
            where = f"versionsWithOptional {spec.versions}"
            text = f"{spec.name} is optional in {where}, but {owner.name} is only in {present}"
        yield Violation("TW420", "versions", f"{text}; it is never written", ("message:validVersions",))
    if spec.ignorable and present <= spec.versions:
        text = f"field {spec.name} is ignorable, but exists in all versions of {owner.name}, {present}; remove the key"
        yield Violation("TW422", "ignorable", text, ("versions", "message:validVersions"))


def _flexible_violations(message: "MessageSpec", spec: FieldSpec) -> Iterator[Violation]:
    flexible = message.flexible_versions
    if spec.flexible_versions is not None:
        if not spec.flexible_versions <= flexible:
            text = f"field {spec.name} is flexible in {spec.flexible_versions}, but the message only in {flexible}; "
            text += "narrow the field's range"
            yield Violation("TW411", "flexibleVersions", text, ("message:flexibleVersions",))
        flexible = spec.flexible_versions
    if not spec.tagged_versions <= flexible:
        text = f"field {spec.name} is tagged in {spec.tagged_versions}, but flexible only in {flexible}; "
        text += "narrow taggedVersions"
        yield Violation("TW611", "taggedVersions", text, ("flexibleVersions", "message:flexibleVersions"))
    if spec.tag is not None and spec.type.name == "records":
        text = f"field {spec.name} is tagged, but records can't be; use bytes, or make it an ordinary field"
        yield Violation("TW612", "tag", text, ("type",))


def _draft_violations(message: "MessageSpec", spec: FieldSpec) -> Iterator[Violation]:
    if spec.tag is None:
        return
    if spec.tag > MAX_DRAFT_TAG:
        text = f"field {spec.name} has tag {spec.tag}; the draft's tags are 0 to {MAX_DRAFT_TAG}"
        yield Violation("TW707", "tag", text)
    if spec.tagged_versions != message.optional_versions or spec.versions != message.optional_versions:
        where = message.optional_versions
        text = f"optional field {spec.name} has versions {spec.versions}, but versionsWithOptional is {where}"
        yield Violation("TW702", "tag", text, ("message:versionsWithOptional",))
    if spec.type.is_array and spec.struct is not None and not message.options.allow_struct_arrays:
        text = f"optional field {spec.name} is an array of structs, which the draft excludes"
        yield Violation("TW705", "type", f"{text}; the option allow_struct_arrays allows it")
    if not spec.type.is_array and spec.struct is not None and spec.nullable_versions != NONE:
        text = f"optional field {spec.name} is a struct and nullable; the draft has no null for structs"
        yield Violation("TW706", "nullableVersions", text, ("type",))


def _draft_reserved_violations(owner: StructSpec, position: int | None) -> Iterator[Violation]:
    for tag in owner.reserved_tags:
        if tag > MAX_DRAFT_TAG:
            text = f"{owner.name} reserves tag {tag}; the draft's tags are 0 to {MAX_DRAFT_TAG}"
            yield Violation("TW707", "reservedTags", text, struct=position)


def _gap_violations(owner: StructSpec, position: int | None) -> Iterator[Violation]:
    used = {spec.tag: index for index, spec in enumerate(owner.fields) if spec.tag is not None}
    taken = sorted({*used, *owner.reserved_tags})
    gap = next((expected for expected, tag in enumerate(taken) if tag != expected), None)
    if gap is None:
        return
    above = taken[gap]
    text = f"{owner.name} has tag {above}, but not {gap}; use tag {gap}, or add it to reservedTags if it is retired"
    key = "tag" if above in used else "reservedTags"
    yield Violation("TW609", key, text, ("members",), used.get(above), position)
