"""Create sample values for a field, convert them to another layout, and convert them to JSON.

To show that a change breaks decoding, a message must contain the field. So arrays on the path to it have an element,
structs on the path are present, and the field itself differs from its default. Everything else keeps its default. The
layouts in this module have no classes, so structs are dicts.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tagwire.layout import (
    DEFAULT_STRUCT,
    Array,
    Fixed,
    Item,
    Layout,
    Nested,
    NullableFixed,
    OptionalBuffer,
    Sized,
    StructLayout,
    TaggedSection,
    Type,
    innermost,
)
from tagwire.message.enums import EnumType
from tagwire.message.json import UNKNOWN_TAGS, json_value
from tagwire.wire.types import WireType
from tagwire_generator.evolution.compare import wrapped
from tagwire_generator.evolution.field_matching import matched


def without_classes(layout: Layout) -> Layout:
    """Return a copy of the layout. Its structs are dicts, and lack the fields that only other versions have."""
    known: dict[int, StructLayout] = {}

    def struct(original: StructLayout) -> StructLayout:
        if id(original) not in known:
            known[id(original)] = _struct_of_dicts(original, type_)
        return known[id(original)]

    def type_(original: Type) -> Type:
        if isinstance(original, Array):
            element = type_(original.element)
            return Array(element, original.length, nullable=original.nullable, unique=original.unique)
        return Nested(struct(original.struct), original.marker) if isinstance(original, Nested) else original

    return Layout(layout.name, layout.version, struct(layout.root))


def _struct_of_dicts(struct: StructLayout, convert: Callable[[Type], Type]) -> StructLayout:
    def item(original: Item) -> Item:
        json_name, default, tag = original.json_name, original.default, original.tag
        return Item(original.name, convert(original.type), json_name=json_name, default=default, tag=tag)

    section = struct.section
    if isinstance(section, TaggedSection):
        section = TaggedSection(tuple(map(item, section.fields)), section.unions)
    elif isinstance(section, OptionalBuffer):
        section = OptionalBuffer(tuple(map(item, section.fields)), section.length, counts_tag=section.counts_tag)
    return StructLayout(struct.name, tuple(map(item, struct.items)), section=section)


def samples(layout: Layout, names: Sequence[str], defaults: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield messages in which the field at the path `names` differs from its default.

    The most distinctive value comes first, and the values in `defaults` come last. If `names` is empty, yield the
    default message, then a message in which every field is set.
    """
    if not names:
        yield _fresh(layout.root)
        yield next(_telling(Nested(layout.root)))
        return
    for value in (*_telling(field_at(layout, names).type), *defaults):
        yield _around(layout.root, names, value)


def field_at(layout: Layout, names: Sequence[str]) -> Item:
    """Return the field at the end of a path of one or more names."""
    struct = layout.root
    for name in names[:-1]:
        struct = _inner(struct, name).struct
    return _member(struct, names[-1])


def _member(struct: StructLayout, name: str) -> Item:
    return next(item for item in struct.fields if item.name == name)


def _inner(struct: StructLayout, name: str) -> Nested:
    inner = innermost(_member(struct, name).type)
    assert isinstance(inner, Nested), "the way to a field leads through structs"
    return inner


def _fresh(struct: StructLayout) -> dict[str, Any]:
    """Return a struct in which all fields have their defaults, but the first alternative of each union is set."""
    chosen = {union.alternatives[0] for union in struct.unions}
    return {
        field.name: next(_telling(field.type)) if field.name in chosen else _default(field) for field in struct.fields
    }


def _default(item: Item) -> Any:
    """Return a field's default. For records that can't be null, this is b""."""
    if item.default is DEFAULT_STRUCT and isinstance(item.type, Nested):
        return _fresh(item.type.struct)
    return b"" if item.default is None and not getattr(item.type, "nullable", False) else item.default


