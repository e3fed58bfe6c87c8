"""Rules for structs and fields that can only be checked with the whole message.

For structs, these rules are about names, declarations, cycles and sizes. For fields, they are about the message's
dialect, versions and options.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tagwire.text_format import near, suggestion
from tagwire.versions import NONE, Versions
from tagwire.wire.types import RECORD_TYPES
from tagwire_generator.model.field_spec import ENTITY_TYPES, MAX_DRAFT_TAG, FieldSpec
from tagwire_generator.model.field_type import foreign_type_hint
from tagwire_generator.model.struct_spec import StructGraph, StructSpec
from tagwire_generator.problems import Violation, named, quoted

if TYPE_CHECKING:
    from tagwire_generator.model.message_spec import MessageSpec

MAX_NESTING: Final = 32
"""Maximum depth of nested structs, including the message. It limits all recursion over values and specs."""
MAX_FIELDS: Final = 10_000
"""Maximum number of fields in one version of a message. If a struct is used twice, its fields are counted twice."""
MAX_EXPANDED: Final = 1_000_000
"""Maximum product of a message's field count and version count, because each version has its own layout."""
MAX_TAGGED: Final = 1_000
"""Maximum number of tagged fields in a struct. Python can't compile a reader with thousands of branches."""


def struct_violations(message: "MessageSpec", graph: StructGraph) -> Iterator[Violation]:
    """Yield violations of the rules for a message's structs and for the references between them."""
    yield from _name_violations(message)
    yield from _reference_violations(message, graph)
    if graph.cycle:
        yield _cycle_violation(graph)
    else:
        yield from _nesting_violations(message, graph)
        yield from _empty_element_violations(message, graph)


def _name_violations(message: "MessageSpec") -> Iterator[Violation]:
    first: dict[str, StructSpec] = {}
    for position, struct in enumerate(message.structs):
        name = struct.name
        if not name[0].isupper():
            text = f"struct {named(name)} starts with a lower-case letter, so no field can refer to it"
            yield Violation("TW301", "name", f"{text}; write {name[0].upper()}{name[1:]}", struct=position)
        other = first.setdefault(name.lower(), struct)
        if other is not struct:
            remedy = "declare it once, in commonStructs, or rename one"
            if other.owner:
                remedy = f"importing {other.owner} also declares it; rename this struct, or use the imported one"
            how = "" if other.name == name else f" as {other.name}, which differs only in case"
            text = f"struct {name} is already declared{how}; {remedy}"
            yield Violation("TW304", "name", text, struct=position)
        if name.lower() == message.name.lower():
            text = f"struct {name} would be the same class as the message {named(message.name)}; rename it"
            yield Violation("TW305", "name", text, ("message:name",), struct=position)
        prefix, _, version = name.rpartition("V")
        if prefix == message.name and version.isdigit():
            text = f"struct {name} has the name of the serializer of {prefix}, version {version}; rename it"
            yield Violation("TW313", "name", text, ("message:name",), struct=position)


def _reference_violations(message: "MessageSpec", graph: StructGraph) -> Iterator[Violation]:
    used: set[int] = set()
    for position, owner, index, spec in graph.members():
        if spec.struct is None:
            continue
        target = graph.target(spec)
        if target is None:
            declare = "give the field its fields ([] for none), or declare it in commonStructs"
            foreign = foreign_type_hint(spec.struct)
            hint = suggestion(spec.struct, graph.positions, f"{declare}; or {foreign}" if foreign else declare)
            text = f"field {spec.name} is {spec.type}, but no struct {spec.struct} is declared; {hint}"
            yield Violation("TW306", "type", text, ("message:structs",), index, position)
            continue
        used.add(target)
        struct, present = message.structs[target], graph.present[position]
        is_foreign = struct.owner and not owner.owner and message.struct_versions(struct.name) is None
        if is_foreign and all(own.name != struct.name for own in message.own_structs):
            text = f"field {spec.name} is {spec.type}, which belongs to {struct.owner}; "
            text += "declare a struct in this spec" if struct.owner != struct.name else f"add {struct.name} to imports"
            yield Violation("TW306", "type", text, ("message:structs",), index, position)
        where = spec.versions & present
        if not where and present:
            text = f"field {spec.name} exists in versions {spec.versions}, but {owner.name} only in {present}"
            yield Violation(
                "TW310", "versions", f"{text}; they must overlap", ("message:validVersions",), index, position
            )
        elif not where <= struct.versions:
            has = f"{struct.name} only has {struct.versions}"
            if struct.owner:
                has = f"structVersions begin at {struct.versions.lowest}"
            text = f"field {spec.name} uses {struct.name} in versions {where}, but {has}; widen that range"
            yield Violation("TW309", "versions", text, ("message:validVersions", "type"), index, position)
    for position, struct in enumerate(message.structs):
        is_counted = struct.name[0].isupper() and graph.positions[struct.name] == position
        if is_counted and position not in used:
            what = (
                f"imported struct {struct.name}; remove the import"
                if struct.owner
                else f"struct {struct.name}; remove it"
            )
            text = f"no field uses the {what} if it is a leftover"
            yield Violation("TW320", "name", text, ("message:structs", "message:uses"), struct=position)


def _cycle_violation(graph: StructGraph) -> Violation:
    holder = graph.positions[graph.cycle[0]]
    index = next(
        index for position, _, index, spec in graph.members() if position == holder and spec.struct == graph.cycle[1]
    )
    text = f"{' contains '.join(graph.cycle)}: a struct can't contain itself; break the cycle"
    return Violation("TW308", "type", text, field=index, struct=holder)


