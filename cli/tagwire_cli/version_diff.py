"""Compare the layouts of a message's versions, field by field, for `tagwire diff` and `tagwire show`.

A layout describes the wire format of one version: the types of its fields, their length encodings, nullability and
tags. Fields are matched by name. Of a field's type, only nullability and length encoding can change between versions. A
field's position changes only if it becomes a tagged field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

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
    from tagwire.frames.message_index import Spans
    from tagwire.frames.registry import Registry
    from tagwire.layout import Item, StructLayout
    from tagwire.message import Message, Struct


@dataclass(frozen=True, slots=True)
class FieldState:
    """The type, nullability and tag of a field in one version."""

    type: str
    """The type with its length encoding, such as `nullable compact string`."""
    nullable: bool
    compact: bool
    """Whether the type has a length, and this length is encoded as an unsigned varint."""
    tag: int | None
    """The tag of a tagged or optional field, or None for other fields."""

    def __str__(self) -> str:
        return self.type if self.tag is None else f"{self.type}, tag {self.tag}"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs between two versions. `old` or `new` is None if that version does not have the field."""

    path: str
    """The field's path in the message, in snake_case, such as `topics.partitions.leader_epoch`."""
    old: FieldState | None
    new: FieldState | None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of change: `added`, `removed`, or any of `nullable`, `compact` and `moved` (if the tag differs)."""
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
    """The properties of a whole version, such as its header version and its minimum size."""

    version: int
    header_version: int | None
    """The header version, or None for messages without a header."""
    flexible: bool
    optional_fields: bool
    """Whether structs begin with optional fields (see the first draft of KIP-482)."""
    minimum_size: int
    default_size: int | None
    """The encoded size of an object whose fields all have their defaults, or None if the version rejects it."""


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """The differences between two versions of a message. The version in `old` may be higher than the one in `new`."""

    name: str
    old: VersionFacts
    new: VersionFacts
    changes: tuple[FieldChange, ...]
    """The fields that differ, in spec order; a struct precedes its own fields."""

    def as_dict(self) -> dict[str, Any]:
        """Return the differences as JSON, except that keys are in snake case."""
        return {
            "name": self.name,
            "old": asdict(self.old),
            "new": asdict(self.new),
            "fields": [
                {
                    "path": change.path,
                    "changes": list(change.kinds),
                    "old": change.old and asdict(change.old),
                    "new": change.new and asdict(change.new),
                }
                for change in self.changes
            ],
        }


def diff_versions(message: type[Message], old: int, new: int) -> VersionDiff:
    """Compare two versions of a message. Raises UnsupportedVersionError if the message doesn't have one of them."""
    before = dict(_states(layout_of(message, old).root, ""))
    after = dict(_states(layout_of(message, new).root, ""))
    changes = (FieldChange(path, before.get(path), after.get(path)) for path in _paths(message, ""))
    differing = tuple(change for change in changes if change.old != change.new)
    return VersionDiff(message.NAME, _facts(message, old), _facts(message, new), differing)


def _paths(struct: type[Struct], prefix: str) -> Iterator[str]:
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
        header_version=message.header_version(version) if message.KIND in ("request", "response") else None,
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


_NAMED: Final = 4
"""The maximum number of fields that a summary lists for each kind of change, before it adds `and N more`."""
_WORDS: Final = {
    "added": "adds",
    "removed": "without",
    "nullable": "allows null in",
    "not nullable": "no longer allows null in",
    "moved": "moves",
}


@dataclass(frozen=True, slots=True)
class VersionStep:
    """A version of a message, with its releases and its changes since the previous version."""

    version: int
    releases: Spans
    """The releases that have this version, as (first, last) pairs, or empty if the package doesn't list releases."""
    change: str
    """The change since the previous version, or empty for the first version."""

    def spans(self) -> str:
        """Format `releases` as text. For example, `3.0 to 3.4, redefined 3.5` means that 3.5 changed the bytes."""
        ranges = [first if first == last else f"{first} to {last}" for first, last in self.releases]
        return ", redefined ".join(ranges)

    def as_dict(self) -> dict[str, Any]:
        return {"version": self.version, "releases": [list(span) for span in self.releases], "change": self.change}


def history(registry: Registry, message: type[Message]) -> list[VersionStep]:
    """Return a VersionStep for each version of a message, in order."""
    releases = registry.releases(message.NAME)
    steps: list[VersionStep] = []
    for version in message.VERSIONS:
        change = ""
        if steps:
            change = "; ".join(_changes(diff_versions(message, version - 1, version))) or "the same fields"
        steps.append(VersionStep(version, releases.get(version, ()), change))
    return steps


def _changes(difference: VersionDiff) -> Iterator[str]:
    if difference.new.flexible and not difference.old.flexible:
        yield "flexible"
    if difference.new.optional_fields and not difference.old.optional_fields:
        yield "optional fields"
    for kind, word in _WORDS.items():
        paths = [change.path for change in difference.changes if kind in _kinds(change)]
        # If a whole struct was added or removed, don't list its fields.
        paths = [path for path in paths if not any(path.startswith(f"{other}.") for other in paths)]
        if paths:
            rest = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
            yield f"{word} {', '.join(paths[:_NAMED])}{rest}"


def _kinds(change: FieldChange) -> list[str]:
    """Return `change.kinds`, but with `not nullable` instead of `nullable` if nulls are no longer allowed."""
    was_nullable = change.old is not None and change.old.nullable
    return ["not nullable" if kind == "nullable" and was_nullable else kind for kind in change.kinds]
