"""Check the batches of a partition against the rules in `tagwire.log.errors`, in log order."""

from contextlib import suppress
from typing import Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.log.checkpoints import EpochStart, epoch_at
from tagwire.log.errors import LogError, Problems, reject
from tagwire.log.indexes import AbortedTransaction
from tagwire.log.scan import LogBatch, Skip
from tagwire.records import Record, RecordBatch
from tagwire.records.control import control_type
from tagwire.records.native import totals

OUT_OF_ORDER: Final = "TWL108"
"""The rule ID for a batch whose base offset isn't above the last offset of the previous batch."""
RELATIVE_OFFSETS: Final = 1 << 31
"""The number of offsets that a segment's indexes can store, because they store 31-bit distances."""


class Seen(NamedTuple):
    """A checked batch with its number of readable records."""

    batch: LogBatch
    records: int
    is_whole: bool
    """Whether all records are readable."""
    marker: int | None
    """The result of `marker_type` for the batch."""


def check_order(batch: LogBatch, before: int) -> None:
    """Raise LogError unless the batch's base offset is above `before`, the last offset of the previous batch."""
    if batch.base_offset <= before:
        expected = f"at least {before + 1}, because offsets must increase"
        reject(batch.file, OUT_OF_ORDER, batch.position, f"base offset {batch.base_offset}", expected)


class BatchRules:
    """Checks each batch of a partition against the rules, in log order."""

    def __init__(self, leader_epochs: list[EpochStart]) -> None:
        self._epochs = _decisive(leader_epochs)
        self.last_offset: int | None = None
        self.last_epoch = -1
        self.problems = Problems()
        """Problems of the file that is being checked."""

    def check(self, batch: LogBatch, base_offset: int | None) -> Seen:
        """Check a batch and its records, and add errors to `problems`.

        `base_offset` is the base offset of the batch's segment, or None if it is unknown.
        """
        self._offsets(batch, base_offset)
        self._epoch(batch)
        return self._records(batch)

    def _offsets(self, batch: LogBatch, base_offset: int | None) -> None:
        first, last, before = batch.base_offset, batch.last_offset, self.last_offset
        if before is not None and first <= before:
            self.problems.add(batch.position, OUT_OF_ORDER, f"offset {first}, but the previous batch ends at {before}")
        if base_offset is not None and not _is_within(first, last, base_offset):
            self.problems.add(
                batch.position, "TWL109", f"offsets {first} to {last} in a segment that begins at {base_offset}"
            )
        # Not the highest offset so far: if one offset is too high, that would make all later batches look wrong.
        self.last_offset = last

    def _epoch(self, batch: LogBatch) -> None:
        epoch = batch.partition_leader_epoch
        if epoch < 0:
            return
        if epoch < self.last_epoch:
            self.problems.add(
                batch.position, "TWL112", f"leader epoch {epoch}, but the previous batch has {self.last_epoch}"
            )
        self.last_epoch = epoch
        known = epoch_at(self._epochs, batch.base_offset)
        if known is not None and known != epoch:
            where = f"at offset {batch.base_offset}, but {known} in the checkpoint"
            self.problems.add(batch.position, "TWL243", f"leader epoch {epoch} {where}")

    def _records(self, batch: LogBatch) -> Seen:
        before, last, is_control = batch.base_offset - 1, batch.last_offset, batch.is_control
        latest, count, is_whole, marker = None, 0, True, None
        try:
            together = None if is_control else totals(batch)
            if together is not None and together.has_offsets_in(before + 1, last):
                latest, count = together.latest, together.records
            else:
                for record in batch:
                    if not before < record.offset <= last:
                        self._offset(batch, record, before)
                    before = max(before, record.offset)
                    if record.value is None and record.tombstone is False:
                        what = f"the record at offset {record.offset} has a null value without the tombstone flag"
                        self.problems.add(batch.position, "TWL114", what)
                    latest = record.timestamp if latest is None else max(latest, record.timestamp)
                    marker = control_type(record.key) if is_control and not count else marker
                    count += 1
        except DecodeError as error:
            what = f"{error.path or 'records'}: found {error.found}, expected {error.expected}"
            self.problems.add(error.offset, "TWL106", what)
            is_whole = False
        has_highest = "base_timestamp" in batch.record_format.fields
        if has_highest and latest is not None and latest > batch.max_timestamp:
            self.problems.add(
                batch.position,
                "TWL113",
                f"a record with timestamp {latest}, but the batch header's highest is {batch.max_timestamp}",
            )
        return Seen(batch, count, is_whole, marker)

    def _offset(self, batch: LogBatch, record: Record, before: int) -> None:
        if self.problems.has_room("TWL107", batch.position):
            among = f"{batch.base_offset} to {batch.last_offset}"
            self.problems.keep(
                batch.position, "TWL107", f"record offset {record.offset} follows {before}, in a batch of {among}"
            )


