"""The browser: a list of entries at the top, and below it the fields and the bytes of the selected entry."""

import asyncio
import signal
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from shlex import quote
from typing import ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static

from tagwire.errors import TagwireError
from tagwire.explain.names import name_note
from tagwire.frames.registry import Registry
from tagwire.text_format import count, printable, whole_number
from tagwire_cli.explaining.explained import facts_of
from tagwire_cli.input.filters import FilterError, parse_filter
from tagwire_workbench.browsing.line_widgets import ByteView, EntryList, width_next_to
from tagwire_workbench.browsing.listing import ExplainedEntry, Listing
from tagwire_workbench.browsing.outline import Buffer, FieldTree, outline
from tagwire_workbench.browsing.view import Reader, View

_KEYS = """\
Keys
  up down PgUp PgDn Home End   move in the list, the fields or the bytes
  Tab, Shift+Tab, or a click   go to the next pane, or to the previous one
  left right                   in the bytes: move to a byte and its field
  Enter, Space                 in the fields: open or close a branch
  p    go to the response of a request, or to the request of a response
  g    go to a number
  /    filter             Escape  clear the filter
  !    only errors        a  only this API     c  only this connection
  f    stay on the last entry while the input grows
  ?    this help          q  quit
"""
_FILTERS = """\
  api=Fetch,Produce    either of them       version=12-   12 or higher
  -api=Heartbeat       anything but         is=error      entries with errors
  orders, text=a=b     bytes contain this text, even if they are compressed
"""
_LOG_FILTERS = """\
  offset=100-200       has these offsets    is=error      entries with errors
  codec=gzip,zstd      either of them       -is=control   anything but
  orders, text=a=b     a key, value or header contains this text
"""


def help_text(keys: Sequence[str]) -> str:
    """Return the help text for a listing that supports these filter keys."""
    names = "  ".join(f"{key}=" for key in keys)
    noun, filters = ("frame", _FILTERS) if "api" in keys else ("batch", _LOG_FILTERS)
    intro = f"A filter is a list of terms, separated by spaces; a {noun} must match all of them:\n  {names}"
    return f"{_KEYS}\n{intro}\n{filters}\n! marks errors."


