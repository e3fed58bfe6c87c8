"""Print tables, JSON and exact bytes on standard output.

On a terminal, rich draws the tables. Elsewhere, they are aligned text with one line per row, which suits grep and logs.
"""

import re
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, NamedTuple

import click

from tagwire.text_format import printable, printable_json
from tagwire_cli.output.echo import clear_bar, is_colored, is_terminal, say
from tagwire_cli.paths import given_name

_GAP: Final = "  "
_ZEROS: Final = re.compile("/0{4,}(?=[0-9])")
_SNAKE: Final = re.compile("_([a-z])")
_COUNTS: Final = ("kept", "removed", "formats", "codecs")
"""JSON keys whose values map reasons or names to counts. These are data, so `camel_keys` does not change them."""
_LONG: Final = 23
_SHORT: Final = 11
"""The minimum widths of narrowed columns: `_LONG` for a column of paths, `_SHORT` for other columns.

If a table is too wide, columns wider than `_LONG` characters are narrowed until the table fits.
"""
_PROSE: Final = 30
"""The width above which columns are wrapped between words."""


class TableColumn(NamedTuple):
    """A column of a table: its title, and how its cells are displayed."""

    title: str
    is_number: bool = False


def table_columns(*titles: str, numbers: Collection[str] = ()) -> tuple[TableColumn, ...]:
    """Return columns with these titles. The cells of the columns in `numbers` are right-aligned."""
    return tuple(TableColumn(title, title in numbers) for title in titles)


def print_table(columns: Sequence[TableColumn], content: Iterable[Sequence[object]]) -> None:
    """Print a table with column titles. Cells that aren't strings are converted."""
    clear_bar()
    rows: Sequence[Sequence[str]] = [[printable(given_name(str(cell))) for cell in row] for row in content]
    if is_terminal(sys.stdout):
        from shutil import get_terminal_size  # imported here, because the import is slow

        columns, rows = fitted(columns, rows, get_terminal_size().columns)
    if is_colored(sys.stdout):
        _print_rich(columns, rows)
        return
    titles = [column.title for column in columns]
    widths = [max(map(len, cells)) for cells in zip(titles, *rows, strict=True)]
    for row in (titles, *rows):
        cells = (
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        )
        say(_GAP.join(cells).rstrip())


def fitted(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int
) -> tuple[Sequence[TableColumn], Sequence[Sequence[str]]]:
    """Fit a table to a width: shorten long cells, then remove columns that still don't fit."""
    cells = [[column.title, *(row[number] for row in rows)] for number, column in enumerate(columns)]
    widths = [max(map(len, each)) for each in cells]
    for number, each in enumerate(cells):
        is_path = any("/" in cell for cell in each)
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
        if excess <= 0:
            return columns, [[each[at] for each in cells] for at in range(1, len(rows) + 1)]
        is_prose = widths[number] > _PROSE and any(" " in cell.strip() for cell in each)
        if widths[number] > _LONG and (number or is_path) and not is_prose:
            widths[number] = max(_LONG if is_path else _SHORT, widths[number] - excess)
            cells[number] = [_shortened(cell, widths[number], is_path=is_path) for cell in each]
    words = [max(len(word) for cell in each for word in [*cell.split(), ""]) for each in cells]
    # Prose can be wrapped, so a column of prose only needs the width of its longest word.
    widths = [words[number] if each > _PROSE else each for number, each in enumerate(widths)]
    kept, left = [0], width - widths[0]
    for number in range(1, len(columns)):
        if len(_GAP) + widths[number] <= left:
            kept.append(number)
            left -= len(_GAP) + widths[number]
    if len(kept) < len(columns):
        left_out = ", ".join(column.title for number, column in enumerate(columns) if number not in kept)
        note_left_out(left_out)
        # Fit the remaining columns again, because there is now room for longer cells.
        return fitted([columns[number] for number in kept], [[row[number] for number in kept] for row in rows], width)
    return columns, [[each[at] for each in cells] for at in range(1, len(rows) + 1)]


def note_left_out(titles: str) -> None:
    """Print on standard error which columns don't fit on the terminal. A repeated note is printed only once."""
    text = f"tagwire: the terminal is too narrow for the columns {titles}; widen it, or pipe the output"
    context = click.get_current_context(silent=True)
    if context is None or text not in context.meta:
        say(text, err=True)
        if context:
            context.meta[text] = True


