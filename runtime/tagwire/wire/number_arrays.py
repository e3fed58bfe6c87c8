"""Arrays of fixed-width numbers, for straight-line serializers: one `struct` call for all elements.

Short arrays have prebuilt formats by count, because making a format takes longer than
using it.
"""

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Final

from tagwire.wire.scalars import UnreadableBytes, put_compact_count, put_count
from tagwire.wire.types import WIRE_TYPES

_TABLE_SIZE: Final = 0x80
"""Counts below this have a prebuilt `struct` format: all counts that take one byte in KIP-482."""


class FixedArray:
    """Arrays of one fixed-width number type, with prebuilt formats for short arrays."""

    __slots__ = ("_code", "packers", "unpackers", "width")

    def __init__(self, code: str, width: int) -> None:
        formats = [Struct(f">{count}{code}") for count in range(_TABLE_SIZE)]
        self._code = code
        self.width = width
        self.unpackers: list[Callable[[bytes, int], tuple[Any, ...]]] = [each.unpack_from for each in formats]
        self.packers: list[Callable[..., bytes]] = [each.pack for each in formats]

    def read(self, buf: bytes, pos: int, count: int) -> tuple[tuple[Any, ...], int]:
        """Read `count` numbers at `pos`; return them and their end."""
        end = pos + self.width * count
        # Checked before making a format, because only a hostile sender would write such a count.
        if count < 0 or end > len(buf):
            raise UnreadableBytes
        if count < _TABLE_SIZE:
            return self.unpackers[count](buf, pos), end
        return Struct(f">{count}{self._code}").unpack_from(buf, pos), end

    def put(self, out: bytearray, values: Sequence[Any] | None) -> None:
        """Append an int32 count and numbers."""
        put_count(out, values)
        out += self._packed(values)

    def put_compact(self, out: bytearray, values: Sequence[Any] | None) -> None:
        """Append a compact count and numbers."""
        put_compact_count(out, values)
        out += self._packed(values)

    def _packed(self, values: Any) -> bytes:
        numbers = tuple(values)  # a subclass may override `len`
        return Struct(f">{len(numbers)}{self._code}").pack(*numbers)


EMPTY: Final = ()
"""The empty array, recognised by identity, since CPython has only one empty tuple."""

_arrays: Final[dict[str, FixedArray]] = {}


def fixed_array(name: str) -> FixedArray:
    """Return the arrays of the number type `name`; made on first use, since a table takes about 50 us."""
    found = _arrays.get(name)
    if found is None:
        row = WIRE_TYPES[name]
        found = _arrays[name] = FixedArray(row.code, row.width)
    return found
