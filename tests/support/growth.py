"""How much more a function does for a larger input: lines of Python run, CPU time, and memory at its peak.

No test knows seconds: two sizes are compared. Lines are exact, and show loops in
Python; CPU time shows what C code repeats (copies, searches), so its bound is
generous. Between n and 8n linear work grows by 8, quadratic work by 64.
"""

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

__all__ = ["FACTOR", "cpu_seconds", "grows_linearly", "lines_run", "peak_bytes"]

FACTOR: Final = 8
"""How much larger the second input is."""
_BETWEEN: Final = 22
"""The geometric mean of linear and quadratic growth: 8 ** 1.5."""

Work = Callable[[], object]


def lines_run(work: Work) -> int:
    """Lines of Python that the work runs, those of libraries too."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def cpu_seconds(work: Work) -> float:
    """CPU time of the work: the least of three runs."""
    runs = []
    for _ in range(3):
        gc.collect()
        begin = time.process_time()
        work()
        runs.append(time.process_time() - begin)
    return min(runs)


def peak_bytes(work: Work) -> int:
    """Bytes of Python's memory that the work holds at most, beside what was there before."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def grows_linearly(measure: Callable[[Work], float], work_of: Callable[[int], Work], size: int) -> bool:
    """Whether the work on an input of `FACTOR` times the size costs about as many times as much.

    `work_of` makes the input, outside of what is measured. Where the smaller
    work takes less than a millisecond, CPU time says nothing: choose larger sizes.
    """
    small, large = measure(work_of(size)), measure(work_of(FACTOR * size))
    return large <= _BETWEEN * max(small, 1e-3)
