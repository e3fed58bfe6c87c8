"""What a process has had at most, for programs that tests start.

By /proc and not by `ru_maxrss`, which counts the parent that a new process came
from: in a suite of hundreds of megabytes it would see no growth at all.
"""

import inspect
import os
from pathlib import Path


def peak_kib() -> int:
    """KiB of memory that this process has had at most."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


PEAK_KIB = f"from pathlib import Path\n\n{inspect.getsource(peak_kib)}"
"""The same for the text of a program."""

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
"""Under AddressSanitizer a peak says nothing: what is freed is held back for a while, so that its use can be seen."""
