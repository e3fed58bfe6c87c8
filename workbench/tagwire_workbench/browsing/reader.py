"""One thread that reads a listing, and tries a filter on it, while the browser shows what there is.

It works in slices: first what is visible, then the filter, then more of the input. All of its
work is in one thread, so a listing is written by one thread only.
"""

from contextvars import copy_context
from threading import Event, Thread
from time import sleep
from typing import Final

from tagwire.errors import TagwireError
from tagwire_workbench.browsing.listing import UNKNOWN, Listing
from tagwire_workbench.browsing.view import View

_BREATH: Final = 0.001
"""Seconds after a slice of work, in which another thread gets the interpreter: keys must be quick meanwhile."""
_PAUSE: Final = 0.2
"""Seconds between two looks at a file that may grow."""


class Reader:
    """Reads a listing in a thread, between `start` and `stop`."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.view = View(listing)
        """What is shown; may be replaced at any time."""
        self.visible: list[int] = []
        """Entries whose faults are to be known first."""
        self._wake = Event()
        self._stopped = Event()
        # Whether sensitive values are shown is said by the context.
        context = copy_context()
        self._thread = Thread(target=lambda: context.run(self._run), name="tagwire browse", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after the slice that is being worked on."""
        self._stopped.set()
        self._wake.set()
        self._thread.join()
        self.listing.close()

    def wake(self) -> None:
        """Say that there is something new to do."""
        self._wake.set()

    @property
    def is_idle(self) -> bool:
        """Whether everything that is there now was read and tried."""
        return self.listing.is_done and self.view.tried >= self.listing.count and not self._unknown()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            if self.work():
                sleep(_BREATH)
            else:
                self._wake.wait(None if self.listing.is_done else _PAUSE)

    def work(self) -> bool:
        """A slice of everything; returns whether there was something to do."""
        found = self._check_visible()
        found = self.view.advance() or found
        if not self.listing.is_done:
            found = self.listing.advance() or found
        return found

    def _unknown(self) -> list[int]:
        states = self.listing.states
        return [entry for entry in self.visible if entry < len(states) and states[entry] == UNKNOWN]

    def _check_visible(self) -> bool:
        wanted = self._unknown()
        for entry in wanted:
            try:
                self.listing.is_faulty(entry)
            except TagwireError:  # said when it is looked at
                continue
        return bool(wanted)
