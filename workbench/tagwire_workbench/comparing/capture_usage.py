"""Find which parts of a protocol a capture uses: messages, versions, fields with non-default values, and values.

The values of a field are kept while they are few: values of an error code or isolation level show what a client or
server can do, unlike offsets or names.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tagwire.errors import TagwireError
from tagwire.layout import fresh
from tagwire.message.base import Struct, same
from tagwire.sensitive import hides
from tagwire.text_format import shown

if TYPE_CHECKING:
    from tagwire.captures import CapturedFrame
    from tagwire.frames.registry import Registry
    from tagwire.message.field_table import FieldRow

_FEW: Final = 16
"""Fields with more values are not compared by value."""


@dataclass
class FieldUsage:
    """A field of a message, in all its versions."""

    row: "FieldRow"
    default: Any
    used: int = 0
    """Number of messages or elements with a non-default value."""
    values: set[Any] | None = field(default_factory=set)
    """All values, including the default; None if they are too many, composite, or sensitive."""

    def add(self, value: Any) -> None:
        """Count a value."""
        self.used += not same(value, self.default)
        if self.values is None:
            return
        if isinstance(value, bytes | bytearray | memoryview | list | tuple | Struct) or (
            self.row.sensitive and hides()
        ):
            self.values = None
            return
        self.values.add(value)
        if len(self.values) > _FEW:
            self.values = None

    @property
    def possible(self) -> frozenset[Any]:
        """All possible values, if the spec enumerates them and they are few."""
        if self.row.type == "bool":
            return frozenset((False, True))
        members = frozenset(() if self.row.enum is None else self.row.enum)
        return members if len(members) <= _FEW else frozenset()


class CaptureUsage:
    """The protocol usage of a capture."""

    def __init__(self, registry: "Registry", lines: "Iterable[CapturedFrame]") -> None:
        """Count what the frames use. Raises CaptureError for a line that isn't a frame."""
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

    def _add(self, line: "CapturedFrame") -> None:
        kind = "request" if line.is_request else "response"
        name = f"{kind} of API {line.api[0]}" if line.api else kind
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
        """Count the fields of a struct."""
        defaults = fresh(type(value))
        for row in value.FIELDS:
            if version is None or version not in row.versions:
                continue
            inner = getattr(value, row.name)
            place = f"{path}{row.name}"
            fields.setdefault(place, FieldUsage(row, getattr(defaults, row.name))).add(inner)
            if row.struct is None or row.type.startswith("[][]"):
                continue
            at = row.struct_version(version)
            if isinstance(inner, Struct):
                self._walk(fields, inner, at, f"{place}.")
            for element in inner if isinstance(inner, list | tuple) else ():
                self._walk(fields, element, at, f"{place}[].")


def value_strings(values: Iterable[Any]) -> list[str]:
    """Return sorted values as strings; a member of an enum with its name."""
    ordered = sorted(values, key=lambda value: (value is None, str(type(value)), value if value is not None else 0))
    return [f"{int(each)} {each.name}" if hasattr(each, "name") else shown(each) for each in ordered]
