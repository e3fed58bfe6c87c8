"""The state of a coordinator's log: the last value of every key, with transactions resolved.

The records of a transaction count once its commit marker is read, and never after an abort. A record keeps its own
offset, not the marker's: a value written in between, outside the transaction, is newer.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tagwire.log.topics import Entry

_ABORT: Final = "abort"
_COMMIT: Final = "commit"


class Kept(NamedTuple):
    """The last value of a key."""

    offset: int
    """The offset of the record."""
    entry: Entry


class KeyedState:
    """The values after the entries added so far. Add them in log order."""

    def __init__(self) -> None:
        self._kept: dict[Any, Kept] = {}
        self._pending: dict[int, list[Kept]] = {}
        """The records of open transactions, by producer."""

    def add(self, offset: int, entry: Entry, producer_id: int | None = None) -> None:
        """Add the next entry; `producer_id` is the producer of its transaction, or None."""
        if entry.key is None:
            self._settle(entry.name, -1 if producer_id is None else producer_id)
        elif producer_id is not None:
            self._pending.setdefault(producer_id, []).append(Kept(offset, entry))
        elif entry.is_tombstone:
            self._kept.pop(_identity(entry), None)
        else:
            self._kept[_identity(entry)] = Kept(offset, entry)

    def _settle(self, marker: str, producer_id: int) -> None:
        if marker not in (_ABORT, _COMMIT):
            return
        for kept in self._pending.pop(producer_id, []):
            current = self._kept.get(_identity(kept.entry))
            if marker == _ABORT or (current and current.offset > kept.offset):
                continue
            self.add(kept.offset, kept.entry)

    def entries(self) -> Iterator[Entry]:
        """Yield the current values."""
        return (kept.entry for kept in self._kept.values())

    def pending(self) -> Iterator[Entry]:
        """Yield the values written by open transactions."""
        return (kept.entry for each in self._pending.values() for kept in each)


def _identity(entry: Entry) -> tuple[Any, ...]:
    """Return the identity of a key, which is the same in older versions of the key."""
    key = entry.key
    return entry.name.removeprefix("Legacy"), *(getattr(key, field.name) for field in key.FIELDS)
