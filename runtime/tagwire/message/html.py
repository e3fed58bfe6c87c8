"""Messages as HTML tables, for notebooks.

Fields are in spec order; structs are nested tables. Default values are dimmed, and long arrays and values are
shortened. No colors are set, because the page may be light or dark.
"""

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from tagwire.message.declarations import attributes_of
from tagwire.message.struct_class import Struct
from tagwire.sensitive import HIDDEN, Hidden
from tagwire.text_format import shown

_ROWS: Final = 20
"""The maximum number of array elements shown."""
CELL: Final = ' style="text-align: left; vertical-align: top; padding: 0 1em 0 0"'
"""The style attribute of every table cell."""
_DIM: Final = ' style="text-align: left; vertical-align: top; padding: 0 1em 0 0; opacity: 0.5"'


def html_table(struct: Struct) -> str:
    """Return a struct as an HTML table. Every string in it is escaped."""
    changed = struct._displayed()  # pyright: ignore[reportPrivateUsage]: its own package
    rows = [
        _row(name, _cell(changed.get(name, getattr(struct, name))), style=CELL if name in changed else _DIM)
        for name in attributes_of(type(struct))
        if name != "unknown_tags" or name in changed
    ]
    title = f'<thead><tr><th colspan="2"{CELL}>{escape(type(struct).__name__)}</th></tr></thead>'
    return f"<table>{title}<tbody>{''.join(rows)}</tbody></table>"


def _row(name: str, cell: str, *, style: str) -> str:
    return f'<tr><th scope="row"{style}>{escape(name)}</th><td{style}>{cell}</td></tr>'


def _cell(value: Any) -> str:
    if isinstance(value, Hidden):
        return escape(HIDDEN)
    if isinstance(value, Struct):
        return html_table(value)
    if isinstance(value, tuple | list) and value:
        return _array(value)
    if isinstance(value, Mapping) and value:
        tags = (_row(f"tag {tag}", escape(shown(data)), style=CELL) for tag, data in value.items())
        return f"<table><tbody>{''.join(tags)}</tbody></table>"
    return escape(shown(value))


def _array(values: "tuple[Any, ...] | list[Any]") -> str:
    left = len(values) - _ROWS
    more = f"<p>and {left} more</p>" if left > 0 else ""
    if not any(isinstance(value, Struct) for value in values):
        return escape(", ".join(map(shown, values[:_ROWS]))) + more
    rows = (_row(str(index), _cell(value), style=CELL) for index, value in enumerate(values[:_ROWS]))
    return f"<table><tbody>{''.join(rows)}</tbody></table>{more}"
