"""Draw progress bars on standard error, if it is a terminal.

`clear_bar` removes the bar before anything is printed. The next report of progress draws it again. A command that
prints to the terminal all the time has no bar, because it would flicker.
"""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tagwire.text_format import printable
from tagwire_cli.output.diagnostics import is_terminal
from tagwire_cli.output.echo import PREFERENCES

if TYPE_CHECKING:
    from rich.progress import Progress


_SECONDS: Final = 0.1
"""Minimum seconds between two updates of a progress bar."""

_bars: Final[list["Progress"]] = []


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

    def tell(done: int, total: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - drawn >= _SECONDS:
            drawn = now
            bar.update(row, completed=done, total=total)
            bar.start()  # `clear_bar` may have removed the bar
            bar.refresh()

    _bars.append(bar)
    try:
        yield tell
    finally:
        _bars.remove(bar)
        bar.stop()


def clear_bar() -> None:
    """Remove the bar, if there is one. Must be called before lines are printed."""
    for bar in _bars:
        bar.stop()
