"""The last offset of every key of a log, the only data that compaction holds in memory for the whole log.

Keys of 16 bytes or more are stored as a 16-byte digest, shorter keys unchanged; the lengths differ, so the two can't
collide. Digests collide as rarely as in Kafka's own map. An entry takes 110 to 200 bytes, depending on how full the
table is.

After all records are added, the keys can be dropped: a record is the last of its key if its offset is among the last
offsets (`LastOffsets`, 8 bytes each).
"""

from array import array
from bisect import bisect_left
from hashlib import blake2b
from typing import Final, Protocol

from tagwire.records import RecordBatch
from tagwire.records.moving import Movable, movable

_DIGEST: Final = 16


class LastOfKeys(Protocol):
    """Knows which records are the last of their keys."""

    def is_last(self, key: bytes, offset: int) -> bool:
        """Whether no record with this key has a higher offset."""
        ...

    def movable(self, batch: RecordBatch) -> Movable | None:
        """Return a batch's records with their facts; None if the caller must use `is_last`."""
        ...


class KeyMap:
    """The last offset of each key."""

    __slots__ = ("_offsets",)

    def __init__(self) -> None:
        self._offsets: dict[bytes, int] = {}

    def put(self, key: bytes, offset: int) -> None:
        """Add a record with this key; offsets ascend."""
        self._offsets[key if len(key) < _DIGEST else blake2b(key, digest_size=_DIGEST).digest()] = offset

    def is_last(self, key: bytes, offset: int) -> bool:
        """Whether no record added so far has this key and a higher offset."""
        known = key if len(key) < _DIGEST else blake2b(key, digest_size=_DIGEST).digest()
        return self._offsets.get(known, -1) <= offset

    def movable(self, batch: RecordBatch) -> None:
        """Return None: the caller must use `is_last`."""

    def last_offsets(self) -> "LastOffsets":
        """Return the offsets without the keys."""
        return LastOffsets(array("q", sorted(self._offsets.values())))

    def __len__(self) -> int:
        return len(self._offsets)


class LastOffsets:
    """The ascending offsets of the last records of all keys, in a log in which offsets are unique."""

    __slots__ = ("_offsets",)

    def __init__(self, offsets: "array[int]") -> None:
        self._offsets = offsets

    def is_last(self, key: bytes, offset: int) -> bool:
        """Whether this offset is the last of its key."""
        at = bisect_left(self._offsets, offset)
        return at < len(self._offsets) and self._offsets[at] == offset

    def movable(self, batch: RecordBatch) -> Movable | None:
        """Return the records of a batch with their facts; None if native code can't read them."""
        return movable(batch, self._offsets)
