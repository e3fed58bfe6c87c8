"""Check the index files of a segment in the same pass as its batches.

Offsets ascend both in an index and in the batches. So each `IndexRule` remembers the next index entry to check.

The offset in an entry of an offset index depends on the broker's version. Brokers append one or more batches at a time.
Versions 0.8 and 0.9 store the first offset of these batches, versions 0.10 to 3 their last offset, and version 4 the
last offset of one batch. After compaction, it is the last offset that was kept. The check accepts all of them: every
batch before the entry's position must end below the offset, and a batch at or after the position must contain it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from tagwire.log.batch_rules import ABORT, Seen
from tagwire.log.errors import LogError, LogPathError
from tagwire.log.indexes import (
    AbortedTransaction,
    OffsetEntry,
    OffsetIndex,
    TimeEntry,
    TimeIndex,
    positioned_transactions,
)
from tagwire.log.rules import Problems
from tagwire.log.segment import Segment


class IndexRule:
    """Base class of index checks. Each check sees all batches of a segment, and collects the problems of one index."""

    def __init__(self, path: Any, entries: int) -> None:
        self.path = path
        self.entries = entries
        self.problems = Problems()

    def see(self, seen: Seen) -> None:
        """Take the segment's next batch, and check the index entries that can be checked against it."""
        raise NotImplementedError

    def end(self) -> None:
        """Check the remaining entries. Called after the last batch."""


class _AscendingIndexRule(IndexRule):
    """Base class of the checks of offset and time indexes, whose entries are checked in order."""

    def __init__(self, index: OffsetIndex | TimeIndex) -> None:
        super().__init__(index.path, len(index))
        self.index = index
        self._left = iter(index)
        self.entry: Any = next(self._left, None)
        """The next entry to check, or None if no more are left."""
        self.next = 0
        """The number of the next entry."""

    def advance(self) -> None:
        self.entry = next(self._left, None)
        self.next += 1

    def unchecked(self, rule: str) -> Iterator[tuple[int, Any]]:
        """Count all unchecked entries as violations of `rule`. Yields (byte position, entry) for the first few."""
        for number in range(self.next, len(self.index)):
            if not self.problems.has_room(rule, self.index.at(number)):
                self.problems.has_room(rule, self.index.at(number), len(self.index) - number - 1)
                return
            yield self.index.at(number), self.index[number]


class OffsetIndexRule(_AscendingIndexRule):
    """Checks TWL202 and TWL203: entries ascend, and each leads a reader to the batch that contains its offset."""

    def __init__(self, index: OffsetIndex) -> None:
        super().__init__(index)
        self.last_offset = index.base_offset - 1
        self.open: deque[tuple[int, OffsetEntry]] = deque()
        """Entries whose position has been passed, but whose offset has not been found yet."""
        for number in index.not_ascending():
            if self.problems.has_room("TWL202", index.at(number)):
                before, entry = index[number - 1], index[number]
                what = (
                    f"offset {entry.offset} at position {entry.position} follows offset {before.offset}"
                    f" at position {before.position}"
                )
                self.problems.keep(index.at(number), "TWL202", what)

    def see(self, seen: Seen) -> None:
        batch = seen.batch
        while (entry := self.entry) is not None and entry.position <= seen.position:
            if entry.position < seen.position:
                self._reject(self.next, entry, "no batch begins at this position")
            elif self.last_offset >= entry.offset:
                self._reject(
                    self.next, entry, f"the offset must exceed {self.last_offset}, the last offset before this position"
                )
            else:
                self.open.append((self.next, entry))
            self.advance()
        while self.open and self.open[0][1].offset <= batch.last_offset:
            number, entry = self.open.popleft()
            if entry.offset < batch.base_offset:
                self._reject(number, entry, "no batch has this offset")
        self.last_offset = batch.last_offset

    def end(self) -> None:
        for number, entry in self.open:
            self._reject(number, entry, f"the segment ends with offset {self.last_offset}")
        for at, (offset, position) in self.unchecked("TWL203"):
            what = f"offset {offset} at position {position}: the segment ends before this position"
            self.problems.keep(at, "TWL203", what)

    def _reject(self, number: int, entry: OffsetEntry, why: str) -> None:
        what = f"offset {entry.offset} at position {entry.position}: {why}"
        self.problems.add(self.index.at(number), "TWL203", what)


