"""Unsigned and zig-zag varints, read one byte at a time and written in their shortest form.

KIP-482 uses unsigned 32-bit varints for lengths, counts and tags. Record batches and the draft dialect use zig-zag
varints, which Kafka calls VARINT and VARLONG. Strict readers reject a varint that is longer than needed. So each value
has only one encoding.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


UVARINT_MAX: Final = 0x7FFFFFFF
"""The highest length, count or tag: Kafka stores these numbers in an int32."""

_ONE_BYTE: Final = [bytes((value,)) for value in range(0x80)]


def uvarint_bytes(value: int) -> bytes:
    """Return `value` (0 or more) as an unsigned varint."""
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def put_uvarint(out: bytearray, value: int) -> None:
    """Append `value` (0 or more) as an unsigned varint."""
    if value < 0x80:
        out.append(value)
    else:
        out += uvarint_bytes(value)


def read_uvarint(buf: bytes, pos: int, size: int = 5) -> tuple[int, int]:
    """Read a varint at `pos`, even one longer than needed; return its value and the position after it.

    Raises IndexError if the bytes end, and ValueError if the varint has more than `size` bytes.
    """
    value = 0
    for shift in range(0, 7 * size, 7):
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
    raise ValueError(f"a varint of more than {size} bytes")


def to_zigzag(value: int) -> int:
    """Map 0, -1, 1, -2 ... to 0, 1, 2, 3 ..."""
    return value << 1 if value >= 0 else (-value << 1) - 1


def from_zigzag(value: int) -> int:
    """Map 0, 1, 2, 3 ... to 0, -1, 1, -2 ..."""
    return value >> 1 ^ -(value & 1)
