"""The help screen, which explains keys and filters."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

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
A filter is a list of terms, separated by spaces; a frame must match all of them:
  {keys}
  api=Fetch,Produce    either of them       version=12-   12 or higher
  -api=Heartbeat       anything but         is=error      entries with errors
  orders, text=a=b     bytes contain this text, even if they are compressed
"""
_LOG_FILTERS = """\
A filter is a list of terms, separated by spaces; a batch must match all of them:
  {keys}
  offset=100-200       has these offsets    is=error      entries with errors
  codec=gzip,zstd      either of them       -is=control   anything but
  orders, text=a=b     a key, value or header contains this text
"""


def help_text(keys: Sequence[str]) -> str:
    """Return the help text for a listing that supports these filter keys."""
    names = "  ".join(f"{key}=" for key in keys)
    return f"{_KEYS}\n{(_FILTERS if 'api' in keys else _LOG_FILTERS).format(keys=names)}\n! marks errors."


class HelpScreen(ModalScreen[None]):
    """The help, shown until the user presses a key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss", "close", show=False),
    ]

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(help_text(self._keys), markup=False)
