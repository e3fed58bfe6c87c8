"""The field tree of an entry: the value of each field, and the position of its bytes.

Items are created when their parent is opened. A very long array is divided into ranges of elements.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Any, Final, NamedTuple

from rich.text import Text
from textual.message import Message
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from tagwire.explain.names import abouts
from tagwire.explain.nodes import Node
from tagwire.explain.text import kind_of, title_of, value_of
from tagwire.explain.trace import Trace
from tagwire.text_format import count, printable, shown
from tagwire_cli.explaining.explained import facts_of
from tagwire_workbench.browsing.listing import ExplainedEntry, hidden_ranges

_AT_ONCE: Final = 1000
_LONGEST_TEXT: Final = 1000
"""Bytes longer than this are never shown as text."""
_TRIED_FIELDS: Final = 8
"""Number of fields to try when looking for the label of an array element."""
_INDEX: Final = re.compile(r"\[\d+\]")

Note = Callable[[Node], str]


class _Details(NamedTuple):
    note: Note
    abouts: Mapping[str, str]
    """The `about` string of each field. The keys are field paths without array indices."""

    def about(self, node: Node) -> str:
        return self.abouts.get(_INDEX.sub("", node.path), "") if node.path else ""


class Buffer(NamedTuple):
    """The bytes of a capture entry, or bytes decompressed from them."""

    name: str
    data: bytes
    hidden: Sequence[tuple[int, int]] = ()
    """The ranges of sensitive bytes, which are not shown."""


@dataclass(eq=False)
class OutlineLine:
    """A line of the field tree."""

    name: str
    value: str
    type: str
    kind: str
    """A kind of `tagwire.explain.text.Row`, or "range" for a range of array elements."""
    buffer: Buffer = field(repr=False)
    begin: int
    end: int
    make: Callable[[], Iterator["OutlineLine"]] | None = field(default=None, repr=False)
    """Creates the child items, or None if there are none."""
    path: str = ""
    """The field's path from the message, or the name of any other item."""
    about: str = ""

    def __post_init__(self) -> None:
        self.path = self.path or self.name

    @cached_property
    def children(self) -> "list[OutlineLine]":
        """The child items, created on first access."""
        return list(self.make()) if self.make else []


def outline(entry: ExplainedEntry, note: Note) -> tuple[Buffer, list[OutlineLine]]:
    """Return an entry's bytes and field tree. The tree also contains errors and unread bytes."""
    traces = entry.explained.traces
    hidden = [each for trace in traces for each in hidden_ranges(trace)]
    buffer = Buffer("bytes", entry.data, hidden)
    items = [item for trace in traces for item in _items(trace, buffer, note)]
    if not traces:
        if entry.explained.failure:
            items.append(OutlineLine("!", printable(entry.explained.failure), "", "error", buffer, 0, 0))
        if entry.explained.guess is not None:  # show the guessed message type and the reason
            facts = entry.explained._replace(title="", error="")  # the tree already shows the error as an item
            items += [OutlineLine(printable(each), "", "", "null", buffer, 0, 0) for each in facts_of(facts)]
        if entry.data:
            items.append(_rest(buffer, 0, len(entry.data)))
    return buffer, items


def _items(trace: Trace, buffer: Buffer, note: Note) -> Iterator[OutlineLine]:
    buffer = buffer if len(trace.data) == len(buffer.data) else Buffer(title_of(trace), trace.data)
    for number, part in enumerate(trace.parts):
        title = part.type if part is not trace.root else title_of(trace).partition(":")[0]
        known = abouts(trace.structs[number].cls) if number < len(trace.structs) else {}
        yield _item(part, title, buffer, _Details(note, known))
    end = trace.root.end
    error = trace.error
    if error is not None:
        end = max(error.offset, end)
        message = f"{error.path or trace.message_name}: found {error.found}, expected {error.expected}"
        yield OutlineLine(
            "!", printable(message), f"at byte {error.offset}", "error", buffer, error.offset, error.offset
        )
    if end < len(trace.data):
        yield _rest(buffer, end, len(trace.data))


def _rest(buffer: Buffer, begin: int, end: int) -> OutlineLine:
    return OutlineLine("not read", count(end - begin, "byte"), "", "rest", buffer, begin, end)


def _item(node: Node, name: str, buffer: Buffer, details: _Details) -> OutlineLine:
    inside = buffer if node.decompressed is None else Buffer(f"{node.path}, decompressed", node.decompressed)
    is_branch = next(node.parts(), None) is not None
    make = (lambda: _children(node, inside, details)) if is_branch else None
    value = _telling(node, details) if is_branch and name.startswith("[") else _value(node, details)
    span = node.offset, node.end
    path, about = printable(node.path), printable(details.about(node))
    return OutlineLine(printable(name), value, node.type, kind_of(node), buffer, *span, make, path, about)


def _value(node: Node, details: _Details) -> str:
    value = node.value
    if isinstance(value, bytes | bytearray | memoryview) and 0 < len(value) <= _LONGEST_TEXT and not node.is_hidden:
        text = bytes(value).decode("utf-8", "replace")
        if text.isprintable() and "\N{REPLACEMENT CHARACTER}" not in text:
            return shown(text)
    return printable(value_of(node, details.note))


def _telling(node: Node, details: _Details) -> str:
    """Return the text that identifies an array element in the tree.

    For an element without fields, this is its value. Otherwise, it is the first field with a string or, if there is
    none, the first field with a number.
    """
    found = _value(node, details)
    for child in islice(node.parts(), 0 if found else _TRIED_FIELDS):
        value = _value(child, details)
        if "'" in value:
            return f"{_name(child, node)} {value}"
        if kind_of(child) == "number":
            found = found or f"{_name(child, node)} {value}"
    return found


