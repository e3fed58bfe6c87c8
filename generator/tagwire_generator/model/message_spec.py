"""A message with its attributes, fields and structs, and the summary of a message in a package's index."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tagwire.versions import NONE, StructVersions, Versions
from tagwire.wire.types import IntegerType
from tagwire_generator.model.defaults import value_violations
from tagwire_generator.model.field_spec import FieldSpec
from tagwire_generator.model.import_spec import JUDGED_IN_USERS, ImportSpec
from tagwire_generator.model.message_rules import (
    Kind,
    identity_violations,
    implied_headers,
    message_violations,
    name_violation,
)
from tagwire_generator.model.record_format_spec import FormatSpec, format_violations
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.model.struct_rules import field_violations, struct_violations
from tagwire_generator.model.struct_spec import StructGraph, StructSpec
from tagwire_generator.problems import InvalidSpec, Violation, enforce
from tagwire_generator.project.options import SpecOptions

Dialect = Literal["released", "draft"]


@dataclass(frozen=True, slots=True)
class Fallback:
    """How a broker answers a request in an unsupported version: the response's version and error code."""

    version: int
    error_code: int


@dataclass(frozen=True, slots=True)
class MessageSummary:
    """The properties of a message except its fields. The package index and the rules about spec sets need no more."""

    name: str
    kind: str
    api_key: int | None
    component: str
    valid_versions: str
    flexible_versions: str
    file: str
    line: int
    column: int
    aliases: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    """The attribute paths of all integer fields that have no enum."""
    about: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, summary: Mapping[str, Any]) -> "MessageSummary":
        values = dict(summary)
        values |= {key: tuple(values[key]) for key in ("aliases", "numbers")}
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSpec:
    """A message in the released or draft dialect. Raises InvalidSpec if its attributes contradict each other.

    A shared struct is a message of the kind "struct". The fields of this message are the struct's fields.

    A message without `valid_versions` was removed. It only keeps its API key reserved, and has no fields or structs.
    """

    name: str
    kind: Kind
    valid_versions: Versions
    aliases: tuple[str, ...] = ()
    """Older names of the message. A registry still finds the message by these names."""
    api_key: int | None = None
    component: str = ""
    """The name of the subfolder that contains the spec."""
    deprecated_versions: Versions = NONE
    deprecated: str | None = None
    """Why the message or its `deprecated_versions` are deprecated, or None if they are not."""
    flexible_versions: Versions = NONE
    dialect: Dialect = "released"
    is_extended: bool = False
    """Whether the message may use the tagwire dialect, an extension of the released dialect."""
    about: str = ""
    optional_versions: Versions = NONE
    """The versions with optional fields, which the draft dialect lists in versionsWithOptional."""
    fields: tuple[FieldSpec, ...] = ()
    reserved_tags: tuple[int, ...] = ()
    structs: tuple[StructSpec, ...] = ()
    """Inline, common and imported structs. Each struct comes after the structs that it contains."""
    imports: tuple[ImportSpec, ...] = field(default=(), compare=False)
    """All imported shared structs, direct and indirect. The message's own fields can only use direct imports."""
    listeners: tuple[str, ...] = ()
    latest_version_unstable: bool = False
    header_versions: tuple[tuple[Versions, int], ...] = ()
    """Ascending version ranges, each with its header version, or empty if the spec lists no header versions."""
    fallback: Fallback | None = None
    format: FormatSpec | None = None
    """The attributes that only record formats have, or None if the message is not a record format."""
    options: SpecOptions = field(default_factory=SpecOptions)
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)
    root: StructSpec = field(init=False, compare=False, repr=False)
    """The message's own fields and retired tags, as a struct with the message's name."""
    warnings: tuple[Violation, ...] = field(init=False, compare=False, repr=False, default=())

    def __post_init__(self) -> None:
        if not self.valid_versions:
            for name in ("fields", "reserved_tags", "structs"):
                object.__setattr__(self, name, ())
        bad_name = name_violation(self.name)
        if bad_name is not None:
            raise InvalidSpec([bad_name])
        root = StructSpec(
            name=self.name,
            versions=self.valid_versions,
            fields=self.fields,
            reserved_tags=self.reserved_tags,
            is_draft=self.dialect == "draft",
        )
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "warnings", enforce(self._violations()))
        object.__setattr__(self, "structs", _in_order(self.structs))

    def _violations(self) -> list[Violation]:
        found = [*identity_violations(self)]
        if self.valid_versions:
            found += message_violations(self)
            graph = StructGraph(self.root, self.structs)
            found += struct_violations(self, graph)
            found += field_violations(self, graph)
            found += value_violations(self, graph)
            if self.format is not None:
                found += format_violations(self, graph)
        return [each for each in found if each.rule in JUDGED_IN_USERS or not self._is_imported(each.struct)]

    def _is_imported(self, position: int | None) -> bool:
        return position is not None and bool(self.structs[position].owner)

    @property
    def headers(self) -> tuple[tuple[Versions, int], ...]:
        """The header version for each range of message versions.

        If the spec lists no header versions, they are implied by the flexible versions. Empty for messages that are
        neither requests nor responses.
        """
        return self.header_versions or implied_headers(self)

    def header_version(self, version: int) -> int | None:
        """Return the header version that a message version uses, or None for a message without headers."""
        return next((header for versions, header in self.headers if version in versions), None)

    @property
    def discouraged(self) -> Versions:
        """The deprecated versions, which are all versions if the message itself is deprecated."""
        if self.deprecated is None or self.deprecated_versions:
            return self.deprecated_versions
        return self.valid_versions

    @property
    def latest_stable(self) -> int:
        """The highest version that is not marked unstable, or -1 if there is none."""
        if not self.latest_version_unstable:
            return self.valid_versions.highest
        is_only_one = self.valid_versions.lowest == self.valid_versions.highest
        return -1 if is_only_one or not self.valid_versions else self.valid_versions.highest - 1

    @property
    def own_structs(self) -> tuple[StructSpec, ...]:
        """The structs that this spec declares itself. Their classes are in the message's module."""
        return tuple(struct for struct in self.structs if not struct.owner)

    def struct_versions(self, name: str) -> StructVersions | None:
        """Return the version of a shared struct in each message version, or None if it isn't imported directly."""
        return next((each.struct_versions for each in self.imports if each.name == name and each.is_direct), None)

    def struct(self, name: str) -> StructSpec:
        """Return the struct with this name. Raises KeyError if there is none."""
        return {struct.name: struct for struct in self.structs}[name]

    def about_of(self, field: FieldSpec) -> str:
        """Return the description of a field or, if it has none, of its struct or enum."""
        struct = self.struct(field.struct).about if field.struct else ""
        return field.about or struct or (field.enum.about if field.enum else "")

    def about_of_struct(self, struct: StructSpec) -> str:
        """Return the description of a struct or, if it has none, of the first field that uses it."""
        fields = [field for owner in (self.root, *self.structs) for field in owner.fields]
        return struct.about or next((each.about for each in fields if each.struct == struct.name and each.about), "")

    @property
    def enums(self) -> tuple[RegisterSpec, ...]:
        """The registers (tables of named numbers) that fields use as enums. Each register is listed once."""
        fields = [spec for struct in (self.root, *self.structs) for spec in struct.fields]
        return tuple(dict.fromkeys(spec.enum for spec in fields if spec.enum is not None))

    def summary(self) -> MessageSummary:
        return MessageSummary(
            name=self.name,
            kind=self.kind,
            api_key=self.api_key,
            component=self.component,
            valid_versions=str(self.valid_versions),
            flexible_versions=str(self.flexible_versions),
            aliases=self.aliases,
            about=self.about,
            file=self.file,
            line=self.line,
            column=self.column,
            numbers=tuple(self._numbers(self.root)),
        )

    def _numbers(self, struct: StructSpec) -> Iterator[str]:
        for spec in struct.fields:
            name = attribute_name(spec.name)
            if spec.struct is not None:
                yield from (f"{name}.{path}" for path in self._numbers(self.struct(spec.struct)))
            elif spec.enum is None and isinstance(spec.type.primitive, IntegerType):
                yield name


def _in_order(structs: tuple[StructSpec, ...]) -> tuple[StructSpec, ...]:
    """Sort structs so that each comes after the structs that it contains. No struct may contain itself."""
    by_name = {struct.name: struct for struct in structs}
    found: dict[str, StructSpec] = {}

    def add(struct: StructSpec) -> None:
        for spec in struct.fields:
            if spec.struct is not None and spec.struct not in found:
                add(by_name[spec.struct])
        found[struct.name] = struct

    for struct in structs:
        if struct.name not in found:
            add(struct)
    return tuple(found.values())
