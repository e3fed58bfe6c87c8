"""A filtered view of a listing, and the thread that reads the listing and extends the view while the browser shows it.

In each slice, the thread checks the visible entries for errors, filters entries, and reads more input. Only this thread
writes to a listing.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from contextvars import copy_context
from threading import Event, Thread
from time import monotonic, sleep
from typing import Final

from tagwire.errors import TagwireError
from tagwire_cli.input.filters import Term
from tagwire_workbench.browsing.listing import UNKNOWN, Listing, Test

_SLICE: Final = 0.05
"""Maximum number of seconds that `advance` filters entries before it returns."""
_SLEEP: Final = 0.001
"""Seconds to sleep after a slice, so that the user interface stays responsive."""
_PAUSE: Final = 0.2
"""Seconds to wait before checking again whether the file has grown."""


class View:
    """The entries of a listing that match all filter terms. Raises FilterError for a term with an invalid value."""

    def __init__(self, listing: Listing, terms: Sequence[Term] = (), text: str = "") -> None:
        self.listing = listing
        self.text = text
        self._found = array("i")
        self._tried = 0
        # Test columns first, because tests for text and errors must read the entry's bytes, which is slow.
        ordered = sorted(terms, key=lambda term: (term.key in ("", "is"), term.key == ""))
        self._tests = [_test(listing, term) for term in ordered]

    def __len__(self) -> int:
        return len(self._found) if self._tests else self.listing.count

    def __getitem__(self, index: int) -> int:
        return self._found[index] if self._tests else index

    @property
    def tried(self) -> int:
        """Number of entries tested so far. If there is no filter, all entries count as tested."""
        return self._tried if self._tests else self.listing.count

    def index_of(self, entry: int) -> int:
        """Return the line that shows an entry or, if the filter hides the entry, the next entry."""
        index = bisect_left(self._found, entry) if self._tests else entry
        return min(index, max(len(self) - 1, 0))

    def has(self, entry: int) -> bool:
        index = self.index_of(entry)
        return index < len(self) and self[index] == entry

    def advance(self) -> bool:
        """Apply the filter to the next slice of entries. Returns False if there were none left."""
        if not self._tests or self._tried >= self.listing.count:
            return False
        end = monotonic() + _SLICE
        while self._tried < self.listing.count and monotonic() < end:
            with suppress(TagwireError):  # raised if the entry's bytes can't be read, so it doesn't match
                if all(test(self._tried) for test in self._tests):
                    self._found.append(self._tried)
            self._tried += 1
        return True


def _test(listing: Listing, term: Term) -> Test:
    text = term.value.lower().encode("utf-8", "backslashreplace")
    found = (
        listing.test_of(term)
        if term.key
        else lambda entry: any(text in each.lower() for each in listing.searched_bytes(entry))
    )
    return (lambda entry: not found(entry)) if term.is_excluded else found


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
                sleep(_SLEEP)
            else:
                self._wake.wait(None if self.listing.is_done else _PAUSE)

    def work(self) -> bool:
        """Check, filter and read some entries. Return whether there was anything to do."""
        unknown = self._unknown()
        for entry in unknown:
            with suppress(TagwireError):  # the browser shows the error when the user selects the entry
                self.listing.has_error(entry)
        found = self.view.advance() or bool(unknown)
        if not self.listing.is_done:
            found = self.listing.advance() or found
        return found

    def _unknown(self) -> list[int]:
        states = self.listing.states
        return [entry for entry in self.visible if entry < len(states) and states[entry] == UNKNOWN]
