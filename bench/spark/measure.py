"""Wall and processor time of Spark jobs: contenders in turn, round by round; medians, the best rounds, and ratios.

Ratios are of two contenders' walls in the same round, which had the same
machine. The best round of a job of a second says how lucky it was as well.

Processor time is of this process and of everything that it has started, so of
Spark's JVM and of its Python workers; it says more than wall time where others
use the machine as well.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

__all__ = ["Taken", "best", "middle", "noop", "peak_of_workers", "processor_times", "ratio_of", "rounds"]

_TICK: Final = os.sysconf("SC_CLK_TCK")
_PARENT, _TIMES = 1, slice(11, 15)
"""Where they stand in /proc/PID/stat, behind the name."""


class Taken(NamedTuple):
    """Seconds of a round."""

    wall: float
    jvm: float
    python: float


def noop(df: Any) -> None:
    """Make every row of a DataFrame, and throw it away."""
    df.write.format("noop").mode("overwrite").save()


def middle(taken: Sequence[Taken]) -> Taken:
    """The median of each figure."""
    return Taken(*map(median, zip(*taken, strict=True)))


def best(taken: Sequence[Taken]) -> Taken:
    """The quickest round, by the clock."""
    return min(taken, key=attrgetter("wall"))


def ratio_of(ours: Sequence[Taken], others: Sequence[Taken], rows: float = 1.0) -> str:
    """How many times as fast ours is as another by rounds: by the clock, in the best rounds, and in processor time.

    `rows` is how many rows ours has for each of the other's.
    """
    pairs = [*zip(ours, others, strict=True)]
    ratios = sorted(rows * other.wall / mine.wall for mine, other in pairs)
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    at_best = rows * best(others).wall / best(ours).wall
    processor = median(rows * (other.jvm + other.python) / (mine.jvm + mine.python) for mine, other in pairs)
    return f"{median(ratios):.2f} ({low:.2f}-{high:.2f}), best rounds {at_best:.2f}, processor time {processor:.2f}"


def rounds(
    contenders: Mapping[str, Callable[[], object]], count: int, only: Sequence[str] = ()
) -> dict[str, list[Taken]]:
    """All contenders in turn, or those with one of `only` in their names; those that fail are told and left out.

    Each runs twice, and counts the second time: Spark ends Python workers that
    were idle for a minute, and new ones import everything first.
    """
    alive = {name: each for name, each in contenders.items() if not only or any(part in name for part in only)}
    found: dict[str, list[Taken]] = {}
    for _ in range(count):
        for name, function in list(alive.items()):
            try:
                function()
                found.setdefault(name, []).append(_taken(function))
            except Exception as error:  # a benchmark of others' code goes on without it
                print(f"not run: {name}: {str(error).strip().splitlines()[-1][:200]}")
                del alive[name]
    return {name: found[name] for name in alive if name in found}


def _taken(function: Callable[[], object]) -> Taken:
    jvm, python = processor_times()
    begun = time.perf_counter()
    function()
    wall = time.perf_counter() - begun
    now = processor_times()
    return Taken(wall, now[0] - jvm, now[1] - python)


def processor_times() -> tuple[float, float]:
    """Seconds so far of the JVM, and of Python: ours and that of all below us."""
    jvm = python = 0.0
    for name, ticks in _tree():
        own, reaped = sum(ticks[:2]) / _TICK, sum(ticks[2:]) / _TICK
        if name == "java":
            jvm, python = jvm + own, python + reaped  # its children are the workers
        else:
            python += own + reaped
    return jvm, python


def peak_of_workers() -> int:
    """The most bytes that any Python worker below us has had in memory; 0 if none is alive."""
    peak = 0
    for pid in _below(os.getpid()):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if lines["Name"].strip() != "java":
            peak = max(peak, int(lines.get("VmHWM", "0 kB").split()[0]) << 10)
    return peak


def _tree() -> list[tuple[str, list[int]]]:
    found = []
    for pid in (os.getpid(), *_below(os.getpid())):
        stat = _stat(pid)
        if stat is not None:
            found.append((stat[0], [int(ticks) for ticks in stat[1][_TIMES]]))
    return found


def _below(pid: int) -> list[int]:
    """All processes below one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        stat = _stat(int(entry.name)) if entry.name.isdigit() else None
        if stat is not None:
            children.setdefault(int(stat[1][_PARENT]), []).append(int(entry.name))
    found, open_ones = [], [pid]
    while open_ones:
        below = children.get(open_ones.pop(), [])
        found += below
        open_ones += below
    return found


def _stat(pid: int) -> tuple[str, list[str]] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
