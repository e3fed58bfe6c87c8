"""The checksums of record formats: CRC-32 by zlib, CRC-32C by google-crc32c.

Every batch of magic 2 has a CRC-32C, which would be a thousand times slower in pure Python. So a missing library is an
error, which names the package to install.
"""

from functools import cache
from typing import Any, Final

from tagwire.extras import required

POLYNOMIALS: Final = {"crc32": 0xEDB88320, "crc32c": 0x82F63B78}
"""The polynomials by algorithm, bit-reversed (the lowest power in the highest bit)."""


def checksum(algorithm: str, data: Any) -> int:
    """Return the `crc32` or `crc32c` of bytes, as a uint32. Raises MissingExtraError if its library is missing."""
    if algorithm == "crc32":
        from zlib import crc32

        return crc32(data)
    value: int = _crc32c().value(bytes(data))
    return value


@cache
def _crc32c() -> Any:
    return required("google_crc32c", "records")


def extended(algorithm: str, value: int, data: bytes) -> int:
    """Return the checksum of earlier bytes followed by `data`, given `value`, the checksum of the earlier bytes."""
    if algorithm == "crc32":
        from zlib import crc32

        return crc32(data, value)
    found: int = _crc32c().extend(value, data)
    return found
