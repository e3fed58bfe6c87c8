"""Read a struct with its fields, and the structs that its fields declare inline, as `StructSpec` objects.

For record formats, this includes the framing of fields: lengths, counts, checksums and conditions.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from tagwire.text_format import suggestion
from tagwire.versions import NONE, Versions
from tagwire_generator.model.defaults import parse_default
from tagwire_generator.model.field_spec import FieldSpec
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.record_format_spec import BitsSpec, FramingSpec, When
from tagwire_generator.model.struct_spec import StructSpec
from tagwire_generator.problems import InvalidSpec, quoted
from tagwire_generator.reading.context import EVERYWHERE, STAND_IN_NAME, Part, Reading
from tagwire_generator.reading.keys import (
    BadValue,
    Convert,
    attributes_of,
    by_version,
    is_hexadecimal,
    items,
    keys_of,
    read_object,
    strings,
    tag_number,
    text,
    version_range,
)
from tagwire_generator.syntax.parse import JsonNode, Object

_BIT_RANGE: Final = re.compile("([0-9]{1,2})(?:-([0-9]{1,2}))?")


def _bits(node: JsonNode) -> tuple[int, int]:
    """Return the first and the last bit of a group, which is written as 4 or 0-2."""
    found = _BIT_RANGE.fullmatch(text(node).strip())
    if found is None:
        message = (
            f"{text(node)!r} is not a range of bits; write one bit, such as 4, or the first and the last, such as 0-2"
        )
        raise BadValue("TW005", node, message)
    return int(found[1]), int(found[2] or found[1])


_BITS: Final[Mapping[str, Convert]] = {"bits": _bits, "values": strings}


def _group(*, name: str, bits: tuple[int, int], values: tuple[str, ...] = (), about: str = "") -> BitsSpec:
    return BitsSpec(name, *bits, values, about)


def _when(*, field: str, equals: int = 1) -> When:
    name, _, bits = field.partition(".")
    return When(name, bits, equals)


_OWN: Final[Mapping[str, Convert]] = {
    "type": lambda node: FieldType.parse(text(node)),
    "recordFormats": lambda node: by_version(node, text),
    "bits": lambda node: tuple(read_object(item, "bits", _group, _BITS) for item in items(node)),
    "when": lambda node: read_object(node, "when", _when),
}
"""Converters of the keys whose kind of value in the schema does not determine the converter."""

FIELD_KEYS: Final = keys_of("field", [FieldSpec], _OWN)
"""The keys of a field, except for `fields` and similar lists, which `StructReader` reads."""
OPTIONAL_FIELD_KEYS: Final = keys_of("optionalField", [FieldSpec], _OWN, {"nullable": ""})
"""The keys of a field that is listed in the draft dialect's optionalFields."""
FORMAT_FIELD_KEYS: Final = keys_of("formatField", [FieldSpec, FramingSpec], _OWN, {"nullable": ""})
"""The keys of a field in a record format."""

_FRAMING: Final = {key: name for key, (name, _) in FORMAT_FIELD_KEYS.items() if name in attributes_of(FramingSpec)}
"""The keys whose values are attributes of `FramingSpec`, each with its attribute."""
_RELEASED_ONLY: Final = ("tag", "taggedVersions", "flexibleVersions")
_STAND_IN: Final = FieldType("int8")


class FieldPart(Part):
    """A field, and the `FieldSpec` that was created from its valid keys."""

    spec: FieldSpec


def _read_field(reading: Reading, node: Object, default_versions: Versions | None, *, is_optional: bool) -> FieldPart:
    """Read a field.

    `default_versions` are the versions of a field without the key `versions`, or None if the key is required.
    `is_optional` means that the field is in the draft dialect's optionalFields.
    """
    part = FieldPart(node, {"nullableVersions": "nullable"} if is_optional or reading.is_format else None)
    keys = FORMAT_FIELD_KEYS if reading.is_format else OPTIONAL_FIELD_KEYS if is_optional else FIELD_KEYS
    present = node.members
    read = {key: reading.value(part, key, convert) if key in present else None for key, (_, convert) in keys.items()}
    _check_hexadecimal(reading, node.get("tag"))
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
    stand_ins = {"name": STAND_IN_NAME.format(node.line, node.column), "type": _STAND_IN, "versions": EVERYWHERE}
    kind = {"is_of_format": reading.is_format, "is_optional": is_optional}
    part.spec = reading.build(part, values, lambda known: _field({**stand_ins, **known}, **kind))
    if "union" in part.broken_keys:
        reading.broken_message_keys.add("unions")
    return part


def _field(values: Mapping[str, Any], *, is_of_format: bool, is_optional: bool) -> FieldSpec:
    attributes = {FIELD_KEYS[key][0]: value for key, value in values.items() if key in FIELD_KEYS}
    framing = {_FRAMING[key]: value for key, value in values.items() if key in _FRAMING}
    return FieldSpec(**attributes, framing=FramingSpec(**framing), is_of_format=is_of_format, is_optional=is_optional)


def _check_hexadecimal(reading: Reading, node: JsonNode | None) -> None:
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


MEMBER_KEYS: Final = ("fields", "optionalFields", "reservedTags")
"""The keys for fields and reserved tags. Messages, common structs and fields with an inline struct can have them."""


class StructPart(Part):
    """A struct in a spec's JSON, and the `StructSpec` that was created from its valid fields."""

    spec: StructSpec

    def __init__(self, node: Object, spelled: Mapping[str, str] | None = None) -> None:
        super().__init__(node, spelled)
        self.about = ""
        self.deprecated: str | None = None
        self.fields: list[FieldPart] = []
        """The parts from which `spec.fields` are created, in the same order."""


