"""The checksums of record formats: CRC-32 by zlib, CRC-32C by the native engine or google-crc32c.

There is no implementation of CRC-32C in pure Python, because it would be a thousand times slower. If neither the native
engine nor google-crc32c is available, an error names the package to install.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Final

from tagwire.lazy import required

POLYNOMIALS: Final = {"crc32": 0xEDB88320, "crc32c": 0x82F63B78}
"""Maps each algorithm to its polynomial in reversed bit order: the highest bit is the coefficient of x**0."""


def checksum(algorithm: str, data: Any) -> int:
    """Return the `crc32` or `crc32c` of bytes, as a uint32. Raises MissingExtraError if no library can compute it."""
    return extended(algorithm, 0, data)


@cache
def _crc32c() -> Callable[[int, bytes], int]:
    # The native engine comes first: google-crc32c may be installed without its C code, and then warns and is slow.
    if os.environ.get("TAGWIRE_ENGINE") != "python":
        with suppress(ImportError):
            from tagwire._engine import crc32c

            return crc32c
    found: Callable[[int, bytes], int] = required("google_crc32c", "records").extend
    return found


def extended(algorithm: str, value: int, data: Any) -> int:
    """Extend a checksum by more bytes. `value` is the checksum of the bytes before `data`, or 0 if there are none.

    Raises MissingExtraError if no library can compute it.
    """
    if algorithm == "crc32":
        from zlib import crc32

        return crc32(data, value)
    return _crc32c()(value, bytes(data))
