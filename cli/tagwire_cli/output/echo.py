"""Print lines of text and progress bars.

Untrusted names, paths and values can't send control codes or imitate tagwire's lines: a folder may be called
`\\x1b[2J`, or its name may contain a line break and a fake finding. So all text is printed by `say`, which escapes
unprintable characters. `tagwire_cli.output.tables.write_bytes` prints bytes unchanged.

Progress bars are drawn on standard error, if it is a terminal. `clear_bar` removes the bar before anything is printed,
and the next report of progress draws it again. A command that prints to the terminal all the time has no bar, because
it would flicker.
"""

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import click

from tagwire.text_format import printable
from tagwire_cli.paths import given_name

if TYPE_CHECKING:
    from rich.progress import Progress


class Preferences:
    """The global options of this run of `tagwire`."""

    quiet: bool = False
    verbose: bool = False
    color: str = "auto"
    """When to use colors: always, never, or auto (on terminals; NO_COLOR and FORCE_COLOR override this)."""


PREFERENCES: Final = Preferences()
_SECONDS: Final = 0.1
"""Minimum seconds between two updates of a progress bar."""
_bars: Final[list["Progress"]] = []


def say(text: object = "", *, err: bool = False, lines: bool = False) -> None:
    """Print a line, with unprintable characters escaped.

    With `err`, print to standard error, unless --quiet is given. With `lines`, keep line breaks and tabs.
    """
    if err and PREFERENCES.quiet:
        return
    click.echo(printable(given_name(str(text)), keep="\n\t" if lines else ""), err=err)


def say_verbose(text: object) -> None:
    """Print a line on standard error if --verbose is given."""
    if PREFERENCES.verbose:
        say(text, err=True)


def say_error(error: object) -> None:
    """Print an error on standard error. Lines after the first are indented, so they can't be taken for other output."""
    first, *more = given_name(str(error)).split("\n")
    for line in (f"tagwire: {first}", *(f"    {line}" for line in more)):
        click.echo(printable(line, keep="\t"), err=True)


def say_patch(text: str) -> None:
    """Print a unified diff. Unprintable characters are escaped on a terminal, but not in a file or pipe."""
    # `color=True` prevents click from removing escape sequences that the files contain.
    click.echo(printable(text, keep="\n\t") if is_terminal(sys.stdout) else text, nl=False, color=True)


def shown_value(value: object) -> object:
    """Escape unprintable characters in a string for an HTML page. jinja2 calls this for every value."""
    # Values of other types are markup that tagwire wrote.
    return printable(value, keep="\n\t") if type(value) is str else value


class _Stream(Protocol):
    def isatty(self) -> bool: ...


def is_colored(stream: _Stream | None) -> bool:
    """Return whether to color a stream.

    The option --color decides. Without it, NO_COLOR or FORCE_COLOR decides. Without these, only terminals are colored.
    """
    if PREFERENCES.color != "auto":
        return PREFERENCES.color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal(stream) and os.environ.get("TERM") != "dumb")


def is_terminal(stream: _Stream | None) -> bool:
    """Return whether a stream is a terminal. `sys.stdout` is None if it was closed before Python started."""
    return stream is not None and stream.isatty()


@contextmanager
def progress_bar(label: str, *, prints_all_along: bool = False) -> Generator[Callable[[int, int], None] | None]:
    """Yield a function that draws a progress bar when called with (done, total), or None if stderr is not a terminal.

    If the command prints all the time (`prints_all_along`), also yields None if stdout is a terminal. The bar is
    removed at the end. No background thread draws it, so the program can fork.
    """
    if PREFERENCES.quiet or not is_terminal(sys.stderr) or (prints_all_along and is_terminal(sys.stdout)):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_interactive:
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    bar = Progress(  # rich must not redirect standard output, to which the command writes data
        *columns, console=console, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    )
    row = bar.add_task(printable(label))
    drawn = float("-inf")

    def progress(done: int, total: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - drawn >= _SECONDS:
            drawn = now
            bar.update(row, completed=done, total=total)
            bar.start()  # `clear_bar` may have removed the bar
            bar.refresh()

    _bars.append(bar)
    try:
        yield progress
    finally:
        _bars.remove(bar)
        bar.stop()


def clear_bar() -> None:
    """Remove the bar, if there is one. Must be called before lines are printed."""
    for bar in _bars:
        bar.stop()
