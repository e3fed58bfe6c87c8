"""Arrays of primitive values, for generated serializers. One `struct` call reads or writes all numbers of an array.

For short arrays, a `struct` format is prebuilt for each count, because making a format takes longer than using it.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from struct import Struct
from typing import Any, Final, TypeVar
from uuid import UUID

from tagwire.wire.scalars import (
    BOOLEAN_BYTES,
    BOOLEANS,
    UnreadableBytes,
    put_binary,
    put_compact_binary,
    put_compact_count,
    put_compact_string,
    put_count,
    put_string,
    uuid_bytes,
    uuid_of,
    uvarint,
)
from tagwire.wire.types import STRING_MAX, WIRE_TYPES

_TABLE_SIZE: Final = 0x80
"""Counts below this number have a prebuilt `struct` format."""


class FixedArray:
    """Reads and writes arrays of one fixed-width number type."""

    __slots__ = ("_code", "packers", "unpackers", "width")

    def __init__(self, code: str, width: int) -> None:
        formats = [Struct(f">{count}{code}") for count in range(_TABLE_SIZE)]
        self._code = code
        self.width = width
        self.unpackers: list[Callable[[bytes, int], tuple[Any, ...]]] = [each.unpack_from for each in formats]
        self.packers: list[Callable[..., bytes]] = [each.pack for each in formats]

    def read(self, buf: bytes, pos: int, count: int) -> tuple[tuple[Any, ...], int]:
        end = pos + self.width * count
        # Check the count before making a `struct` format, because an attacker may send a huge count.
        if count < 0 or end > len(buf):
            raise UnreadableBytes
        if count < _TABLE_SIZE:
            return self.unpackers[count](buf, pos), end
        return Struct(f">{count}{self._code}").unpack_from(buf, pos), end

    def put(self, out: bytearray, values: Sequence[Any] | None) -> None:
        put_count(out, values)
        out += self._packed(values)

    def put_compact(self, out: bytearray, values: Sequence[Any] | None) -> None:
        put_compact_count(out, values)
        out += self._packed(values)

    def _packed(self, values: Any) -> bytes:
        numbers = tuple(values)  # an exact tuple, because a subclass may override `len`
        return Struct(f">{len(numbers)}{self._code}").pack(*numbers)


EMPTY: Final = ()
"""The empty array. CPython has only one empty tuple, so serializers can test `value is EMPTY`."""


@cache
def fixed_array(name: str) -> FixedArray:
    """Return the reader and writer for arrays of a number type."""
    row = WIRE_TYPES[name]
    return FixedArray(row.code, row.width)


# Functions for arrays of types other than numbers. Readers take the number of elements, and return the elements and the
# position after them. Errors have no position.

T = TypeVar("T")

_INT16 = Struct(">h")
_INT32 = Struct(">i")


def _compact_length(buf: bytes, pos: int) -> tuple[int, int]:
    first = buf[pos]
    value, pos = (first, pos + 1) if first < 0x80 else uvarint(buf, pos + 1, first)
    if value == 0:
        raise UnreadableBytes
    return value - 1, pos


def booleans(buf: bytes, pos: int, count: int) -> tuple[tuple[bool, ...], int]:
    """Read `count` booleans at `pos`; return them and the position after them."""
    end = pos + count
    if count < 0 or end > len(buf):
        raise UnreadableBytes
    return tuple(BOOLEANS[byte] for byte in buf[pos:end]), end


def put_booleans(out: bytearray, values: Sequence[bool]) -> None:
    """Append booleans, without a count."""
    out += bytes([BOOLEAN_BYTES[value] for value in values])


def read_uuids(buf: bytes, pos: int, count: int) -> tuple[tuple[UUID, ...], int]:
    """Read `count` UUIDs at `pos`; return them and the position after them."""
    end = pos + 16 * count
    if count < 0 or end > len(buf):
        raise UnreadableBytes
    return tuple(uuid_of(buf[at : at + 16]) for at in range(pos, end, 16)), end


def put_uuids(out: bytearray, values: Sequence[UUID]) -> None:
    """Append UUIDs, without a count."""
    for value in values:
        out += uuid_bytes(value)


def _each(put: Callable[[bytearray, T], object]) -> Callable[[bytearray, Sequence[T]], None]:
    """Return a function that appends each value with `put`. The number of values is not written."""

    def put_many(out: bytearray, values: Sequence[T]) -> None:
        for value in values:
            put(out, value)

    return put_many


put_strings: Final = _each(put_string)
"""Append strings, each after its int16 length. Their count is not written."""
put_compact_strings: Final = _each(put_compact_string)
"""Append strings, each after its compact length. Their count is not written."""
put_binaries: Final = _each(put_binary)
"""Append byte strings, each after its int32 length. Their count is not written."""
put_compact_binaries: Final = _each(put_compact_binary)
"""Append byte strings, each after its compact length. Their count is not written."""


def read_strings(buf: bytes, pos: int, count: int) -> tuple[tuple[str, ...], int]:
    """Read `count` strings with int16 lengths at `pos`; return them and the position after them."""
    items = []
    unpack = _INT16.unpack_from
    for _ in range(count):
        (size,) = unpack(buf, pos)
        if size < 0:
            raise UnreadableBytes
        end = pos + 2 + size
        items.append(buf[pos + 2 : end].decode())
        pos = end
    return tuple(items), pos


def read_compact_strings(buf: bytes, pos: int, count: int) -> tuple[tuple[str, ...], int]:
    """Read `count` strings with compact lengths at `pos`; return them and the position after them."""
    items = []
    for _ in range(count):
        size, pos = _compact_length(buf, pos)
        if size > STRING_MAX:
            raise UnreadableBytes
        end = pos + size
        items.append(buf[pos:end].decode())
        pos = end
    return tuple(items), pos


def read_binaries(buf: bytes, raw: Any, pos: int, count: int) -> tuple[tuple[bytes, ...], int]:
    """Read `count` byte strings with int32 lengths; return them (slices of `raw`) and the position after them."""
    items = []
    for _ in range(count):
        (size,) = _INT32.unpack_from(buf, pos)
        if size < 0:
            raise UnreadableBytes
        end = pos + 4 + size
        items.append(raw[pos + 4 : end])
        pos = end
    return tuple(items), pos


def read_compact_binaries(buf: bytes, raw: Any, pos: int, count: int) -> tuple[tuple[bytes, ...], int]:
    """Read `count` byte strings with compact lengths; return them (slices of `raw`) and the position after them."""
    items = []
    for _ in range(count):
        size, pos = _compact_length(buf, pos)
        end = pos + size
        items.append(raw[pos:end])
        pos = end
    return tuple(items), pos


_ReadMany = Callable[[bytes, int, int], tuple[tuple[T, ...], int]]
"""A function (buf, pos, count) that reads `count` elements at `pos`, and returns them and the position after them."""


def read_arrays(buf: bytes, pos: int, count: int, read: _ReadMany[T]) -> tuple[tuple[tuple[T, ...], ...], int]:
    """Read `count` arrays at `pos`, each with an int32 count. Return them and the position after them.

    `read` reads the elements of one array.
    """
    arrays = []
    for _ in range(count):
        (size,) = _INT32.unpack_from(buf, pos)
        if size < 0:
            raise UnreadableBytes
        array, pos = read(buf, pos + 4, size)
        arrays.append(array)
    return tuple(arrays), pos


def read_compact_arrays(buf: bytes, pos: int, count: int, read: _ReadMany[T]) -> tuple[tuple[tuple[T, ...], ...], int]:
    """Read `count` arrays at `pos`, each with a compact count. Return them and the position after them.

    `read` reads the elements of one array.
    """
    arrays = []
    for _ in range(count):
        size, pos = _compact_length(buf, pos)
        array, pos = read(buf, pos, size)
        arrays.append(array)
    return tuple(arrays), pos


def put_each(out: bytearray, values: Sequence[T], *puts: Callable[[bytearray, T], object]) -> None:
    """Append each array by calling `put(out, array)` for each of `puts`. The number of arrays is not written."""
    for value in values:
        for put in puts:
            put(out, value)


def has_twins(elements: Iterable[Any] | None, *keys: str) -> bool:
    """Return whether any two elements have the same values in all of the attributes named in `keys`."""
    if elements is None:
        return False
    all_keys = [tuple([getattr(element, key) for key in keys]) for element in elements]
    return len(set(all_keys)) != len(all_keys)
