"""Messages and traces as tables of HTML, which is how notebooks show them.

Fields of a message in spec order, those with the value of a fresh object dimmed; structs
are tables inside. Long arrays and values are cut: a notebook is for looking.
Styles stand in the elements and name no colours, since the page's own may be
light or dark.
"""

from collections.abc import Mapping
from html import escape
from itertools import islice
from typing import Any, Final

from tagwire.annotations import TITLES, Row, rows_of, title_of
from tagwire.message import Struct
from tagwire.shown import shown
from tagwire.tracer import Trace

__all__ = ["html_table", "trace_table"]

_ROWS: Final = 20
"""Elements of an array that are shown."""
_TRACE_ROWS: Final = 500
"""Lines of a trace that are shown."""
_TRACE_BYTES: Final = 16
_CELL: Final = ' style="text-align: left; vertical-align: top; padding: 0 1em 0 0"'
_DIM: Final = ' style="text-align: left; vertical-align: top; padding: 0 1em 0 0; opacity: 0.5"'


def html_table(struct: Struct) -> str:
    """The table of a struct; every text in it is escaped."""
    changed = struct._changed()  # pyright: ignore[reportPrivateUsage]: its own package
    rows = [
        _row(name, _cell(getattr(struct, name)), style=_CELL if name in changed else _DIM)
        for name in struct.__slots__
        if name != "unknown_tags" or name in changed
    ]
    title = f'<thead><tr><th colspan="2"{_CELL}>{escape(type(struct).__name__)}</th></tr></thead>'
    return f"<table>{title}<tbody>{''.join(rows)}</tbody></table>"


def trace_table(trace: Trace) -> str:
    """The lines of `annotate` as a table; long runs of bytes and long traces are cut."""
    rows = rows_of(trace)
    lines = [_trace_row(row) for row in islice(rows, _TRACE_ROWS)]
    left = sum(1 for _ in rows)
    more = f"<p>and {left} more</p>" if left > 0 else ""
    head = "".join(f'<th scope="col"{_CELL}>{title}</th>' for title in TITLES)
    caption = f"<caption{_CELL}>{escape(title_of(trace))}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _trace_row(row: Row) -> str:
    if row.offset < 0:
        return f'<tr><th colspan="{len(TITLES)}"{_CELL}>{escape(row.path)}</th></tr>'
    data = row.data[:_TRACE_BYTES].hex(" ") + ("..." if len(row.data) > _TRACE_BYTES else "")
    offset = f"{row.mark}{row.offset}" if row.data else "!"
    cells = (offset, f"<code>{data}</code>", escape(row.path or "."), escape(row.type), escape(row.value))
    return "<tr>" + "".join(f"<td{_CELL}>{cell}</td>" for cell in cells) + "</tr>"


def _row(name: str, cell: str, *, style: str) -> str:
    return f'<tr><th scope="row"{style}>{escape(name)}</th><td{style}>{cell}</td></tr>'


def _cell(value: Any) -> str:
    if isinstance(value, Struct):
        return html_table(value)
    if isinstance(value, tuple | list) and value:
        return _array(value)
    if isinstance(value, Mapping) and value:
        tags = (_row(f"tag {tag}", escape(shown(data)), style=_CELL) for tag, data in value.items())
        return f"<table><tbody>{''.join(tags)}</tbody></table>"
    return escape(shown(value))


def _array(values: "tuple[Any, ...] | list[Any]") -> str:
    left = len(values) - _ROWS
    more = f"<p>and {left} more</p>" if left > 0 else ""
    if not any(isinstance(value, Struct) for value in values):
        return escape(", ".join(map(shown, values[:_ROWS]))) + more
    rows = (_row(str(index), _cell(value), style=_CELL) for index, value in enumerate(values[:_ROWS]))
    return f"<table><tbody>{''.join(rows)}</tbody></table>{more}"
