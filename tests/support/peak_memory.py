"""Report the peak memory of programs that tests start.

The peak is read from /proc. `ru_maxrss` would not show any growth: for a new process it includes its parent's memory,
and a test suite takes hundreds of megabytes.
"""

import inspect
import os
from pathlib import Path


def peak_kib() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


PEAK_KIB = f"from pathlib import Path\n\n{inspect.getsource(peak_kib)}"
"""The source code of `peak_kib`, to include in programs."""

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
"""Peaks are meaningless under AddressSanitizer, which delays the release of freed memory to detect its use."""
