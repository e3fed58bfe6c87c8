"""Create runtime classes with field tables from record formats.

Specs refer to fields and bits by name. This module replaces field names with attribute names, and bit names with bit
masks, so that layouts can be built from the field tables alone.
"""

from typing import Any

from tagwire.layout import Bits, Compression, Condition, Order
from tagwire.message import Struct
from tagwire.message.field_table import FieldRow
from tagwire.message.framing_table import Framing
from tagwire.message.record_format import RecordFormat
from tagwire_generator.expansion.message_classes import field_row
from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.framing_rules import fields_before, first_uses
from tagwire_generator.model.framing_spec import REST, BitsSpec
from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.model.struct_spec import StructGraph
from tagwire_generator.project.options import SpecOptions


def format_class(spec: MessageSpec, options: SpecOptions) -> type[RecordFormat]:
    """Create a record format's class in memory. It has no methods, only the field tables that determine the layout."""
    assert spec.format is not None
    tables = format_rows(spec, options)
    classes: dict[str, type[Struct]] = {}
    for struct in spec.structs:
        classes[struct.name] = type(struct.name, (Struct,), _format_members(struct, tables[struct.name], classes))
    constants = {
        "NAME": spec.name,
        "FORMAT": spec.format.name,
        "DISCRIMINATOR": attribute_name(spec.format.discriminator),
    }
    return type(spec.name, (RecordFormat,), _format_members(spec.root, tables[spec.name], classes) | constants)


def attributes_of(struct: StructSpec) -> tuple[FieldSpec, ...]:
    """Return the fields that become attributes of record objects. Lengths, counts and checksums don't."""
    return tuple(field for field in struct.fields if not _is_framing(field))


def _is_framing(field: FieldSpec) -> bool:
    return bool(field.framing.length_of or field.framing.count_of or field.framing.covers)


def _format_members(struct: StructSpec, rows: tuple[FieldRow, ...], classes: dict[str, type[Struct]]) -> dict[str, Any]:
    for field, row in zip(struct.fields, rows, strict=True):
        row.struct = classes.get(field.struct or "")
    return {"FIELDS": rows, "__slots__": tuple(attribute_name(field.name) for field in attributes_of(struct))}


def format_rows(spec: MessageSpec, options: SpecOptions) -> dict[str, tuple[FieldRow, ...]]:
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
            row.framing = _framing(struct, field, fields_before(graph, around, position, index), options)
            rows.append(row)
        tables[struct.name] = tuple(rows)
    return tables


def _framing(
    struct: StructSpec, field: FieldSpec, before: dict[str, FieldSpec], options: SpecOptions
) -> Framing | None:
    framing = field.framing
    when = framing.when
    order = Order(attribute_name(framing.ascending), unsigned=options.header_key_order == "unsigned")
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
