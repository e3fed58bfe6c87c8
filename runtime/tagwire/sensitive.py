"""Hide the values of fields that specs mark as `sensitive`, wherever values are shown to people.

`repr`, notebook tables, annotated bytes and errors show such values only on request. Values for programs (attributes,
`encode`, `to_json`) are not hidden.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final, TypeVar

from tagwire.errors import TagwireError

__all__ = ["HIDDEN", "Hidden", "hides", "showing_sensitive", "without_frames"]

F = TypeVar("F", bound=Callable[..., Any])

HIDDEN: Final = "<hidden>"
"""The text that replaces a sensitive value in output."""

_is_shown: Final = ContextVar("showing_sensitive", default=False)


class Hidden:
    """A placeholder for a sensitive value in a `repr`."""

    def __repr__(self) -> str:
        return HIDDEN


def hides() -> bool:
    """Return whether sensitive values are currently hidden."""
    return not _is_shown.get()


def without_frames(function: F) -> F:
    """Remove the traceback from every TagwireError that a function raises.

    Debuggers and crash reports show the local variables in a traceback, which may contain secrets.
    """

    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except TagwireError as error:
            del arguments, named
            raise error.with_traceback(None) from None

    return called  # type: ignore[return-value]


@contextmanager
def showing_sensitive() -> Generator[None]:
    """Show sensitive values within this context: in `repr`, tables, traces and errors of the current thread or task."""
    token = _is_shown.set(True)
    try:
        yield
    finally:
        _is_shown.reset(token)
