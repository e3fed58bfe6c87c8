"""Keep freed memory in the process that passes or writes frames.

glibc returns the memory of a large frame to the system as soon as it is freed, and takes new pages for the next frame.
On a virtual machine these pages cost more than passing the frame: several microseconds per 4 KB. The kept memory is
bounded by the limits of `CaptureFile` and `Budget`.
"""

import ctypes
from contextlib import suppress
from typing import Final

_KEPT: Final = 1 << 28
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Parameters for `mallopt`, from malloc.h."""

KEEPING: Final = {"MALLOC_TRIM_THRESHOLD_": str(_KEPT), "MALLOC_MMAP_THRESHOLD_": str(_KEPT)}
"""The same settings as environment variables for a new process."""


def keep_freed_memory() -> None:
    """Let this process keep the memory that it frees. Does nothing without glibc."""
    with suppress(OSError, TypeError, AttributeError):  # no such library or function
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _KEPT)
