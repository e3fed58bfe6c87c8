"""Measure how much faster two threads decode and encode messages than one. Use a free-threaded Python (3.13t or later):

    PYTHONPATH=generated python3.13t bench/threads.py [ROUNDS]

Each thread has its own message. A round runs one thread alone, and then two threads at once. "wall" compares elapsed
times, and "CPU" the CPU times of the threads. The best value is 2. "CPU" depends less on other programs, and shows how
much the threads slow each other down.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from threading import Barrier, Thread
from typing import Final

from ours import Tagwire

import tagwire

_SECONDS: Final = 0.2
"""How long each thread runs in one round."""


def main(rounds: int = 15) -> None:
    """Print one line per message and operation."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"{tagwire.engine()} engine, Python {sys.version.split()[0]}, GIL {'on' if gil else 'off'}")
    for name, contender in Tagwire().contenders().items():
        messages = [contender.make() for _ in range(2)]
        work: dict[str, list[Callable[[], object]]] = {
            "decode": [partial(contender.decode, contender.encode(message)) for message in messages],
            "encode": [partial(contender.encode, message) for message in messages],
        }
        for operation, calls in work.items():
            found = [_round(calls) for _ in range(rounds)]
            wall, cpu = (median(values) for values in zip(*found, strict=True))
            print(f"{name:22} {operation}  wall {wall:.2f}  CPU {cpu:.2f}")


def _round(calls: list[Callable[[], object]]) -> tuple[float, float]:
    """Return the ratio of two threads' throughput to one thread's throughput, by wall time and by CPU time."""
    count = _count(calls[0])
    alone, alone_cpu = _timed(calls[:1], count)
    both, both_cpu = _timed(calls, count)
    return 2 * alone / both, 2 * alone_cpu[0] / max(both_cpu)


def _count(call: Callable[[], object]) -> int:
    call()
    start = time.thread_time()
    call()
    return max(1, round(_SECONDS / max(time.thread_time() - start, 1e-7)))


def _timed(calls: list[Callable[[], object]], count: int) -> tuple[float, list[float]]:
    """Run each call `count` times in its own thread. Return the wall time, and each thread's CPU time."""
    barrier = Barrier(len(calls) + 1)
    times: list[float] = []

    def run(call: Callable[[], object]) -> None:
        barrier.wait()
        start = time.thread_time()
        for _ in range(count):
            call()
        times.append(time.thread_time() - start)

    threads = [Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start, times


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
