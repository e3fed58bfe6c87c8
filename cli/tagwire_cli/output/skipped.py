"""What a command left out of a log: each part is reported on standard error, and the exit status is 1."""

from typing import TYPE_CHECKING, Final

import click

from tagwire_cli.output.echo import say

if TYPE_CHECKING:
    from tagwire.log import LogError, LogPathError

__all__ = ["Skipped"]

_MOST: Final = 100
"""How many parts are reported one by one; a damaged log may have a million."""


class Skipped:
    """Call it with the error of each part that is left out, and `end` when all is read."""

    def __init__(self) -> None:
        self.count = 0
        self._last = ""

    def __call__(self, error: "LogError | LogPathError") -> None:
        if str(error) == self._last:  # a batch may be read twice
            return
        self._last = str(error)
        self.count += 1
        if self.count <= _MOST:
            say(f"tagwire: skipped: {error}", err=True)

    def end(self) -> None:
        """Report how many more there are. Raises click's Exit if anything was left out."""
        if self.count > _MOST:
            say(f"tagwire: skipped: {self.count - _MOST} more", err=True)
        if self.count:
            raise click.exceptions.Exit(1)
