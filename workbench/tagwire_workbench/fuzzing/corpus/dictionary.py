"""Dictionaries for fuzzers: byte strings that matter to a decoder, but are rarely found by chance.

libFuzzer and AFL++ read the same file format: one line for each token, `name="bytes"`, with escapes for nonprintable
bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tagwire.message.base import Message
from tagwire.message.field_table import FieldRow
from tagwire.wire.varint import uvarint_bytes
from tagwire_workbench.fuzzing.framing import key_bytes

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
    for row in _rows(cls):
        if row.tag is not None:
            yield f"tag_{row.tag}", uvarint_bytes(row.tag)
        if row.struct is None and row.wire.is_fixed:
            yield from _numbers(row)


def _rows(cls: Any) -> Iterator[FieldRow]:
    for row in cls.FIELDS:
        yield row
        if row.struct is not None:
            yield from _rows(row.struct)


def _numbers(row: FieldRow) -> Iterator[tuple[str, bytes]]:
    """Yield a name and the encoded bytes for each sample value of a fixed-width type, or for each member of an enum."""
    wire = row.wire
    for index, value in enumerate(wire.samples):
        out = bytearray()
        wire.put_many(out, [value])
        member = wire.name_of(value)
        yield f"{row.enum.__name__}_{member}" if row.enum and member else f"{wire.name}_{index}", bytes(out)


def dictionary_text(tokens: Mapping[str, bytes]) -> str:
    """Return the tokens in the file format of libFuzzer and AFL++."""
    return "".join(f'{re.sub(r"[^0-9A-Za-z_]", "_", name)}="{_escaped(token)}"\n' for name, token in tokens.items())


def _escaped(token: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\x{byte:02x}" for byte in token)
