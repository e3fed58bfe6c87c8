"""The listings that the browser shows: frames of a capture, or batches of a log.

One thread reads a listing in slices while another thread shows it. The reading thread updates `count` last, so every
entry below `count` is complete. Only a few numbers are stored for each entry; its bytes are read again when the user
selects the entry.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from tagwire.explain.text import rows_of
from tagwire.explain.trace import Trace
from tagwire_cli.explaining.explained import Explained
from tagwire_cli.input.filters import Term

UNKNOWN: Final = 0
FINE: Final = 1
INVALID: Final = 2

Test = Callable[[int], bool]
"""A function that returns whether to show an entry."""


class ListColumn(NamedTuple):
    """A column of the list that the browser shows."""

    title: str
    width: int
    is_right: bool = False
    """Whether cells are right-aligned, like numbers."""


class ExplainedEntry(NamedTuple):
    """The bytes of an entry, and their explanation as printed by `tagwire explain`."""

    data: bytes
    explained: Explained


class Listing(ABC):
    """A list of entries, numbered from 0 in input order."""

    noun = "entry"
    """The word for an entry in the browser, such as "frame" or "batch"."""
    columns: Sequence[ListColumn] = ()
    keys: Sequence[str] = ()
    """The keys that filters can use, such as `api`."""

    def __init__(self) -> None:
        self.count = 0
        """Number of complete entries."""
        self.is_done = False
        """Whether no more entries will come."""
        self.error = ""
        """Why reading ended early, or "" if it did not."""
        self.states = bytearray()
        """The error state of each entry: UNKNOWN, FINE or INVALID."""
        self._work: Iterator[bool] | None = None

    def advance(self) -> bool:
        """Read the next slice. Return False if there is no more input for now."""
        if self._work is None:
            self._work = self.read()
        found = next(self._work, None)
        self.is_done = self.is_done or found is None
        return bool(found)

    def read_all(self) -> None:
        while self.advance():
            pass

    @abstractmethod
    def read(self) -> Iterator[bool]:
        """Read the input in slices. Yields True after each slice, or False if no more input is available yet."""

    @abstractmethod
    def cells(self, entry: int) -> Sequence[str]:
        """Return an entry's cells, one for each column."""

    @abstractmethod
    def explain(self, entry: int) -> ExplainedEntry:
        """Return the bytes of an entry and their explanation. Raises InputError if the file can no longer be read."""

    @abstractmethod
    def error_of(self, entry: int) -> str:
        """Return the error message if decoding an entry fails, or "" if it succeeds."""

    @abstractmethod
    def test_of(self, term: Term) -> Test:
        """Return a function that tests whether entries match a term. Raises FilterError for an invalid value."""

    @abstractmethod
    def searched_bytes(self, entry: int) -> Iterator[bytes]:
        """Yield the byte strings of an entry that a text filter searches, ignoring ASCII case."""

    @property
    @abstractmethod
    def progress(self) -> float:
        """The fraction of the input that has been read, from 0 to 1."""

    def number(self, entry: int) -> int:
        return entry + 1

    def entry_of(self, number: int) -> int | None:
        """Return the index of the first entry with this number or a higher one, or None if there is none."""
        return number - 1 if 1 <= number <= self.count else None

    def partner(self, entry: int) -> int | None:
        """Return the response of a request, or the request of a response. Return None if it isn't in the listing."""
        return None

    def neighbors(self, entry: int) -> dict[str, str]:
        """Return filters that select related entries, such as the other frames of a connection."""
        return {}

    def has_error(self, entry: int) -> bool:
        if self.states[entry] == UNKNOWN:
            self.states[entry] = INVALID if self.error_of(entry) else FINE
        return self.states[entry] == INVALID

    def close(self) -> None:  # noqa: B027  # most listings keep no files open
        """Close the files that the listing keeps open."""


def searched_bytes_of(entry: ExplainedEntry) -> Iterator[bytes]:
    """Yield an entry's bytes, in which secrets are zeroed, and the decompressed bytes of its compressed parts."""
    visible = bytearray(entry.data)
    for trace in entry.explained.traces:
        for start, end in hidden_ranges(trace):
            visible[start:end] = bytes(end - start)
    yield bytes(visible)
    for trace in entry.explained.traces:
        nodes = (node for part in trace.parts for node in part.walk())
        yield from (node.decompressed for node in nodes if node.decompressed is not None)


def hidden_ranges(trace: Trace) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sensitive value in the bytes of a trace."""
    if trace.root.may_hide:
        for row in rows_of(trace):
            if row.is_hidden and row.data and not row.mark:
                yield row.offset, row.offset + len(row.data)
