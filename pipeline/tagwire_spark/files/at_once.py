"""Several requests at once: for what is slow because it is far away, and not because it is much."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final, TypeVar

__all__ = ["MOST", "at_once"]

MOST: Final = 64
"""How many are under way."""
_TAKEN: Final = 1024
"""How many are taken at a time, so that a million of them are not objects at once."""

T = TypeVar("T")
R = TypeVar("R")


def at_once(work: Callable[[T], R], units: Iterable[T], *, runs_beside: bool = True) -> Iterator[R]:
    """What `work` makes of each unit, in their order; one after the other unless it `runs_beside` itself.

    Raises the first error of `work`, and begins no further unit then.
    """
    if not runs_beside:
        yield from map(work, units)
        return
    waiting = iter(units)
    pool = ThreadPoolExecutor(MOST, "tagwire-at-once")
    try:
        while taken := list(islice(waiting, _TAKEN)):
            yield from pool.map(work, taken)
    finally:
        pool.shutdown(cancel_futures=True)
