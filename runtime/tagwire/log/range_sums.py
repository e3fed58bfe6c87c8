"""Compute checksums of ranges of a file, in a time that does not grow with the range.

After damage, every position is tried as the beginning of a batch. Each candidate may claim to be as long as the rest of
the file, so computing every checksum in full would take minutes for a few megabytes. CRCs are linear: the checksum of a
range follows from the checksums of two prefixes of the file. So the file is read once, and the checksum of each prefix
of whole blocks is kept.

If `shift(c, n)` multiplies a checksum by x^(8n), the checksum of two parts is `shift(first, len(second)) ^ second`.
Source: zlib's crc32_combine; arithmetic in GF(2) modulo the polynomial, with the lowest power in the highest bit.
"""

from array import array
from typing import Final

from tagwire.log.file_bytes import Bytes
from tagwire.wire.checksums import POLYNOMIALS, extended

_BLOCK_BITS: Final = 12
_BLOCK: Final = 1 << _BLOCK_BITS
_DIRECT: Final = 4 * _BLOCK
"""Ranges up to this length are computed directly."""
_ONE: Final = 1 << 31
_X: Final = 1 << 30


class RangeSums:
    """Checksums of ranges of a file, by one algorithm."""

    def __init__(self, data: Bytes, algorithm: str) -> None:
        self._data = data
        self._algorithm = algorithm
        self._polynomial = POLYNOMIALS[algorithm]
        self._before = array("L", [0])
        """The checksum of all bytes before each block."""
        self._powers = array("L", [_ONE])
        """Element n is x to the power of the number of bits in n blocks."""

    def of(self, start: int, end: int) -> int:
        """Return the checksum of the bytes from `start` to before `end`."""
        if end - start <= _DIRECT:
            return extended(self._algorithm, 0, self._data[start:end])
        first, last = -(-start >> _BLOCK_BITS), end >> _BLOCK_BITS
        value = extended(self._algorithm, 0, self._data[start : first << _BLOCK_BITS])
        value = self._shifted(value ^ self._sum_before(first), last - first) ^ self._sum_before(last)
        return extended(self._algorithm, value, self._data[last << _BLOCK_BITS : end])

    def _sum_before(self, block: int) -> int:
        known = self._before
        while len(known) <= block:
            start = (len(known) - 1) << _BLOCK_BITS
            known.append(extended(self._algorithm, known[-1], self._data[start : start + _BLOCK]))
        return known[block]

    def _shifted(self, value: int, blocks: int) -> int:
        powers = self._powers
        if len(powers) == 1:
            power = _X
            for _ in range(_BLOCK_BITS + 3):
                power = self._product(power, power)
            powers.append(power)
        while len(powers) <= blocks:
            powers.append(self._product(powers[-1], powers[1]))
        return self._product(value, powers[blocks])

    def _product(self, one: int, other: int) -> int:
        product, polynomial = 0, self._polynomial
        while one:
            if one & _ONE:
                product ^= other
            one = one << 1 & 0xFFFFFFFF
            other = other >> 1 ^ polynomial if other & 1 else other >> 1
        return product
