"""The checksums of record formats: CRC-32 by zlib, CRC-32C by google-crc32c.

CRC-32C in pure Python is a thousand times slower than the library, and every batch of magic 2 has such a checksum. So
there is no fallback; the error names the package to install.
"""

from functools import cache
from typing import Any, Final

from tagwire.extras import required

POLYNOMIALS: Final = {"crc32": 0xEDB88320, "crc32c": 0x82F63B78}
"""The polynomials by algorithm, bit-reversed (the lowest power in the highest bit)."""


def checksum(algorithm: str, data: Any) -> int:
    """Return the `crc32` or `crc32c` of bytes, as a uint32. Raises MissingExtraError without its library."""
    if algorithm == "crc32":
        from zlib import crc32

        return crc32(data)
    value: int = _crc32c().value(bytes(data))
    return value


@cache
def _crc32c() -> Any:
    return required("google_crc32c", "records")


def extended(algorithm: str, value: int, data: bytes) -> int:
    """Return the checksum of some bytes followed by `data`; `value` is the checksum of the earlier bytes."""
    if algorithm == "crc32":
        from zlib import crc32

        return crc32(data, value)
    found: int = _crc32c().extend(value, data)
    return found
