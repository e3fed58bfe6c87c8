"""The rules about batches, one after the other through all segments of a partition."""

from collections.abc import Iterator
from typing import NamedTuple

from tagwire.errors import DecodeError
from tagwire.log.checkpoints import EpochStart
from tagwire.log.rules import Problem
from tagwire.records import Record, RecordBatch

__all__ = ["BatchRules", "Seen"]

_RELATIVE_OFFSETS = 1 << 31


class Seen(NamedTuple):
    """A batch whose records were read."""

    position: int
    batch: RecordBatch
    records: int
    """How many it has."""
    marker: int | None
    """The type of its first control record, 0 for an abort, 1 for a commit; None if it is no control batch."""


class BatchRules:
    """What every batch must keep, given those before it; one object for a partition."""

    def __init__(self, leader_epochs: list[EpochStart]) -> None:
        self.leader_epochs = leader_epochs
        self.last_offset: int | None = None
        self.last_epoch = -1
        self.problems: list[Problem] = []

    def check(self, position: int, batch: RecordBatch, base_offset: int | None) -> Seen:
        """The batch with its records read; `problems` has what is wrong. `base_offset` is its segment's."""
        self._offsets(position, batch, base_offset)
        self._epoch(position, batch)
        return self._records(position, batch)

    def _say(self, position: int, rule: str, message: str) -> None:
        self.problems.append(Problem(position, rule, message))

    def _offsets(self, position: int, batch: RecordBatch, base_offset: int | None) -> None:
        first, last, before = batch.base_offset, batch.last_offset, self.last_offset
        if before is not None and first <= before:
            self._say(position, "TWL108", f"offset {first}, after {before} of the batch before it")
        if base_offset is not None and not 0 <= first - base_offset <= last - base_offset < _RELATIVE_OFFSETS:
            self._say(position, "TWL109", f"offsets {first} to {last} in a segment that begins at {base_offset}")
        self.last_offset = last  # not the highest: one wrong offset must not make all that follow wrong

    def _epoch(self, position: int, batch: RecordBatch) -> None:
        epoch = batch.partition_leader_epoch
        if epoch < 0:
            return
        if epoch < self.last_epoch:
            self._say(position, "TWL112", f"leader epoch {epoch}, after {self.last_epoch}")
        self.last_epoch = epoch
        known = [start.epoch for start in self.leader_epochs if start.start_offset <= batch.base_offset]
        if known and known[-1] != epoch:  # below the first start are records that may be deleted
            where = f"at offset {batch.base_offset}, where the checkpoint has {known[-1]}"
            self._say(position, "TWL243", f"leader epoch {epoch} {where}")

    def _records(self, position: int, batch: RecordBatch) -> Seen:
        """Read the records; a fault in them is a problem at the batch, which has their bytes."""
        before = batch.base_offset - 1
        latest, count, marker = -1, 0, None
        records = iter(batch)
        try:
            for record in records:
                self._offset(position, batch, record, before)
                before = max(before, record.offset)
                latest = max(latest, record.timestamp)
                marker = _marker(record) if batch.is_control and not count else marker
                count += 1
        except DecodeError as error:
            at = position + error.offset
            self._say(at, "TWL106", f"{error.path or 'records'}: found {error.found}, expected {error.expected}")
        if latest > batch.max_timestamp:
            self._say(
                position, "TWL113", f"a record at {latest}, in a batch whose highest timestamp is {batch.max_timestamp}"
            )
        return Seen(position, batch, count, marker)

    def _offset(self, position: int, batch: RecordBatch, record: Record, before: int) -> None:
        if not before < record.offset <= batch.last_offset:
            among = f"{batch.base_offset} to {batch.last_offset}"
            self._say(position, "TWL107", f"record offset {record.offset}, after {before}, in a batch of {among}")


def _marker(record: Record) -> int | None:
    key = record.key
    return int.from_bytes(key[2:4], "big", signed=True) if key and len(key) >= 4 else -1


def overlaps(last_offset: int | None, next_base: int | None) -> Iterator[Problem]:
    """The rule between a segment and the next one."""
    if last_offset is not None and next_base is not None and last_offset >= next_base:
        yield Problem(0, "TWL110", f"offset {last_offset}, in the segment before the one that begins at {next_base}")


def zeros(end: int, size: int) -> Iterator[Problem]:
    """The rule about what is behind the data of a segment that is not the last."""
    if end < size:
        yield Problem(end, "TWL111", f"{size - end} bytes of zeros, in a segment that is not the last")
