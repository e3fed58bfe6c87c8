"""Records of a batch as lines of JSON, by native code without objects.

What native code rejects, and formats whose records differ in shape from magic 2's, are left
to the caller: `tagwire.log.dump` makes the same lines from records.
"""

from collections.abc import Callable, Generator
from functools import cache
from typing import Any, Final

from tagwire.records import record_items
from tagwire.records.batch import RecordBatch

__all__ = ["native_lines"]

_AT_ONCE: Final = 1 << 20
"""Bytes of lines that are kept in memory: a batch of tiny records may have thousands of times more."""


def native_lines(batch: RecordBatch, head: bytes) -> Generator[bytes, None, int | None]:
    """Lines that begin with `head`, some at a time; then how many there were, or None for all.

    Raises DecodeError for a batch that can't be unpacked, or whose bytes can't hold as many records as it says.
    """
    limits, format, lines = batch.limits, batch.described_by, _native()
    is_bounded = limits.records is not None or limits.headers is not None
    if lines is None or format.plans.records is None or is_bounded or not format.has_magic2_records:
        return 0
    walk = batch.walk()
    count = walk.count()
    if count is None or walk.bounds_records():
        return 0
    how = (walk.bases, record_items.has_attributes(format.record, walk.head), head, _AT_ONCE)
    pos, left = walk.pos, count
    while left:
        text, pos, still = lines(walk.data, pos, walk.end, left, *how)
        if text:
            yield text
        if still == left:
            break
        left = still
    return None if left == 0 and pos == walk.end else count - left


@cache
def _native() -> Callable[..., Any] | None:
    try:
        from tagwire._records import lines
    except ImportError:  # the engine of an older build, or none
        return None
    return lines