class TimeIndexRule(_AscendingIndexRule):
    """Checks TWL202, TWL211 and TWL212: timestamps ascend, and each is the latest one up to the entry's offset."""

    def __init__(self, index: TimeIndex) -> None:
        super().__init__(index)
        self.latest = -1
        for number in index.not_ascending():
            if self.problems.has_room("TWL202", index.at(number)):
                before, entry = index[number - 1], index[number]
                what = (
                    f"timestamp {entry.timestamp} for offset {entry.offset} follows {before.timestamp}"
                    f" for offset {before.offset}"
                )
                self.problems.keep(index.at(number), "TWL202", what)

    def see(self, seen: Seen) -> None:
        batch = seen.batch
        self.latest = max(self.latest, batch.max_timestamp)
        while (entry := self.entry) is not None and entry.offset <= batch.last_offset:
            self._settle(self.index.at(self.next), entry, batch.base_offset)
            self.advance()

    def end(self) -> None:
        for at, (timestamp, offset) in self.unchecked("TWL212"):
            what = f"timestamp {timestamp} for offset {offset}: the segment ends before this offset"
            self.problems.keep(at, "TWL212", what)

    def _settle(self, at: int, entry: TimeEntry, base_offset: int) -> None:
        timestamp, offset = entry
        if self.latest > timestamp:
            self.problems.add(
                at, "TWL211", f"timestamp {timestamp} for offset {offset}: a record up to this offset has {self.latest}"
            )
        elif self.latest < timestamp or offset < base_offset:
            what = f"no record is later than {self.latest}" if self.latest < timestamp else "no batch has this offset"
            self.problems.add(at, "TWL212", f"timestamp {timestamp} for offset {offset}: {what}")


class TransactionIndexRule(IndexRule):
    """Checks TWL222: for each entry of the `.txnindex` file, the segment must contain the producer's abort marker."""

    def __init__(self, path: Any, entries: list[tuple[int, AbortedTransaction]]) -> None:
        super().__init__(path, len(entries))
        self.entries_left = {(entry.producer_id, entry.last_offset): (at, entry) for at, entry in entries}

    def see(self, seen: Seen) -> None:
        if seen.marker == ABORT:
            self.entries_left.pop((seen.batch.producer_id, seen.batch.base_offset), None)

    def end(self) -> None:
        for at, entry in self.entries_left.values():
            what = f"producer {entry.producer_id}, offset {entry.last_offset}: the producer has no abort marker there"
            self.problems.add(at, "TWL222", what)


def index_rules(segment: Segment) -> tuple[list[IndexRule], list[tuple[Any, LogError | LogPathError]]]:
    """Return (rules, errors): a rule for each index file of a segment, and (path, error) for each unreadable file."""
    rules: list[IndexRule] = []
    errors: list[tuple[Any, LogError | LogPathError]] = []
    makers: tuple[tuple[str, Callable[[Any, int], IndexRule]], ...] = (
        ("index", lambda path, base: OffsetIndexRule(OffsetIndex(path, base))),
        ("timeindex", lambda path, base: TimeIndexRule(TimeIndex(path, base))),
        ("txnindex", lambda path, base: TransactionIndexRule(path, list(positioned_transactions(path)))),
    )
    for kind, make in makers:
        path = segment.sibling(kind)
        if path is None:
            continue
        try:
            rules.append(make(path, segment.base_offset or 0))
        except (LogError, LogPathError) as error:
            errors.append((path, error))
    return rules, errors
