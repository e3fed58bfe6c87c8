"""The rules for logs. Their ids appear in reports of `verify` and in `LogError.rule`."""

from collections import Counter
from typing import Final, NamedTuple

RULES: Final = {
    "TWL100": "a file can be read, and does not shrink while it is read",
    "TWL101": "a batch ends within the file",
    "TWL102": "a batch is at least as long as its header",
    "TWL103": "a batch has a known magic byte",
    "TWL104": "a batch's checksum matches its bytes",
    "TWL105": "a batch's header follows its format",
    "TWL106": "a batch's records follow its format, and match its record count",
    "TWL107": "a record's offset is within its batch, and above that of the previous record",
    "TWL108": "a batch's offsets are above those of the previous batch",
    "TWL109": "a segment's offsets are not below its base offset, and less than 2^31 above it",
    "TWL110": "a segment ends before the next one begins",
    "TWL111": "only the last segment of a partition ends in zeros",
    "TWL112": "leader epochs never decrease",
    "TWL113": "no record of a batch is later than the batch's highest timestamp",
    "TWL114": "a record with a null value has the tombstone flag, in formats that have the flag",
    "TWL201": "an index consists of whole entries",
    "TWL202": "the entries of an index are in ascending order",
    "TWL203": "an entry of an offset index points to the batch with its offset",
    "TWL204": "an index has the same name as a segment",
    "TWL211": "no record up to the offset of a time index entry is later than the timestamp of the entry",
    "TWL212": "the timestamp and the offset of a time index entry are in the segment",
    "TWL221": "an entry of a transaction index is valid for its version",
    "TWL222": "an entry of a transaction index matches an abort marker of its producer",
    "TWL223": "an aborted transaction with records in the segment is in the transaction index",
    "TWL231": "a producer snapshot is valid for its version, and its checksum matches",
    "TWL241": "a checkpoint or properties file is valid text of its kind",
    "TWL242": "leader epochs and their start offsets ascend in their checkpoint",
    "TWL243": "the leader epoch of a batch matches the checkpoint",
}
"""Rules by id. TWL1xx: batches and segments; TWL2xx: indexes, snapshots and checkpoints."""


class LogProblem(NamedTuple):
    """A problem in a log file: the broken rule, the position, and a message."""

    position: int
    """The byte position in the file; in a text file, the position of the line."""
    rule: str
    message: str


_MOST: Final = 1000
"""The maximum number of problems that are kept for each rule and file."""


class Problems:
    """The problems in one file. For each rule, the first 1000 problems are kept, and all others are only counted."""

    def __init__(self) -> None:
        self._kept: list[LogProblem] = []
        self._counts = Counter[str]()
        self._first_left: dict[str, int] = {}

    def has_room(self, rule: str, position: int, count: int = 1) -> bool:
        """Count `count` more violations of a rule. Return whether the first of them may be stored with `keep`."""
        before = self._counts[rule]
        self._counts[rule] = before + count
        if before < _MOST:
            return True
        self._first_left.setdefault(rule, position)
        return False

    def add(self, position: int, rule: str, message: str) -> None:
        """Count a problem, and store it unless too many problems of its rule are already stored."""
        if self.has_room(rule, position):
            self.keep(position, rule, message)

    def keep(self, position: int, rule: str, message: str) -> None:
        """Store a problem, after `has_room` has counted it and returned true."""
        self._kept.append(LogProblem(position, rule, message))

    def rows(self) -> list[LogProblem]:
        """Return the stored problems. If more problems of a rule were counted, add a problem that states how many."""
        more = [
            LogProblem(position, rule, f"{self._counts[rule] - _MOST} more problems of this rule from here on")
            for rule, position in self._first_left.items()
        ]
        return [*self._kept, *more]
