"""Create data classes from a spec at run time, so that the generator can expand layouts.

These classes have the same field tables as generated classes, so the rules for versions are implemented only once.
"""

from functools import lru_cache
from types import new_class
from typing import Any

from tagwire.layout import DEFAULT_STRUCT
from tagwire.message import Message, Register, Struct
from tagwire.message.field_table import FieldRow, OptionalFields
from tagwire_generator.model import STRUCT_DEFAULT, FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.defaults import map_keys
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.project.options import SpecOptions


def message_class(spec: MessageSpec, options: SpecOptions) -> type[Message]:
    """Return a message class that contains only what `field_table.layout_of` needs: field tables and versions."""
    structs: dict[str, type[Struct]] = {}
    for struct in spec.structs:
        structs[struct.name] = type(struct.name, (Struct,), _members(spec, struct, structs))
    members = _members(spec, spec.root, structs) | {
        "NAME": spec.name,
        "KIND": spec.kind,
        "VERSIONS": spec.valid_versions,
        "FLEXIBLE_VERSIONS": spec.flexible_versions,
        "OPTIONAL_FIELDS": optional_fields(spec, options),
    }
    return type(spec.name, (Message,), members)


def optional_fields(spec: MessageSpec, options: SpecOptions) -> OptionalFields | None:
    """Return how a message encodes optional fields (KIP-482's first draft), or None if its dialect has none."""
    if spec.dialect != "draft":
        return None
    return OptionalFields(
        spec.optional_versions, length_varint=options.length_varint, counts_tag=options.length_counts_tag
    )


def _members(spec: MessageSpec, struct: StructSpec, structs: dict[str, type[Struct]]) -> dict[str, Any]:
    rows = tuple(
        field_row(field, structs.get(field.struct or ""), unique_keys(spec, field), spec.about_of(field))
        for field in struct.fields
    )
    return {"FIELDS": rows, "__slots__": (*(row.name for row in rows), "unknown_tags")}


def unique_keys(spec: MessageSpec, field: FieldSpec) -> tuple[str, ...]:
    """Return the attributes whose values together identify an element of a `unique` array, or () for other fields."""
    if not field.unique or field.struct is None:
        return ()
    return tuple(attribute_name(key.name) for key in map_keys(spec.struct(field.struct)))


def field_row(field: FieldSpec, struct: type[Struct] | None, unique: tuple[str, ...] = (), about: str = "") -> FieldRow:
    """Create a field's row in its struct's field table. `unique` lists the key attributes of an array's elements."""
    enum = None if field.enum is None else _register_class(field.enum)
    return FieldRow(
        attribute_name(field.name),
        field.name,
        str(field.type),
        str(field.versions),
        default=_default(field, enum),
        nullable=str(field.nullable_versions),
        tag=field.tag,
        tagged=str(field.tagged_versions),
        ignorable=field.ignorable,
        sensitive=field.sensitive,
        required=field.required,
        union=attribute_name(field.union) if field.union else "",
        unique=unique,
        flexible=None if field.flexible_versions is None else str(field.flexible_versions),
        semantic=field.meaning,
        record_formats=tuple((str(versions), format) for versions, format in field.record_formats),
        struct=struct,
        enum=enum,
        about=about or field.about,
        deprecated=field.deprecated,
    )


def _default(field: FieldSpec, enum: type[Register] | None) -> Any:
    """Return the default that a field has in a message object. If it is an enum member's number, return the member."""
    if enum is not None and isinstance(field.default, int):
        return next((member for member in enum if member == field.default), field.default)
    return DEFAULT_STRUCT if field.default is STRUCT_DEFAULT else field.default


@lru_cache(maxsize=256)
def _register_class(spec: RegisterSpec) -> type[Register]:
    """Return a class with the members of a register (a table of named numbers). Equal registers share one class."""

    def fill(namespace: dict[str, Any]) -> None:
        for entry in sorted(spec.entries, key=lambda entry: entry.key):
            namespace[spec.constant(entry)] = entry.key, entry.name, entry.codec

    return new_class(spec.name, (Register,), {"closed": spec.closed}, fill)