class StructReader:
    """Reads the structs of one message. `structs` collects the structs that were read, except the message itself."""

    def __init__(self, reading: Reading, common: frozenset[str]) -> None:
        self.structs: list[StructPart] = []
        self._reading = reading
        self._common = common
        self._inline: set[str] = set()
        self._references: list[tuple[FieldPart, str]] = []

    def read_message(self, node: Object, name: str, versions: Versions) -> StructPart:
        members = EVERYWHERE if self._reading.is_format else None
        return self._read(node, StructPart(node), name, versions, is_common=False, member_versions=members)

    def read_common(self, node: Object) -> None:
        reading, part = self._reading, StructPart(node)
        name = reading.value(part, "name", text)
        versions = reading.value(part, "versions", version_range)
        reading.value(part, "deprecatedVersions", version_range)
        if versions is None and "versions" not in part.broken_keys and node.get("versions") is not None:
            reading.report(
                "TW113", part.node_of("versions"), "the struct's versions are empty; give the versions that have it"
            )
        part.about = reading.value(part, "about", text) or ""
        part.deprecated = reading.value(part, "deprecated", text)
        if name is None:
            reading.broken_message_keys.add("structs")
            name = STAND_IN_NAME.format(node.line, node.column)
        self.structs.append(self._read(node, part, name, versions or EVERYWHERE, is_common=True))
        if versions is None:
            part.broken_keys.add("versions")

    def check_references(self) -> None:
        """Report a field that uses a struct declared inline by another field."""
        for part, name in self._references:
            if name in self._inline:
                message = f"another field declares the struct {name} inline; to share it, move it to commonStructs"
                self._reading.report("TW306", part.node_of("type"), message)

    def _read(
        self,
        node: Object,
        part: StructPart,
        name: str,
        versions: Versions,
        *,
        is_common: bool,
        member_versions: Versions | None = None,
    ) -> StructPart:
        reading = self._reading
        for key, is_optional in (("fields", False), ("optionalFields", True)):
            for item in items(node.get(key)):
                if not isinstance(item, Object):
                    self._mark_broken(part)
                    continue
                field = _read_field(reading, item, member_versions, is_optional=is_optional)
                part.fields.append(field)
                if field.broken_keys & {"tag", "taggedVersions"}:
                    part.broken_keys.add("members")
                inner = reading.optional_versions if is_optional else member_versions
                self._read_inline(field, inner, is_common=is_common)
        part.spec = self._build(part, name, versions, self._reserved_tags(part))
        return part

    def _read_inline(self, field: FieldPart, member_versions: Versions | None, *, is_common: bool) -> None:
        node, reading, struct = field.node, self._reading, field.spec.struct
        declaring = [key for key in ("fields", "optionalFields") if node.get(key) is not None]
        filled = [key for key in (*declaring, "reservedTags") if items(node.get(key))]
        if "type" in field.broken_keys:
            reading.broken_message_keys |= {"uses", "structs"} if declaring else {"uses"}
            struct = STAND_IN_NAME.format(node.line, node.column)
        if struct is None:
            for key in filled[:1]:
                message = f"field {field.spec.name} is {field.spec.type}, which has no {key}; remove the key"
                reading.report("TW408", field.node_of(key), message)
        elif not set(declaring) & set(filled) and (not declaring or struct in self._common):
            self._references.append((field, struct))
            if filled and "type" not in field.broken_keys:
                message = f"reservedTags belong where the struct {struct} is declared; move them there"
                reading.report("TW614", field.node_of("reservedTags"), message)
        else:
            if is_common:
                message = f"a common struct can't declare {struct} inline; declare {struct} in commonStructs as well"
                reading.report("TW307", field.node_of(declaring[0]), message)
            self._inline.add(struct)
            part = StructPart(node, {"name": "type"})
            inline = self._read(
                node, part, struct, field.spec.versions, is_common=is_common, member_versions=member_versions
            )
            self.structs.append(inline)

    def _reserved_tags(self, part: StructPart) -> tuple[int, ...]:
        reading, tags = self._reading, list[int]()
        for node in items(part.node.get("reservedTags")):
            if reading.is_rejected(node):
                part.broken_keys |= {"reservedTags", "members"}
                continue
            try:
                tags.append(tag_number(node))
            except BadValue as bad:
                reading.report(bad.rule, bad.node, bad.message)
                part.broken_keys |= {"reservedTags", "members"}
            else:
                _check_hexadecimal(reading, node)
        return tuple(tags)

    def _build(self, part: StructPart, name: str, versions: Versions, reserved_tags: tuple[int, ...]) -> StructSpec:
        while True:
            fields: tuple[FieldSpec, ...] = tuple(field.spec for field in part.fields)
            try:
                return StructSpec(
                    name=name,
                    about=part.about,
                    deprecated=part.deprecated,
                    versions=versions,
                    fields=fields,
                    reserved_tags=reserved_tags,
                    is_draft=self._reading.is_draft,
                )
            except InvalidSpec as invalid:
                for violation in invalid.violations:
                    if violation.field is None:
                        self._reading.report_violation(violation, part)
                        name = (
                            STAND_IN_NAME.format(part.node.line, part.node.column) if violation.key == "name" else name
                        )
                        reserved_tags = () if violation.key == "reservedTags" else reserved_tags
                        part.broken_keys.add(violation.key)
                    else:
                        self._reading.report_violation(violation, part.fields[violation.field])
                broken = {violation.field for violation in invalid.violations}
                part.fields = [field for position, field in enumerate(part.fields) if position not in broken]
                self._mark_broken(part)

    def _mark_broken(self, part: StructPart) -> None:
        """Note that a field could not be read. Rules that need all fields will be skipped."""
        part.broken_keys.add("members")
        self._reading.broken_message_keys.add("members")
