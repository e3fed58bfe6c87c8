"""The default values of fields, and the rules for defaults and other values."""

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast
from uuid import UUID

from tagwire.text_format import suggestion
from tagwire.wire.types import IntegerType, WireType, wire_type
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.model.spec_names import NAME_RULE, attribute_name, is_name
from tagwire_generator.problems import InvalidSpec, Violation, named, quoted

if TYPE_CHECKING:
    from tagwire_generator.model.field_spec import FieldSpec
    from tagwire_generator.model.message_spec import MessageSpec
    from tagwire_generator.model.struct_spec import StructGraph, StructSpec


class StructDefault(enum.Enum):
    """The type of `STRUCT_DEFAULT`, which stands for a struct whose fields have their own defaults."""

    STRUCT_DEFAULT = "a struct of its own defaults"


class _Implicit(enum.Enum):
    IMPLICIT = "the default of the type"


Default = int | bool | float | str | UUID | bytes | tuple[()] | StructDefault | None
"""The default of a field. None stands for null, and () for an empty array."""

STRUCT_DEFAULT: Final = StructDefault.STRUCT_DEFAULT
"""The default of a struct field: a struct in which all fields have their own defaults."""

IMPLICIT: Final = cast(Default, _Implicit.IMPLICIT)
"""Passed to `FieldSpec` if the spec declares no default. The field then has the default of its type."""

_RULES: Final = {"integer": "TW502", "boolean": "TW501", "floating": "TW504", "uuid": "TW505", "text": "TW508"}
"""Maps each family of types to the rule that rejects defaults of the wrong type. For other families, it is TW506."""


def implicit_default(type: FieldType, semantic: str = "") -> Default:
    """Return the default of a field whose spec has no default. For records, this is null."""
    meant = _wire(type, semantic)
    if meant is not None and semantic:
        return cast(Default, meant.default)
    if type.is_array:
        return ()
    if type.primitive is None:
        return STRUCT_DEFAULT
    return None if type.name == "records" else type.primitive.default


def _wire(type: FieldType, semantic: str) -> WireType | None:
    """Return a field's wire type, or None for arrays and structs. Invalid semantic types are ignored."""
    return type.scalar and (wire_type(type.name, semantic) or type.scalar)


def parse_default(
    name: str, type: FieldType, text: str, enum: RegisterSpec | None = None, semantic: str = ""
) -> Default:
    """Parse the string that specifies a default in a spec. An empty string means the implicit default.

    With an `enum`, the string can be the name of an entry. Raises InvalidSpec if the string is not a value of the type.
    The caller checks whether the value is in range, and whether the field may be null.
    """
    if not text or type.name == "records":
        return implicit_default(type, semantic)
    if text == "null":
        return None
    wire = _wire(type, semantic)
    if wire is None or not wire.text_form:
        raise InvalidSpec([_content(name, type, text)])
    if enum is not None and (entry := enum.entry(text)) is not None:
        return entry.key
    try:
        value: Default = wire.from_text(text)
    except ValueError:
        if enum is not None:
            names = suggestion(text, [entry.name for entry in enum.entries])
            message = f"field {named(name)}: {quoted(text)} is neither a number nor a name of {enum.name}; {names}"
            raise InvalidSpec([Violation("TW502", "default", message, ("type", "enum"))]) from None
        raise InvalidSpec([_unlike(name, type, wire, text)]) from None
    return value


def default_violation(
    name: str, type: FieldType, value: Default, semantic: str = "", *, is_nullable: bool = False
) -> Violation | None:
    """Return a violation if a field's default is invalid, or None if it is valid."""
    if value is None:
        remedy = "give another value, or remove `default`"
        return None if type.can_be_null or is_nullable else _rejected("TW507", name, type, "null", remedy)
    wire = _wire(type, semantic)
    if wire is None or not wire.text_form:
        return None if value == implicit_default(type) else _content(name, type, value)
    if not wire.holds(value):
        return _unlike(name, type, wire, value)
    if isinstance(wire, IntegerType) and isinstance(value, int) and not wire.low <= value <= wire.high:
        return _rejected("TW503", name, type, value, f"give a number from {wire.low} to {wire.high}")
    if isinstance(value, str) and len(value.encode("utf-8", "surrogatepass")) > wire.longest:
        return _rejected("TW508", name, type, value, f"give a string of at most {wire.longest} bytes in UTF-8")
    return None


def _rejected(rule: str, name: str, type: FieldType, value: object, remedy: str) -> Violation:
    shown = quoted(value) if value != "null" else "null"
    message = f"field {named(name)} is {type}, so {shown} can't be its default; {remedy}"
    return Violation(rule, "default", message, ("type",))


def _unlike(name: str, type: FieldType, wire: WireType, value: object) -> Violation:
    return _rejected(_RULES.get(wire.family, "TW506"), name, type, value, f"give {wire.text_form}")


def _content(name: str, type: FieldType, value: object) -> Violation:
    null = ', or write "null" if the field is nullable' if type.can_be_null else ""
    empty = "empty" if type.can_be_null else f"{implicit_default(type)!r}"
    return _rejected("TW506", name, type, value, f"remove `default` (the field is then {empty} by default){null}")


