"""Count a batch's records and their bytes in native code, without creating record objects."""

from typing import NamedTuple

from tagwire.errors import DecodeError
from tagwire.records import record_items
from tagwire.records.batch import RecordBatch

try:
    from tagwire._records import totals as _native
except ImportError:  # the installation has no native code
    _native = None  # type: ignore[assignment]


class Totals(NamedTuple):
    """The number, size, timestamps and offsets of a batch's records."""

    records: int
    bytes: int
    """The total size of the keys and values, in bytes."""
    null_values: int
    with_headers: int
    earliest: int | None
    """The lowest timestamp that is not negative."""
    latest: int | None
    """The highest timestamp."""
    first_offset: int
    last_offset: int
    ascends: bool
    """Whether each offset is above the previous one."""

    def has_offsets_in(self, first: int, last: int) -> bool:
        """Return whether the offsets ascend and are all between `first` and `last`, both included."""
        return self.records == 0 or (self.ascends and first <= self.first_offset and self.last_offset <= last)


def totals(batch: RecordBatch) -> Totals | None:
    """Return a batch's totals, or None if a record is invalid, or native code doesn't support the records or limits."""
    if _native is None or (found := native_source(batch)) is None:
        return None
    numbers = _native(*found)
    return None if numbers is None else Totals(*numbers)


def native_source(batch: RecordBatch) -> tuple[bytes | bytearray, int, int, int, tuple[int, int, bool], bool] | None:
    """Return a batch's records as arguments for functions of `tagwire._records`, or None if Python must read them.

    The arguments are the decompressed bytes, the positions where the records begin and end, the record count,
    `Walk.bases`, and whether the records have attributes. The result is None if native code does not support the
    records or the limits, if the batch is too short, or if it can't be decompressed.
    """
    quick = batch._quick  # pyright: ignore[reportPrivateUsage]
    if quick is not None and (found := quick.source_of(batch)) is not None:
        return found
    limits, format = batch.limits, batch.record_format
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
    has_attributes = record_items.has_attributes(format.record, walk.header)
    return walk.data, walk.pos, walk.end, count, walk.bases, has_attributes
