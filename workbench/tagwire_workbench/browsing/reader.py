"""The thread that reads a listing and applies a filter while the browser shows the results.

In each slice, the thread checks the visible entries for errors, filters entries, and reads more input. Only this thread
writes to a listing.
"""

from contextvars import copy_context
from threading import Event, Thread
from time import sleep
from typing import Final

from tagwire.errors import TagwireError
from tagwire_workbench.browsing.listing import UNKNOWN, Listing
from tagwire_workbench.browsing.view import View

_BREATH: Final = 0.001
"""Seconds to sleep after a slice, so that the user interface stays responsive."""
_PAUSE: Final = 0.2
"""Seconds to wait before checking again whether the file has grown."""


class Reader:
    """Reads a listing in a background thread, which `start` starts and `stop` ends."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.view = View(listing)
        """The filtered view to extend. The browser may replace it at any time."""
        self.visible: list[int] = []
        """The entries on the screen, which are checked for errors first."""
        self._wake = Event()
        self._stopped = Event()
        # The thread needs the caller's context variables, which determine whether sensitive values are shown.
        context = copy_context()
        self._thread = Thread(target=lambda: context.run(self._run), name="tagwire browse", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._wake.set()
        self._thread.join()
        self.listing.close()

    def wake(self) -> None:
        self._wake.set()

    @property
    def is_idle(self) -> bool:
        return self.listing.is_done and self.view.tried >= self.listing.count and not self._unknown()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            if self.work():
                sleep(_BREATH)
            else:
                self._wake.wait(None if self.listing.is_done else _PAUSE)

    def work(self) -> bool:
        """Check, filter and read some entries. Return whether there was anything to do."""
        found = self._check_visible()
        found = self.view.advance() or found
        if not self.listing.is_done:
            found = self.listing.advance() or found
        return found

    def _unknown(self) -> list[int]:
        states = self.listing.states
        return [entry for entry in self.visible if entry < len(states) and states[entry] == UNKNOWN]

    def _check_visible(self) -> bool:
        unknown = self._unknown()
        for entry in unknown:
            try:
                self.listing.has_error(entry)
            except TagwireError:  # the browser shows the error when the user selects the entry
                continue
        return bool(unknown)