def _decisive(starts: list[EpochStart]) -> list[EpochStart]:
    found: list[EpochStart] = []
    for start in reversed(starts):
        if not found or start.start_offset < found[-1].start_offset:
            found.append(start)
    return found[::-1]


def _is_within(first: int, last: int, base_offset: int) -> bool:
    """Return whether offsets `first` to `last` fit in an index, which stores 31-bit distances from `base_offset`."""
    return 0 <= first - base_offset <= last - base_offset < RELATIVE_OFFSETS


def is_far(batch: RecordBatch, source: LogBatch, base_offset: int, skip: Skip | None) -> bool:
    """Return whether a batch's offsets are too far from the segment's base offset to fit in an index (TWL109).

    If they are, calls `skip` with a LogError for the batch `source`, or raises the LogError if `skip` is None.
    """
    last = batch.last_offset
    first = last if batch.record_format.records is None else batch.base_offset
    if _is_within(first, last, base_offset):
        return False
    end = base_offset + RELATIVE_OFFSETS
    expected = f"{base_offset} to {end - 1} in a segment with this name; salvage the log first"
    error = LogError(
        source.file, "TWL109", offset=source.position, found=f"offsets {first} to {last}", expected=expected
    )
    if skip is None:
        raise error
    skip(error)
    return True


ABORT: Final = 0
COMMIT: Final = 1
"""The types of control records that end a transaction."""


def marker_type(batch: RecordBatch) -> int | None:
    """Return the type of a control batch's first record, such as ABORT, or None for other and unreadable batches."""
    with suppress(DecodeError):
        for record in batch if batch.is_control else ():
            return control_type(record.key)
    return None


class OpenTransactions:
    """Keeps track of open transactions. Pass all batches of a log to `see`, in log order."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        """The first offset of each open transaction, by producer."""
        self.ended: dict[int, int] = {}
        """The offset of the last marker of each producer that has ended a transaction."""

    def followed_by(self, later: "OpenTransactions") -> "OpenTransactions":
        """Return the transactions that are open after the next segment.

        `later` is the result of reading that segment alone.
        """
        found = OpenTransactions()
        found.open = later.open | {each: first for each, first in self.open.items() if each not in later.ended}
        found.ended = self.ended | later.ended
        return found

    def see(self, batch: RecordBatch, records: int, marker: int | None = None) -> AbortedTransaction | None:
        """Process the next batch, which has this number of records. `marker` is its `marker_type` if already known.

        If it aborts a transaction that has records, return that transaction; otherwise None.

        The result's `last_stable_offset` is the lowest offset at which an open transaction begins. If no transaction is
        open, it is the offset after the abort marker.
        """
        if not batch.is_control:
            if batch.is_transactional and records:
                self.open.setdefault(batch.producer_id, batch.base_offset)
            return None
        marker = marker_type(batch) if marker is None else marker
        if marker not in (ABORT, COMMIT):
            return None
        self.ended[batch.producer_id] = batch.base_offset
        first = self.open.pop(batch.producer_id, None)
        if first is None or marker != ABORT:
            return None
        at = batch.base_offset
        return AbortedTransaction(batch.producer_id, first, at, min(self.open.values(), default=at + 1))
