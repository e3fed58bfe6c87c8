"""Read fields, including their framing in record formats: lengths, counts, checksums and conditions."""

import re
from collections.abc import Mapping
from typing import Any, Final

from tagwire.text_format import suggestion
from tagwire.versions import NONE, Versions
from tagwire_generator.model.defaults import parse_default
from tagwire_generator.model.field_spec import FieldSpec
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.framing_spec import BitsSpec, FramingSpec, When
from tagwire_generator.model.record_format_spec import RecordFormats
from tagwire_generator.problems import quoted
from tagwire_generator.reading.context import EVERYWHERE, Part, Reading
from tagwire_generator.reading.keys import Convert, attributes_of, keys_of
from tagwire_generator.reading.values import BadValue, by_version, is_hexadecimal, items, tag_number, text, whole_number
from tagwire_generator.syntax.parse import JsonNode, Object

_BITS: Final = re.compile("([0-9]{1,2})(?:-([0-9]{1,2}))?")


def _bits(node: JsonNode) -> tuple[BitsSpec, ...]:
    return tuple(_group(item) for item in items(node))


def _group(node: JsonNode) -> BitsSpec:
    assert isinstance(node, Object)
    value = node.members["bits"].value
    found = _BITS.fullmatch(text(value).strip())
    if found is None:
        message = (
            f"{text(value)!r} is not a range of bits; write one bit, such as 4, or the first and the last, such as 0-2"
        )
        raise BadValue("TW005", value, message)
    low = int(found[1])
    about = node.get("about")
    return BitsSpec(
        name=text(node.members["name"].value),
        low=low,
        high=low if found[2] is None else int(found[2]),
        values=tuple(text(value) for value in items(node.get("values"))),
        about="" if about is None else text(about),
    )


def _when(node: JsonNode) -> When:
    assert isinstance(node, Object)
    field, _, bits = text(node.members["field"].value).partition(".")
    equals = node.get("equals")
    return When(field, bits, 1 if equals is None else whole_number(equals))


FRAMING: Final[Mapping[str, Convert]] = {"bits": _bits, "when": _when}
"""Converters for the keys `bits` and `when`. The schema determines the converters of most other keys."""


def _type(node: JsonNode) -> FieldType:
    return FieldType.parse(text(node))


def _record_formats(node: JsonNode) -> RecordFormats:
    return by_version(node, text)


_OWN: Final = {"type": _type, "recordFormats": _record_formats, **FRAMING}

FIELD_KEYS: Final = keys_of("field", [FieldSpec], _OWN)
"""The keys of a field, except for `fields` and similar lists, which `reading.struct` reads."""
OPTIONAL_FIELD_KEYS: Final = keys_of("optionalField", [FieldSpec], _OWN, {"nullable": ""})
"""The keys of a field that is listed in the draft dialect's optionalFields."""
FORMAT_FIELD_KEYS: Final = keys_of("formatField", [FieldSpec, FramingSpec], _OWN, {"nullable": ""})
"""The keys of a field in a record format."""

_FRAMING: Final = attributes_of(FramingSpec)
_RELEASED_ONLY: Final = ("tag", "taggedVersions", "flexibleVersions")
_STAND_IN: Final = FieldType("int8")


class FieldPart(Part):
    """A field, and the `FieldSpec` that was created from its valid keys."""

    spec: FieldSpec


def read_field(reading: Reading, node: Object, default_versions: Versions | None, *, is_optional: bool) -> FieldPart:
    """Read a field.

    `default_versions` are the versions of a field without the key `versions`, or None if the key is required.
    `is_optional` means that the field is in the draft dialect's optionalFields.
    """
    part = FieldPart(node, {"nullableVersions": "nullable"} if is_optional or reading.is_format else None)
    keys = FORMAT_FIELD_KEYS if reading.is_format else OPTIONAL_FIELD_KEYS if is_optional else FIELD_KEYS
    read = {key: reading.value(part, key, convert) for key, (_, convert) in keys.items()}
    check_hexadecimal(reading, node.get("tag"))
    if reading.is_format:
        read |= {"versions": EVERYWHERE, "nullableVersions": EVERYWHERE if read.pop("nullable") else None}
    elif is_optional:
        _add_draft_versions(reading, read)
    else:
        _check_dialect(reading, part, read)
        _check_own_flexible(reading, part)
        _infer_versions(reading, part, read, default_versions)
    part.broken_keys |= {key for key in ("name", "type") if read[key] is None}
    values = {key: value for key, value in read.items() if value is not None}
    _resolve_enum(reading, part, values)
    _parse_default(reading, part, values)
    stand_ins = {"name": f"Unreadable{node.line}At{node.column}", "type": _STAND_IN, "versions": EVERYWHERE}
    kind = {"is_of_format": reading.is_format, "is_optional": is_optional}
    part.spec = reading.build(part, values, lambda known: _field({**stand_ins, **known}, **kind))
    if "union" in part.broken_keys:
        reading.broken_message_keys.add("unions")
    return part


