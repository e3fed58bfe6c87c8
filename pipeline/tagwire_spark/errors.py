"""Errors in Spark's style: `[CONDITION] text SQLSTATE: xxxxx`.

A worker's error reaches the caller only as a string within a Spark error, so the string contains all details: the
condition, file, position and offset.
"""

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from errno import errorcode
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from pyspark.errors import PySparkException

from tagwire.errors import (
    DecodeError,
    EncodeError,
    MissingExtraError,
    SchemaError,
    TagwireError,
    UnsupportedVersionError,
)
from tagwire.log import LogPathError
from tagwire.log.errors import LogReadError
from tagwire.log.errors import unreadable as unreadable_file
from tagwire.text_format import encodable

try:
    from py4j.protocol import Py4JError as _JavaError  # raised if a worker process dies
except ImportError:  # Spark Connect works without py4j
    _JavaError = PySparkException


CONDITIONS: Final = {
    "FIELD_OF_KAFKA_MESSAGE_NOT_FOUND": "42703",
    "INVALID_TAGWIRE_OPTION": "42616",
    "KAFKA_LOG_CHANGED": "55000",
    "KAFKA_LOG_DATA_LOSS": "22000",
    "KAFKA_LOG_EXISTS": "42710",
    "KAFKA_LOG_NOT_FOUND": "42K03",
    "KAFKA_LOG_ROWS_NOT_IN_ORDER": "22023",
    "KAFKA_LOG_UNREADABLE": "58030",
    "KAFKA_LOG_WRITE_FAILED": "58030",
    "KAFKA_MESSAGE_NOT_FOUND": "42K0G",
    "MALFORMED_CAPTURED_FRAMES": "22023",
    "MALFORMED_KAFKA_LOG": "22023",
    "MALFORMED_KAFKA_MESSAGE": "22023",
    "MALFORMED_KAFKA_RECORD": "22023",
    "MALFORMED_LOG_EXPORT": "22023",
    "MISSING_LIBRARY": "0A000",
    "NOT_NULL_ASSERT_VIOLATION": "42000",
    "SPARK_FAILED": "XX000",
    "UNENCODABLE_KAFKA_MESSAGE": "22023",
    "UNENCODABLE_KAFKA_RECORD": "22023",
    "UNKNOWN_COLUMN_OF_SOURCE": "42703",
    "UNSUPPORTED_KAFKA_MESSAGE_VERSION": "42K0G",
    "UNSUPPORTED_TYPE_OF_KAFKA_FIELD": "0A000",
}
"""The SQLSTATE of each error condition."""


SPARK_ERRORS: Final = (PySparkException, _JavaError)

_REJECTION: Final = re.compile(r"\[([A-Z_]+)\] ((?:(?!\[[A-Z_]+\] ).)*?) SQLSTATE: \w{5}", re.DOTALL)
"""Matches the innermost PipelineError in a Spark error message."""
_RAISED: Final = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)")
"""Matches a Python error in a Spark error message. If there are several, the last one is the uncaught error."""
_NO_CAUSE: Final = ("An error occurred while calling", "at ", "... ")
"""Lines in a Spark error message that begin with one of these strings don't name the cause of the error."""
_WAITING: Final = "Exception thrown in awaitResult"
"""Lines in a Spark error message that end with this text don't name the cause of the error."""
_P = ParamSpec("_P")
_T = TypeVar("_T")


class PipelineError(PySparkException, TagwireError):
    """An error of `tagwire_spark`, which can be caught as a PySpark error or as a tagwire error."""

    def __init__(self, condition: str, text: str) -> None:
        text = text[:-1] if text.endswith("'?.") else text  # a message that ends with "did you mean 'x'?"
        self.text = encodable(text)  # a lone surrogate would kill the worker
        super().__init__(message=f"[{condition}] {self.text} SQLSTATE: {CONDITIONS[condition]}")
        self.condition = condition

    def getCondition(self) -> str:
        return self.condition

    def getSqlState(self) -> str:
        return CONDITIONS[self.condition]

    def __str__(self) -> str:
        return str(self._message)

    def __reduce__(self) -> tuple[Any, ...]:
        return PipelineError, (self.condition, self.text)


