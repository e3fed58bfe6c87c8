"""The rules that the files of a log must follow, and the errors and problems that describe violations.

An error for invalid bytes has an offset in the file, and the ID of the broken rule. A report of `verify` lists
problems, which have the same ids.
"""

import os
from collections import Counter
from errno import EDQUOT, EFBIG, ELOOP, ENOENT, ENOSPC, EROFS
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, NamedTuple, NoReturn

from tagwire.errors import DecodeError, EncodeError, LimitError, TagwireError, details

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
    "TWL222": "an entry of a transaction index matches an aborted transaction of its producer",
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


class LogPathError(TagwireError):
    """Raised if a path can't be read or contains no log."""


class LogReadError(LogPathError):
    """Raised if a file exists, but reading it fails, or the file is truncated meanwhile.

    `errno` is the operating system's error number, if there is one.
    """

    def __init__(self, text: str, errno: int | None = None) -> None:
        super().__init__(text)
        self.errno = errno


class LogError(DecodeError):
    """Raised for invalid bytes in a file of a log.

    `file` is the path, `offset` the byte position in the file, and `rule` the ID of a rule in `tagwire.log.RULES`.
    """

    def __init__(
        self,
        file: str,
        rule: str,
        *,
        offset: int,
        found: str,
        expected: str,
        message_name: str = "log",
        version: int | None = None,
        path: str = "",
    ) -> None:
        super().__init__(
            message_name=message_name, version=version, path=path, offset=offset, found=found, expected=expected
        )
        self.file = file
        self.rule = rule
        self.other_formats: tuple[str, ...] = ()
        """The other formats in which the bytes are valid."""

    def __str__(self) -> str:
        return f"{self.file}: {super().__str__()}"


class LogLimitError(LogError, LimitError):
    """Raised if a batch exceeds one of the limits in a `Limits` object."""


def reject(file: str, rule: str, offset: int, found: str, expected: str) -> NoReturn:
    """Raise a LogError for bytes that break `rule`. `offset` is their position in the file."""
    raise LogError(file, rule, offset=offset, found=found, expected=expected)


def log_error(error: DecodeError, file: str, rule: str, position: int) -> LogError:
    """Convert a DecodeError to a LogError for `file`, adding `position` to its offset. Return a LogError unchanged."""
    if isinstance(error, LogError):
        return error
    kind = LogLimitError if isinstance(error, LimitError) else LogError
    return kind(file, rule, **details(error, offset=position + error.offset))


def unwritable(error: EncodeError, file: str, position: int) -> EncodeError:
    """Return a copy of an EncodeError that also names the file and the position of the batch."""
    reason = f"{error.reason}; in the batch at byte {position} of {file}"
    return EncodeError(reason, message_name=error.message_name, version=error.version, path=error.path)


def unreadable(path: object, error: OSError, at: str = "") -> LogPathError:
    """Convert an OSError to a LogPathError if the file or folder is missing, and otherwise to a LogReadError."""
    text = f"{path} can't be read{at}: {error.strerror or error}"
    if error.errno in (ENOENT, ELOOP) and (link := Path(str(path))).is_symlink():
        text += f"; it is a link to {link.readlink()}: restore its target, or remove the link"
    return LogPathError(text) if isinstance(error, FileNotFoundError) else LogReadError(text, error.errno)


_OF_WRITES: Final = {EDQUOT, EFBIG, ENOSPC, EROFS}
"""The `errno` values of errors that occur only when writing to a file."""


def not_written(output: Path, partial: Path, error: OSError) -> LogPathError:
    """Return the LogPathError for an OSError that was raised while the temporary folder `partial` was written.

    The LogPathError names the input file that can't be read or, if the write itself failed, `output`.
    """
    name = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes | Path) else partial
    is_of_output = name == output or name.is_relative_to(partial) or partial.is_relative_to(name)
    # If the disk is full, the error that `shutil.copy` raises names the source, so check `errno` too.
    if is_of_output or error.errno in _OF_WRITES:
        return LogPathError(f"{output} can't be written: {error.strerror}")
    return unreadable(name, error)


def is_file(path: str | Path) -> bool:
    """Return whether a path is a file. Unlike `Path.is_file`, raises LogReadError if the system reports an error."""
    return S_ISREG(_mode(path))


def is_folder(path: str | Path) -> bool:
    """Return whether a path is a folder. Unlike `Path.is_dir`, raises LogReadError if the system reports an error."""
    return S_ISDIR(_mode(path))


def exists(path: str | Path) -> bool:
    """Return whether a path exists. Unlike `Path.exists`, raises LogReadError if the system reports an error."""
    return _mode(path) != 0


def _mode(path: str | Path) -> int:
    try:
        return os.stat(path).st_mode  # noqa: PTH116 - a str or a Path
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return 0
    except OSError as error:
        raise unreadable(path, error) from None
