"""Check the files of logs against the rules in `tagwire.log.errors`, and report all problems with their positions.

The batches, records and index files of a segment are checked in one pass, with one batch in memory at a time. After
damage, checking continues with the next whole batch (`tagwire.log.damage`).

Offsets ascend both in an index and in the batches. So each `_IndexRule` remembers the next index entry to check.

The offset in an entry of an offset index depends on the broker's version. Brokers append one or more batches at a time.
Versions 0.8 and 0.9 store the first offset of these batches, versions 0.10 to 3 their last offset, and version 4 the
last offset of one batch. After compaction, it is the last offset that was kept. The check accepts all of them: every
batch before the entry's position must end below the offset, and a batch at or after the position must contain it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.batch_rules import ABORT, BatchRules, OpenTransactions, Seen
from tagwire.log.checkpoints import leader_epoch_problems, read_json, read_offsets, read_properties, read_topic_id
from tagwire.log.damage import Damage, pieces
from tagwire.log.errors import LogError, LogPathError, LogProblem, Problems, is_file
from tagwire.log.file_bytes import open_file
from tagwire.log.indexes import (
    AbortedTransaction,
    OffsetEntry,
    OffsetIndex,
    TimeEntry,
    TimeIndex,
    positioned_transactions,
    read_producer_snapshot,
)
from tagwire.log.names import INDEXES, log_file
from tagwire.log.partition import Partition, read_steadily, with_next
from tagwire.log.scan import Progress, Scan, ignore
from tagwire.log.segment import Segment
from tagwire.text_format import count


class FileReport(NamedTuple):
    """A file, and the problems found in it."""

    file: Path
    batches: int
    """The number of whole batches, or 0 for files that are not segments."""
    records: int
    bytes: int
    problems: list[LogProblem]


_REMOVED: Final = LogProblem(
    0, "TWL100", "was removed while the log was read, from between segments that are still there"
)


def verify_segment(
    path: str | Path, format: Any = "auto", limits: Limits = DEFAULT_LIMITS, progress: Progress = ignore
) -> Iterator[FileReport]:
    """Check only a segment and its indexes. `verify_partition` has the same arguments, apart from the first."""
    yield from _Verifier(BatchRules([]), format, limits, progress).segment(Segment(path), None)


def verify_partition(
    partition: Partition, format: Any = "auto", limits: Limits = DEFAULT_LIMITS, progress: Progress = ignore
) -> Iterator[FileReport]:
    """Check every file of a partition that a broker would read. `format` works as in `tagwire.records.read_batches`.

    If a running broker compacts or deletes segments during the check, the partition is read again, and only problems
    that still exist are reported. A segment that has disappeared from the middle of the log is a problem. `progress` is
    called with the number of segment bytes read since the last call.
    """

    def verified(found: Partition) -> list[FileReport]:
        lost = [FileReport(path, 0, 0, 0, [_REMOVED]) for path in found.unexplained_losses(partition)]
        return [*_verified(found, format, limits, progress), *lost]

    yield from read_steadily(partition, verified, lambda reports: any(report.problems for report in reports))


def _verified(partition: Partition, format: Any, limits: Limits, progress: Progress) -> Iterator[FileReport]:
    try:
        epochs = partition.leader_epochs
    except (LogError, LogPathError):  # `_others` reports this
        epochs = []
    verifier = _Verifier(BatchRules(epochs), format, limits, progress)
    for segment, following in with_next(partition.segments):
        yield from verifier.segment(segment, following)
    for snapshot in partition.metadata_snapshots:
        yield from _Verifier(BatchRules([]), format, limits, progress).segment(snapshot, None)
    yield from _others(partition)


def verify_directory_files(directory: Path) -> Iterator[FileReport]:
    """Check the checkpoints and properties in a log folder, if there are any."""
    for name, read in _FILES.items():
        if is_file(path := directory / name):
            yield _report(path, read)


class _IndexRule:
    """Sees all batches of a segment, and collects the problems of one index. The base class checks nothing."""

    def __init__(self, path: Any) -> None:
        self.path = path
        self.problems = Problems()

    def see(self, seen: Seen) -> None:
        """Take the segment's next batch, and check the index entries that can be checked against it."""

    def end(self) -> None:
        """Check the remaining entries. Called after the last batch."""

    def may_list(self, aborted: AbortedTransaction, ended: int) -> bool:
        """Return whether a transaction index lists an aborted transaction, or true for an unreadable index.

        `ended` is the offset at which the producer's previous transaction ended, or -1.
        """
        return True