def _nesting_violations(message: "MessageSpec", graph: StructGraph) -> Iterator[Violation]:
    depth: dict[int | None, int] = {}
    fields: dict[int | None, int] = {}
    for position in (*graph.order, None):
        struct = graph.root if position is None else message.structs[position]
        held = [(spec, target) for spec in struct.fields if (target := graph.target(spec)) is not None]
        depth[position] = 1 + max((depth[target] for _, target in held), default=0)
        fields[position] = len(struct.fields) + sum(fields[target] for _, target in held)
        tagged = sum(spec.tag is not None for spec in struct.fields)
        what = ""
        if depth[position] == MAX_NESTING + 1:
            what = f"{struct.name} has {MAX_NESTING} levels of structs; at most {MAX_NESTING - 1} are allowed"
        elif fields[position] > MAX_FIELDS:
            path = _widest_path(struct, message, graph, fields)
            where = f", most of them below {path}" if path else ""
            what = f"{struct.name} has {fields[position]} fields, including those of its structs{where}"
            what += f"; at most {MAX_FIELDS} are allowed"
        elif position is None and fields[None] * len(message.valid_versions) > MAX_EXPANDED:
            what = f"{struct.name} has {fields[None]} fields, including those of its structs, in each version"
            what += f"; at most {MAX_EXPANDED} are allowed in all versions together"
        elif tagged > MAX_TAGGED:
            what = f"{struct.name} has {tagged} tagged fields; at most {MAX_TAGGED} are allowed"
        if what:
            yield Violation("TW312", "name", what, struct=position)
            return


def _widest_path(struct: StructSpec, message: "MessageSpec", graph: StructGraph, fields: dict[int | None, int]) -> str:
    """Return the path (`a.b`) to the nested struct with the most fields, or "" if `struct` itself has more fields."""
    path: list[str] = []
    while True:
        held = [
            (fields[target], spec.name, target) for spec in struct.fields if (target := graph.target(spec)) is not None
        ]
        widest = max(held, default=None, key=lambda each: each[0])
        if widest is None or widest[0] <= 1 + len(struct.fields):
            return ".".join(path)
        path.append(widest[1])
        struct = message.structs[widest[2]]


def _empty_element_violations(message: "MessageSpec", graph: StructGraph) -> Iterator[Violation]:
    """Yield violations for arrays whose elements take no bytes. A short input could claim millions of such elements."""
    found: set[tuple[int | None, int]] = set()
    for version in _turning_points(message, graph):
        if version in message.flexible_versions or version in message.optional_versions:
            continue
        empty = _empty_structs(message, graph, version)
        for position, index in _empty_arrays(graph, version, empty) if empty else ():
            if (position, index) not in found:
                found.add((position, index))
                spec = (graph.root if position is None else message.structs[position]).fields[index]
                text = f"in version {version} the elements of field {spec.name} take no bytes: {spec.struct} is empty"
                yield Violation(
                    "TW311",
                    "type",
                    f"{text}; narrow the field's versions",
                    ("message:validVersions", "message:members"),
                    index,
                    position,
                )


def _turning_points(message: "MessageSpec", graph: StructGraph) -> list[int]:
    """Return the first version, and every version whose layout may differ from the previous version's layout."""
    if not any(spec.type.is_array and spec.struct for _, _, _, spec in graph.members()):
        return []
    ranges: list[Versions] = [message.flexible_versions, message.optional_versions]
    for _, _, _, spec in graph.members():
        ranges += [spec.versions, spec.nullable_versions]
    points = {message.valid_versions.lowest}
    for versions in ranges:
        points |= {versions.lowest, versions.highest + 1}
    return sorted(point for point in points if point in message.valid_versions)


def _empty_structs(message: "MessageSpec", graph: StructGraph, version: int) -> set[int]:
    """Return the structs that take no bytes in `version`, which must not be flexible."""
    empty: set[int] = set()
    for position in graph.order:
        takes_bytes = any(
            version in spec.versions
            and (spec.type.is_array or version in spec.nullable_versions or graph.target(spec) not in empty)
            for spec in message.structs[position].fields
        )
        if not takes_bytes:
            empty.add(position)
    return empty


def _empty_arrays(graph: StructGraph, version: int, empty: set[int]) -> Iterator[tuple[int | None, int]]:
    structs = dict(graph.owners())
    reached: set[int | None] = {None}
    waiting: list[int | None] = [None]
    while waiting:
        position = waiting.pop()
        for index, spec in enumerate(structs[position].fields):
            target = graph.target(spec)
            if target is None or version not in spec.versions:
                continue
            if spec.type.is_array and target in empty:
                yield position, index
            if target not in reached:
                reached.add(target)
                waiting.append(target)


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
        for tag in owner.reserved_tags if is_draft else ():
            if tag > MAX_DRAFT_TAG:
                text = f"{owner.name} reserves tag {tag}; the draft's tags are 0 to {MAX_DRAFT_TAG}"
                yield Violation("TW707", "reservedTags", text, struct=position)
        if not is_draft and not message.options.tag_gaps:
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
            text = f"field {spec.name} is flexible in {spec.flexible_versions}, but the message {_only_in(flexible)}; "
            text += "narrow the field's range"
            yield Violation("TW411", "flexibleVersions", text, ("message:flexibleVersions",))
        flexible = spec.flexible_versions
    if not spec.tagged_versions <= flexible:
        text = f"field {spec.name} is tagged in {spec.tagged_versions}, but flexible {_only_in(flexible)}; "
        text += "narrow taggedVersions"
        yield Violation("TW611", "taggedVersions", text, ("flexibleVersions", "message:flexibleVersions"))
    if spec.tag is not None and spec.type.name == "records":
        text = f"field {spec.name} is tagged, but records can't be; use bytes, or make it an ordinary field"
        yield Violation("TW612", "tag", text, ("type",))


def _only_in(versions: Versions) -> str:
    return f"only in {versions}" if versions else "in no version"


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
