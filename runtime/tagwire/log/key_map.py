"""The last offset of every key of a log: the one thing that compaction keeps of all of it in memory.

Keys of 16 bytes and more are kept as a digest of 16, others as they are: what
is kept of a short key has another length than a digest, so the two never meet.
That two keys have one digest is as likely as guessing one of Kafka's own map.
An entry takes 110 to 200 bytes, by how full the table is.

Where every record was put in, the keys can be forgotten: a record is the last
of its key if its offset is one of the last ones (`LastOffsets`, 8 bytes each).
"""

from array import array
from bisect import bisect_left
from hashlib import blake2b
from typing import Final, Protocol

from tagwire.records import RecordBatch
from tagwire.records.moving import Movable, movable

__all__ = ["KeyMap", "LastOfKeys", "LastOffsets"]

_DIGEST: Final = 16


class LastOfKeys(Protocol):
    """Who knows which records are the last of their keys."""

    def is_last(self, key: bytes, offset: int) -> bool:
        """Whether no record with this key stands behind this offset."""
        ...

    def movable(self, batch: RecordBatch) -> Movable | None:
        """The records of a batch, each with whether it is the last; None to ask for each. Raises DecodeError."""
        ...


class KeyMap:
    """Keys and offsets."""

    __slots__ = ("_offsets",)

    def __init__(self) -> None:
        self._offsets: dict[bytes, int] = {}

    def put(self, key: bytes, offset: int) -> None:
        """A record with this key; offsets ascend."""
        self._offsets[key if len(key) < _DIGEST else blake2b(key, digest_size=_DIGEST).digest()] = offset

    def is_last(self, key: bytes, offset: int) -> bool:
        """Whether no record that was put has this key and a higher offset."""
        known = key if len(key) < _DIGEST else blake2b(key, digest_size=_DIGEST).digest()
        return self._offsets.get(known, -1) <= offset

    def movable(self, batch: RecordBatch) -> None:
        """Each record has to be asked for."""

    def last_offsets(self) -> "LastOffsets":
        """The offsets alone."""
        return LastOffsets(array("q", sorted(self._offsets.values())))

    def __len__(self) -> int:
        return len(self._offsets)


class LastOffsets:
    """The offset of the last record of each key, ascending, of a log in which no two records have one offset."""

    __slots__ = ("_offsets",)

    def __init__(self, offsets: "array[int]") -> None:
        self._offsets = offsets

    def is_last(self, key: bytes, offset: int) -> bool:
        """Whether this offset is one of them."""
        at = bisect_left(self._offsets, offset)
        return at < len(self._offsets) and self._offsets[at] == offset

    def movable(self, batch: RecordBatch) -> Movable | None:
        """The records of a batch with their facts; None where native code leaves them alone."""
        return movable(batch, self._offsets)
