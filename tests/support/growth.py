"""Measure how the executed Python lines, the CPU time, and the peak memory grow with the input size.

Tests compare the cost of two input sizes instead of checking seconds. Line counts reveal repeated work in Python, and
CPU time reveals repeated work in C. For an input 8 times as large, quadratic work is 64 times as much.
"""

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

FACTOR: Final = 8
"""The second input is this many times larger than the first."""
_BETWEEN: Final = 22
"""Growth by up to this factor counts as linear. It is the geometric mean of 8 (linear) and 64 (quadratic)."""

Work = Callable[[], object]


def lines_run(work: Work) -> int:
    """Return how many lines of Python a function executes, including lines in libraries."""
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
    """Return the CPU seconds that a function takes: the minimum of three runs."""
    runs = []
    for _ in range(3):
        gc.collect()
        begin = time.process_time()
        work()
        runs.append(time.process_time() - begin)
    return min(runs)


def peak_bytes(work: Work) -> int:
    """Return the peak of the memory that Python allocates during a call, in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def leaked_bytes(work: Work, calls: int = 20) -> int:
    """Return how many more bytes are allocated after these calls. Before that, two other calls fill all caches."""
    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(calls):
            work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def grows_linearly(measure: Callable[[Work], float], work_of: Callable[[int], Work], size: int) -> bool:
    """Return whether the cost grows at most linearly when the input becomes `FACTOR` times as large.

    `work_of(size)` builds an input, and returns the function to measure. To compare CPU times, this function must take
    at least a millisecond. A busy machine can disturb CPU times, so up to three comparisons are made.
    """
    costs = ((measure(work_of(size)), measure(work_of(FACTOR * size))) for _ in range(3))
    return any(large <= _BETWEEN * max(small, 1e-3) for small, large in costs)
