"""Report on standard error which parts of a log a command has left out, and exit with 1."""

from typing import TYPE_CHECKING, Final

import click

from tagwire_cli.output.echo import say

if TYPE_CHECKING:
    from tagwire.log import LogError, LogPathError


_MOST: Final = 100
"""The maximum number of parts to report individually, since a damaged log may have a million."""


class Skipped:
    """A callback for the error of each part that is left out of a log. Call `end` after reading."""

    def __init__(self) -> None:
        self.count = 0
        self._last = ""

    def __call__(self, error: "LogError | LogPathError") -> None:
        if str(error) == self._last:  # the same error again, because a batch may be read twice
            return
        self._last = str(error)
        self.count += 1
        if self.count <= _MOST:
            say(f"tagwire: skipped: {error}", err=True)

    def end(self) -> None:
        """Report how many more parts were left out. Raises click's Exit with 1 if there were any."""
        if self.count > _MOST:
            say(f"tagwire: skipped: {self.count - _MOST} more", err=True)
        if self.count:
            raise click.exceptions.Exit(1)
