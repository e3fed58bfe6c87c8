"""The errors that reading a log raises: invalid bytes in a file, and paths that can't be read or contain no log.

Errors for invalid bytes have an offset in the file, and the ID of the broken rule (see `tagwire.log.rules`).
"""

import os
from collections.abc import Sequence
from errno import EDQUOT, EFBIG, ENOSPC, EROFS
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, NoReturn

from tagwire.errors import DecodeError, EncodeError, LimitError, TagwireError
from tagwire.records.reading import naming_hint

_OF_WRITES: Final = {EDQUOT, EFBIG, ENOSPC, EROFS}
"""The `errno` values of errors that occur only when writing to a file."""


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
        """Return a copy of the error. Its message also lists `names`, other formats in which the bytes are valid."""
        error = LogError(
            *(self.file, self.rule),
            offset=self.offset,
            found=self.found,
            expected=f"{self.expected}; {naming_hint(names)}",
            message_name=self.message_name,
            version=self.version,
            path=self.path,
        )
        error.other_formats = tuple(names)
        return error

    def __str__(self) -> str:
        return f"{self.file}: {super().__str__()}"


class LogLimitError(LogError, LimitError):
    """Raised if a batch exceeds one of the limits in a `Limits` object."""


def unreadable(path: object, error: OSError, at: str = "") -> LogPathError:
    """Convert an OSError to a LogPathError if the file or folder is missing, and otherwise to a LogReadError."""
    text = f"{path} can't be read{at}: {error.strerror or error}"
    return LogPathError(text) if isinstance(error, FileNotFoundError) else LogReadError(text, error.errno)


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


def _mode(path: str | Path) -> int:
    try:
        return os.stat(path).st_mode  # noqa: PTH116 - a str or a Path
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return 0
    except OSError as error:
        raise unreadable(path, error) from None


def reject(file: str, rule: str, offset: int, found: str, expected: str) -> NoReturn:
    """Raise a LogError for bytes that break `rule`. `offset` is their position in the file."""
    raise LogError(file, rule, offset=offset, found=found, expected=expected)


def log_error(error: DecodeError, file: str, rule: str, position: int) -> LogError:
    """Convert a DecodeError to a LogError for `file`, adding `position` to its offset. Return a LogError unchanged."""
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
    """Return a copy of an EncodeError that also names the file and the position of the batch."""
    reason = f"{error.reason}; in the batch at byte {position} of {file}"
    return EncodeError(reason, message_name=error.message_name, version=error.version, path=error.path)
