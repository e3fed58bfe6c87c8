"""Find changes that layouts don't show, such as changes to reserved tags, version ranges and record formats."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tagwire.layout import Bits, Compression, Condition, Item, Order, StructLayout, Type, nested_struct
from tagwire.versions import NONE, Versions
from tagwire_generator.evolution.findings import change, runs
from tagwire_generator.message_classes import format_class
from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.record_format_spec import record_format_of
from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.model.struct_spec import StructGraph
from tagwire_generator.problems import Finding, Spot


@dataclass(frozen=True, slots=True)
class StructPair:
    """A struct that both the old and the new spec have, with its path in each."""

    old: StructSpec
    new: StructSpec
    old_path: str
    new_path: str
    names: tuple[str, ...]
    """The JSON names of the fields on the path to the struct, in the new spec."""

    def path_of(self, field: FieldSpec) -> str:
        """Return the path of a field in the new struct."""
        return f"{self.new_path}.{attribute_name(field.name)}".lstrip(".")


def json_name(field: FieldSpec) -> str:
    """Return a field's key in Kafka's JSON."""
    return field.name[0].lower() + field.name[1:]


def tag_holder(field: FieldSpec) -> str:
    """Return a tagged field's name and type as one string, such as `trace_id string`. Lock files store such strings."""
    return f"{attribute_name(field.name)} {field.type}"


def tag_findings(
    old: MessageSpec,
    new: MessageSpec,
    pair: StructPair,
    *,
    offered: Versions,
    retired: Mapping[int, str],
    reported: Collection[int],
) -> Iterator[Finding]:
    """Yield findings about tags that are reused for a different field, or were dropped without being reserved.

    `offered` are the stable versions of the old message. `retired` maps the tags of removed fields to the fields' names
    and types. `reported` are the tags that the comparison of layouts has already reported; they are skipped.
    """
    before = {f.tag: f for f in pair.old.fields if f.tag is not None and f.tagged_versions & offered}
    now = {f.tag: f for f in pair.new.fields if f.tag is not None}
    for tag, field in now.items():
        holder = _other_holder(before.get(tag), field, offered & new.valid_versions)
        if holder is None and tag not in before:
            holder = _retired_holder(tag, field, pair.old, retired)
        if holder is not None and tag not in reported:
            text = f"tag {tag} {holder} and is now {tag_holder(field)}"
            yield _field_change("TW926", new, field.tagged_versions & new.valid_versions, text, pair, field, "tag")
    for tag in sorted({*before, *pair.old.reserved_tags} - {*now, *pair.new.reserved_tags, *reported}):
        holder = f"was {tag_holder(before[tag])}" if tag in before else "was reserved"
        text = f"tag {tag} {holder} and is now neither used nor in reservedTags; add it there"
        versions = before[tag].tagged_versions & offered if tag in before else NONE
        spot = Spot(pair.names, "reservedTags")
        yield change("TW927", new, versions, text, path=pair.new_path, spot=spot)


def _other_holder(old: FieldSpec | None, new: FieldSpec, common: Versions) -> str | None:
    """Describe the field that previously had a tag: `old` had it in the old spec, and `new` has it now.

    Returns None if both are the same field, if `old` is None, or if the layout comparison reports the change.
    """
    if old is None or tag_holder(old) == tag_holder(new):
        return None
    if old.tagged_versions & new.tagged_versions & common:
        return None  # both fields have the tag in the same version, so the layout comparison reports the change
    return f"was {tag_holder(old)}"


def _retired_holder(tag: int, field: FieldSpec, old: StructSpec, retired: Mapping[int, str]) -> str | None:
    """Describe a tag's earlier use, such as "was reserved", or None if the tag was free or belonged to `field`."""
    if retired.get(tag):
        return None if retired[tag] == tag_holder(field) else f"was once {retired[tag]}"
    return "was reserved" if tag in old.reserved_tags or tag in retired else None


