"""Create the starting inputs of a fuzzer: seeds (valid messages) and a dictionary of byte strings.

    seeds(C, version)                 (shape name, message) pairs, the smallest message first
    dictionary_of(messages)           tokens for a fuzzer's dictionary, by name
    dictionary_text(tokens)           the file that libFuzzer and AFL++ read
    key_bytes(C, version)             API key and version, as at the start of a request

All functions are deterministic. docs/howto-fuzzing.md shows how to use them with fuzzers.

The shape of a seed determines the value of each field, whether fields are null, the number of array elements, the
length of strings and bytes, and whether there are unknown tagged fields. A few shapes are enough, because a fuzzer
finds variations of a seed by itself. The tokens of a dictionary matter to a decoder, but are rarely found by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tagwire.errors import TagwireError
from tagwire.layout import Array, Nested, Sized, StructLayout, TaggedSection, Type
from tagwire.message.base import Message
from tagwire.message.field_table import FieldRow, layout_of
from tagwire.wire.varint import uvarint_bytes
from tagwire_workbench.fuzzing.framing import key_bytes

__all__ = ["dictionary_of", "dictionary_text", "key_bytes", "seeds"]

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
        unset = set[str]()  # all fields of each union except one
        for union in struct.unions:
            unset |= {*union.alternatives} - {union.alternatives[self.shape.sample % len(union.alternatives)]}
        fields = {item.name: self.value(item.type, rows[item.name]) for item in struct.fields if item.name not in unset}
        fields |= {row.name: row.fresh_value() for row in cls.FIELDS if row.required and row.name not in fields}
        if self.shape.has_unknown_tags and isinstance(struct.section, TaggedSection):
            fields["unknown_tags"] = {_TAG: b"\x01"}
        return cls(**fields)

    def value(self, type: Type, row: FieldRow) -> Any:
        if self.shape.is_null and getattr(type, "nullable", False) and not row.union:
            return None
        if isinstance(type, Nested):
            return self.struct(type.struct)
        if isinstance(type, Array):
            elements = min(self.shape.elements, 1) if type.unique else self.shape.elements
            return tuple(self.value(type.element, row) for _ in range(elements))
        return self._primitive(type, row)

    def _primitive(self, type: Any, row: FieldRow) -> Any:
        if type.wire.name == _RECORDS:
            return self._records(row)
        samples = type.wire.samples
        sample = samples[min(self.shape.sample, len(samples) - 1)]
        return sample * self.shape.length if isinstance(type, Sized) else sample

    def _records(self, row: FieldRow) -> bytes:
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


BOUNDS: Final = {
    "int16_null": b"\xff\xff",
    "int16_highest": b"\x7f\xff",
    "int16_lowest": b"\x80\x00",
    "int32_null": b"\xff\xff\xff\xff",
    "int32_highest": b"\x7f\xff\xff\xff",
    "int32_lowest": b"\x80\x00\x00\x00",
    "varint_highest": b"\xff\xff\xff\xff\x0f",
    "varint_too_high": b"\xff\xff\xff\xff\x7f",
    "varint_too_long": b"\xff\xff\xff\xff\xff\x01",
    "varint_not_shortest": b"\x80\x00",
    "utf8_surrogate": b"\xed\xa0\x80",
}
"""Tokens for every format: lengths and counts at and beyond their limits, and bytes that are not UTF-8."""


def dictionary_of(
    messages: Iterable[type[Message]], *, keys: Iterable[tuple[type[Message], int]] = ()
) -> dict[str, bytes]:
    """Return tokens by name: tags, enum members, extreme numbers, and extreme lengths.

    For each (message, version) pair in `keys`, a token contains the API key and the version. If several tokens have the
    same bytes, only the first is returned.
    """
    names: dict[bytes, str] = {}
    for cls, version in keys:
        names.setdefault(key_bytes(cls, version), f"{cls.NAME}_v{version}")
    for cls in messages:
        for name, token in _tokens(cls):
            names.setdefault(token, name)
    for name, token in BOUNDS.items():
        names.setdefault(token, name)
    return {name: token for token, name in names.items()}


def _tokens(cls: type[Message]) -> Iterator[tuple[str, bytes]]:
    """Yield a name and the encoded bytes for each tag, sample value of a fixed-width type, and member of an enum."""
    for row in _rows(cls):
        if row.tag is not None:
            yield f"tag_{row.tag}", uvarint_bytes(row.tag)
        for index, value in enumerate(row.wire.samples if row.struct is None and row.wire.is_fixed else ()):
            out = bytearray()
            row.wire.put_many(out, [value])
            member = row.wire.name_of(value)
            yield f"{row.enum.__name__}_{member}" if row.enum and member else f"{row.wire.name}_{index}", bytes(out)


def _rows(cls: Any) -> Iterator[FieldRow]:
    for row in cls.FIELDS:
        yield row
        if row.struct is not None:
            yield from _rows(row.struct)


def dictionary_text(tokens: Mapping[str, bytes]) -> str:
    """Return the tokens in the file format of libFuzzer and AFL++.

    Each token is a line, `name="bytes"`, with escapes for nonprintable bytes.
    """
    return "".join(f'{re.sub(r"[^0-9A-Za-z_]", "_", name)}="{_escaped(token)}"\n' for name, token in tokens.items())


def _escaped(token: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\x{byte:02x}" for byte in token)
