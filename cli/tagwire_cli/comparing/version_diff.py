"""What changed between two versions of a message: two layouts of one class, field by field.

Layouts say all that is on the wire (types with their length encoding, null,
tags), so comparing them needs no version arithmetic. Within one class a field
keeps its name in all versions, and that is how the two are matched; specs of
two releases are another question. Its type is the same too, but for null and
the length encoding, and so is its place among the others, unless it leaves that
for the tagged fields of its struct.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagwire.errors import EncodeError
from tagwire.layout import (
    COMPACT,
    Array,
    Nested,
    NullableFixed,
    OptionalBuffer,
    Sized,
    TaggedSection,
    fresh,
    nested_struct,
)
from tagwire.message.field_table import layout_of

if TYPE_CHECKING:
    from tagwire.layout import Item, StructLayout
    from tagwire.message import Message, Struct

__all__ = ["FieldChange", "FieldState", "VersionDiff", "VersionFacts", "diff_versions"]


@dataclass(frozen=True, slots=True)
class FieldState:
    """A field in one version."""

    type: str
    """With its length encoding: `nullable compact string`."""
    nullable: bool
    compact: bool
    """Whether its length is an unsigned varint; false for what has no length."""
    tag: int | None
    """Its tag where it is a tagged or optional field, None where it has its place."""

    def __str__(self) -> str:
        return self.type if self.tag is None else f"{self.type}, tag {self.tag}"

    def as_dict(self) -> dict[str, Any]:
        """The state as JSON."""
        return {"type": self.type, "nullable": self.nullable, "compact": self.compact, "tag": self.tag}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that is not the same in both versions; `old` or `new` is None where the version lacks it."""

    path: str
    """In snake_case from the message on: `topics.partitions.leader_epoch`."""
    old: FieldState | None
    new: FieldState | None

    @property
    def kinds(self) -> tuple[str, ...]:
        """What changed: `added`, `removed`, or some of `nullable`, `compact` and `moved`, to a tag or from it."""
        if self.old is None or self.new is None:
            return ("added",) if self.old is None else ("removed",)
        differs = {
            "nullable": self.old.nullable != self.new.nullable,
            "compact": self.old.compact != self.new.compact,
            "moved": self.old.tag != self.new.tag,
        }
        return tuple(kind for kind, is_so in differs.items() if is_so)


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A version as a whole."""

    version: int
    header: int | None
    """The version of its header; None for what has none."""
    flexible: bool
    optional_fields: bool
    """The draft dialect's, which begin each struct."""
    minimum_size: int
    default_size: int | None
    """The bytes of an object of nothing but defaults; None if the version refuses it."""

    def as_dict(self) -> dict[str, Any]:
        """The facts as JSON."""
        return {
            "version": self.version,
            "headerVersion": self.header,
            "flexible": self.flexible,
            "optionalFields": self.optional_fields,
            "minimumSize": self.minimum_size,
            "defaultSize": self.default_size,
        }


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """Two versions of a message, `old` and `new` as asked for: `old` may be the higher one."""

    name: str
    old: VersionFacts
    new: VersionFacts
    changes: tuple[FieldChange, ...]
    """In the order of the fields; a struct before its members."""

    def as_dict(self) -> dict[str, Any]:
        """The comparison as JSON."""
        return {
            "name": self.name,
            "old": self.old.as_dict(),
            "new": self.new.as_dict(),
            "fields": [
                {
                    "path": change.path,
                    "changes": list(change.kinds),
                    "old": change.old.as_dict() if change.old else None,
                    "new": change.new.as_dict() if change.new else None,
                }
                for change in self.changes
            ],
        }


def diff_versions(message: type[Message], old: int, new: int) -> VersionDiff:
    """Compare two versions. Raises UnsupportedVersionError for one that the message lacks."""
    before = dict(_states(layout_of(message, old).root, ""))
    after = dict(_states(layout_of(message, new).root, ""))
    changes = (FieldChange(path, before.get(path), after.get(path)) for path in _paths(message, ""))
    differing = tuple(change for change in changes if change.old != change.new)
    return VersionDiff(message.NAME, _facts(message, old), _facts(message, new), differing)


def _paths(struct: type[Struct], prefix: str) -> Iterator[str]:
    """The fields of all versions, in the order of the spec."""
    for row in struct.FIELDS:
        yield prefix + row.name
        if row.struct is not None:
            yield from _paths(row.struct, f"{prefix}{row.name}.")


def _states(struct: StructLayout, prefix: str) -> Iterator[tuple[str, FieldState]]:
    for item in struct.fields:
        yield prefix + item.name, _state(item)
        inner = nested_struct(item.type)
        if inner is not None:
            yield from _states(inner, f"{prefix}{item.name}.")


def _state(item: Item) -> FieldState:
    return FieldState(
        type=str(item.type),
        nullable=isinstance(item.type, Sized | NullableFixed | Array | Nested) and item.type.nullable,
        compact=isinstance(item.type, Sized | Array) and item.type.length == COMPACT,
        tag=item.tag,
    )


def _facts(message: type[Message], version: int) -> VersionFacts:
    root = layout_of(message, version).root
    return VersionFacts(
        version=version,
        header=message.header_version(version) if message.KIND in ("request", "response") else None,
        flexible=isinstance(root.section, TaggedSection),
        optional_fields=isinstance(root.section, OptionalBuffer),
        minimum_size=root.minimum,
        default_size=_default_size(message, version),
    )


def _default_size(message: type[Message], version: int) -> int | None:
    try:
        return fresh(message).encoded_size(version)
    except EncodeError:
        return None
