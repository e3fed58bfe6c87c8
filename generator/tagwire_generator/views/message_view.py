"""The data about a message for templates that generate references, dissectors, or code in languages besides Python.

Part of the stable interface for users' templates (docs/templates.md). A message is described twice: as a table of its
fields in all versions, and as the wire format of each version. Strings are not escaped. Names are ASCII identifiers.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tagwire.layout import Array, Fixed, Item, Nested, NullableFixed, OptionalBuffer, Sized, StructLayout, Type
from tagwire.message.field_table import layout_of
from tagwire.message.json import json_value
from tagwire_generator.message_classes import message_class
from tagwire_generator.model import STRUCT_DEFAULT, FieldSpec, MessageSpec
from tagwire_generator.model.register_spec import RegisterEntry
from tagwire_generator.model.spec_names import attribute_name, snake_case
from tagwire_generator.views.docstrings import deprecated_part, deprecated_versions, named_type, value_facts

__all__ = ["MessageView", "RowView", "WireField", "WireFieldType", "WireStruct", "WireVersion", "message_view"]


@dataclass(frozen=True)
class RowView:
    """Template data for a field in all versions. A struct's fields follow the field that contains the struct."""

    path: str
    name: str
    depth: int
    type: str
    named_type: str
    """The field's type, followed by its enum or semantic type, if it has one."""
    family: str
    width: int
    versions: str
    nullable: str
    tag: str
    default: str
    about: str
    deprecated: str
    """A sentence about the deprecation, or "" if the field is not deprecated."""
    enum: str
    members: tuple[tuple[str, str], ...]
    rules: tuple[str, ...]


@dataclass(frozen=True)
class WireFieldType:
    """Template data for the wire format of a type."""

    shape: str
    type: str
    family: str
    width: int
    length: str
    nullable: bool
    element: "WireFieldType | None" = None
    struct: "WireStruct | None" = None


@dataclass(frozen=True)
class WireField:
    """Template data for a field in one version."""

    name: str
    path: str
    tag: str
    type: WireFieldType
    union: str


@dataclass(frozen=True)
class WireStruct:
    """Template data for a struct in one version. Fields are in wire order."""

    name: str
    fields: tuple[WireField, ...]
    section: str
    tagged: tuple[WireField, ...]


@dataclass(frozen=True)
class WireVersion:
    """Template data for a version and its wire format."""

    number: int
    header: str
    flexible: bool
    struct: WireStruct


@dataclass(frozen=True)
class MessageView:
    """Template data for a message."""

    source: str
    package: str
    name: str
    module: str
    kind: str
    api_key: str
    component: str
    versions: str
    flexible_versions: str
    about: str
    deprecated: str
    """A sentence with the deprecated versions and the reason, or "" if there are none or the spec has no reason."""
    fallback: tuple[str, str] | None
    rows: tuple[RowView, ...]
    wire: tuple[WireVersion, ...]


def message_view(spec: MessageSpec, package: str, source: str) -> MessageView:
    """Return the view of a message, for templates. Record formats have no view."""
    cls = message_class(spec)
    return MessageView(
        source=source,
        package=package,
        name=spec.name,
        module=snake_case(spec.name),
        kind=spec.kind,
        api_key="" if spec.api_key is None else str(spec.api_key),
        component=spec.component,
        versions=str(spec.valid_versions),
        flexible_versions=str(spec.flexible_versions),
        about=spec.about,
        deprecated=deprecated_versions(spec),
        fallback=None if spec.fallback is None else (str(spec.fallback.version), str(spec.fallback.error_code)),
        rows=tuple(_rows(spec, spec.fields, "", 0)),
        wire=tuple(
            WireVersion(
                version,
                next((str(header) for versions, header in spec.headers if version in versions), ""),
                version in spec.flexible_versions,
                _struct(layout_of(cls, version).root, ""),
            )
            for version in spec.valid_versions
        ),
    )


def _rows(spec: MessageSpec, fields: tuple[FieldSpec, ...], outer: str, depth: int) -> Iterator[RowView]:
    for field in fields:
        path = f"{outer}{attribute_name(field.name)}"
        wire = field.type.primitive
        yield RowView(
            path=path,
            name=field.name,
            depth=depth,
            type=str(field.type),
            named_type=named_type(field),
            family=wire.family if wire else "",
            width=wire.width if wire else 0,
            versions=str(field.versions),
            nullable="" if not field.nullable_versions else str(field.nullable_versions),
            tag="" if field.tag is None else str(field.tag),
            default=_default(field),
            about=spec.about_of(field),
            deprecated=deprecated_part(field) or (deprecated_part(spec.struct(field.struct)) if field.struct else ""),
            enum="" if field.enum is None else field.enum.name,
            members=tuple((str(entry.key), entry.name) for entry in _entries(field)),
            rules=tuple(value_facts(field)),
        )
        if field.struct is not None:
            yield from _rows(spec, spec.struct(field.struct).fields, f"{path}.", depth + 1)


def _entries(field: FieldSpec) -> list[RegisterEntry]:
    return [] if field.enum is None else sorted(field.enum.entries, key=lambda entry: entry.key)


def _default(field: FieldSpec) -> str:
    """Return a default as JSON. For an enum, return the member's name if the number has one."""
    value: object = next((entry.name for entry in _entries(field) if entry.key == field.default), field.default)
    if value is STRUCT_DEFAULT:
        return "{}"
    if isinstance(value, tuple):
        return "[]"  # the only default that arrays can have
    if isinstance(value, bytes):
        value = json_value(value)
    plain = value is None or isinstance(value, bool | int | float | str)
    return json.dumps(value if plain else str(value), ensure_ascii=False)


def _struct(struct: StructLayout, outer: str) -> WireStruct:
    section = struct.section
    unions = {name: union.name for union in struct.unions for name in union.alternatives}
    kind = "" if section is None else "optional" if isinstance(section, OptionalBuffer) else "tagged"
    return WireStruct(
        struct.name,
        tuple(_field(item, outer) for item in struct.items),
        kind,
        tuple(_field(item, outer, unions.get(item.name, "")) for item in (section.fields if section else ())),
    )


def _field(item: Item, outer: str, union: str = "") -> WireField:
    path = f"{outer}{item.name}"
    return WireField(item.name, path, "" if item.tag is None else str(item.tag), _type(item.type, path), union)


def _type(type: Type, path: str) -> WireFieldType:
    if isinstance(type, Fixed):
        return WireFieldType("fixed", type.wire.name, type.wire.family, type.wire.width, "", False)
    if isinstance(type, NullableFixed):
        return WireFieldType("fixed", type.wire.name, type.wire.family, type.wire.width, type.marker, True)
    if isinstance(type, Sized):
        length = type.length.name if type.length else ""
        return WireFieldType("sized", type.wire.name, type.wire.family, 0, length, type.nullable)
    if isinstance(type, Array):
        length = type.length.name if type.length else ""
        return WireFieldType("array", "array", "", 0, length, type.nullable, element=_type(type.element, path))
    assert isinstance(type, Nested)  # only record formats have other types
    struct = _struct(type.struct, f"{path}.")
    return WireFieldType("struct", struct.name, "", 0, type.marker, type.nullable, struct=struct)
