"""Traces as HTML tables for notebooks."""

from html import escape
from itertools import islice
from typing import Final

from tagwire.explain.text import TITLES, Row, rows_of, title_of
from tagwire.explain.trace import Trace
from tagwire.message.html import CELL

_ROWS: Final = 500
"""The maximum number of lines shown."""
_BYTES: Final = 16
"""The maximum number of bytes shown in a line."""


def trace_table(trace: Trace) -> str:
    """Return an HTML table of the lines that `annotate` returns. Long runs of bytes and long traces are shortened."""
    rows = rows_of(trace)
    lines = [_line(row) for row in islice(rows, _ROWS)]
    left = sum(1 for _ in rows)
    more = f"<p>and {left} more</p>" if left > 0 else ""
    head = "".join(f'<th scope="col"{CELL}>{title}</th>' for title in TITLES)
    caption = f"<caption{CELL}>{escape(title_of(trace))}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _line(row: Row) -> str:
    if row.offset < 0:
        return f'<tr><th colspan="{len(TITLES)}"{CELL}>{escape(row.path)}</th></tr>'
    data = row.hex(row.data[:_BYTES]) + ("..." if len(row.data) > _BYTES else "")
    offset = f"{row.mark}{row.offset}" if row.data else "!"
    cells = (offset, f"<code>{data}</code>", escape(row.path or "."), escape(row.type), escape(row.value))
    return "<tr>" + "".join(f"<td{CELL}>{cell}</td>" for cell in cells) + "</tr>"