class _AscendingIndexRule(_IndexRule):
    """Base class of the checks of offset and time indexes, whose entries are checked in order.

    Also checks TWL202. `follows` is the message for an entry that isn't above the previous one, with a placeholder for
    each value of these two entries.
    """

    def __init__(self, index: OffsetIndex | TimeIndex, follows: str) -> None:
        super().__init__(index.path)
        self.index = index
        self._left = iter(index)
        self.entry: Any = next(self._left, None)
        """The next entry to check, or None if no more are left."""
        self.next = 0
        """The number of the next entry."""
        for number in index.not_ascending():
            if self.problems.has_room("TWL202", index.at(number)):
                self.problems.keep(index.at(number), "TWL202", follows.format(*index[number], *index[number - 1]))

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


class _OffsetIndexRule(_AscendingIndexRule):
    """Checks TWL202 and TWL203: entries ascend, and each leads a reader to the batch that contains its offset."""

    def __init__(self, index: OffsetIndex) -> None:
        super().__init__(index, "offset {} at position {} follows offset {} at position {}")
        self.last_offset = index.base_offset - 1
        self.open: deque[tuple[int, OffsetEntry]] = deque()
        """Entries whose position has been passed, but whose offset has not been found yet."""

    def see(self, seen: Seen) -> None:
        batch = seen.batch
        while (entry := self.entry) is not None and entry.position <= batch.position:
            if entry.position < batch.position:
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


class _TimeIndexRule(_AscendingIndexRule):
    """Checks TWL202, TWL211 and TWL212: timestamps ascend, and each is the latest one up to the entry's offset."""

    def __init__(self, index: TimeIndex) -> None:
        super().__init__(index, "timestamp {} for offset {} follows {} for offset {}")
        self.latest = -1

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


class _TransactionIndexRule(_IndexRule):
    """Checks TWL222: for each entry of the `.txnindex` file, the segment must contain the producer's abort marker.

    The entry must begin at the transaction's first record, or before it, because compaction can remove records. But it
    must not begin before the end of the producer's previous transaction, because readers would skip committed records.
    """

    def __init__(self, path: Any, entries: list[tuple[int, AbortedTransaction]]) -> None:
        super().__init__(path)
        self.entries_left = {(entry.producer_id, entry.last_offset): (at, entry) for at, entry in entries}

    def may_list(self, aborted: AbortedTransaction, ended: int) -> bool:
        at, entry = self.entries_left.get((aborted.producer_id, aborted.last_offset), (-1, None))
        if entry is not None and not ended < entry.first_offset <= aborted.first_offset:
            what = f"producer {entry.producer_id}, from offset {entry.first_offset}: the aborted transaction begins at"
            self.problems.add(at, "TWL222", f"{what} offset {aborted.first_offset}")
        return entry is not None

    def see(self, seen: Seen) -> None:
        if seen.marker == ABORT:
            self.entries_left.pop((seen.batch.producer_id, seen.batch.base_offset), None)

    def end(self) -> None:
        for at, entry in self.entries_left.values():
            what = f"producer {entry.producer_id}, offset {entry.last_offset}: the producer has no abort marker there"
            self.problems.add(at, "TWL222", what)


_INDEX_RULES: Final[dict[str, Callable[[Any, int], _IndexRule]]] = {
    "index": lambda path, base: _OffsetIndexRule(OffsetIndex(path, base)),
    "timeindex": lambda path, base: _TimeIndexRule(TimeIndex(path, base)),
    "txnindex": lambda path, base: _TransactionIndexRule(path, list(positioned_transactions(path))),
}
"""Maps kinds of index files to functions that read an index and return its rule, or raise LogError or LogPathError."""


def _index_rules(segment: Segment) -> dict[str, _IndexRule]:
    """Return a rule for each index file of a segment, by kind. An unreadable file has a rule that only reports this."""
    rules: dict[str, _IndexRule] = {}
    for kind, make in _INDEX_RULES.items():
        path = segment.sibling(kind)
        if path is None:
            continue
        try:
            rules[kind] = make(path, segment.base_offset or 0)
        except (LogError, LogPathError) as error:
            rules[kind] = _IndexRule(path)
            rules[kind].problems.add(*file_problem(path, error))
    return rules


