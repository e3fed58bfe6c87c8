"""Check the files of logs against the rules in `tagwire.log.rules`, and report all problems with their positions.

The batches, records and index files of a segment are checked in one pass, with one batch in memory at a time. After
damage, checking continues with the next whole batch (`tagwire.log.damage`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.batch_rules import BatchRules, OpenTransactions, Seen, overlaps, zeros
from tagwire.log.checkpoints import (
    check_offsets,
    positioned_leader_epochs,
    read_json,
    read_properties,
)
from tagwire.log.damage import Damage, pieces
from tagwire.log.errors import LogError, LogPathError
from tagwire.log.file_bytes import open_file
from tagwire.log.index_rules import IndexRule, TransactionIndexRule, index_rules
from tagwire.log.indexes import AbortedTransaction, read_producer_snapshot
from tagwire.log.names import log_file
from tagwire.log.partition import Partition, read_steadily, with_next
from tagwire.log.rules import LogProblem, Problems
from tagwire.log.scan import Scan
from tagwire.log.segment import Segment

__all__ = ["FileReport", "verify_directory_files", "verify_partition", "verify_segment"]


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

Tell = Callable[[int], None]


def verify_segment(
    path: str | Path, format: Any = "auto", limits: Limits = DEFAULT_LIMITS, tell: Tell | None = None
) -> Iterator[FileReport]:
    """Check only a segment and its indexes. `verify_partition` has the same arguments, apart from the first."""
    rules = BatchRules([])
    yield from _Verifier(rules, format, limits, tell).segment(Segment(path), None)


def verify_partition(
    partition: Partition, format: Any = "auto", limits: Limits = DEFAULT_LIMITS, tell: Tell | None = None
) -> Iterator[FileReport]:
    """Check every file of a partition that a broker would read. `format` works as in `tagwire.records.read_batches`.

    If a running broker compacts or deletes segments during the check, the partition is read again, and only problems
    that still exist are reported. A segment that has disappeared from the middle of the log is a problem. `tell` is
    called with the number of segment bytes read since the last call.
    """

    def verified(found: Partition) -> list[FileReport]:
        lost = [FileReport(path, 0, 0, 0, [_REMOVED]) for path in found.unexplained_losses(partition)]
        return [*_verified(found, format, limits, tell), *lost]

    yield from read_steadily(partition, verified, lambda reports: any(report.problems for report in reports))


def _verified(partition: Partition, format: Any, limits: Limits, tell: Tell | None) -> Iterator[FileReport]:
    try:
        epochs = partition.leader_epochs
    except (LogError, LogPathError):  # `_others` reports this
        epochs = []
    rules = BatchRules(epochs)
    verifier = _Verifier(rules, format, limits, tell)
    segments = partition.segments
    for segment, following in with_next(segments):
        yield from verifier.segment(segment, following)
    for snapshot in partition.metadata_snapshots:
        yield from _Verifier(BatchRules([]), format, limits, tell).segment(snapshot, None)
    yield from _others(partition)


def verify_directory_files(directory: Path) -> Iterator[FileReport]:
    """Check the checkpoints and properties in a log folder, if there are any."""
    for name, read in _FILES.items():
        if (path := directory / name).is_file():
            yield _report(path, read)


class _Verifier:
    def __init__(self, rules: BatchRules, format: Any, limits: Limits, tell: Tell | None) -> None:
        self.rules = rules
        self.format = format
        self.limits = limits
        self.tell = tell
        self.transactions = OpenTransactions()

    def segment(self, segment: Segment, following: Segment | None) -> Iterator[FileReport]:
        indexes, errors = index_rules(segment)
        self._unreadable_index = any(path.name.endswith("txnindex") for path, _ in errors)
        self.rules.problems = problems = Problems()
        self._batches = self._records = self._end = 0
        try:
            with open_file(segment.path) as data:
                self._read(segment, Scan(str(segment.path), data, self.format, self.limits), indexes)
                if following is not None:
                    for problem in zeros(self._end, len(data)):
                        problems.add(*problem)
                    for problem in overlaps(self.rules.last_offset, following.base_offset):
                        problems.add(*problem)
        except LogPathError as error:
            problems.add(*unread(segment.path, error, self._end))
        yield FileReport(segment.path, self._batches, self._records, _size(segment.path), problems.rows())
        for rule in indexes:
            yield FileReport(rule.path, 0, 0, _size(rule.path), rule.problems.rows())
        for path, reason in errors:
            yield FileReport(path, 0, 0, _size(path), [_problem(path, reason)])

    def _read(self, segment: Segment, scan: Scan, indexes: list[IndexRule]) -> None:
        base_offset = None if segment.path.suffix == ".checkpoint" else segment.base_offset
        for piece in pieces(scan):
            if isinstance(piece, Damage):
                self.rules.problems.add(*problem_of(piece.error, skipped=(piece.position, piece.end)))
                end = piece.end
            else:
                seen = self.rules.check(piece.position, piece.batch, base_offset)
                self._batches, self._records = self._batches + 1, self._records + seen.records
                self._follow(seen, indexes, self.rules.problems)
                end = piece.position + piece.batch.size
            if self.tell:
                self.tell(end - self._end)
            self._end = end
        for rule in indexes:
            rule.end()

    def _follow(self, seen: Seen, indexes: list[IndexRule], problems: Problems) -> None:
        aborted = self.transactions.see(seen)
        if aborted and not self._unreadable_index:
            index = next((each for each in indexes if isinstance(each, TransactionIndexRule)), None)
            for problem in _missing(seen, aborted, index):
                problems.add(*problem)
        for rule in indexes:
            rule.see(seen)


def _missing(seen: Seen, aborted: AbortedTransaction, index: TransactionIndexRule | None) -> Iterator[LogProblem]:
    if index is None or (aborted.producer_id, aborted.last_offset) not in index.entries_left:
        what = f"producer {aborted.producer_id} aborted its transaction from offset {aborted.first_offset}"
        yield LogProblem(seen.position, "TWL223", f"{what}; the transaction index does not list it")


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


def _problem(path: Path, error: LogError | LogPathError) -> LogProblem:
    return problem_of(error) if isinstance(error, LogError) else unread(path, error, 0)


def _size(path: Path) -> int:
    """Return the size of a file, or 0 if a broker has removed it."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def leader_epoch_problems(path: Path) -> list[LogProblem]:
    """Return a problem for each entry of a leader epoch checkpoint that is out of order.

    Raises LogError for an invalid file.
    """
    problems = Problems()
    before = None
    for at, start in positioned_leader_epochs(path):
        if before and not (before.epoch < start.epoch and before.start_offset <= start.start_offset):
            what = (
                f"epoch {start.epoch} from offset {start.start_offset}, after {before.epoch} from {before.start_offset}"
            )
            problems.add(at, "TWL242", what)
        before = start
    return problems.rows()


