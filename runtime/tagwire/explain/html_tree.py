"""Convert traces to the table that `tree.js` shows in browsers as a tree of fields.

A row is a node of the trace, a title, an error, or unread bytes. The script builds paths from the names of the rows,
and a hex dump from the bytes. Each byte is in exactly one row.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tagwire.explain.names import abouts
from tagwire.explain.nodes import Node
from tagwire.explain.text import kind_of, title_of, value_of
from tagwire.explain.trace import Trace
from tagwire.text_format import count, printable

FIELDS: Final = 50_000
"""The maximum number of rows in a tree; a note says how many are left out."""
RUN: Final = 256
"""The maximum number of bytes shown for a field. Longer fields show only their first and last bytes."""
_ENDS: Final = (192, 32)
_INDEX: Final = re.compile(r"\[\d+\]")
_KINDS: Final = ("number", "text", "bytes", "null", "shape", "title", "error", "rest", "note")

Note = Callable[[Node], str]


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


def tree_of(units: Sequence[Unit], note: Note | None = None) -> dict[str, Any]:
    """Return the tree of fields as JSON-compatible values.

    `rows` maps the name of each column to a list with one value per row. `about` maps row numbers to documentation. The
    bytes of a row are a hex string, or null if they are hidden. For more than `RUN` bytes, they are a list of two hex
    strings, for the first and the last bytes. Unprintable characters in strings are escaped.
    """
    is_one = len(units) == 1
    rows: list[_Row] = []
    left = 0
    for row in _rows(units, note or _silent, is_one=is_one):
        if len(rows) < FIELDS:
            rows.append(row)
        else:
            left += 1
    if left:
        rows.append(_Row(0, "note", f"and {count(left, 'more row')} not shown"))
    return {
        "title": printable(_title(units)),
        "facts": [printable(fact) for fact in units[0].facts] if is_one else [],
        "kinds": _KINDS,
        "rows": _columns(rows),
        "about": {str(number): printable(row.about) for number, row in enumerate(rows) if row.about},
    }


def _silent(node: Node) -> str:
    return ""


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
    if len(data) <= RUN:
        return data.hex()
    head, tail = _ENDS
    return [data[:head].hex(), data[-tail:].hex()]


def _rows(units: Sequence[Unit], note: Note, *, is_one: bool) -> Iterator[_Row]:
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


def _trace_rows(trace: Trace, note: Note, depth: int) -> Iterator[_Row]:
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
        yield _Row(depth, "note", "not canonical: writing the value gives other bytes", path="")


class _Walk:
    def __init__(self, note: Note) -> None:
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


def tree_json(tree: dict[str, Any]) -> str:
    """Return the tree as JSON that is safe inside a script element."""
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
