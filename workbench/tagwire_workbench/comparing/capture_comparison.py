"""Find what two captures have in common, and what only one of them has."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tagwire.message.base import Struct
from tagwire_workbench.comparing.capture_usage import CaptureUsage, FieldUsage, value_strings


class FieldComparison(NamedTuple):
    """A field of a message that both captures have."""

    path: str
    a: int
    """How often the first capture has a non-default value."""
    b: int
    values: tuple[list[str], list[str], list[str]] | None
    """The values only in the first capture, only in the second, and in neither; None if too many, or hidden.

    Values in neither capture are known if the spec enumerates all values.
    """

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as a JSON-compatible dict."""
        keys = ("onlyA", "onlyB", "never")
        values = None if self.values is None else dict(zip(keys, self.values, strict=True))
        return {"path": self.path, "usedInA": self.a, "usedInB": self.b, "values": values}


class MessageComparison(NamedTuple):
    """A message in one or both captures."""

    name: str
    a: dict[int, int]
    """Number of occurrences in the first capture, by version."""
    b: dict[int, int]
    fields: list[FieldComparison]
    """The fields in the captured versions, if both captures have the message."""

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as a JSON-compatible dict."""
        return {
            "message": self.name,
            "versionsInA": {str(version): number for version, number in self.a.items()},
            "versionsInB": {str(version): number for version, number in self.b.items()},
            "fields": [each.as_dict() for each in self.fields],
        }


def compare_captures(a: CaptureUsage, b: CaptureUsage) -> list[MessageComparison]:
    """Compare the messages of two captures, by name."""
    return [
        MessageComparison(
            name,
            dict(sorted(a.versions.get(name, {}).items())),
            dict(sorted(b.versions.get(name, {}).items())),
            [*_fields(a.fields[name], b.fields[name])] if name in a.fields and name in b.fields else [],
        )
        for name in sorted({*a.versions, *b.versions})
    ]


def _fields(a: dict[str, FieldUsage], b: dict[str, FieldUsage]) -> Iterator[FieldComparison]:
    for path in [*a, *(path for path in b if path not in a)]:
        one, other = a.get(path), b.get(path)
        used = one.used if one else 0, other.used if other else 0
        yield FieldComparison(path, *used, _values(one, other))


def _values(one: FieldUsage | None, other: FieldUsage | None) -> tuple[list[str], list[str], list[str]] | None:
    """Split a field's values by capture. A capture without the field counts as having the default."""
    known = one or other
    assert known is not None, "a capture has it"
    if known.values is None or isinstance(known.default, Struct):
        return None
    sides = [{known.default} if each is None else each.values for each in (one, other)]
    if None in sides:
        return None
    left, right = (side or set() for side in sides)
    seen = {*(one.values or () if one else ()), *(other.values or () if other else ())}
    return value_strings(left - right), value_strings(right - left), value_strings(known.possible - seen)
