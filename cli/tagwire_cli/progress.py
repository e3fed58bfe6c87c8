"""Progress of long work, for a person who watches: on standard error, and only if that is a terminal."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(label: str) -> Generator[Callable[[int, int], None] | None, None, None]:
    """A function to be told (done, total), which draws a bar; None if nobody watches.

    The bar has no thread of its own: it is drawn when it is told something, so
    that work may start processes by fork. It is gone when the work is done.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        row = bar.add_task(label)

        def tell(done: int, total: int) -> None:
            bar.update(row, completed=done, total=total, refresh=True)

        yield tell