class HelpScreen(ModalScreen[None]):
    """The help, shown until the user presses a key."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", "close", show=False)]

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(help_text(self._keys), markup=False)


_TICK: Final = 0.1
"""Seconds between updates of the display."""
_ERRORS_ONLY: Final = "is=error"


class Browser(App[None]):
    """The terminal application, which shows one listing of frames or batches."""

    CSS_PATH = "browser.tcss"
    TITLE = "tagwire browse"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "ask('filter')", "filter", key_display="/"),
        Binding("exclamation_mark", "errors", "errors", key_display="!"),
        Binding("p", "partner", "pair"),
        Binding("a", "narrow('api')", "this API", show=False),
        Binding("c", "narrow('conn')", "this connection", show=False),
        Binding("g", "ask('number')", "go to"),
        Binding("f", "follow", "follow"),
        Binding("escape", "leave", "clear", show=False),
        Binding("tab", "app.focus_next", "pane"),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, listing: Listing, registry: Registry, title: str, *, text: str = "", follows: bool) -> None:
        """Create a browser whose initial filter is `text`. Raises FilterError for an invalid filter."""
        super().__init__()
        self.listing = listing
        self.reader = Reader(listing)
        self.reader.view = View(listing, parse_filter(text, listing.keys), text)
        self.follows = follows
        """Whether the cursor stays on the last entry as the listing grows."""
        self._source = title
        self._note = name_note(registry)
        self._input_kind = "filter"
        self._states: list[int] = []
        """The error states of the visible entries, as last drawn."""
        # Keep references to the widgets: `query_one` does not find them while the help screen is shown.
        self.heading = Static(id="title", markup=False)
        self.entries = EntryList(self.reader.view, id="entries")
        self.facts = Static(id="facts", markup=False)
        self.fields = FieldTree(id="fields")
        self.bytes = ByteView(id="bytes")
        self.field = Static(id="field", markup=False)
        self.prompt = Input(id="prompt", select_on_focus=False)

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.entries
        yield self.facts
        with Horizontal(id="below"):
            yield self.fields
            yield self.bytes
        yield self.field
        yield self.prompt
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        # If the terminal has no colors, the style sheet marks the cursor with text attributes such as bold.
        self.set_class(self.no_color, "colorless")
        with suppress(AttributeError, RuntimeError):  # raised on Windows
            for each in (signal.SIGTERM, signal.SIGHUP):  # leave the alternate screen, as for `q`
                asyncio.get_running_loop().add_signal_handler(each, partial(self.exit, return_code=128 + each))
        self.entries.focus()
        self.reader.start()
        self._timer = self.set_interval(_TICK, self.take_over)
        self.take_over()

    def on_resize(self, event: Resize) -> None:
        self.bytes.styles.width = width_next_to(event.size.width)

    def on_unmount(self) -> None:
        self._timer.stop()
        self.reader.stop()

    def take_over(self) -> None:
        """Show what the reader thread has found since the last update."""
        entries = self.entries
        has_grown = entries.grow()
        if has_grown and self.follows:
            entries.go_to(len(entries.view) - 1)
        visible = entries.visible_entries
        if visible != self.reader.visible:
            self.reader.visible = visible
            self.reader.wake()
        states = [self.listing.states[entry] for entry in visible]
        if states != self._states:  # a visible entry has been checked for errors
            self._states = states
            entries.refresh()
        self.heading.update(self._heading())
        if not len(entries.view):
            is_all = self.listing.is_done and entries.view.tried >= self.listing.count
            text = "nothing matches the filter; Escape clears it" if entries.view.text else "the input is empty"
            self._show(None, text if is_all else "")

    def _heading(self) -> str:
        listing, view = self.listing, self.entries.view
        number = count(listing.count, listing.noun)
        parts = [f"{len(view)} of {number}" if view.text else number]
        if not listing.is_done and listing.progress < 1:
            parts.append(f"read {listing.progress:.0%}")
        if view.text:
            parts.append(f"filter {view.text}")
            if view.tried < listing.count:
                parts.append(f"tried {view.tried / listing.count:.0%}")
        if self.follows:
            parts.append("following")
        if listing.error:
            parts.append(f"! {listing.error}")
        return printable(f"{self._source}  {'  '.join(parts)}")

    def on_entry_list_chosen(self, event: EntryList.Chosen) -> None:
        if event.entry != self.entries.entry:
            return  # the cursor has moved on
        try:
            entry = self.listing.explain(event.entry)
        except TagwireError as error:
            self._show(None, f"! {error}")
            return
        facts = list(facts_of(entry.explained))
        if not entry.explained.error and entry.explained.failure:
            facts.append(f"! {entry.explained.failure}")
        self._show(entry, "; ".join(facts))

    def _show(self, entry: ExplainedEntry | None, text: str) -> None:
        self.facts.update(printable(text))
        self.field.update("")
        buffer, items = outline(entry, self._note) if entry else (Buffer("bytes", b""), [])
        self.bytes.show(buffer, 0, 0)
        self.fields.show(items)

    def on_field_tree_selected(self, event: FieldTree.Selected) -> None:
        item, cursor = event.item, self.fields.cursor_node
        if cursor is not None and cursor.data is item:  # the cursor has not moved on
            self.bytes.show(item.buffer, item.begin, item.end)
            facts = "  ".join(filter(None, (item.path, item.value, item.type if item.type != item.path else "")))
            self.field.update(f"{facts}\n{item.about}" if item.about else facts)

    def on_byte_view_pointed(self, event: ByteView.Pointed) -> None:
        self.fields.reveal(event.buffer, event.offset)

    def apply_filter(self, text: str) -> bool:
        """Show only the entries that match a filter. If the filter is invalid, notify the user and return False."""
        try:
            view = View(self.listing, parse_filter(text, self.listing.keys), text.strip())
        except FilterError as error:
            self.notify(str(error), severity="error", markup=False)
            return False
        entry = self.entries.entry
        view.advance()
        self.reader.view = view
        self.reader.wake()
        self.entries.show(view, entry)
        self.take_over()
        return True

    def action_errors(self) -> None:
        text = self.entries.view.text
        self.apply_filter(text.replace(_ERRORS_ONLY, "") if _ERRORS_ONLY in text else f"{text} {_ERRORS_ONLY}")

    def action_narrow(self, key: str) -> None:
        entry = self.entries.entry
        found = {} if entry is None else self.listing.neighbors(entry)
        key = key if key in found else next(iter(found), "")
        if key:
            self.apply_filter(f"{key}={quote(found[key])}")

    def action_ask(self, what: str) -> None:
        self._input_kind = what
        is_filter = what == "filter"
        self.prompt.value = self.entries.view.text if is_filter else ""
        self.prompt.cursor_position = len(self.prompt.value)  # Textual would otherwise keep the old cursor position
        keys = " ".join(f"{key}=" for key in self.listing.keys)
        self.prompt.placeholder = f"{keys} or text; Enter applies" if is_filter else "number"
        self.prompt.display = True
        self.prompt.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        take = self.apply_filter if self._input_kind == "filter" else self._go_to_number
        if take(event.value):
            self._close_prompt()

    def _close_prompt(self) -> None:
        self.prompt.display = False
        self.entries.focus()

    def action_leave(self) -> None:
        if self.prompt.display:
            self._close_prompt()
        elif self.entries.view.text:
            self.apply_filter("")

    def _go_to_number(self, text: str) -> bool:
        number = whole_number(text)
        entry = None if number is None else self.listing.entry_of(number)
        if entry is None:
            self.notify(f"no entry has number {text!r}", severity="error", markup=False)
            return False
        self._go_to(entry)
        return True

    def action_partner(self) -> None:
        entry = self.entries.entry
        partner = None if entry is None else self.listing.partner(entry)
        if partner is None:
            self.notify("this entry has no matching request or response", severity="warning", markup=False)
            return
        self._go_to(partner)

    def _go_to(self, entry: int) -> None:
        """Move the cursor to an entry. If the filter hides this entry, clear the filter first."""
        self.follows = False
        entries = self.entries
        if not entries.view.has(entry):
            self.apply_filter("")
        entries.go_to(entries.view.index_of(entry))

    def action_follow(self) -> None:
        self.follows = not self.follows
        if self.follows:
            self.entries.go_to(len(self.entries.view) - 1)
        self.take_over()

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.listing.keys))
