"""Draw progress bars for long work on standard error, if it is a terminal.

Lines may be printed to the same terminal. Code that prints them first removes the bar (`clear_bar`), and the next
progress draws the bar again below the lines. There is no bar while lines keep coming, since it would only flicker.
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
"""Minimum seconds between drawings of a bar. One drawing takes about as long as reading a batch of many records."""

_bars: Final[list["Progress"]] = []


@contextmanager
def progress_bar(label: str, *, prints_all_along: bool = False) -> Generator[Callable[[int, int], None] | None]:
    """Yield a function that is called with (done, total) and draws a bar; None without a terminal.

    There is no background thread: the bar is drawn during these calls, so the work may fork. The bar is removed at the
    end. With `prints_all_along`, there is no bar if standard output is a terminal.
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
    bar = Progress(  # standard output is not redirected, so that it stays separate
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
            bar.start()  # draws the bar again after `clear_bar`
            bar.refresh()

    _bars.append(bar)
    try:
        yield tell
    finally:
        _bars.remove(bar)
        bar.stop()


def clear_bar() -> None:
    """Remove the visible bar. Code that prints lines calls this first."""
    for bar in _bars:
        bar.stop()