def field_findings(old: MessageSpec, new: MessageSpec, offered: Versions) -> Iterator[Finding]:
    """Yield findings about newly required fields, changed record formats, and version ranges that have no effect.

    `offered` are the stable versions of the old message.
    """
    for pair, present in _structs(old, new, StructGraph(new.root, new.structs)):
        twins = {field.name: field for field in pair.old.fields}
        for field in pair.new.fields:
            twin = twins.get(field.name)
            # Skip imported structs, because a range that has no effect in this message may have one in others. A lock
            # file doesn't contain their unused fields.
            dead = None if pair.new.owner else _dead_range(field, twin, present, old.valid_versions)
            if dead is not None:
                versions, text, key = dead
                text = f"{text} in versions {versions}, which do not exist"
                yield _field_change("TW928", new, versions, text, pair, field, key)
            used = field.versions & new.valid_versions
            is_seen = pair.old is not _NOTHING and bool(used or not pair.new.owner)
            if field.required and is_seen and not (twin is not None and twin.required):
                text = "the constructor did not require the field and now does"
                yield _field_change("TW951", new, used, text, pair, field, "required")
            if twin is not None and twin.record_formats != field.record_formats:
                yield from _changed_formats(new, pair, twin, field, present & offered)


def _field_change(
    rule: str, spec: MessageSpec, versions: Versions, text: str, pair: StructPair, field: FieldSpec, key: str
) -> Finding:
    return change(rule, spec, versions, text, path=pair.path_of(field), spot=Spot((*pair.names, json_name(field)), key))


def _dead_range(
    field: FieldSpec, twin: FieldSpec | None, present: Versions, known: Versions
) -> tuple[Versions, str, str] | None:
    """Find a changed version range that has no effect, because the message does not have any of these versions.

    Returns (range, meaning, spec key), or None if there is no such range. The meaning tells what is true in the range's
    versions, such as "null is allowed".
    """

    def is_dead(versions: Versions) -> bool:
        return not versions & present and not versions & known

    if field.struct is None and is_dead(field.versions):
        is_new = twin is None or twin.versions != field.versions
        return (field.versions, "the field is", "versions") if is_new else None
    nulls = field.nullable_versions
    if nulls and is_dead(nulls & field.versions) and (twin is None or twin.nullable_versions != nulls):
        return nulls, "null is allowed", "nullableVersions"
    return None


def _changed_formats(
    spec: MessageSpec, pair: StructPair, old: FieldSpec, new: FieldSpec, versions: Versions
) -> Iterator[Finding]:
    """Yield findings about record formats that changed. A field that gets its first format breaks nothing."""
    changed: dict[tuple[str, str], list[int]] = {}
    for version in versions & old.versions & new.versions:
        before, now = (record_format_of(field.record_formats, version) for field in (old, new))
        if before and before != now:
            changed.setdefault((before, now), []).append(version)
    for (before, now), found in changed.items():
        text = f"the records were {before} and are now {now or 'of an unknown format'}"
        for run in runs(found):
            yield _field_change("TW930", spec, run, text, pair, new, "recordFormats")


def _structs(old: MessageSpec, new: MessageSpec, graph: StructGraph) -> Iterator[tuple[StructPair, Versions]]:
    """Yield (struct pair, versions) for each struct of the new spec, paired with the old struct at the same path.

    `versions` are the new spec's versions that use the struct.
    """
    seen: set[str] = set()
    queue = [(StructPair(old.root, new.root, "", "", ()), graph.present[None])]
    while queue:
        pair, present = queue.pop(0)
        yield pair, present
        twins = {field.name: field for field in pair.old.fields}
        for field in pair.new.fields:
            if field.struct is None or field.struct in seen:
                continue
            seen.add(field.struct)
            twin = twins.get(field.name)
            before = old.struct(twin.struct) if twin is not None and twin.struct is not None else _NOTHING
            path, names = pair.path_of(field), (*pair.names, json_name(field))
            inner = graph.present[graph.target(field)]
            if inner:
                queue.append((StructPair(before, new.struct(field.struct), path, path, names), inner))


_NOTHING = StructSpec(name="Nothing", versions=NONE)
"""A placeholder for a struct that the old spec doesn't have."""

_WIRE = ("condition", "extent", "equals", "relative_to", "compression")
"""The attributes that affect the encoding of a record format's field, in addition to its type and bits."""
_SPEC_KEYS = {"condition": "when", "extent": "lengthOf", "relative_to": "deltaOf"}
"""The keys of these attributes in a spec, if they have other names."""


