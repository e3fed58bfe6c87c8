"""Imports of shared structs. An import maps each version of the importing spec to a version of the struct.

`in_versions_of` converts the version ranges of a shared struct to versions of the importing spec.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Final, TypeVar

from tagwire.versions import HIGHEST, StructVersions, Versions
from tagwire_generator.model.field_spec import FieldSpec
from tagwire_generator.model.struct_spec import StructSpec
from tagwire_generator.problems import Violation, enforce, named

JUDGED_IN_USERS: Final = ("TW304", "TW305", "TW309", "TW311", "TW312", "TW313", "TW320", "TW411", "TW611")
"""Rules that are checked in each spec that imports a shared struct. Other rules are checked in its own spec."""

_KEY = "structVersions"
T = TypeVar("T", FieldSpec, StructSpec)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSpec:
    """An import of a shared struct. Raises InvalidSpec if its version ranges contradict each other."""

    name: str
    struct_versions: StructVersions = field(default_factory=StructVersions)
    """The struct version for each version of the spec, or empty if the struct has only one version."""
    is_direct: bool = True
    """True if the spec itself imports the struct, or False if only other imported structs import it."""
    warnings: tuple[Violation, ...] = field(init=False, compare=False, repr=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "warnings", enforce(self._violations()))

    def _violations(self) -> Iterator[Violation]:
        ranges = self.struct_versions.ranges
        where = f"structVersions of {named(self.name)}"
        if not all(versions for versions, _ in ranges):
            yield Violation("TW315", _KEY, f"{where} has an empty range; remove it")
            return
        for (before, earlier), (versions, later) in pairwise(ranges):
            if versions.lowest != before.highest + 1:
                text = f"{where} has {before}, then {versions}; ranges must follow each other without gap or overlap"
                yield Violation("TW315", _KEY, text)
                return
            if later < earlier:
                text = f"{where} decreases from {earlier} to {later} in {versions}; it must not decrease"
                yield Violation("TW315", _KEY, text)
                return
        if ranges and ranges[-1][0].highest != HIGHEST:
            last = ranges[-1][0]
            text = f"{where} ends with {last}, but the last range must be open; write {last.lowest}+"
            yield Violation("TW315", _KEY, text)


def in_versions_of(struct: StructSpec, versions: StructVersions, owner: str) -> StructSpec:
    """Return a copy of `struct`, which belongs to the shared struct `owner`, with versions of the importing spec."""
    members = tuple(_field(each, versions) for each in struct.fields)
    return _unchecked(struct, versions=versions.within(struct.versions), fields=members, owner=owner)


def _field(spec: FieldSpec, versions: StructVersions) -> FieldSpec:
    changes: dict[str, Any] = {}
    for each in fields(FieldSpec):
        value = getattr(spec, each.name)
        if isinstance(value, Versions):
            changes[each.name] = versions.within(value)
        elif isinstance(value, tuple) and value and all(_is_by_version(row) for row in value):
            rows = ((versions.within(row[0]), *row[1:]) for row in value)
            changes[each.name] = tuple(row for row in rows if row[0])
    if not changes["tagged_versions"]:
        changes["tag"] = None
    return _unchecked(spec, **changes)


def _unchecked(spec: T, **changes: Any) -> T:
    """Return a copy in which `changes` replace attributes. They are not validated, as the constructor isn't called."""
    changed = copy(spec)
    for name, value in changes.items():
        object.__setattr__(changed, name, value)
    return changed


def _is_by_version(row: object) -> bool:
    return isinstance(row, tuple) and bool(row) and isinstance(row[0], Versions)


def united(one: StructVersions, other: StructVersions) -> StructVersions | int:
    """Merge the version ranges that two imports list for the same struct.

    If the imports contradict each other, return the lowest version of the importing spec in which they do.
    """
    starts = sorted({versions.lowest for each in (one, other) for versions, _ in each.ranges})
    found: list[tuple[Versions, int]] = []
    for start, following in zip(starts, [*starts[1:], HIGHEST + 1], strict=True):
        numbers = {number for each in (one, other) if (number := each.at(start)) is not None}
        if len(numbers) > 1:
            return start
        [number] = numbers
        if found and found[-1][1] == number:
            found[-1] = (Versions(found[-1][0].lowest, following - 1), number)
        elif found and number < found[-1][1]:
            return start
        else:
            found.append((Versions(start, following - 1), number))
    return StructVersions(tuple(found))
