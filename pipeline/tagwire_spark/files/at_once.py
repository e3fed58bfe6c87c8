"""Run several requests at once, for storage with a high latency."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final, TypeVar

__all__ = ["MOST", "at_once"]

MOST: Final = 64
"""Maximum number of concurrent requests."""
_TAKEN: Final = 1024
"""Units submitted at a time, so that a million units don't become a million futures at once."""

T = TypeVar("T")
R = TypeVar("R")


def at_once(work: Callable[[T], R], units: Iterable[T], *, is_concurrent: bool = True) -> Iterator[R]:
    """Yield `work(unit)` for each unit, in order; concurrently if `work` may run in threads (`is_concurrent`).

    Raises the first error of `work`, and starts no further units after an error.
    """
    if not is_concurrent:
        yield from map(work, units)
        return
    waiting = iter(units)
    pool = ThreadPoolExecutor(MOST, "tagwire-at-once")
    try:
        while taken := list(islice(waiting, _TAKEN)):
            yield from pool.map(work, taken)
    finally:
        pool.shutdown(cancel_futures=True)