def _field(values: Mapping[str, Any], *, is_of_format: bool, is_optional: bool) -> FieldSpec:
    attributes = {FIELD_KEYS[key][0]: value for key, value in values.items() if key in FIELD_KEYS}
    framing = {name: values[key] for key, (name, _) in FORMAT_FIELD_KEYS.items() if key in values and name in _FRAMING}
    return FieldSpec(**attributes, framing=FramingSpec(**framing), is_of_format=is_of_format, is_optional=is_optional)


def check_hexadecimal(reading: Reading, node: JsonNode | None) -> None:
    """Report a hexadecimal tag such as 0x0001, unless the spec is in the draft dialect (KIP-482's first draft)."""
    if node is not None and not reading.is_draft and not reading.is_rejected(node) and is_hexadecimal(node):
        reading.report("TW708", node, f"only the draft dialect writes tags in hexadecimal; write {tag_number(node)}")


def _add_draft_versions(reading: Reading, values: dict[str, Any]) -> None:
    """Set an optional field's versions."""
    is_nullable = values.pop("nullable")
    if values["tag"] is not None:
        values["taggedVersions"] = reading.optional_versions
    values["versions"] = reading.optional_versions
    values["nullableVersions"] = reading.optional_versions if is_nullable else NONE


def _check_dialect(reading: Reading, part: FieldPart, values: dict[str, Any]) -> None:
    for key in _RELEASED_ONLY if reading.is_draft else ():
        if part.node.get(key) is not None:
            message = f"{key} belongs to the released dialect, but the spec is in the draft dialect; use optionalFields"
            reading.report("TW701", part.node.members[key], message)
            values[key] = None
            part.broken_keys.add(key)


def _check_own_flexible(reading: Reading, part: FieldPart) -> None:
    node = part.node.get("flexibleVersions")
    if node is not None and not reading.is_rejected(node) and not text(node).strip():
        reading.report("TW410", node, "the field's flexibleVersions is empty; remove the key, or write 'none'")
        part.broken_keys.add("flexibleVersions")


def _infer_versions(
    reading: Reading, part: FieldPart, values: dict[str, Any], default_versions: Versions | None
) -> None:
    if values["versions"] is not None or "versions" in part.broken_keys:
        return
    values["versions"] = values["taggedVersions"] or default_versions
    if values["versions"] is None:
        part.broken_keys.add("versions")
        if "taggedVersions" not in part.broken_keys:
            message = "the field has neither versions nor taggedVersions; give the versions in which it exists"
            if reading.is_draft:
                message = "the field has no versions; give those in which it exists, or move it to optionalFields"
            reading.report("TW405", part.node, message)


def _resolve_enum(reading: Reading, part: FieldPart, values: dict[str, Any]) -> None:
    """Replace an enum's name with its table of named numbers. If the name is unknown, also drop the field's default."""
    name: str | None = values.pop("enum", None)
    if name is None:
        return
    registers = reading.registers
    register = None if registers is None else registers.get(name)
    if registers is not None and name not in registers:
        known = f"the set has no register {quoted(name)}; {suggestion(name, registers)}"
        reading.report("TW417", part.node_of("enum"), f"field {values.get('name', '?')}: {known}")
    if register is None:
        part.broken_keys |= {"enum", "default"}
        values.pop("default", None)
    else:
        values["enum"] = register


def _meaning(values: dict[str, Any]) -> str:
    semantic: str = values.get("semantic", "")
    return f"decimal({values['precision']},{values.get('scale', 0)})" if "precision" in values else semantic


def _parse_default(reading: Reading, part: FieldPart, values: dict[str, Any]) -> None:
    """Convert the default in `values` from a string to a value of the field's type. The default null becomes None."""
    written: str | None = values.pop("default", None)
    type: FieldType | None = values.get("type")
    if written is None or type is None:
        return
    if str(type) == "records" and written not in ("", "null"):
        reading.report("TW520", part.node_of("default"), "records are always null by default; remove the key")
    name, enum = values.get("name", "?"), values.get("enum")
    default = reading.value(part, "default", lambda _: parse_default(name, type, written, enum, _meaning(values)))
    if "default" not in part.broken_keys:
        values["default"] = default