class _Verifier:
    def __init__(self, rules: BatchRules, format: Any, limits: Limits, progress: Progress) -> None:
        self.rules = rules
        self.format = format
        self.limits = limits
        self.progress = progress
        self.transactions = OpenTransactions()

    def segment(self, segment: Segment, following: Segment | None) -> Iterator[FileReport]:
        indexes = _index_rules(segment)
        self.rules.problems = problems = Problems()
        self._batches = self._records = self._end = 0
        try:
            with open_file(segment.path) as data:
                self._read(segment, Scan(str(segment.path), data, self.format, self.limits), indexes)
                if following is not None:
                    self._check_end(len(data), following.base_offset)
        except LogPathError as error:
            problems.add(*unread(segment.path, error, self._end))
        yield FileReport(segment.path, self._batches, self._records, file_size(segment.path), problems.rows())
        for rule in indexes.values():
            yield FileReport(rule.path, 0, 0, file_size(rule.path), rule.problems.rows())

    def _read(self, segment: Segment, scan: Scan, indexes: dict[str, _IndexRule]) -> None:
        base_offset = None if segment.path.suffix == ".checkpoint" else segment.base_offset
        for piece in pieces(scan):
            if isinstance(piece, Damage):
                self.rules.problems.add(*problem_of(piece.error, skipped=(piece.position, piece.end)))
            else:
                seen = self.rules.check(piece, base_offset)
                self._batches, self._records = self._batches + 1, self._records + seen.records
                self._follow(seen, indexes)
            self.progress(piece.end - self._end)
            self._end = piece.end
        for rule in indexes.values():
            rule.end()

    def _follow(self, seen: Seen, indexes: dict[str, _IndexRule]) -> None:
        ended = self.transactions.ended.get(seen.batch.producer_id, -1)
        aborted = self.transactions.see(seen.batch, seen.records, seen.marker)
        if aborted and not ("txnindex" in indexes and indexes["txnindex"].may_list(aborted, ended)):
            what = f"producer {aborted.producer_id} aborted its transaction from offset {aborted.first_offset}"
            what += "; the transaction index does not list it"
            self.rules.problems.add(seen.batch.position, "TWL223", what)
        for rule in indexes.values():
            rule.see(seen)

    def _check_end(self, size: int, next_base: int | None) -> None:
        """Check the end of a segment of `size` bytes. The next segment begins at `next_base`."""
        problems, last = self.rules.problems, self.rules.last_offset
        if self._end < size:
            zeros = count(size - self._end, "byte")
            problems.add(self._end, "TWL111", f"{zeros} of zeros, although this is not the last segment")
        if last is not None and next_base is not None and last >= next_base:
            problems.add(0, "TWL110", f"offset {last}, but the next segment begins at {next_base}")


def problem_of(error: LogError, skipped: tuple[int, int] | None = None) -> LogProblem:
    """Convert an error to a problem. If bytes were skipped after the error, the message also names their range."""
    path = f"{error.path}: " if error.path else ""
    text = f"{path}found {error.found}, expected {error.expected}"
    if skipped:
        text += f"; bytes {skipped[0]} to {skipped[1]} are skipped"
    return LogProblem(error.offset, error.rule, text)


def unread(path: Path, error: LogPathError, position: int) -> LogProblem:
    """Return the problem TWL100, which reports that a file can't be read at `position`."""
    return LogProblem(position, "TWL100", str(error).removeprefix(str(path)).lstrip(": "))


def file_problem(path: Path, error: LogError | LogPathError) -> LogProblem:
    """Convert the error that reading a small file has raised to a problem."""
    return problem_of(error) if isinstance(error, LogError) else unread(path, error, 0)


def file_size(path: Path) -> int:
    """Return the size of a file, or 0 if a broker has removed it."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


_FILES: Final[dict[str, Callable[[Path], Any]]] = {
    "leader-epoch-checkpoint": leader_epoch_problems,
    "partition.metadata": read_topic_id,
    "quorum-state": read_json,
    "meta.properties": read_properties,
    "log-start-offset-checkpoint": read_offsets,
    "recovery-point-offset-checkpoint": read_offsets,
    "replication-offset-checkpoint": read_offsets,
    "cleaner-offset-checkpoint": read_offsets,
}
"""Maps each file name to a function that reads the file, and raises an error if the file is invalid."""


def _others(partition: Partition) -> Iterator[FileReport]:
    bases = {segment.base_offset for segment in partition.segments}
    for path in partition.files:
        name = log_file(path)
        if path.name in _FILES:
            yield _report(path, _FILES[path.name])
        elif name and name.kind == "snapshot" and not name.state:
            yield _report(path, read_producer_snapshot)
        elif name and name.kind in INDEXES and not name.state and name.base_offset not in bases:
            problem = LogProblem(0, "TWL204", f"no segment begins at {name.base_offset}")
            yield FileReport(path, 0, 0, file_size(path), [problem])


def _report(path: Path, read: Callable[[Path], Any]) -> FileReport:
    try:
        found = read(path)
        problems = found if read is leader_epoch_problems else []
    except (LogError, LogPathError) as error:
        problems = [file_problem(path, error)]
    return FileReport(path, 0, 0, file_size(path), problems)
