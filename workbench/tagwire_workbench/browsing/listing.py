"""What the browser shows a list of: the frames of a capture, or the batches of a log.

A listing is read in slices of work by one thread (`tagwire_workbench.browsing.reader`) while another
shows what there is. Numbers of entries are published last, so an entry below `count` is
complete. An entry is a few numbers in columns; its bytes are read again when it is looked at.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from tagwire_cli.explaining.explained import Explained
from tagwire_cli.input.filters import Term

UNKNOWN: Final = 0
FINE: Final = 1
FAULTY: Final = 2

Test = Callable[[int], bool]
"""Whether an entry is to be shown."""


class Column(NamedTuple):
    """A column of the list."""

    title: str
    width: int
    is_right: bool = False
    """Whether its texts end at the same place, as numbers do."""


class Looked(NamedTuple):
    """An entry with all of its bytes."""

    data: bytes
    explained: Explained


class Listing(ABC):
    """Entries, numbered from 0 in the order of the input."""

    noun = "entry"
    """What an entry is called."""
    columns: Sequence[Column] = ()
    keys: Sequence[str] = ()
    """What filters may name."""

    def __init__(self) -> None:
        self.count = 0
        """Entries that are complete."""
        self.is_done = False
        """Whether no more will come."""
        self.fault = ""
        """Why reading ended before the input did; "" if it did not."""
        self.states = bytearray()
        """Whether each entry is at fault, where that is known: UNKNOWN, FINE or FAULTY."""
        self._work: Iterator[bool] | None = None

    def advance(self) -> bool:
        """Read some more; returns whether there was something."""
        if self._work is None:
            self._work = self.read()
        found = next(self._work, None)
        self.is_done = self.is_done or found is None
        return bool(found)

    def read_all(self) -> None:
        """Read what there is now."""
        while self.advance():
            pass

    @abstractmethod
    def read(self) -> Iterator[bool]:
        """Read the input in slices: True after each, False where the input has no more for now."""

    @abstractmethod
    def cells(self, entry: int) -> Sequence[str]:
        """The texts of an entry, one for each column."""

    @abstractmethod
    def look(self, entry: int) -> Looked:
        """An entry with its bytes. Raises InputError where the file can't be read any more."""

    @abstractmethod
    def find_fault(self, entry: int) -> str:
        """Why an entry can't be read; "" if it can."""

    @abstractmethod
    def test_of(self, term: Term) -> Test:
        """The test of a filter's term. Raises FilterError for a value that makes no sense."""

    @abstractmethod
    def texts(self, entry: int) -> Iterator[bytes]:
        """What is searched for text."""

    @property
    @abstractmethod
    def progress(self) -> float:
        """How much of the input was read, up to 1."""

    def number(self, entry: int) -> int:
        """What an entry is called: its place in the input, from 1."""
        return entry + 1

    def entry_of(self, number: int) -> int | None:
        """The entry of a number, or the next one; None if there is none."""
        return number - 1 if 1 <= number <= self.count else None

    def partner(self, entry: int) -> int | None:
        """The response to a request, or the request of a response."""
        return None

    def neighbours(self, entry: int) -> dict[str, str]:
        """Filters that show what an entry has in common with others, by what the key is called."""
        return {}

    def is_faulty(self, entry: int) -> bool:
        """Whether an entry is at fault; what is found is kept."""
        if self.states[entry] == UNKNOWN:
            self.states[entry] = FAULTY if self.find_fault(entry) else FINE
        return self.states[entry] == FAULTY

    @abstractmethod
    def close(self) -> None:
        """Close what is open."""
