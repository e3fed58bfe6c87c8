"""Move records from one batch to another in native code, without objects.

This works for formats whose records have the shape of magic 2 records with an attributes byte. The caller moves records
that are not in normal form, and other formats, as `Record` objects, with the same resulting bytes.
"""

from array import array
from typing import TYPE_CHECKING, Any, Final

from tagwire.errors import DecodeError
from tagwire.records.batch import RecordBatch
from tagwire.records.walk import Walk

if TYPE_CHECKING:
    from tagwire._records import RecordRun

try:
    from tagwire._records import facts
except ImportError:  # a build without native code
    facts = None  # type: ignore[assignment]

IS_LAST: Final = 1
HAS_NO_KEY: Final = 2
HAS_NO_VALUE: Final = 4
"""The bits of a fact."""
_NONE: Final = array("q")


class Movable:
    """The remaining records of a batch that is being moved, all in normal form."""

    __slots__ = ("_pos", "_walk", "batch", "facts", "left", "next_offset")

    def __init__(self, batch: RecordBatch, walk: Walk, facts: bytes) -> None:
        self.batch = batch
        self.facts = facts
        """A byte for each record, of the bits above."""
        self.left = len(facts)
        """The number of records that have not been moved."""
        self.next_offset: int | None = walk.base_offset
        """The offset of the next record when a run is full; None if the record's deltas don't fit the run's bases."""
        self._walk = walk
        self._pos = walk.pos

    def move(
        self,
        run: "RecordRun",
        kept: bytes | None = None,
        most_bytes: int | None = None,
        most_records: int | None = None,
    ) -> None:
        """Move records to a run as long as there is room; a 0 in `kept` skips a record."""
        where = self._walk.data, self._pos, self._walk.end, self.left
        self._pos, self.left, self.next_offset = run.take(*where, self._walk.bases, kept, most_bytes, most_records)


def movable(batch: RecordBatch, lasts: Any = _NONE, *, stored: bool = False) -> Movable | None:
    """Return the records of a batch for native code; None if they must be read as objects.

    `lasts` is a buffer of ascending int64: the offsets of records with IS_LAST. With `stored`, records keep the
    timestamps that append time hides. None is also returned for a batch that can't be decompressed or has a wrong
    count: reading its records as objects raises or reports the error.
    """
    limits, format = batch.limits, batch.record_format
    is_bounded = limits.records is not None or limits.headers is not None
    if facts is None or format.plans.records is None or is_bounded or not format.is_movable:
        return None
    try:
        walk = batch.walk()
        if stored:
            walk.appended = None
        count = walk.count()
    except DecodeError:
        return None
    if not count or walk.bounds_records():
        return None
    found = facts(walk.data, walk.pos, walk.end, count, walk.bases, lasts)
    return None if found is None else Movable(batch, walk, found)


def new_run(base_offset: int, base_timestamp: int | None) -> "RecordRun":
    """Return an empty run for the records of one batch; timestamps count from the first record or a given base."""
    from tagwire._records import RecordRun

    return RecordRun(base_offset, base_timestamp)
