"""Seeds: valid messages of one version in different shapes, created from the version's layout.

A shape determines the value of each field, whether fields are null, the number of array elements, the length of strings
and bytes, and whether there are unknown tagged fields. A few shapes are enough, because a fuzzer finds variations of a
seed by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tagwire.errors import TagwireError
from tagwire.layout import Array, Nested, Sized, StructLayout, TaggedSection, Type
from tagwire.message.base import Message
from tagwire.message.field_table import FieldRow, layout_of

M = TypeVar("M", bound=Message)

_LONG: Final = 128
"""Length of a long string, whose varint takes two bytes."""
_TAG: Final = 0x3FFF
"""An unknown tag whose varint takes two bytes."""
_RECORDS: Final = "records"


@dataclass(frozen=True, slots=True)
class Shape:
    """The choices that determine the field values of a seed."""

    sample: int = 0
    """Index of the value to use in a type's list of samples. If the list is shorter, its last value is used."""
    is_null: bool = False
    elements: int = 1
    length: int = 1
    """How many times a string or byte string repeats the sample value."""
    has_unknown_tags: bool = False


SHAPES: Final = {
    "empty": Shape(elements=0),
    "null": Shape(is_null=True),
    "full": Shape(),
    "high": Shape(sample=1),
    "low": Shape(sample=2),
    "many": Shape(elements=3),
    "long": Shape(length=_LONG),
    "tagged": Shape(has_unknown_tags=True),
}
"""All shapes by name, in the order in which `seeds` yields them."""


def seeds(cls: type[M], version: int) -> Iterator[tuple[str, M]]:
    """Yield (shape name, message) for each shape. A message with the same bytes as an earlier message is skipped.

    Raises UnsupportedVersionError if the message doesn't have the version.
    """
    layout = layout_of(cls, version)
    seen: set[bytes] = set()
    for name, shape in SHAPES.items():
        message: M = Filler(shape, version).struct(layout.root)
        data = message.encode(version)
        if data not in seen:
            seen.add(data)
            yield name, message


class Filler:
    """Creates the field values of a seed message, given a shape (such as `empty` or `high`) and a version."""

    def __init__(self, shape: Shape, version: int) -> None:
        self.shape = shape
        self.version = version

    def struct(self, struct: StructLayout) -> Any:
        cls: Any = struct.cls
        assert cls is not None
        rows: dict[str, FieldRow] = {row.name: row for row in cls.FIELDS}
        others = {name for union in struct.unions for name in self.unchosen(union.alternatives)}
        fields = {
            item.name: self.value(item.type, rows[item.name]) for item in struct.fields if item.name not in others
        }
        fields |= {row.name: row.fresh_value() for row in cls.FIELDS if row.required and row.name not in fields}
        if self.shape.has_unknown_tags and isinstance(struct.section, TaggedSection):
            fields["unknown_tags"] = {_TAG: b"\x01"}
        return cls(**fields)

    def unchosen(self, alternatives: tuple[str, ...]) -> list[str]:
        """Choose one field of a union. Return the names of the other fields, which must stay unset."""
        chosen = alternatives[self.shape.sample % len(alternatives)]
        return [name for name in alternatives if name != chosen]

    def value(self, type: Type, row: FieldRow) -> Any:
        if self.shape.is_null and getattr(type, "nullable", False) and not row.union:
            return None
        if isinstance(type, Nested):
            return self.struct(type.struct)
        if isinstance(type, Array):
            elements = min(self.shape.elements, 1) if type.unique else self.shape.elements
            return tuple(self.value(type.element, row) for _ in range(elements))
        return self.primitive(type, row)

    def primitive(self, type: Any, row: FieldRow) -> Any:
        if type.wire.name == _RECORDS:
            return self.records(row)
        samples = type.wire.samples
        sample = samples[min(self.shape.sample, len(samples) - 1)]
        return sample * self.shape.length if isinstance(type, Sized) else sample

    def records(self, row: FieldRow) -> bytes:
        """Return a batch of records in the field's format.

        Returns arbitrary bytes if the format has no keys and values, or if its checksum library is missing.
        """
        from tagwire.records import Record, build

        if not self.shape.elements:
            return b""
        for timestamp in (0, -1):  # the oldest format has no timestamps, and requires -1
            numbers = range(self.shape.elements)
            records = [Record(offset, timestamp, b"k", b"v" * self.shape.length) for offset in numbers]
            with suppress(TagwireError):
                return build(records, row.record_format(self.version) or "v2").encode()
        return b"\x01"
