"""The rules about what the tagwire dialect says of values: required fields, unions, and arrays with unique keys."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tagwire_generator.diagnostics.problems import named, quoted
from tagwire_generator.model.defaults import STRUCT_DEFAULT
from tagwire_generator.model.python_names import attribute_name
from tagwire_generator.model.spec_names import NAME_RULE, is_name
from tagwire_generator.model.violations import Violation

if TYPE_CHECKING:
    from tagwire_generator.model.field_spec import FieldSpec
    from tagwire_generator.model.message_spec import MessageSpec
    from tagwire_generator.model.struct_graph import StructGraph
    from tagwire_generator.model.struct_spec import StructSpec

_UNKEYED: Final = ("bytes", "float32", "float64", "records")
"""Primitives that are no keys: bytes may be views, and a NaN is not the key that it is."""
_WRITTEN: Final = ("property", "which")
"""What stands in the text of a class that has unions."""


def field_violations(spec: "FieldSpec") -> Iterator[Violation]:
    """The rules that a field can break by itself."""
    if spec.required and spec.tagged_versions:
        text = f"field {named(spec.name)} is required and tagged, but a tagged field may be left out of the bytes"
        yield Violation("TW518", "required", f"{text}; remove one of the keys", ("taggedVersions",))
    if spec.union:
        yield from _alternative_violations(spec)


def _alternative_violations(spec: "FieldSpec") -> Iterator[Violation]:
    where = f"field {named(spec.name)} is an alternative of the union {quoted(spec.union)}"
    if is_name(spec.union) and attribute_name(spec.union) in _WRITTEN:
        yield Violation("TW619", "union", f"a union can't be named {quoted(spec.union)}, which is taken; rename it")
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
        text = f"{where} and ignorable, so that an older version would be written without any; remove one of the keys"
        yield Violation("TW617", "union", text, ("ignorable",))


def struct_violations(struct: "StructSpec") -> Iterator[Violation]:
    """The rules about the unions of a struct."""
    unions: dict[str, list[int]] = {}
    for position, spec in enumerate(struct.fields):
        if spec.union:
            unions.setdefault(attribute_name(spec.union), []).append(position)
    for name, positions in unions.items():
        first = struct.fields[positions[0]]
        if len(positions) == 1:
            text = f"union {quoted(first.union)} of {named(struct.name)} has one alternative, {named(first.name)}"
            text += "; give another field this union, or remove the key"
            yield Violation("TW618", "union", text, ("message:unions", "message:members"), positions[0])
        for position, spec in enumerate(struct.fields):
            if attribute_name(spec.name) in (name, *_WRITTEN):
                text = f"field {named(spec.name)} has a name that the class of {named(struct.name)} needs"
                yield Violation(
                    "TW619", "name", f"{text} for the union {quoted(first.union)}; rename one", (), position
                )


def violations(message: "MessageSpec", graph: "StructGraph") -> Iterator[Violation]:
    """The rules that need the structs of other fields."""
    for position, _, index, spec in graph.members():
        target = graph.target(spec)
        struct = None if target is None else message.structs[target]
        if struct is not None and spec.default is STRUCT_DEFAULT and not spec.required:
            needs = next((inner.name for inner in struct.fields if inner.required), None)
            if needs is not None:
                text = f"field {spec.name} is a default {struct.name}, in which the field {needs} is required"
                text += f"; make {spec.name} required, or null by default"
                yield Violation("TW519", "type", text, ("message:structs", "default"), index, position)
        if spec.unique:
            for rule, text in _key_faults(message, graph, position, spec, struct):
                yield Violation(rule, "unique", text, ("message:structs", "type"), index, position)


def map_keys(struct: "StructSpec") -> tuple["FieldSpec", ...]:
    """The fields that identify the elements of an array of this struct."""
    return tuple(spec for spec in struct.fields if spec.map_key)


def is_key_type(spec: "FieldSpec") -> bool:
    """Whether values of a field can be the keys of a mapping."""
    return not spec.type.is_array and spec.struct is None and spec.type.name not in _UNKEYED


def _key_faults(
    message: "MessageSpec", graph: "StructGraph", position: int | None, spec: "FieldSpec", struct: "StructSpec | None"
) -> Iterator[tuple[str, str]]:
    """Why the elements of an array can't have unique keys."""
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
            yield "TW319", f"{text}; a key is a bool, an integer, a uuid or a string"