_UNKEYED: Final = ("bytes", "float32", "float64", "records")
"""Primitives that can't be keys: bytes may be unhashable memoryviews, and the float NaN is not equal to itself."""
_WRITTEN: Final = ("property", "which")
"""A class that has unions uses these names itself, so no field or union in it can have one of them."""


def field_violations(spec: "FieldSpec") -> Iterator[Violation]:
    """Yield a field's violations of the rules for required fields and for unions."""
    if spec.required and spec.tagged_versions:
        text = f"field {named(spec.name)} is required and tagged, but a tagged field may be left out of the bytes"
        yield Violation("TW518", "required", f"{text}; remove one of the keys", ("taggedVersions",))
    if spec.union:
        yield from _alternative_violations(spec)


def _alternative_violations(spec: "FieldSpec") -> Iterator[Violation]:
    where = f"field {named(spec.name)} is an alternative of the union {quoted(spec.union)}"
    if is_name(spec.union) and attribute_name(spec.union) in _WRITTEN:
        text = f"a union can't be named {quoted(spec.union)}, because its class uses this name; rename the union"
        yield Violation("TW619", "union", text)
    if not is_name(spec.union):
        yield Violation("TW619", "union", f"{quoted(spec.union)} can't be the name of a union; {NAME_RULE}")
    if not spec.tagged_versions or spec.tagged_versions != spec.versions:
        tagged = f"is tagged in {spec.tagged_versions} of {spec.versions}" if spec.tagged_versions else "has no tag"
        text = f"{where}, but {tagged}; an alternative is a tagged field in all of its versions"
        yield Violation("TW617", "union", text, ("taggedVersions", "versions", "tag"))
    elif spec.default is not None:
        text = f'{where}, but is not null by default; make it nullable, and write "default": "null"'
        yield Violation("TW617", "union", text, ("default", "nullableVersions", "type"))
    if spec.ignorable:
        text = f"{where} and ignorable, so older versions would omit all alternatives; remove one of the keys"
        yield Violation("TW617", "union", text, ("ignorable",))


def struct_violations(struct: "StructSpec") -> Iterator[Violation]:
    """Yield a struct's violations of the rules for unions."""
    unions: dict[str, list[int]] = {}
    for position, spec in enumerate(struct.fields):
        if spec.union:
            unions.setdefault(attribute_name(spec.union), []).append(position)
    for name, positions in unions.items():
        first = struct.fields[positions[0]]
        if len(positions) == 1:
            text = f"union {quoted(first.union)} of {named(struct.name)} has only one alternative, {named(first.name)}"
            text += "; give another field this union, or remove the key"
            yield Violation("TW618", "union", text, ("message:unions", "message:members"), positions[0])
        for position, spec in enumerate(struct.fields):
            if attribute_name(spec.name) in (name, *_WRITTEN):
                text = f"field {named(spec.name)} has a name that is reserved in the class of {named(struct.name)}"
                yield Violation(
                    "TW619", "name", f"{text} for the union {quoted(first.union)}; rename one", (), position
                )


def value_violations(message: "MessageSpec", graph: "StructGraph") -> Iterator[Violation]:
    """Yield violations for struct defaults that lack required fields, and for `unique` arrays without suitable keys."""
    for position, _, index, spec in graph.members():
        target = graph.target(spec)
        struct = None if target is None else message.structs[target]
        if struct is not None and spec.default is STRUCT_DEFAULT and not spec.required:
            needs = next((inner.name for inner in struct.fields if inner.required), None)
            if needs is not None:
                text = f"field {spec.name} has the default values of {struct.name}, but field {needs} in it is required"
                text += f"; make {spec.name} required, or null by default"
                yield Violation("TW519", "type", text, ("message:structs", "default"), index, position)
        if spec.unique:
            for rule, text in _key_faults(message, graph, position, spec, struct):
                yield Violation(rule, "unique", text, ("message:structs", "type"), index, position)


def map_keys(struct: "StructSpec") -> tuple["FieldSpec", ...]:
    """Return the fields that identify the elements of an array of this struct."""
    return tuple(spec for spec in struct.fields if spec.map_key)


def is_key_type(spec: "FieldSpec") -> bool:
    """Return whether a field's values can be keys of a Python mapping."""
    return not spec.type.is_array and spec.struct is None and spec.type.name not in _UNKEYED


def _key_faults(
    message: "MessageSpec", graph: "StructGraph", position: int | None, spec: "FieldSpec", struct: "StructSpec | None"
) -> Iterator[tuple[str, str]]:
    if spec.type.dimensions != 1 or struct is None:
        if graph.target(spec) is not None or spec.struct is None:
            yield "TW318", f"field {spec.name} is {spec.type}, but only arrays of structs can be unique; remove the key"
        return
    keys = map_keys(struct)
    where = spec.versions & graph.present[position] & message.valid_versions
    bare = next((version for version in where if not any(version in key.versions for key in keys)), None)
    if bare is not None:
        text = f"the elements of {spec.name} are unique, but {struct.name} has no mapKey in version {bare}"
        yield "TW318", f"{text}; mark the fields that identify an element"
    for key in keys:
        if not is_key_type(key):
            text = f"the elements of {spec.name} are unique by {key.name}, which is {key.type}"
            yield "TW319", f"{text}; a key must be a bool, an integer, a uuid or a string"