def _shortened(cell: str, width: int, *, is_path: bool) -> str:
    if is_path and len(cell) > width:
        cell = _ZEROS.sub("/…", cell)  # first, omit the leading zeros of a segment's name
    if len(cell) <= width:
        return cell
    return f"…{cell[1 - width :]}" if is_path else f"{cell[: width - 1]}…"


def _print_rich(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> None:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, len(_GAP), 0, 0))
    width_of_all = 0
    for number, column in enumerate(columns):
        cells = [column.title, *(row[number] for row in rows)]
        width = max(map(cell_len, cells))
        is_prose = width > _PROSE and any(" " in cell.strip() for cell in cells)
        justify: Any = "right" if column.is_number else "left"
        style = "" if number else "cyan"
        table.add_column(column.title, justify=justify, style=style, overflow="fold", no_wrap=not is_prose)
        width_of_all += max(cell_len(word) for cell in cells for word in cell.split()) if is_prose else width
    for row in rows:
        table.add_row(*map(Text, row))  # rich would parse strings as markup
    console = Console(file=sys.stdout, highlight=False)
    console.width = max(console.width, width_of_all + len(_GAP) * (len(columns) - 1))
    console.print(table)


def camel_keys(value: Any) -> Any:
    """Convert keys such as `new_batches` to `newBatches` at any depth, but not the keys in the values of `_COUNTS`."""
    if isinstance(value, dict):
        return {
            _SNAKE.sub(lambda found: found[1].upper(), key): each if key in _COUNTS else camel_keys(each)
            for key, each in value.items()
        }
    return [camel_keys(each) for each in value] if isinstance(value, list | tuple) else value


def write_json(value: Any) -> None:
    """Print a value as indented JSON in UTF-8, regardless of the terminal's encoding."""
    import json  # imported here and below, because most commands print JSON only on request

    write_json_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def write_json_lazily(values: Iterable[Any], *, is_list: bool) -> None:
    """Print values like `write_json`, but with only one value in memory at a time.

    A value may contain lists that create their elements during iteration.
    """
    import json

    encoder = json.JSONEncoder(indent=2, ensure_ascii=False, allow_nan=False)
    indent = "  " if is_list else ""
    number = 0
    for number, value in enumerate(values, 1):
        if is_list:
            write_bytes(b"[\n  " if number == 1 else b",\n  ")
        parts = encoder.iterencode(value)
        while text := "".join(islice(parts, 10_000)):
            write_bytes(printable_json(given_name(text).replace("\n", f"\n{indent}")).encode())
    write_bytes((b"\n]\n" if number else b"[]\n") if is_list else b"\n")


def write_json_line(value: Any) -> None:
    """Print a value as JSON on one line."""
    import json

    write_json_text(json.dumps(value, ensure_ascii=False, allow_nan=False))


def write_json_text(text: str) -> None:
    """Print JSON text and a line break in UTF-8, regardless of the terminal's encoding."""
    write_bytes(printable_json(given_name(text)).encode() + b"\n")


def write_line(text: str) -> None:
    """Print a line of text in UTF-8, on any terminal. Unprintable characters are escaped, except tabs."""
    write_bytes(printable(given_name(text), keep="\t").encode() + b"\n")


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output, unchanged."""
    clear_bar()
    click.echo(data, nl=False)


def write_data(data: bytes, *, as_hex: bool, sized: bool = False) -> None:
    """Write a message as bytes or as a line of hex. With `sized`, its size is written before it, as on a connection."""
    if sized:
        data = len(data).to_bytes(4, "big") + data
    write_bytes(data.hex().encode() + b"\n" if as_hex else data)


def reject_terminal() -> None:
    """Raise click.UsageError if standard output is a terminal, to which raw bytes must not be written."""
    if is_terminal(sys.stdout):
        raise click.UsageError("the output is binary: use --hex, or redirect it to a file or a pipe.")


@contextmanager
def byte_writer() -> Generator[Callable[[bytes], object]]:
    """Yield a function that writes bytes like `write_bytes`, but with a buffer, which is faster for many calls."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # standard output is closed
        yield write_bytes
        return
    sys.stdout.flush()
    try:
        yield stream.write
    finally:
        stream.flush()
