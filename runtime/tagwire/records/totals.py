"""What the records of a batch have together, counted by native code without an object for each."""

from typing import NamedTuple

from tagwire.records import record_items
from tagwire.records.batch import RecordBatch

try:
    from tagwire._records import totals as _native
except ImportError:  # a build without native code
    _native = None  # type: ignore[assignment]

__all__ = ["Totals", "totals"]


class Totals(NamedTuple):
    """The records of a batch together."""

    records: int
    bytes: int
    """Bytes of keys and values."""
    null_values: int
    with_headers: int
    earliest: int | None
    """The lowest timestamp from 0 on."""
    latest: int | None
    """The highest timestamp."""
    first_offset: int
    last_offset: int
    ascends: bool
    """Whether each offset is above the one before."""


def totals(batch: RecordBatch) -> Totals | None:
    """The totals of a batch; None if its records must be read one by one.

    That is without native code, with limits on records, for records of another shape than magic 2's, and for invalid
    ones. Raises DecodeError for a batch that can't be decompressed, or that is too short for its number of records.
    """
    limits, format = batch.limits, batch.described_by
    is_bounded = limits.records is not None or limits.headers is not None
    if _native is None or format.plans.records is None or is_bounded or not format.has_magic2_records:
        return None
    walk = batch.walk()
    count = walk.count()
    if count is None or walk.bounds_records():
        return None
    has_attributes = record_items.has_attributes(format.record, walk.head)
    found = _native(walk.data, walk.pos, walk.end, count, walk.bases, has_attributes)
    return None if found is None else Totals(*found)
