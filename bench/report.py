"""Format benchmark results as a table for a terminal."""

from collections.abc import Sequence
from typing import Any

from timing import Ratio

__all__ = ["Table", "aligned", "speed_table", "time_text"]

Table = list[tuple[str, ...]]
"""Rows of cells. The first row is the header."""


def speed_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return a table of each library's time per call and its ratio to tagwire's time."""
    names = list(dict.fromkeys(name for row in rows for name in row["microseconds"]))
    table: Table = [("message", "bytes", "call", *names)]
    for row in rows:
        cells = [time_text(row["microseconds"].get(name)) + _compared(row, name) for name in names]
        table.append((f"{row['message']} v{row['version']}", f"{row['size']:,}", row["operation"], *cells))
    return table


def _compared(row: dict[str, Any], name: str) -> str:
    if name not in row["ratios"]:
        return ""
    version = row["versions"][name]
    other = "" if version in (None, row["version"]) else f", v{version}"
    return f" ({Ratio(*row['ratios'][name])}{other})"


def time_text(microseconds: float | None) -> str:
    """Format a time in milliseconds or microseconds. Return "" for a time that was not measured."""
    if microseconds is None:
        return ""
    return f"{microseconds / 1000:.2f} ms" if microseconds >= 1000 else f"{microseconds:.3g} us"


def aligned(table: Table) -> str:
    """Format rows as a text table with aligned columns."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)
    return "\n".join(lines)
