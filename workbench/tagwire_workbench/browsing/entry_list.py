"""The widget with the list of entries. Only visible lines are drawn, so the list may have any length."""

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.cells import set_cell_size
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tagwire_workbench.browsing.listing import INVALID, ListColumn
from tagwire_workbench.browsing.view import View


def line_of(columns: Sequence[ListColumn], cells: Sequence[str], width: int) -> str:
    """Return the cells as a line of the given width. The last column gets the remaining width."""
    line = ""
    for column, cell in zip(columns, cells, strict=True):
        if not column.width:
            line += cell
        elif column.is_right:
            line += f"{cell:>{column.width}} "
        else:
            line += set_cell_size(cell, column.width) + " "
    return set_cell_size(line, width)


class EntryList(ScrollView, can_focus=True):
    """Lines of entries with a cursor. A `Chosen` message is sent when the cursor moves to another entry."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "previous", show=False),
        Binding("down,j", "move(1)", "next", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "edge(False)", "first", show=False),
        Binding("end,G", "edge(True)", "last", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"list--cursor", "list--error", "list--title"}

    class Chosen(Message):
        def __init__(self, entry: int) -> None:
            super().__init__()
            self.entry = entry

    def __init__(self, view: View, **options: Any) -> None:
        super().__init__(**options)
        self.view = view
        self.cursor = 0
        """Index of the cursor's line in the view."""
        self._last_entry: int | None = None
        self._shown_length = -1

    @property
    def entry(self) -> int | None:
        """The entry under the cursor, or None if the list is empty."""
        return self.view[self.cursor] if self.cursor < len(self.view) else None

    @property
    def visible_entries(self) -> list[int]:
        top = self.scroll_offset.y
        return [self.view[index] for index in range(top, min(top + max(self._rows, 0), len(self.view)))]

    @property
    def _rows(self) -> int:
        return self.scrollable_content_region.height - 1

    def show(self, view: View, entry: int | None) -> None:
        """Show another view. Move the cursor to `entry` or, if the filter hides it, to the next entry in the view."""
        self.view = view
        self._shown_length = -1
        self.cursor = 0 if entry is None else view.index_of(entry)
        self.grow()
        self._reveal()

    def grow(self) -> bool:
        """Show entries that the view has found since the last call. Returns whether there are new entries."""
        if len(self.view) != self._shown_length:
            self._shown_length = len(self.view)
            self.virtual_size = Size(self.scrollable_content_region.width, self._shown_length + 1)
            self.refresh()
            self._tell()
            return True
        return False

    def go_to(self, index: int) -> None:
        before = self.cursor
        self.cursor = max(0, min(index, len(self.view) - 1))
        if before != self.cursor:
            self.refresh()
        self._reveal()
        self._tell()

    def _reveal(self) -> None:
        top, rows = self.scroll_offset.y, max(self._rows, 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + rows:
            self.scroll_to(y=self.cursor - rows + 1, animate=False, force=True)

    def _tell(self) -> None:
        entry = self.entry
        if entry is not None and entry != self._last_entry:
            self._last_entry = entry
            self.post_message(self.Chosen(entry))

    def action_move(self, by: int) -> None:
        self.go_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        self.go_to(self.cursor + by * max(self._rows, 1))

    def action_edge(self, last: bool) -> None:
        self.go_to(len(self.view) - 1 if last else 0)

    def on_click(self, event: events.Click) -> None:
        if event.y > 0:
            self.go_to(self.scroll_offset.y + event.y - 1)

    def on_resize(self) -> None:
        self._shown_length = -1
        self.grow()
        self._reveal()

    def render_line(self, y: int) -> Strip:
        """Return a line to draw: the column titles or an entry. `>` marks the cursor, and `!` marks an error."""
        width = self.scrollable_content_region.width
        listing = self.view.listing
        if y == 0:
            text = line_of(listing.columns, [column.title for column in listing.columns], max(width - 2, 0))
            return Strip([Segment(f"  {text}", self.get_component_rich_style("list--title"))], width)
        index = self.scroll_offset.y + y - 1
        if index >= len(self.view):
            return Strip.blank(width, self.rich_style)
        entry = self.view[index]
        has_error = listing.states[entry] == INVALID
        marks = (">" if index == self.cursor else " ") + ("!" if has_error else " ")
        text = marks + line_of(listing.columns, listing.cells(entry), max(width - 2, 0))
        style = self.rich_style
        if has_error:
            style = self.get_component_rich_style("list--error")
        if index == self.cursor:
            style += self.get_component_rich_style("list--cursor")
        return Strip([Segment(text, style)], width)
