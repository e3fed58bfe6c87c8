"""The errors of logs: invalid bytes in a file, and paths that can't be read or have no log.

Invalid bytes in a segment raise a `DecodeError` whose offset counts from the start of the file. The error contains the
id of the rule that is broken, as in reports of `verify`.
"""

from collections.abc import Sequence
from typing import NoReturn

from tagwire.errors import DecodeError, EncodeError, LimitError, TagwireError
from tagwire.records.reading import naming_hint


class LogPathError(TagwireError):
    """A path can't be read, or there is no log."""


class LogReadError(LogPathError):
    """A file can't be read now, though it may exist: an I/O error, or the file was truncated while it was being read.

    `errno` is the operating system's error number, if there is one.
    """

    def __init__(self, text: str, errno: int | None = None) -> None:
        super().__init__(text)
        self.errno = errno


class LogError(DecodeError):
    """Invalid bytes in a file of a log.

    `file` is the path, `offset` the byte position in the file, and `rule` the id of a rule in `tagwire.log.RULES`.
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

    def of_other_formats(self, names: Sequence[str]) -> "LogError":
        """Return a copy of the error that also names the formats in which the bytes are valid."""
        made = LogError(
            *(self.file, self.rule),
            offset=self.offset,
            found=self.found,
            expected=f"{self.expected}; {naming_hint(names)}",
            message_name=self.message_name,
            version=self.version,
            path=self.path,
        )
        made.other_formats = tuple(names)
        return made

    def __str__(self) -> str:
        return f"{self.file}: {super().__str__()}"


class LogLimitError(LogError, LimitError):
    """A batch exceeds a limit of a `Limits` object."""


def unreadable(path: object, error: OSError, at: str = "") -> LogPathError:
    """Return the error for a file or folder that can't be read: LogPathError if it is missing, else LogReadError."""
    text = f"{path}: can't be read{at}: {error.strerror or error}"
    return LogPathError(text) if isinstance(error, FileNotFoundError) else LogReadError(text, error.errno)


def refuse(file: str, rule: str, offset: int, found: str, expected: str) -> NoReturn:
    """Raise a LogError that is made with these arguments."""
    raise LogError(file, rule, offset=offset, found=found, expected=expected)


def placed(error: DecodeError, file: str, rule: str, position: int) -> LogError:
    """Return the error as a LogError of this file, with `position` added to its offset. A LogError stays unchanged."""
    if isinstance(error, LogError):
        return error
    kind = LogLimitError if isinstance(error, LimitError) else LogError
    return kind(
        file,
        rule,
        offset=position + error.offset,
        found=error.found,
        expected=error.expected,
        message_name=error.message_name,
        version=error.version,
        path=error.path,
    )


def unwritable(error: EncodeError, file: str, position: int) -> EncodeError:
    """Return the error with the file and position of the batch added to its message."""
    reason = f"{error.reason}; in the batch at byte {position} of {file}"
    return EncodeError(reason, message_name=error.message_name, version=error.version, path=error.path)
