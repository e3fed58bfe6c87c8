"""A field of a struct, and the rules that concern only the field itself."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tagwire.versions import HIGHEST, NONE, Versions
from tagwire_generator.model.defaults import IMPLICIT, Default, default_violation, field_violations, implicit_default
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.record_format_spec import (
    FramingSpec,
    RecordFormats,
    framing_violations,
    record_format_violations,
)
from tagwire_generator.model.register_spec import RegisterSpec, enum_violations
from tagwire_generator.model.spec_names import NAME_RULE, is_name, semantic_violations
from tagwire_generator.problems import Violation, enforce, named, quoted

ENTITY_TYPES: Final = {
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}
"""The wire type that each entity type requires. The type "unknown" allows any wire type."""

_NO_FRAMING: Final = FramingSpec()

MAX_TAG: Final = 2**31 - 1
"""The highest tag in all dialects except the draft dialect."""
MAX_DRAFT_TAG: Final = 2**16 - 1
"""The highest tag in the draft dialect, whose tags take two bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """A field of a struct. Raises InvalidSpec if its attributes contradict each other."""

    name: str
    type: FieldType
    versions: Versions
    """The versions that have the field. The versions of the enclosing struct may limit them further."""
    nullable_versions: Versions = NONE
    """The versions that allow null. The range may be wider than `versions`."""
    tagged_versions: Versions = NONE
    """The versions in which the field is tagged or, in the draft dialect, optional."""
    tag: int | None = None
    default: Default = IMPLICIT
    """The default as a Python value; None is null."""
    ignorable: bool = False
    """Whether the value may be dropped silently when a version without the field is written."""
    enum: RegisterSpec | None = None
    """The register (table of named numbers) that gives names to the values of an integer field."""
    required: bool = False
    """Whether the constructor requires the field."""
    union: str = ""
    """The union that has the field as an alternative, or "" if there is none."""
    unique: bool = False
    """Whether no two elements of an array may have the same values in their key fields (those with `mapKey`)."""
    sensitive: bool = False
    """Whether the value is a secret, which is shown only on request."""
    entity_type: str = "unknown"
    map_key: bool = False
    zero_copy: bool = False
    flexible_versions: Versions | None = None
    """The versions in which the field's length is compact, or None if these are the message's flexible versions."""
    record_formats: RecordFormats = ()
    """The record format of the records or bytes in this field, for each range of versions."""
    framing: FramingSpec = _NO_FRAMING
    """Attributes that only fields of record formats have."""
    is_of_format: bool = False
    is_optional: bool = False
    """Whether the field is one of the draft dialect's optionalFields."""
    semantic: str = ""
    """The semantic type, such as `decimal`. Its arguments are in `precision` and `scale`."""
    precision: int | None = None
    scale: int | None = None
    about: str = ""
    deprecated: str | None = None
    """Why the field is deprecated, and what to use instead, or None if it is not."""
    is_default_implied: bool = field(init=False, compare=False, repr=False, default=False)
    """Whether the spec declares no default."""
    warnings: tuple[Violation, ...] = field(init=False, compare=False, repr=False, default=())

    def __post_init__(self) -> None:
        if self.default is IMPLICIT:
            object.__setattr__(self, "is_default_implied", self.framing.equals is None)
            always = self.framing.equals
            object.__setattr__(self, "default", implicit_default(self.type, self.meaning) if always is None else always)
        object.__setattr__(self, "warnings", enforce(self._violations()))

    @property
    def meaning(self) -> str:
        """The semantic type with its arguments, such as `decimal(9,2)`."""
        if self.semantic != "decimal" or self.precision is None:
            return self.semantic
        return f"decimal({self.precision},{self.scale or 0})"

    @property
    def can_be_null(self) -> bool:
        """Whether any dialect allows null for the field's type."""
        return self.type.can_be_null or (self.type.can_be_marked_null and not (self.is_of_format or self.is_optional))

    @property
    def must_be_null_by_default(self) -> bool:
        """Whether the default must be null, because a null field is omitted when encoding (TW511)."""
        return self.type.can_be_marked_null and bool(self.tagged_versions & self.nullable_versions)

    @property
    def struct(self) -> str | None:
        """The name of the field's struct or, for an array of structs, of the elements' struct; None for primitives."""
        return self.type.struct

    def _violations(self) -> Iterator[Violation]:
        if not is_name(self.name):
            yield Violation("TW401", "name", f"{quoted(self.name)} can't be a field's name; {NAME_RULE}")
        yield from self._type_violations()
        yield from self._tag_violations()
        yield from self._default_violations()
        default = None if self.must_be_null_by_default else self.default
        yield from enum_violations(self.name, self.type, self.enum, default)
        yield from field_violations(self)
        yield from record_format_violations(self.name, self.type, self.versions, self.record_formats)
        if self.is_of_format:
            yield from framing_violations(named(self.name), self.type, self.framing)

    def _type_violations(self) -> Iterator[Violation]:
        where = f"field {named(self.name)} is {self.type}"
        yield from semantic_violations(self)
        if self.nullable_versions and not self.can_be_null:
            problem = f"has nullableVersions {self.nullable_versions}; remove them"
            if self.is_optional:
                problem = "is nullable; remove the key"
            message = f"{where}, which has no null, but {problem}"
            yield Violation("TW406", "nullableVersions", message, ("type",))
        if self.flexible_versions is not None and (self.type.is_array or self.type.name not in ("string", "bytes")):
            message = f"{where}, but only string and bytes can have flexibleVersions of their own; remove the key"
            yield Violation("TW409", "flexibleVersions", message, ("type",))
        if self.zero_copy and (self.type.is_array or self.type.name != "bytes"):
            message = f"{where}, but only bytes can be zeroCopy; remove the key"
            yield Violation("TW412", "zeroCopy", message, ("type",))
        if self.zero_copy and self.tag is not None and not self.is_optional:
            message = f"field {named(self.name)} is tagged and zeroCopy, which Kafka's generator can't do"
            yield Violation("TW423", "zeroCopy", message)
        if self.nullable_versions and self.versions and not self.nullable_versions & self.versions:
            message = f"field {named(self.name)} is nullable in {self.nullable_versions}, but exists in"
            yield Violation("TW421", "nullableVersions", f"{message} {self.versions} only", ("versions",))

    def _tag_violations(self) -> Iterator[Violation]:
        name, tag, tagged = named(self.name), self.tag, self.tagged_versions
        if tag is not None and not 0 <= tag <= MAX_TAG:
            most = f"tags are 0 to {MAX_TAG}"
            if self.is_optional:
                most = f"the draft's tags are 0 to {MAX_DRAFT_TAG}"
            yield Violation("TW601", "tag", f"field {name} has tag {tag}; {most}")
        if tag is not None and not tagged:
            message = f"field {name} has tag {tag}, but no taggedVersions; add them, or remove the tag"
            yield Violation("TW602", "tag", message, ("taggedVersions",))
        if tagged and tag is None:
            message = f"field {name} has taggedVersions {tagged}, but no tag; add one, or remove the versions"
            yield Violation("TW603", "taggedVersions", message, ("tag",))
        if tagged and tagged.highest != HIGHEST:
            message = f"field {name} is tagged in {tagged} only; write {tagged.lowest}+"
            yield Violation("TW604", "taggedVersions", message)
        if not tagged <= self.versions:
            message = (
                f"field {name} is tagged in {tagged}, but exists in {self.versions}; widen versions to {tagged.lowest}+"
            )
            yield Violation("TW605", "taggedVersions", message, ("versions",))
        if tagged & self.nullable_versions not in (NONE, tagged):
            message = f"field {name} is tagged in {tagged}, but nullable in {self.nullable_versions}; "
            message += "allow null in all tagged versions or in none"
            yield Violation("TW606", "nullableVersions", message, ("taggedVersions",))
        if tag is not None and self.map_key:
            message = f"field {name} is a map key, but has tag {tag}; every element must have its key"
            yield Violation("TW607", "mapKey", message, ("tag",))

    def _default_violations(self) -> Iterator[Violation]:
        is_nullable = bool(self.nullable_versions) and self.can_be_null
        violation = default_violation(self.name, self.type, self.default, self.meaning, is_nullable=is_nullable)
        always, name = self.framing.equals, named(self.name)
        if violation is not None and always is not None and always == self.default:
            message = f"field {name} is {self.type}, so it can't equal {always}; change the type or the value"
            yield Violation(violation.rule, "equals", message, ("type",))
        elif violation is not None:
            yield violation
        elif always not in (None, self.default):
            message = f"field {name} always equals {always}, so it can't have another default; remove `default`"
            yield Violation("TW002", "default", message, ("equals", "type"))
        elif self.default is None and self.type.name != "records" and not self.versions <= self.nullable_versions:
            message = f"exists in {self.versions} and is nullable in {self.nullable_versions}; "
            message += f"widen nullableVersions to {self.versions}"
            if self.is_optional:
                message = 'is not nullable; write "nullable": true'
            message = f"field {named(self.name)} is null by default, but {message}"
            yield Violation("TW507", "default", message, ("nullableVersions", "versions"))
        is_optional_null = self.tagged_versions and self.nullable_versions and self.default is not None
        if is_optional_null and self.type.can_be_null and self.default == implicit_default(self.type, self.meaning):
            absent = "empty" if isinstance(self.default, str | bytes | tuple) else "a default struct"
            message = f"field {named(self.name)} may be null, but is {absent} when absent"
            remedy = 'write "default": "null" if absent should mean null'
            yield Violation("TW521", "nullableVersions", f"{message}; {remedy}", ("default", "type"))