def _reading(read: Callable[[Path], Any]) -> Callable[[Path], list[LogProblem]]:
    """Return a function that checks a file by calling `read`, which raises an error for an invalid file."""

    def check(path: Path) -> list[LogProblem]:
        read(path)
        return []

    return check


_INDEXES: Final = ("index", "timeindex", "txnindex")
_FILES: Final[dict[str, Callable[[Path], list[LogProblem]]]] = {
    "leader-epoch-checkpoint": leader_epoch_problems,
    "partition.metadata": _reading(read_properties),
    "quorum-state": _reading(read_json),
    "meta.properties": _reading(read_properties),
    "log-start-offset-checkpoint": _reading(check_offsets),
    "recovery-point-offset-checkpoint": _reading(check_offsets),
    "replication-offset-checkpoint": _reading(check_offsets),
    "cleaner-offset-checkpoint": _reading(check_offsets),
}


def _others(partition: Partition) -> Iterator[FileReport]:
    bases = {segment.base_offset for segment in partition.segments}
    for path in partition.files:
        name = log_file(path)
        if path.name in _FILES:
            yield _report(path, _FILES[path.name])
        elif name and name.kind == "snapshot" and not name.state:
            yield _report(path, _reading(read_producer_snapshot))
        elif name and name.kind in _INDEXES and not name.state and name.base_offset not in bases:
            problem = LogProblem(0, "TWL204", f"no segment begins at {name.base_offset}")
            yield FileReport(path, 0, 0, _size(path), [problem])


def _report(path: Path, check: Callable[[Path], list[LogProblem]]) -> FileReport:
    try:
        problems = check(path)
    except (LogError, LogPathError) as error:
        problems = [_problem(path, error)]
    return FileReport(path, 0, 0, _size(path), problems)