def rejection(error: TagwireError | OSError, malformed: str = "MALFORMED_KAFKA_MESSAGE") -> PipelineError:
    """Convert a tagwire or system error to a PipelineError. `malformed` is the error condition for invalid bytes."""
    if isinstance(error, PipelineError):
        return error
    if isinstance(error, OSError):
        error = unreadable_file(error.filename or "a file", error)
    condition = malformed
    if isinstance(error, LogReadError):
        return unreadable(f"{error}", error.errno)
    if isinstance(error, MissingExtraError):
        return PipelineError("MISSING_LIBRARY", f"{error} on the driver and all workers.")
    if isinstance(error, UnsupportedVersionError):
        condition = "UNSUPPORTED_KAFKA_MESSAGE_VERSION"
    elif isinstance(error, LogPathError):
        condition = "KAFKA_LOG_NOT_FOUND"
    elif isinstance(error, EncodeError):
        condition = "UNENCODABLE_KAFKA_MESSAGE"
    elif isinstance(error, SchemaError):
        condition = "FIELD_OF_KAFKA_MESSAGE_NOT_FOUND"
    return PipelineError(condition, f"{error}.")


def of_row(row: int, error: PipelineError) -> PipelineError:
    """Return a copy of the error that begins with the number of the invalid row."""
    return PipelineError(error.condition, f"row {row}: {error.text}")


@contextmanager
def rejections(malformed: str = "MALFORMED_KAFKA_MESSAGE") -> Generator[None]:
    """Convert tagwire and system errors in the `with` block to PipelineError, as `rejection` does."""
    try:
        yield
    except (OSError, TagwireError) as error:
        raise rejection(error, malformed) from None


def repeated(tries: int, *conditions: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Return a decorator for a function that lists and reads logs. It calls the function at most `tries` times.

    The function is called again after an error with one of these `conditions`, because a broker or another writer may
    have changed a log after it was listed. Other errors, and the last error, are raised unchanged.
    """

    def decorate(read_logs: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(read_logs)
        def run(*args: _P.args, **named: _P.kwargs) -> _T:
            for _ in range(tries - 1):
                try:
                    return read_logs(*args, **named)
                except (OSError, TagwireError) as error:
                    if rejection(error).condition not in conditions:
                        raise
            return read_logs(*args, **named)

        return run

    return decorate


def unreadable(text: str, errno: int | None = None) -> PipelineError:
    """Return the error for a file that can't be read but may exist. `errno` is the operating system's error number."""
    code = "" if errno is None else f" (errno {errno}, {errorcode.get(errno, 'unknown')})"
    return PipelineError("KAFKA_LOG_UNREADABLE", f"{text}{code}.")


def changed(why: str) -> PipelineError:
    """Return the error KAFKA_LOG_CHANGED, for a log that a broker or another program changed while it was read."""
    return PipelineError("KAFKA_LOG_CHANGED", f"{why}; call load() again and repeat the query, or run the job again.")


def loss(why: str) -> PipelineError:
    """Return the error KAFKA_LOG_DATA_LOSS, for a log that lacks requested records."""
    return PipelineError(
        "KAFKA_LOG_DATA_LOSS", f"{why}; set option failOnDataLoss=false to continue with the existing records."
    )


def described(error: TagwireError) -> dict[str, Any]:
    """Convert an error to the `_error` struct of a row: field path, byte offset and reason."""
    if isinstance(error, DecodeError):
        return {"path": error.path, "offset": error.offset, "reason": f"found {error.found}, expected {error.expected}"}
    return {"path": "", "offset": None, "reason": str(error)}


def failure(error: Exception) -> PipelineError:
    """Return the PipelineError that a worker raised, or convert the Spark error to a PipelineError (SPARK_FAILED)."""
    return error_in(error) or PipelineError("SPARK_FAILED", f"Spark failed: {_cause(error)}")


def _cause(error: Exception) -> str:
    """Return the Python error in a Spark error message. If there is none, return the first line that names a cause."""
    text = str(error)
    if raised := _RAISED.findall(text):
        return f"a worker raised {raised[-1]}"
    lines = [line.strip(" \t:").removeprefix("Caused by: ") for line in text.splitlines()]
    causes = (line for line in lines if line and not line.startswith(_NO_CAUSE) and not line.endswith(_WAITING))
    return next(causes, type(error).__name__)


def error_in(error: Exception) -> PipelineError | None:
    """Extract a worker's PipelineError from a Spark error message, or return None if there is none."""
    found = [PipelineError(name, text) for name, text in _REJECTION.findall(str(error)) if name in CONDITIONS]
    return found[-1] if found else None
