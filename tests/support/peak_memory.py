"""Report the peak memory of programs that tests start.

The peak is read from /proc, because `ru_maxrss` of a new process includes its parent's memory.
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
"""Whether tests run with AddressSanitizer. It delays the release of memory, which makes peaks meaningless."""