def _children(node: Node, buffer: Buffer, details: _Details) -> Iterator[OutlineLine]:
    starts = [each.offset for each in islice(node.parts(), 0, None, _AT_ONCE)]
    if len(starts) == 1:
        yield from _elements(node, buffer, details)
        return
    number = sum(1 for _ in node.parts())
    ends = [*starts[1:], node.end if node.decompressed is None else len(node.decompressed)]
    for index, span in enumerate(zip(starts, ends, strict=True)):
        first = index * _AT_ONCE
        end = min(first + _AT_ONCE, number)
        make = partial(_elements, node, buffer, details, first, end)
        yield OutlineLine(f"[{first}-{end - 1}]", "", "", "range", buffer, *span, make)


def _elements(
    node: Node, buffer: Buffer, details: _Details, first: int = 0, end: int | None = None
) -> Iterator[OutlineLine]:
    for child in islice(node.parts(), first, end):
        yield _item(child, _name(child, node), buffer, details)


def _name(child: Node, around: Node) -> str:
    return child.path.removeprefix(around.path).lstrip(".") or child.type


def path_to(items: Sequence[OutlineLine], buffer: Buffer, offset: int) -> list[OutlineLine]:
    """Return the items from the root to the innermost item that contains a byte, or [] if no item contains it."""
    for item in items:
        if item.buffer is buffer and item.begin <= offset < item.end:
            return [item, *path_to(item.children, buffer, offset)]
    return []


_OPENED = 40
"""Number of items to open when an entry is shown."""
_STYLES = {
    "number": "cyan",
    "text": "green",
    "bytes": "magenta",
    "null": "dim",
    "error": "bold red",
    "rest": "red",
    "title": "bold",
}


class FieldTree(Tree[OutlineLine]):
    """The tree of an entry's fields. A `Selected` message is sent when the cursor moves to another field."""

    class Selected(Message):
        def __init__(self, item: OutlineLine) -> None:
            super().__init__()
            self.item = item

    def __init__(self, **options: Any) -> None:
        super().__init__("", **options)
        self.show_root = False
        self.guide_depth = 2

    def show(self, items: Sequence[OutlineLine]) -> None:
        """Show another capture entry. Open the branches around its error, or some short branches if it has no error."""
        self.clear()
        self.root.expand()
        self._add(self.root, items)
        nodes = list(self.root.children)
        first = next((node for node in reversed(nodes) if node.data is not None and node.data.make), None)
        error = next((node for node in nodes if node.data is not None and node.data.kind == "error"), None)
        if error is not None and error.data is not None:
            self._open_path(self.root, path_to(items, error.data.buffer, error.data.begin - 1))
        elif first is not None:
            self._open_short(first)
        self.scroll_home(animate=False)
        self._put_cursor(error or first or next(iter(nodes), None))

    def _open_short(self, node: TreeNode[OutlineLine]) -> None:
        """Open a branch and as many of its subbranches as possible without showing more than `_OPENED` items."""
        room, waiting = _OPENED, [node]
        while waiting:
            node = waiting.pop(0)
            if node.data is None or not node.data.make or len(node.data.children) > room:
                continue
            room -= len(node.data.children)
            self._open(node)
            waiting += node.children

    def _open_path(self, node: TreeNode[OutlineLine], path: Sequence[OutlineLine]) -> TreeNode[OutlineLine]:
        for item in path:
            if node is not self.root:
                self._open(node)
            node = next(child for child in node.children if child.data is item)
        return node

    def _put_cursor(self, node: TreeNode[OutlineLine] | None) -> None:
        # Reading `last_line` makes Textual number the new nodes; otherwise, the cursor couldn't move to them.
        assert self.last_line >= -1
        self.move_cursor(node)

    def _add(self, node: TreeNode[OutlineLine], items: Sequence[OutlineLine]) -> None:
        for item in items:
            if item.make is not None:
                node.add(_label(item), item)
            else:
                node.add_leaf(_label(item), item)

    def _open(self, node: TreeNode[OutlineLine]) -> None:
        if node.data is not None and not node.children:
            self._add(node, node.data.children)
        node.expand()

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[OutlineLine]) -> None:
        if event.node.data is not None and not event.node.children:
            self._add(event.node, event.node.data.children)

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[OutlineLine]) -> None:
        if event.node.data is not None and event.node is self.cursor_node:
            self.post_message(self.Selected(event.node.data))

    def reveal(self, buffer: Buffer, offset: int) -> None:
        """Move the cursor to the field that contains a byte, opening the branches around the field."""
        around = self.cursor_node or self.root
        while around.parent is not None and (around.data is None or around.data.buffer is buffer):
            around = around.parent
        items = [child.data for child in around.children if child.data is not None]
        if around.data is not None:
            items = around.data.children
        path = path_to(items, buffer, offset)
        if path:
            self._put_cursor(self._open_path(around, path))


def _label(item: OutlineLine) -> Text:
    label = Text(item.name, style="bold" if item.kind == "title" else "", no_wrap=True)
    if item.kind == "error":
        label.stylize(_STYLES["error"])
    if item.value:
        label.append("  ")
        label.append(item.value, style=_STYLES.get(item.kind, ""))
    if item.type and item.type != item.name:
        label.append(f"  {item.type}", style="dim")
    return label
