"""The field tree as a widget; branches are filled when they are opened."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text
from textual.message import Message
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from tagwire_workbench.browsing.outline import Buffer, Item, way_to

_OPENED = 40
"""Items initially shown."""
_STYLES = {
    "number": "cyan",
    "text": "green",
    "bytes": "magenta",
    "null": "dim",
    "fault": "bold red",
    "rest": "red",
    "title": "bold",
}


class FieldTree(Tree[Item]):
    """The fields of an entry. `Selected` is sent when the cursor moves to another field."""

    class Selected(Message):
        """A field is under the cursor."""

        def __init__(self, item: Item) -> None:
            super().__init__()
            self.item = item

    def __init__(self, **words: Any) -> None:
        super().__init__("", **words)
        self.show_root = False
        self.guide_depth = 2

    def show(self, items: Sequence[Item]) -> None:
        """Show another entry, with its short branches opened, or the path to an error."""
        self.clear()
        self.root.expand()
        self._add(self.root, items)
        nodes = list(self.root.children)
        first = next((node for node in reversed(nodes) if node.data is not None and node.data.has_children), None)
        fault = next((node for node in nodes if node.data is not None and node.data.kind == "fault"), None)
        if fault is not None and fault.data is not None:
            self._open_way(self.root, way_to(items, fault.data.buffer, fault.data.begin - 1))
        elif first is not None:
            self._open_short(first)
        self.scroll_home(animate=False)
        self._put_cursor(fault or first or next(iter(nodes), None))

    def _open_short(self, node: TreeNode[Item]) -> None:
        """Open a branch and its subbranches as long as everything is short."""
        room, waiting = _OPENED, [node]
        while waiting:
            node = waiting.pop(0)
            if node.data is None or not node.data.has_children or len(node.data.children) > room:
                continue
            room -= len(node.data.children)
            self._open(node)
            waiting += node.children

    def _open_way(self, node: TreeNode[Item], way: Sequence[Item]) -> TreeNode[Item]:
        """Open the branches on a path, and return the node at its end."""
        for item in way:
            if node is not self.root:
                self._open(node)
            node = next(child for child in node.children if child.data is item)
        return node

    def _put_cursor(self, node: TreeNode[Item] | None) -> None:
        assert self.last_line >= -1  # reading `last_line` assigns lines to added nodes
        self.move_cursor(node)

    def _add(self, node: TreeNode[Item], items: Sequence[Item]) -> None:
        for item in items:
            if item.has_children:
                node.add(_label(item), item)
            else:
                node.add_leaf(_label(item), item)

    def _open(self, node: TreeNode[Item]) -> None:
        if node.data is not None and not node.children:
            self._add(node, node.data.children)
        node.expand()

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Item]) -> None:
        """Fill a branch."""
        if event.node.data is not None and not event.node.children:
            self._add(event.node, event.node.data.children)

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Item]) -> None:
        """Send the selected field."""
        if event.node.data is not None and event.node is self.cursor_node:
            self.post_message(self.Selected(event.node.data))

    def reveal(self, buffer: Buffer, offset: int) -> None:
        """Put the cursor on the field of a byte, opening the branches around it."""
        around = self.cursor_node or self.root
        while around.parent is not None and (around.data is None or around.data.buffer is buffer):
            around = around.parent
        items = [child.data for child in around.children if child.data is not None]
        if around.data is not None:
            items = around.data.children
        way = way_to(items, buffer, offset)
        if way:
            self._put_cursor(self._open_way(around, way))


def _label(item: Item) -> Text:
    label = Text(item.name, style="bold" if item.kind == "title" else "", no_wrap=True)
    if item.kind == "fault":
        label.stylize(_STYLES["fault"])
    if item.value:
        label.append("  ")
        label.append(item.value, style=_STYLES.get(item.kind, ""))
    if item.type and item.type != item.name:
        label.append(f"  {item.type}", style="dim")
    return label
