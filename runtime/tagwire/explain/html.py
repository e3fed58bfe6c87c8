"""Traces as HTML: a page with the tree of fields (`page`), and a table for notebooks (`trace_table`).

The page is self-contained. It shows the bytes on one side and the tree of fields on the other. It contains the rows of
the tree as JSON and the script that shows them (`tree.js`). Browsers without scripts show the text of `annotate`. The
content security policy allows only the page's own script and style sheet.

A row of the tree is a node of the trace, a title, an error, or unread bytes. The script builds paths from the names of
the rows, and a hex dump from the bytes. Each byte is in exactly one row.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import islice
from typing import Any, Final, NamedTuple

from tagwire.explain.names import abouts
from tagwire.explain.nodes import Node
from tagwire.explain.text import TITLES, Row, annotated_lines, kind_of, rows_of, title_of, value_of
from tagwire.explain.trace import Trace
from tagwire.message.html import CELL
from tagwire.text_format import count, printable

_TEXT_LINES: Final = 2_000
"""The maximum number of text lines that browsers without scripts show."""
_OWN_STYLE: Final = """
html, body { height: 100%; margin: 0; background: #fff; }
@media (prefers-color-scheme: dark) { html, body { background: #15191d; color: #e4e8ec; } }
#explain { height: 100vh; height: 100dvh; border: 0; border-radius: 0; }
noscript pre { padding: 1rem; overflow-x: auto; }
"""
FIELDS: Final = 50_000
"""The maximum number of rows in a tree; a note says how many are left out."""
_RUN: Final = 256
"""The maximum number of bytes shown for a field. Longer fields show only their first and last bytes."""
_ENDS: Final = (192, 32)
_INDEX: Final = re.compile(r"\[\d+\]")
_KINDS: Final = ("number", "text", "bytes", "null", "shape", "title", "error", "rest", "note")
_TABLE_ROWS: Final = 500
"""The maximum number of rows of a table."""
_TABLE_BYTES: Final = 16
"""The maximum number of bytes shown in a row of a table."""

_Note = Callable[[Node], str]


class Unit(NamedTuple):
    """A section of the page: one message, one frame, or all batches of an input."""

    facts: Sequence[str]
    """Lines of text about the section. If the page has several sections, the first line is the title."""
    traces: Sequence[Trace]


class _Row(NamedTuple):
    depth: int
    kind: str
    name: str
    type: str = ""
    value: str = ""
    offset: int = -1
    data: bytes = b""
    length: int = 0
    """The number of bytes of the whole node, including its child nodes."""
    space: int = 0
    """Which bytes `offset` refers to: 0 for the input, or N for the Nth run of decompressed bytes."""
    is_hidden: bool = False
    path: str | None = None
    """The row's path, or None if `tree.js` can build it from the parent's path and the name."""
    about: str = ""


def component() -> tuple[str, str]:
    """Return the style sheet and the script of the tree. A comment in the script explains how to call it."""
    here = files("tagwire.explain")
    return here.joinpath("tree.css").read_text(encoding="utf-8"), here.joinpath("tree.js").read_text(encoding="utf-8")


def page(units: Sequence[Unit], note: _Note | None = None) -> str:
    """Return an HTML page that shows the units. `note` returns the text to show next to a node, as in `annotate`."""
    style, script = component()
    style += _OWN_STYLE
    tree = tree_of(units, note)
    text = "\n".join(map(escape, _text_lines(units, note)))
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(tree["title"])}</title>
<style>{style}</style>
</head>
<body>
<main id="explain" data-tree="tree"></main>
<noscript><pre>{text}</pre></noscript>
<script type="application/json" id="tree">{_tree_json(tree)}</script>
<script>{script}</script>
</body>
</html>
"""


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _text_lines(units: Sequence[Unit], note: _Note | None) -> Iterator[str]:
    lines = _lines(units, note)
    yield from map(printable, islice(lines, _TEXT_LINES))
    if next(lines, None) is not None:
        yield "and more"


def _lines(units: Sequence[Unit], note: _Note | None) -> Iterator[str]:
    for unit in units:
        yield from (f"# {fact}" for fact in unit.facts)
        for trace in unit.traces:
            for line, row in annotated_lines(trace, note):
                if row is None or len(row.data) <= _TEXT_LINES:
                    yield line


def tree_of(units: Sequence[Unit], note: _Note | None = None) -> dict[str, Any]:
    """Return the tree of fields as JSON-compatible values.

    `rows` maps the name of each column to a list with one value per row. `about` maps row numbers to documentation. The
    bytes of a row are a hex string, or null if they are hidden. For more than `_RUN` bytes, they are a list of two hex
    strings, for the first and the last bytes. Unprintable characters in strings are escaped.
    """
    is_one = len(units) == 1
    found = _rows(units, note or (lambda node: ""), is_one=is_one)
    rows = list(islice(found, FIELDS))
    if left := sum(1 for _ in found):
        rows.append(_Row(0, "note", f"and {count(left, 'more row')} not shown"))
    return {
        "title": printable(_title(units)),
        "facts": [printable(fact) for fact in units[0].facts] if is_one else [],
        "kinds": _KINDS,
        "rows": _columns(rows),
        "about": {str(number): printable(row.about) for number, row in enumerate(rows) if row.about},
    }


def _title(units: Sequence[Unit]) -> str:
    traces = [trace for unit in units for trace in unit.traces]
    if not traces:
        return "No match" if units else "No bytes"
    return title_of(traces[0]) if len(traces) == 1 else f"{title_of(traces[0])}, and {len(traces) - 1} more"


def _columns(rows: Sequence[_Row]) -> dict[str, list[Any]]:
    return {
        "depth": [row.depth for row in rows],
        "kind": [_KINDS.index(row.kind) for row in rows],
        "name": [printable(row.name) for row in rows],
        "type": [printable(row.type) for row in rows],
        "value": [printable(row.value) for row in rows],
        "offset": [row.offset for row in rows],
        "size": [len(row.data) for row in rows],
        "length": [row.length for row in rows],
        "hex": [None if row.is_hidden else _hex(row.data) for row in rows],
        "space": [row.space for row in rows],
        "path": [row.path and printable(row.path) for row in rows],
    }


def _hex(data: bytes) -> str | list[str]:
    if len(data) <= _RUN:
        return data.hex()
    head, tail = _ENDS
    return [data[:head].hex(), data[-tail:].hex()]


def _rows(units: Sequence[Unit], note: _Note, *, is_one: bool) -> Iterator[_Row]:
    for number, unit in enumerate(units, 1):
        depth = 0
        if not is_one:
            title, *facts = unit.facts or [f"{number}"]
            title = "; ".join([title, *map(title_of, unit.traces)])
            yield _Row(0, "title", title, path="")
            depth = 1
            for fact in facts:
                yield _Row(depth, "note", fact, path="")
        for trace in unit.traces:
            yield from _trace_rows(trace, note, depth)


def _trace_rows(trace: Trace, note: _Note, depth: int) -> Iterator[_Row]:
    walk = _Walk(note)
    for number, part in enumerate(trace.parts):
        walk.abouts = abouts(trace.structs[number].cls) if number < len(trace.structs) else {}
        yield from walk.node(part, trace.data, depth, None, 0)
    end = trace.root.end
    error = trace.error
    if error is not None:
        end = max(error.offset, end)
        description = f"at byte {error.offset}: found {error.found}, expected {error.expected}"
        yield _Row(depth, "error", error.path or "error", "error", description, error.offset, path=error.path)
    if end < len(trace.data):
        rest = trace.data[end:]
        row = _Row(depth, "rest", "not read", "", count(len(rest), "byte"), end, rest, len(rest), path="")
        yield row._replace(is_hidden=trace.root.may_hide)
    elif error is None and not trace.canonical:
        yield _Row(depth, "note", "not canonical: encoding the value gives other bytes", path="")


class _Walk:
    def __init__(self, note: _Note) -> None:
        self.note = note
        self.spaces = 0
        self.abouts: Mapping[str, str] = {}

    def node(self, node: Node, data: bytes, depth: int, around: str | None, space: int) -> Iterator[_Row]:
        """Yield the rows of a node and its descendants. `around` is the parent's path, or None for a message."""
        size = node.header_length
        if not (size or node.length or node.complete):
            return  # nothing was read
        row = _node_row(node, around, "" if around is None and not size else value_of(node, self.note))
        own = data[node.offset : node.offset + size]
        is_section = node.path == around  # a section of tagged or optional fields has the same path as its struct
        about = "" if is_section or not self.abouts else self.abouts.get(_INDEX.sub("", node.path), "")
        yield row._replace(depth=depth, data=own, space=space, about=about)
        within, inner = data, space
        if node.decompressed is not None:
            self.spaces += 1
            within, inner = node.decompressed, self.spaces
        for child in node.parts():
            yield from self.node(child, within, depth + 1, node.path, inner)
        rest = node.trailer_length
        if rest:
            end = _Row(depth + 1, "shape", "(end)", offset=node.end - rest, data=data[node.end - rest : node.end])
            yield end._replace(length=rest, space=space, is_hidden=node.is_hidden, path=node.path)


def _node_row(node: Node, around: str | None, value: str) -> _Row:
    row = _Row(0, kind_of(node), "", "", value, node.offset, b"", node.length, is_hidden=node.is_hidden)
    if around is None:
        return row._replace(kind="title", name=node.type, path=node.path)
    if node.path == around:  # a section of tagged or optional fields
        return row._replace(name=node.type, path=node.path)
    name = node.path.removeprefix(around)
    if name != node.path or not around:
        return row._replace(name=name.removeprefix("."), type=node.type)
    return row._replace(name=node.path, type=node.type, path=node.path)


def _tree_json(tree: dict[str, Any]) -> str:
    """Return the tree as JSON that is safe inside a script element."""
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def trace_table(trace: Trace) -> str:
    """Return an HTML table of the lines that `annotate` returns. Long runs of bytes and long traces are shortened."""
    rows = rows_of(trace)
    lines = [_table_row(row) for row in islice(rows, _TABLE_ROWS)]
    left = sum(1 for _ in rows)
    more = f"<p>and {left} more</p>" if left > 0 else ""
    head = "".join(f'<th scope="col"{CELL}>{title}</th>' for title in TITLES)
    caption = f"<caption{CELL}>{escape(title_of(trace))}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _table_row(row: Row) -> str:
    if row.offset < 0:
        return f'<tr><th colspan="{len(TITLES)}"{CELL}>{escape(row.path)}</th></tr>'
    data = row.hex(row.data[:_TABLE_BYTES]) + ("..." if len(row.data) > _TABLE_BYTES else "")
    offset = f"{row.mark}{row.offset}" if row.data else "!"
    cells = (offset, f"<code>{data}</code>", escape(row.path or "."), escape(row.type), escape(row.value))
    return "<tr>" + "".join(f"<td{CELL}>{cell}</td>" for cell in cells) + "</tr>"
