"""Create the classes of messages and record formats in memory, so that layouts are computed without generated code.

These classes have the same field tables as generated classes, so the rules for versions are implemented only once.
Specs refer to fields and bits by name. For record formats, this module replaces field names with attribute names, and
bit names with bit masks, so that layouts can be built from the field tables alone.
"""

from functools import lru_cache
from types import new_class
from typing import Any

from tagwire.layout import DEFAULT_STRUCT, Bits, Compression, Condition, Order
from tagwire.message import Message, Register, Struct
from tagwire.message.field_table import FieldRow, OptionalFields
from tagwire.message.record_format import Framing, RecordFormat
from tagwire_generator.model import STRUCT_DEFAULT, FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.defaults import map_keys
from tagwire_generator.model.record_format_spec import REST, BitsSpec, fields_before, first_uses
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.model.struct_spec import StructGraph


def message_class(spec: MessageSpec) -> type[Message]:
    """Return a message class that contains only what `field_table.layout_of` needs: field tables and versions."""
    structs: dict[str, type[Struct]] = {}
    for struct in spec.structs:
        structs[struct.name] = type(struct.name, (Struct,), _members(spec, struct, structs))
    members = _members(spec, spec.root, structs) | {
        "NAME": spec.name,
        "KIND": spec.kind,
        "VERSIONS": spec.valid_versions,
        "FLEXIBLE_VERSIONS": spec.flexible_versions,
        "OPTIONAL_FIELDS": optional_fields(spec),
    }
    return type(spec.name, (Message,), members)


def optional_fields(spec: MessageSpec) -> OptionalFields | None:
    """Return how a message encodes optional fields (KIP-482's first draft), or None if its dialect has none."""
    if spec.dialect != "draft":
        return None
    options = spec.options
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
        field.versions,
        default=_default(field, enum),
        nullable=field.nullable_versions,
        tag=field.tag,
        tagged=field.tagged_versions,
        ignorable=field.ignorable,
        sensitive=field.sensitive,
        required=field.required,
        union=attribute_name(field.union) if field.union else "",
        unique=unique,
        flexible=field.flexible_versions,
        semantic=field.meaning,
        record_formats=field.record_formats,
        struct=struct,
        enum=enum,
        about_text=about or field.about,
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


def format_class(spec: MessageSpec) -> type[RecordFormat]:
    """Create a record format's class in memory. It has no methods, only the field tables that determine the layout."""
    assert spec.format is not None
    tables = format_rows(spec)
    classes: dict[str, type[Struct]] = {}
    for struct in spec.structs:
        classes[struct.name] = type(struct.name, (Struct,), _format_members(struct, tables[struct.name], classes))
    constants = {
        "NAME": spec.name,
        "FORMAT": spec.format.name,
        "DISCRIMINATOR": attribute_name(spec.format.discriminator),
    }
    return type(spec.name, (RecordFormat,), _format_members(spec.root, tables[spec.name], classes) | constants)


def _format_members(struct: StructSpec, rows: tuple[FieldRow, ...], classes: dict[str, type[Struct]]) -> dict[str, Any]:
    for field, row in zip(struct.fields, rows, strict=True):
        row.struct = classes.get(field.struct or "")
    return {"FIELDS": rows, "__slots__": tuple(row.name for row in rows if not row.is_computed)}


def format_rows(spec: MessageSpec) -> dict[str, tuple[FieldRow, ...]]:
    """Return a dict that maps the names of a record format and of its structs to their field tables.

    The caller must still set `FieldRow.struct`.
    """
    graph = StructGraph(spec.root, spec.structs)
    around = first_uses(graph)
    tables: dict[str, tuple[FieldRow, ...]] = {}
    for position, struct in graph.owners():
        rows = []
        for index, field in enumerate(struct.fields):
            row = field_row(field, None)
            row.framing = _framing(spec, struct, field, fields_before(graph, around, position, index))
            rows.append(row)
        tables[struct.name] = tuple(rows)
    return tables


def _framing(spec: MessageSpec, struct: StructSpec, field: FieldSpec, before: dict[str, FieldSpec]) -> Framing | None:
    framing = field.framing
    when = framing.when
    order = Order(attribute_name(framing.ascending), unsigned=spec.options.header_key_order == "unsigned")
    result = Framing(
        length=framing.length,
        count=framing.count,
        length_of=framing.length_of if framing.length_of == REST else attribute_name(framing.length_of),
        counts_itself=framing.includes_itself,
        extent=_who(struct, "length_of", field.name),
        count_of=attribute_name(framing.count_of),
        counted_by=_who(struct, "count_of", field.name),
        covers=attribute_name(framing.covers),
        bits=tuple(map(_bits, framing.bits)),
        when=None if when is None else _condition(before[when.field], when.bits, when.equals),
        relative_to=attribute_name(framing.delta_of),
        compression=_compression(framing.compression, before) if framing.compression else None,
        equals=framing.equals,
        rewritten=framing.rewritten,
        ascending=order if framing.ascending else None,
        filled=framing.not_empty,
        signed=framing.signed,
    )
    return None if result == Framing() else result


def _who(struct: StructSpec, key: str, name: str) -> str:
    """Return the attribute name of the field whose `key` is `name`, or "" if there is none.

    For example, if `key` is `length_of`, return the field that contains the length of the field `name`.
    """
    found = (field.name for field in struct.fields if getattr(field.framing, key) == name)
    return attribute_name(next(found, ""))


def _bits(group: BitsSpec) -> Bits:
    return Bits(attribute_name(group.name), group.mask, group.values)


def _condition(field: FieldSpec, bits: str, equals: int) -> Condition:
    group = field.framing.group(bits)
    if group is None:
        return Condition(attribute_name(field.name), -1, equals)
    return Condition(attribute_name(field.name), group.mask, equals << group.low)


def _compression(text: str, before: dict[str, FieldSpec]) -> Compression:
    field, _, bits = text.partition(".")
    group = before[field].framing.group(bits)
    assert group is not None, "the rules of the format see to it"
    return Compression(attribute_name(field), _bits(group))