def _telling(type: Type) -> Iterator[Any]:
    if isinstance(type, Array):
        yield from ((value,) for value in _telling(type.element))
        yield ()
        if isinstance(type.element, Nested):
            twin = next(_telling(type.element))
            yield twin, twin
    elif isinstance(type, Nested):
        others = {name for union in type.struct.unions for name in union.alternatives[1:]}
        fields = [field for field in type.struct.fields if field.name not in others]
        yield _fresh(type.struct) | {field.name: next(_telling(field.type)) for field in fields}
        yield _fresh(type.struct)
    elif isinstance(type, Fixed | NullableFixed | Sized):
        yield from type.wire.samples
    if getattr(type, "nullable", False):
        yield None


def _around(struct: StructLayout, names: Sequence[str], value: Any) -> dict[str, Any]:
    value_of_struct = _fresh(struct)
    name, *rest = names
    if rest:
        value = _around(_inner(struct, name).struct, rest, value)
        around = _member(struct, name).type
        while isinstance(around, Array):
            value, around = (value,), around.element
    others = {each for union in struct.unions if name in union.alternatives for each in union.alternatives}
    return value_of_struct | dict.fromkeys(others) | {name: value}


def converted(value: dict[str, Any], source: StructLayout, target: StructLayout, *, is_forward: bool) -> dict[str, Any]:
    """Convert a value from layout `source` to layout `target`. Fields that only `target` has get their defaults.

    `is_forward` means that `source` is the layout before a spec change, and `target` the layout after it. Values that
    `target` can't represent are kept, so that encoding them fails.
    """
    result: dict[str, Any] = {}
    for step in matched(source, target) if is_forward else matched(target, source):
        ours, theirs = (step.old, step.new) if is_forward else (step.new, step.old)
        if theirs is not None and ours is None:
            result[theirs.name] = _default(theirs)
        elif theirs is not None and ours is not None:
            result[theirs.name] = _converted(value[ours.name], ours.type, theirs.type, is_forward=is_forward)
    return result


def _converted(value: Any, source: Type, target: Type, *, is_forward: bool) -> Any:
    if isinstance(value, tuple) and isinstance(source, Array) and isinstance(target, Array):
        return tuple(_converted(each, source.element, target.element, is_forward=is_forward) for each in value)
    if isinstance(value, dict) and isinstance(source, Nested) and isinstance(target, Nested):
        return converted(value, source.struct, target.struct, is_forward=is_forward)
    inner, outer = wrapped(source), wrapped(target)
    if isinstance(value, dict) and inner is not None:
        return _converted(value[inner.name], inner.type, target, is_forward=is_forward)
    if value is not None and outer is not None:
        return {outer.name: _converted(value, source, outer.type, is_forward=is_forward)}
    if isinstance(source, Fixed) and isinstance(target, Fixed):
        return _same_member(value, source.wire, target.wire)
    return value


def _same_member(value: Any, source: WireType, target: WireType) -> Any:
    """Convert an enum number to the number of the same-named member in `target`. Return other values unchanged."""
    if not isinstance(source, EnumType) or not isinstance(target, EnumType) or not isinstance(value, int):
        return value
    member = target.numbers.get(source.name_of(value))
    return value if member is None else int(member)


def as_json(value: Any, type: Type) -> Any:
    """Return a value in its JSON form, with Kafka's JSON keys."""
    if value is None:
        return None
    if isinstance(type, Array):
        return [as_json(element, type.element) for element in value]
    if isinstance(type, Nested):
        names = {field.name: field for field in type.struct.fields}
        members = {field.json_name: as_json(value[name], field.type) for name, field in names.items() if name in value}
        unknown = {str(tag): json_value(data) for tag, data in value.get("unknown_tags", {}).items()}
        return members | ({UNKNOWN_TAGS: unknown} if unknown else {})
    return type.wire.to_json(value) if isinstance(type, Fixed) and type.wire.is_enum else json_value(value)