def format_findings(old: MessageSpec, new: MessageSpec) -> Iterator[Finding]:
    """Yield findings if a record format changed, or if only one of the two specs is a record format."""
    if old.format is None or new.format is None:
        what = "a record format and is now a message" if old.format else "a message and is now a record format"
        yield change("TW923", new, NONE, f"{new.name} was {what}", spot=Spot(key="type"))
        return
    if old.format.name != new.format.name:
        text = f"the format was {old.format.name} and is now {new.format.name}"
        yield change("TW940", new, NONE, text, spot=Spot(key="format"))
    before, now = (format_class(spec).layout().root for spec in (old, new))
    for rule, names, text in _layouts(before, now, {}, ()):
        spot = Spot(tuple(item.json_name for item in names))
        yield change(rule, new, NONE, text, path=".".join(item.name for item in names), spot=spot)


_Found = Iterator[tuple[str, tuple[Item, ...], str]]


def _layouts(old: StructLayout, new: StructLayout, outer: dict[str, str], around: tuple[Item, ...]) -> _Found:
    renamed = _renamed(old, new)
    for was, item in renamed.items():
        yield "TW941", (*around, item), f"the field was renamed from {was} to {item.name}"
    names = outer | {was: item.name for was, item in renamed.items()}
    before = {names.get(item.name, item.name): item for item in old.items}
    now = {item.name: item for item in new.items}
    for name in before.keys() - now.keys():
        yield "TW914", around, f"{name} was removed"
    for name, item in now.items():
        if name not in before:
            yield "TW914", (*around, item), f"{name} was added"
    common = [name for name in before if name in now]
    if common != [name for name in now if name in before]:
        yield "TW914", around, f"the order of fields changed; it was {', '.join(common)}"
    for name in common:
        yield from _items(before[name], now[name], names, (*around, now[name]))


def _renamed(old: StructLayout, new: StructLayout) -> dict[str, Item]:
    """Return the renamed fields, as a dict from the old name to the new field. The index and type must be the same."""
    if len(old.items) != len(new.items):
        return {}
    known = {item.name for item in (*old.items, *new.items)}
    both = known - ({item.name for item in old.items} ^ {item.name for item in new.items})
    pairs = zip(old.items, new.items, strict=True)
    return {
        was.name: item
        for was, item in pairs
        if was.name not in both and item.name not in both and str(was.type) == str(item.type)
    }


def _items(old: Item, new: Item, names: dict[str, str], path: tuple[Item, ...]) -> _Found:
    if str(old.type) != str(new.type):
        yield "TW914", path, f"the type was {old.type} and is now {new.type}"
    elif _terms(old.type, names) != _terms(new.type, {}):
        yield "TW914", path, f"the length, count, order or range of the {old.type} changed"
    for name in _WIRE:
        if _with_names(getattr(old, name), names) != _with_names(getattr(new, name), {}):
            yield "TW914", path, f"`{_SPEC_KEYS.get(name, name)}` changed"
    if [_shape(group) for group in old.bits] != [_shape(group) for group in new.bits]:
        yield "TW914", path, "the bits changed"
    for one, other in zip(old.bits, new.bits, strict=False):
        if _shape(one) == _shape(other) and one.name != other.name:
            yield "TW920", path, f"the bits 0x{one.mask:02x} were {one.name} and are now {other.name}"
    if old.default != new.default:
        yield "TW921", path, f"the default was {old.default!r} and is now {new.default!r}"
    inner = nested_struct(old.type), nested_struct(new.type)
    if inner[0] is not None and inner[1] is not None:
        yield from _layouts(inner[0], inner[1], names, path)


def _shape(group: Bits) -> tuple[int, tuple[str, ...]]:
    return group.mask, group.values


def _with_names(value: object, names: dict[str, str]) -> object:
    """Replace old field names in `value`, which is a field name or an object that names fields, such as a condition."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Compression):
        return names.get(value.field, value.field), _shape(value.bits)
    if isinstance(value, Condition | Order):
        return value.replace(field=names.get(value.field, value.field))
    return value


def _terms(kind: Type, names: dict[str, str]) -> list[tuple[str, object]]:
    """Return the attributes of a type as (name, value) pairs, for comparison with another type.

    Nested types are left out. `names` maps the old names of renamed fields to their new names, which replace the old
    names in the values.
    """
    return [(name, _with_names(part, names)) for name, part in kind.given() if name not in ("struct", "element")]
