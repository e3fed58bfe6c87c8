"""Measure times on shared machines: use CPU times, interleave the contenders, and report medians with their spread.

Wall time depends on the machine's load; CPU time mostly doesn't. Other influences (caches, clock rates) change slowly.
So every round runs each contender once, in random order, and ratios compare only times from the same round.
"""

import gc
import time
from collections.abc import Callable, Mapping
from random import Random
from statistics import median, quantiles
from typing import NamedTuple

__all__ = ["Ratio", "interleaved", "ratio"]


class Ratio(NamedTuple):
    """The ratio of two contenders' times: the median over all rounds, and the lower and upper quartiles."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.2f}x ({self.low:.2f}-{self.high:.2f})"


def interleaved(
    functions: Mapping[str, Callable[[], object]], *, rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Return the CPU seconds per call of each function, as a list with one value per round.

    In every round, each function is called repeatedly for about `seconds`.
    """
    calls = {name: _calls(function, seconds) for name, function in functions.items()}
    order = list(functions)
    random = Random(1)
    times: dict[str, list[float]] = {name: [] for name in functions}
    gc.collect()
    gc.freeze()  # garbage collection stays on, but skips the objects that exist now
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            times[name].append(_once(functions[name], calls[name]))
    gc.unfreeze()
    return times


def _calls(function: Callable[[], object], seconds: float) -> int:
    function()  # the first call may import modules, so it isn't measured
    return max(1, round(seconds / max(_once(function, 1), 1e-7)))


def _once(function: Callable[[], object], calls: int) -> float:
    gc.collect()
    repeats = range(calls)
    start = time.thread_time()
    for _ in repeats:
        function()
    return (time.thread_time() - start) / calls


def ratio(theirs: list[float], ours: list[float]) -> Ratio:
    """Return the ratio of another library's times to tagwire's. Each list contains one time per round."""
    ratios = [their / our for their, our in zip(theirs, ours, strict=True)]
    if len(ratios) < 2:
        return Ratio(*ratios, *ratios, *ratios)
    low, _, high = quantiles(ratios, n=4)
    return Ratio(median(ratios), low, high)
