"""The widgets that draw lines: the list of entries, and the bytes of the selected entry.

Only visible lines are drawn, so a list may have any length.
"""

from bisect import bisect_right
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
from tagwire_workbench.browsing.outline import Buffer
from tagwire_workbench.browsing.view import View


def _line_of(columns: Sequence[ListColumn], cells: Sequence[str], width: int) -> str:
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
            self._post_choice()
            return True
        return False

    def go_to(self, index: int) -> None:
        before = self.cursor
        self.cursor = max(0, min(index, len(self.view) - 1))
        if before != self.cursor:
            self.refresh()
        self._reveal()
        self._post_choice()

    def _reveal(self) -> None:
        top, rows = self.scroll_offset.y, max(self._rows, 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + rows:
            self.scroll_to(y=self.cursor - rows + 1, animate=False, force=True)

    def _post_choice(self) -> None:
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
            text = _line_of(listing.columns, [column.title for column in listing.columns], max(width - 2, 0))
            return Strip([Segment(f"  {text}", self.get_component_rich_style("list--title"))], width)
        index = self.scroll_offset.y + y - 1
        if index >= len(self.view):
            return Strip.blank(width, self.rich_style)
        entry = self.view[index]
        has_error = listing.states[entry] == INVALID
        marks = (">" if index == self.cursor else " ") + ("!" if has_error else " ")
        text = marks + _line_of(listing.columns, listing.cells(entry), max(width - 2, 0))
        style = self.rich_style
        if has_error:
            style = self.get_component_rich_style("list--error")
        if index == self.cursor:
            style += self.get_component_rich_style("list--cursor")
        return Strip([Segment(text, style)], width)


_OFFSET = 6
_WIDTHS = (16, 8, 4, 2)
_EMPTY = Buffer("bytes", b"")


def _width(number: int) -> int:
    """Return the width of a line with `number` bytes. Each byte takes three columns of hex and one of text."""
    return _OFFSET + 4 * number + 2


def width_next_to(total: int) -> int:
    """Return the width of the byte pane with its scroll bar: about half of the terminal width `total`."""
    return next((_width(each) + 1 for each in _WIDTHS if _width(each) + 1 <= total * 0.55), total // 2)


class ByteView(ScrollView, can_focus=True):
    """Lines of bytes as hex and text, with a cursor, and with brackets around the selected field.

    A `Pointed` message is sent when the user moves the cursor to another byte.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1)", "previous byte", show=False),
        Binding("right,l", "move(1)", "next byte", show=False),
        Binding("up,k", "lines(-1)", "line up", show=False),
        Binding("down,j", "lines(1)", "line down", show=False),
        Binding("pageup", "pages(-1)", "page up", show=False),
        Binding("pagedown", "pages(1)", "page down", show=False),
        Binding("home", "edge(False)", "first byte", show=False),
        Binding("end,G", "edge(True)", "last byte", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"bytes--field", "bytes--cursor", "bytes--title", "bytes--offset"}

    class Pointed(Message):
        def __init__(self, buffer: Buffer, offset: int) -> None:
            super().__init__()
            self.buffer = buffer
            self.offset = offset

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.buffer = _EMPTY
        self.begin = self.end = self.cursor = 0

    @property
    def bytes_a_line(self) -> int:
        width = self.scrollable_content_region.width
        return next((each for each in _WIDTHS if _width(each) <= width), _WIDTHS[-1])

    def show(self, buffer: Buffer, begin: int, end: int) -> None:
        """Show a buffer, with brackets around the selected field, which extends from `begin` to `end`."""
        if buffer is not self.buffer:
            self.buffer = buffer
            self.scroll_to(y=0, animate=False, force=True)
            self.cursor = begin
        self.begin, self.end = begin, end
        if not begin <= self.cursor < max(end, begin + 1):
            self.cursor = begin
        self._fit()
        self._reveal(self.cursor)

    def _fit(self) -> None:
        lines = -(-len(self.buffer.data) // self.bytes_a_line)
        self.virtual_size = Size(self.scrollable_content_region.width, lines + 1)
        self.refresh()

    def _reveal(self, offset: int) -> None:
        line, top = offset // self.bytes_a_line, self.scroll_offset.y
        rows = max(self.scrollable_content_region.height - 1, 1)
        if not top <= line < top + rows:
            self.scroll_to(y=max(line - rows // 3, 0), animate=False, force=True)

    def _point(self, offset: int) -> None:
        last = len(self.buffer.data) - 1
        if last < 0:
            return
        self.cursor = max(0, min(offset, last))
        self._reveal(self.cursor)
        self.refresh()
        self.post_message(self.Pointed(self.buffer, self.cursor))

    def action_move(self, by: int) -> None:
        self._point(self.cursor + by)

    def action_lines(self, by: int) -> None:
        self._point(self.cursor + by * self.bytes_a_line)

    def action_pages(self, by: int) -> None:
        self._point(self.cursor + by * self.bytes_a_line * max(self.scrollable_content_region.height - 1, 1))

    def action_edge(self, last: bool) -> None:
        self._point(len(self.buffer.data) if last else 0)

    def on_click(self, event: events.Click) -> None:
        number = self.bytes_a_line
        column = event.x - _OFFSET  # a click on the bracket before a byte also selects the byte
        index = column // 3 if column < 3 * number else column - 3 * number - 2
        offset = (self.scroll_offset.y + event.y - 1) * number + index
        if event.y > 0 and 0 <= index < number and offset < len(self.buffer.data):
            self._point(offset)

    def on_resize(self) -> None:
        self._fit()

    def render_line(self, y: int) -> Strip:
        """Return the title (line 0) or a line of bytes: offset, hex and text."""
        width = self.scrollable_content_region.width
        if y == 0:
            shown_range = f" {self.begin}-{self.end - 1} of" if self.begin < self.end else ""
            title = f"{self.buffer.name}{shown_range} {len(self.buffer.data)}"
            style = self.get_component_rich_style("bytes--title")
            return Strip([Segment(title, style)]).adjust_cell_length(width, style)
        number = self.bytes_a_line
        start = (self.scroll_offset.y + y - 1) * number
        part = self.buffer.data[start : start + number]
        if not part:
            return Strip.blank(width, self.rich_style)
        segments = [Segment(f"{start:>6}", self.get_component_rich_style("bytes--offset"))]
        segments += self._hex(start, part)
        segments.append(Segment("   " * (number - len(part)) + " ", self.rich_style))
        for offset, each in enumerate(part, start):
            character = "*" if self._is_hidden(offset) else chr(each) if 0x20 <= each < 0x7F else "."
            segments.append(Segment(character, self._style(offset)))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _hex(self, start: int, part: bytes) -> list[Segment]:
        found = []
        for offset, each in enumerate(part, start):
            before = "[" if offset == self.begin < self.end else "]" if offset == self.end > self.begin else " "
            found.append(Segment(before, self.rich_style))
            found.append(Segment("**" if self._is_hidden(offset) else f"{each:02x}", self._style(offset)))
        end = start + len(part)
        found.append(Segment("]" if end == self.end > self.begin else " ", self.rich_style))
        return found

    def _style(self, offset: int) -> Any:
        style = self.rich_style
        if self.begin <= offset < self.end:
            style = self.get_component_rich_style("bytes--field")
        if offset == self.cursor and self.has_focus:
            style += self.get_component_rich_style("bytes--cursor")
        return style

    def _is_hidden(self, offset: int) -> bool:
        ranges = self.buffer.hidden
        index = bisect_right(ranges, offset, key=lambda each: each[0]) - 1
        return index >= 0 and offset < ranges[index][1]
