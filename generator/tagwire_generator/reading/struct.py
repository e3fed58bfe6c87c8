"""Read a struct, and the structs that its fields declare inline, as `StructSpec` objects."""

from collections.abc import Mapping
from typing import Final

from tagwire.versions import Versions
from tagwire_generator.model.field_spec import FieldSpec
from tagwire_generator.model.struct_spec import StructSpec
from tagwire_generator.problems import InvalidSpec
from tagwire_generator.reading.context import EVERYWHERE, Part, Reading
from tagwire_generator.reading.field import FieldPart, check_hexadecimal, read_field
from tagwire_generator.reading.values import BadValue, items, tag_number, text, version_range
from tagwire_generator.syntax.parse import JsonNode, Object

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
            name = _stand_in_name(node)
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
                field = read_field(reading, item, member_versions, is_optional=is_optional)
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
            struct = _stand_in_name(node)
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
                message = f"a common struct can't declare {struct} inline; declare {struct} in commonStructs, too"
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
                check_hexadecimal(reading, node)
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
                        name = _stand_in_name(part.node) if violation.key == "name" else name
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


def _stand_in_name(node: JsonNode) -> str:
    return f"Unreadable{node.line}At{node.column}"
