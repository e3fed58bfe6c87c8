"""A filtered view of a listing: the numbers of matching entries, found in slices as the listing grows."""

from array import array
from collections.abc import Sequence
from time import monotonic
from typing import Final

from tagwire.errors import TagwireError
from tagwire_cli.input.filters import Term
from tagwire_workbench.browsing.listing import Listing, Test, contains

_SLICE: Final = 0.05
"""Maximum number of seconds that `advance` filters entries before it returns."""
_CHEAP: Final = 256
"""Number of entries to test between checks of the clock."""


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
        self.skipped = ""
        """The last error that prevented the test of an entry, or "" if there was none."""

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
        if not self._tests:
            return min(entry, max(len(self) - 1, 0))
        from bisect import bisect_left

        return min(bisect_left(self._found, entry), max(len(self) - 1, 0))

    def has(self, entry: int) -> bool:
        index = self.index_of(entry)
        return index < len(self) and self[index] == entry

    def advance(self) -> bool:
        """Apply the filter to the next slice of entries. Returns False if there were none left."""
        if not self._tests or self._tried >= self.listing.count:
            return False
        end = monotonic() + _SLICE
        while monotonic() < end and self._tried < self.listing.count:
            for entry in range(self._tried, min(self._tried + _CHEAP, self.listing.count)):
                if self._matches(entry):
                    self._found.append(entry)
                self._tried = entry + 1
                if monotonic() > end:
                    break
        return True

    def _matches(self, entry: int) -> bool:
        try:
            return all(test(entry) for test in self._tests)
        except TagwireError as error:
            self.skipped = str(error)
            return False


def _test(listing: Listing, term: Term) -> Test:
    found = _text_test(listing, term) if not term.key else listing.test_of(term)
    return (lambda entry: not found(entry)) if term.is_excluded else found


def _text_test(listing: Listing, term: Term) -> Test:
    search_bytes = term.value.lower().encode("utf-8", "backslashreplace")
    return lambda entry: contains(listing.searched_bytes(entry), search_bytes)
