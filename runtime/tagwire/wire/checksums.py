"""The checksums of record formats: CRC-32 by zlib, CRC-32C by google-crc32c.

CRC-32C in pure Python takes milliseconds for what the library does in
microseconds, and every batch of magic 2 has one: so there is no fallback, but
an error that says what to install.
"""

from typing import Any

from tagwire.extras import required

__all__ = ["checksum"]


def checksum(algorithm: str, data: Any) -> int:
    """The `crc32` or `crc32c` of bytes, as a uint32. Raises MissingExtraError where its library is missing."""
    if algorithm == "crc32":
        from zlib import crc32

        return crc32(data)
    value: int = required("google_crc32c", "records").value(bytes(data))
    return value
