"""The last offset of every key of a log, the only thing that compaction holds in memory for the whole log.

Keys of 16 bytes or more are stored as a 16-byte digest, shorter ones as they are; the
lengths differ, so the two can't collide. Digests collide as rarely as those of Kafka's
own map. An entry takes 110 to 200 bytes, depending on how full the table is.

When all records are in, the keys can be dropped: a record is the last of its key if its
offset is among the last offsets (`LastOffsets`, 8 bytes each).
"""

from array import array
from bisect import bisect_left
from hashlib import blake2b
from typing import Final, Protocol

from tagwire.records import RecordBatch
from tagwire.records.moving import Movable, movable

_DIGEST: Final = 16


class LastOfKeys(Protocol):
    """Tells which records are the last of their keys."""

    def is_last(self, key: bytes, offset: int) -> bool:
        """Whether no record with this key has a higher offset."""
        ...

    def movable(self, batch: RecordBatch) -> Movable | None:
        """The records of a batch, each with whether it is the last; None to ask for each."""
        ...


class KeyMap:
    """Keys and offsets."""

    __slots__ = ("_offsets",)

    def __init__(self) -> None:
        self._offsets: dict[bytes, int] = {}

    def put(self, key: bytes, offset: int) -> None:
        """Add a record with this key; offsets ascend."""
        self._offsets[key if len(key) < _DIGEST else blake2b(key, digest_size=_DIGEST).digest()] = offset

    def is_last(self, key: bytes, offset: int) -> bool:
        """Whether no record that was added has this key and a higher offset."""
        known = key if len(key) < _DIGEST else blake2b(key, digest_size=_DIGEST).digest()
        return self._offsets.get(known, -1) <= offset

    def movable(self, batch: RecordBatch) -> None:
        """None: each record has to be asked for."""

    def last_offsets(self) -> "LastOffsets":
        """The offsets alone."""
        return LastOffsets(array("q", sorted(self._offsets.values())))

    def __len__(self) -> int:
        return len(self._offsets)


class LastOffsets:
    """The ascending offsets of the last records of all keys, in a log in which offsets are unique."""

    __slots__ = ("_offsets",)

    def __init__(self, offsets: "array[int]") -> None:
        self._offsets = offsets

    def is_last(self, key: bytes, offset: int) -> bool:
        """Whether this offset is one of them."""
        at = bisect_left(self._offsets, offset)
        return at < len(self._offsets) and self._offsets[at] == offset

    def movable(self, batch: RecordBatch) -> Movable | None:
        """The records of a batch with their facts; None if native code can't read them."""
        return movable(batch, self._offsets)
