"""Find what two captures have in common, and how they differ."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tagwire.captures import CapturedFrame
from tagwire.errors import TagwireError
from tagwire.frames.registry import Registry
from tagwire.layout import fresh
from tagwire.message.field_table import FieldRow
from tagwire.message.struct_class import Struct, same
from tagwire.sensitive import hides
from tagwire.text_format import shown

_FEW: Final = 16
"""Maximum number of different values per field to compare."""


@dataclass
class FieldUsage:
    """How often a field of a message is set in a capture, and to which values."""

    row: FieldRow
    default: Any
    used: int = 0
    """Number of messages or elements with a non-default value."""
    values: set[Any] | None = field(default_factory=set)
    """All values, including the default, or None if there are too many, or if they are sensitive or composite."""

    def add(self, value: Any) -> None:
        """Add a value to `values`, and count it unless it is the default."""
        self.used += not same(value, self.default)
        if self.values is None:
            return
        if isinstance(value, bytes | bytearray | memoryview | list | tuple | Struct) or (
            self.row.sensitive and hides()
        ):
            self.values = None
            return
        self.values.add(_with_one_nan(value))
        if len(self.values) > _FEW:
            self.values = None

    @property
    def possible(self) -> frozenset[Any]:
        """All values that a boolean or a small enum can have. For other fields, this is an empty set."""
        if self.row.type == "bool":
            return frozenset((False, True))
        members = frozenset(() if self.row.enum is None else self.row.enum)
        return members if len(members) <= _FEW else frozenset()


class CaptureUsage:
    """The messages, versions, fields and values that a capture uses."""

    def __init__(self, registry: Registry, lines: Iterable[CapturedFrame]) -> None:
        """Collect the messages, versions, fields and values in the frames. Raises CaptureError for an invalid line."""
        self.frames = 0
        self.unreadable: Counter[str] = Counter()
        """Number of unreadable frames, by message."""
        self.versions: dict[str, Counter[int]] = {}
        """Number of occurrences in each version, by message."""
        self.fields: dict[str, dict[str, FieldUsage]] = {}
        """Field usage by message, then by path."""
        self._registry = registry
        for line in lines:
            self.frames += 1
            self._add(line)

    def _add(self, line: CapturedFrame) -> None:
        kind = "request" if line.is_request else "response"
        unpaired = kind if line.is_request else "response without a captured request"
        name = f"{kind} of API {line.api[0]}" if line.api else line.gap.partition(":")[0] or unpaired
        try:
            if line.api:
                name = self._registry.find(kind, line.api[0]).NAME
            frame = line.decode()
        except TagwireError:
            self.unreadable[name] += 1
            return
        name = type(frame.message).NAME
        self.versions.setdefault(name, Counter())[frame.version] += 1
        self._walk(self.fields.setdefault(name, {}), frame.message, frame.version, "")

    def _walk(self, fields: dict[str, FieldUsage], value: Struct, version: int | None, path: str) -> None:
        defaults = fresh(type(value))
        for row in value.FIELDS:
            if version is None or version not in row.versions:
                continue
            inner = getattr(value, row.name)
            field_path = f"{path}{row.name}"
            fields.setdefault(field_path, FieldUsage(row, getattr(defaults, row.name))).add(inner)
            if row.struct is None or (row.sensitive and hides()):
                continue
            for struct_path, struct in _structs(inner, field_path):
                self._walk(fields, struct, row.struct_version(version), f"{struct_path}.")


def _with_one_nan(value: Any) -> Any:
    """Return the value, but `math.nan` for every NaN, so that a set contains NaN only once."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def _structs(value: Any, path: str) -> Iterator[tuple[str, Struct]]:
    """Yield the structs in a field's value with their paths: the value itself, or the elements of its arrays."""
    if isinstance(value, Struct):
        yield path, value
    for element in value if isinstance(value, list | tuple) else ():
        yield from _structs(element, f"{path}[]")


def value_strings(values: Iterable[Any]) -> list[str]:
    """Return the values as sorted strings. Enum members are shown with their names."""
    ordered = sorted(values, key=lambda value: (value is None, str(type(value)), value if value is not None else 0))
    return [f"{int(each)} {each.name}" if hasattr(each, "name") else shown(each) for each in ordered]


class FieldComparison(NamedTuple):
    """How each of two captures uses a field. Only messages that occur in both captures are compared."""

    path: str
    a: int
    """Number of messages or elements with a non-default value in the first capture."""
    b: int
    values: tuple[list[str], list[str], list[str]] | None
    """Three lists of values: those only in the first capture, those only in the second, and those in neither.

    The third list is empty unless the field is a boolean or a small enum. `values` is None if there are too many
    values, or if they are secret.
    """

    def as_dict(self) -> dict[str, Any]:
        keys = ("onlyA", "onlyB", "never")
        values = None if self.values is None else dict(zip(keys, self.values, strict=True))
        return {"path": self.path, "usedInA": self.a, "usedInB": self.b, "values": values}


class MessageComparison(NamedTuple):
    """A message that occurs in at least one of two captures."""

    name: str
    a: dict[int, int]
    """Number of messages by version, in the first capture."""
    b: dict[int, int]
    fields: list[FieldComparison]
    """The fields of the captured versions. They are listed only if both captures have the message."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "message": self.name,
            "versionsInA": {str(version): number for version, number in self.a.items()},
            "versionsInB": {str(version): number for version, number in self.b.items()},
            "fields": [each.as_dict() for each in self.fields],
        }


def compare_captures(a: CaptureUsage, b: CaptureUsage) -> list[MessageComparison]:
    """Compare the messages in two captures, paired by name."""
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
    """Return three lists: values only in the first capture, only in the second, and possible values in neither.

    A capture without the field counts as having the field's default. Returns None if the values can't be compared.
    """
    known = one or other
    assert known is not None, "a capture has it"
    if known.values is None or isinstance(known.default, Struct):
        return None
    left, right = ({_with_one_nan(known.default)} if each is None else each.values for each in (one, other))
    if left is None or right is None:
        return None
    seen = {value for each in (one, other) if each is not None for value in each.values or ()}
    return value_strings(left - right), value_strings(right - left), value_strings(known.possible - seen)
