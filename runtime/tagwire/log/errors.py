"""Errors of logs: invalid bytes of a file, and paths without a log.

A fault in a segment is a `DecodeError`, as it is everywhere, whose offset is
that in the file. It also knows its rule, so that reading, which stops at it,
and `verify`, which lists it, speak of the same thing.
"""

from collections.abc import Sequence
from typing import NoReturn

from tagwire.errors import DecodeError, EncodeError, LimitError, TagwireError
from tagwire.records.reading import naming_hint


class LogPathError(TagwireError):
    """A path that can't be read or has no log."""


class LogReadError(LogPathError):
    """A file that may exist but can't be read now: an I/O error, or a file that was cut while it was read.

    `errno` is the system's number for the error, if it gave one.
    """

    def __init__(self, text: str, errno: int | None = None) -> None:
        super().__init__(text)
        self.errno = errno


class LogError(DecodeError):
    """Invalid bytes in a file of a log.

    `file` is its path, `offset` the byte in it, `rule` the id of the rule that
    `tagwire.log.RULES` explains.
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
        """The formats that the bytes are valid in, if the reader was told another one."""

    def of_other_formats(self, names: Sequence[str]) -> "LogError":
        """The same error, which also names the formats that the bytes are valid in."""
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
    """A batch that exceeds a limit of a `Limits` object."""


def unreadable(path: object, error: OSError, at: str = "") -> LogPathError:
    """The error of a file or folder that the system can't read. Only a missing one is not a LogReadError."""
    text = f"{path}: can't be read{at}: {error.strerror or error}"
    return LogPathError(text) if isinstance(error, FileNotFoundError) else LogReadError(text, error.errno)


def refuse(file: str, rule: str, offset: int, found: str, expected: str) -> NoReturn:
    """Raise the LogError for a place."""
    raise LogError(file, rule, offset=offset, found=found, expected=expected)


def placed(error: DecodeError, file: str, rule: str, position: int) -> LogError:
    """The error with its file; `error.offset` counts from `position`, unless it names a file already."""
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
    """The error with the batch that it is about."""
    reason = f"{error.reason}; in the batch at byte {position} of {file}"
    return EncodeError(reason, message_name=error.message_name, version=error.version, path=error.path)
