"""Freed memory stays with the process that passes or writes frames.

glibc gives the memory of a large frame back to the system as soon as it is freed, and takes new
pages for the next frame. On a virtual machine these pages cost more than passing the
frame: some microseconds for each 4 KB. What stays is bounded by what `CaptureFile` and `Budget` let wait.
"""

import ctypes
from contextlib import suppress
from typing import Final

_KEPT: Final = 1 << 28
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Numbers of malloc.h for `mallopt`."""

KEEPING: Final = {"MALLOC_TRIM_THRESHOLD_": str(_KEPT), "MALLOC_MMAP_THRESHOLD_": str(_KEPT)}
"""The same for a process that is to be started, as variables of its environment."""


def keep_freed_memory() -> None:
    """Let this process keep the memory that it frees; does nothing where the C library is not glibc."""
    with suppress(OSError, TypeError, AttributeError):  # no such library, or no such function in it
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _KEPT)
