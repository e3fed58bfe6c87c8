"""Report on standard error which parts of a log a command skipped, and exit with status 1."""

from typing import TYPE_CHECKING, Final

import click

from tagwire_cli.output.echo import say

if TYPE_CHECKING:
    from tagwire.log import LogError, LogPathError


_MOST: Final = 100
"""The maximum number of errors to print individually, since a damaged log may cause a million."""


class Skipped:
    """Reports and counts the damaged parts of a log that a command skips. Call it with each error, then call `end`."""

    def __init__(self) -> None:
        self.count = 0
        self._last = ""

    def __call__(self, error: "LogError | LogPathError") -> None:
        if str(error) == self._last:  # the batch was read twice
            return
        self._last = str(error)
        self.count += 1
        if self.count <= _MOST:
            say(f"tagwire: skipped: {error}", err=True)

    def end(self) -> None:
        """Print how many errors were not printed individually. Exits with status 1 if there was any error."""
        if self.count > _MOST:
            say(f"tagwire: skipped: {self.count - _MOST} more", err=True)
        if self.count:
            raise click.exceptions.Exit(1)
