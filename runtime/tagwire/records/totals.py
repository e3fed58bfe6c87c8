"""What the records of a batch have together, counted by native code without an object for each."""

from typing import NamedTuple

from tagwire.errors import DecodeError
from tagwire.records import record_items
from tagwire.records.batch import RecordBatch
from tagwire.records.walk import Walk

try:
    from tagwire._records import totals as _native
except ImportError:  # a build without native code
    _native = None  # type: ignore[assignment]


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

    def has_offsets_in(self, first: int, last: int) -> bool:
        """Whether the offsets ascend, and are from `first` to `last`."""
        return self.records == 0 or (self.ascends and first <= self.first_offset and self.last_offset <= last)


def totals(batch: RecordBatch) -> Totals | None:
    """The totals of a batch; None if its records must be read one by one.

    That is without native code, with limits on records, for records of another shape than magic 2's, and for invalid
    ones, of which only reading them tells what is wrong.
    """
    found = walk_natively(batch)
    if _native is None or found is None:
        return None
    walk, count, bases, has_attributes = found
    made = _native(walk.data, walk.pos, walk.end, count, bases, has_attributes)
    return None if made is None else Totals(*made)


def walk_natively(batch: RecordBatch) -> tuple[Walk, int, tuple[int, int, bool], bool] | None:
    """The records of a batch for native code that makes no objects: the walk, their number, bases, and attributes byte.

    None for records of another shape than magic 2's, with limits on records, and for a batch that can't be decompressed
    or is too short for its number of records, which reading the records reports.
    """
    limits, format = batch.limits, batch.described_by
    is_bounded = limits.records is not None or limits.headers is not None
    if format.plans.records is None or is_bounded or not format.has_magic2_records:
        return None
    try:
        walk = batch.walk()
        count = walk.count()
    except DecodeError:
        return None
    if count is None or walk.bounds_records():
        return None
    return walk, count, walk.bases, record_items.has_attributes(format.record, walk.head)
