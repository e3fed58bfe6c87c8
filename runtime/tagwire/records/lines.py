"""Records of a batch as lines of JSON, by native code: no object is made of them.

What it stops at, and every format whose records are not of the shape of magic
2's, is left to who asks: `tagwire.log.dump` makes the same lines of records.
"""

from collections.abc import Generator
from typing import Any, Final

from tagwire.records import plain_records
from tagwire.records.batch import RecordBatch

__all__ = ["native_lines"]

_AT_ONCE: Final = 1 << 20
"""Bytes of lines that are kept in memory: a batch of tiny records may have thousands of times more."""


def native_lines(batch: RecordBatch, head: bytes) -> Generator[bytes, None, int | None]:
    """Lines that begin with `head`, some at a time; then how many there were, or None for all.

    Raises DecodeError for a batch that can't be unpacked, or whose bytes can't hold as many records as it says.
    """
    limits, format = batch.limits, batch.described_by
    is_bounded = limits.records is not None or limits.headers is not None
    if format.plans.records is None or is_bounded or not format.is_plain:
        return 0
    walk = batch.walk()
    count = walk.count()
    if count is None or walk.bounds_records():
        return 0
    appended = walk.appended is not None
    bases: tuple[Any, ...] = (walk.base_offset, walk.appended if appended else walk.base_timestamp, appended)
    how = (*bases, plain_records.has_attributes(format.record, walk.head), head, _AT_ONCE)
    return (yield from _lines(walk.data, walk.pos, walk.end, count, how))


def _lines(data: bytes | bytearray, pos: int, end: int, count: int, how: Any) -> Generator[bytes, None, int | None]:
    try:
        from tagwire._lines import lines
    except ImportError:  # the engine of an older build
        return 0
    left = count
    while left:
        text, pos, still = lines(data, pos, end, left, *how)
        if text:
            yield text
        if still == left:
            break
        left = still
    return None if left == 0 and pos == end else count - left
