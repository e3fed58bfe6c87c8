"""Secrets in values: fields that specs mark as `sensitive` are hidden where values are shown.

`repr`, tables of notebooks, annotated bytes and errors are pasted into tickets.
So they show such values to nobody who did not ask. What a program reads (the
attributes, `encode`, `to_json`) is not changed.
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
"""What stands in the place of a sensitive value."""

_is_asked: Final = ContextVar("showing_sensitive", default=False)


class Hidden:
    """Stands for a sensitive value in what is shown."""

    def __repr__(self) -> str:
        return HIDDEN


def hides() -> bool:
    """Whether sensitive values are hidden now."""
    return not _is_asked.get()


def without_frames(function: F) -> F:
    """Make errors of a function leave without its traceback: debuggers and reports print the values in its frames."""

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
    """Show sensitive values inside: in `repr`, tables, traces and errors of this thread or task."""
    token = _is_asked.set(True)
    try:
        yield
    finally:
        _is_asked.reset(token)
