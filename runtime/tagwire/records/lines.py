"""Format a batch's records as JSON lines, in native code, without record objects.

For records that native code does not support, `tagwire.log.dump` makes the lines from record objects.
"""

from collections.abc import Callable, Generator
from functools import cache
from typing import Any, Final

from tagwire.records.batch import RecordBatch
from tagwire.records.totals import native_source

_AT_ONCE: Final = 1 << 20
"""The maximum size of the lines in memory, in bytes."""


def native_lines(batch: RecordBatch, header: bytes, *, is_text: bool = False) -> Generator[bytes, None, int | None]:
    """Yield chunks of JSON lines, one line per record. Each line begins with `header`, the JSON that all lines share.

    With `is_text`, a line consists of tab-separated fields instead. Its last field lists the attributes that are set,
    first those of the batch (`header`), then those of the record. If native code does not support
    a record, the generator ends. Its return value is the number of formatted records; None means all.
    """
    lines = _native()
    found = None if lines is None else native_source(batch)
    if lines is None or found is None:
        return 0
    data, pos, end, count, bases, has_attributes = found
    left = count
    while left:
        text, pos, still = lines(data, pos, end, left, bases, has_attributes, header, _AT_ONCE, is_text)
        if text:
            yield text
        if still == left:
            break
        left = still
    return None if left == 0 and pos == end else count - left


@cache
def _native() -> Callable[..., Any] | None:
    try:
        from tagwire._records import lines
    except ImportError:  # native code is missing or too old
        return None
    return lines
