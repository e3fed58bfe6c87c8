"""The indexes of a segment: from offset to position, from timestamp to offset, and the aborted transactions.

    .index       int32 offset above the segment's base, int32 position; sparse, one entry every few kilobytes
    .timeindex   int64 timestamp, int32 offset above the base: no earlier record has a later timestamp
    .txnindex    int16 version, then an AbortedTxn of the archive

While a segment is active, its first two indexes are preallocated and end in zeros, which are not entries. Entries stay
encoded until they are used, because most of them never are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from os import SEEK_END
from pathlib import Path
from struct import Struct
from typing import Any, ClassVar, Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.frames.known_packages import kafka_messages
from tagwire.log.errors import LogLimitError, placed, refuse, unreadable
from tagwire.log.file_bytes import pread
from tagwire.text_format import count
from tagwire.wire.checksums import checksum

_MOST_BYTES: Final = 1 << 26
"""The maximum size of an index: sixteen times the index of the largest segment with a batch every 4096 bytes."""


class OffsetEntry(NamedTuple):
    """An entry of an offset index. The batch with this offset begins at this position or later."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """An entry of a time index. No record up to this offset has a later timestamp than this one."""

    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """An aborted transaction, from its first record to its abort marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def read_file(path: Path, rule: str, most: int = _MOST_BYTES) -> bytes:
    """Return all bytes of a small file.

    Raises LogPathError, or LogLimitError with `rule` if there are over `most` bytes.

    Brokers keep these files small. A large one is either an attack with a sparse file, or a different kind of file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1) if file.seek(0, SEEK_END) <= most and not file.seek(0) else None
    except OSError as error:
        raise unreadable(path, error) from None
    if data is None or len(data) > most:
        found, expected = f"more than {count(most, 'byte')}", f"at most {most} for a file of this kind"
        raise LogLimitError(str(path), rule, offset=most, found=found, expected=expected)
    return data


class _Index:
    """The entries of an index, which have a fixed size and stay encoded.

    Raises LogError if the last entry is incomplete.
    """

    LAYOUT: ClassVar[Struct]

    def __init__(self, path: Path, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._data = read_file(path, "TWL201")
        width = self.LAYOUT.size
        whole = len(self._data) // width * width
        if whole != len(self._data):
            found = f"{count(len(self._data) - whole, 'byte')} at the end"
            refuse(str(path), "TWL201", whole, found, f"entries of {width} bytes")
        self._count = -(-len(self._data.rstrip(b"\0")) // width)

    def __len__(self) -> int:
        return self._count

    def placed(self, index: int) -> int:
        """Resolve an entry number, which counts from the end if negative. Raises IndexError."""
        return range(self._count)[index]

    def raw(self, index: int) -> tuple[int, ...]:
        return self.LAYOUT.unpack_from(self._data, index * self.LAYOUT.size)

    def not_ascending(self) -> Iterator[int]:
        """Yield the number of each entry that is not above the entry before it. Makes no object for each entry."""
        before: tuple[int, ...] = ()
        for number, entry in enumerate(self.LAYOUT.iter_unpack(self._data[: self._count * self.LAYOUT.size])):
            if before and not self._ascends(before, entry):
                yield number
            before = entry

    @staticmethod
    def _ascends(before: tuple[int, ...], entry: tuple[int, ...]) -> bool:
        raise NotImplementedError

    def at(self, index: int) -> int:
        """Return the byte position of an entry in the file."""
        return index * self.LAYOUT.size


class OffsetIndex(_Index, Sequence[OffsetEntry]):
    """The entries of an `.index` file, with absolute offsets."""

    LAYOUT = Struct(">ii")

    @staticmethod
    def _ascends(before: tuple[int, ...], entry: tuple[int, ...]) -> bool:
        return before[0] < entry[0] and before[1] < entry[1]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        offset, position = self.raw(self.placed(index))
        return OffsetEntry(self.base_offset + offset, position)

    def position(self, offset: int) -> int:
        """Return a position at or before the batch with this offset. It is 0 if no entry has an offset that low."""
        found = bisect_right(self, offset, key=lambda entry: entry.offset)
        return self[found - 1].position if found else 0


class TimeIndex(_Index, Sequence[TimeEntry]):
    """The entries of a `.timeindex` file, with absolute offsets."""

    LAYOUT = Struct(">qi")

    @staticmethod
    def _ascends(before: tuple[int, ...], entry: tuple[int, ...]) -> bool:
        return before[0] < entry[0] and before[1] <= entry[1]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        timestamp, offset = self.raw(self.placed(index))
        return TimeEntry(timestamp, self.base_offset + offset)

    def offset(self, timestamp: int) -> int:
        """Return an offset from which a reader finds all records with this timestamp or a later one."""
        found = bisect_right(self, timestamp - 1, key=lambda entry: entry.timestamp)
        return self[found - 1].offset if found else self.base_offset


def read_transaction_index(path: Path) -> list[AbortedTransaction]:
    """Return the entries of a `.txnindex` file. Raises LogError."""
    return [entry for _, entry in placed_transactions(path)]


def placed_transactions(path: Path) -> Iterator[tuple[int, AbortedTransaction]]:
    """Yield each entry with its position in the file: (position, entry). Raises LogError."""
    data = read_file(path, "TWL201")
    aborted: Any = kafka_messages()["AbortedTxn"]
    position = 0
    while position < len(data):
        version = int.from_bytes(data[position : position + 2], "big", signed=True)
        if version not in aborted.VERSIONS:
            refuse(str(path), "TWL221", position, f"version {version}", f"one of {aborted.VERSIONS}")
        try:
            entry, end = aborted.decode_from(data, version, position + 2)
        except DecodeError:
            refuse(str(path), "TWL201", position, f"{count(len(data) - position, 'byte')} at the end", "a whole entry")
        yield (
            position,
            AbortedTransaction(entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset),
        )
        position = end


# Find single entries of an `.index` or `.timeindex` by bisection.
#
# An index can have 65,000 entries (for a segment of 1 GiB), or be preallocated to 10 MiB (for an active segment).
# So a lookup reads only the few entries that it compares.
# A lookup assumes that entries ascend, and that only the last one is followed by zeros.
# The result is therefore only a hint, which the caller compares with the batch at that position.
# By contrast, `OffsetIndex` and `TimeIndex` read all entries, and `verify` checks them.


class IndexLookup(Sequence[tuple[int, ...]]):
    """The entries of an index as tuples of numbers, with offsets relative to the segment's base.

    Calls `read(size, start)` to get bytes of the index.
    """

    def __init__(self, path: Path, size: int, read: Callable[[int, int], bytes], layout: Struct) -> None:
        self._path = path
        self._read = read
        self._layout = layout
        self._count = size // layout.size
        if self._count and not any(self[self._count - 1]):  # a preallocated index ends in zeros, which are not entries
            self._count = bisect_left(self, True, key=lambda entry: not any(entry))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        """Return an entry.

        Raises IndexError, LogPathError, and LogError if the file was truncated after it was opened.
        """
        number, width = range(self._count)[index], self._layout.size
        try:
            data = self._read(width, number * width)
        except OSError as error:
            raise unreadable(self._path, error) from None
        if len(data) < width:
            refuse(str(self._path), "TWL201", number * width, count(len(data), "byte"), f"an entry of {width}")
        return self._layout.unpack(data)

    def at_or_before(self, value: int, column: int = 0) -> tuple[int, ...] | None:
        """Return the last entry whose number in `column` is at most `value`, or None."""
        found = bisect_right(self, value, key=lambda entry: entry[column])
        return self[found - 1] if found else None


@contextmanager
def index_lookup(path: Path, layout: Struct) -> Generator[IndexLookup]:
    """Open an index file; `layout` is the `LAYOUT` of `OffsetIndex` or `TimeIndex`. Raises LogPathError."""
    try:
        file = FileIO(path)
    except OSError as error:
        raise unreadable(path, error) from None
    with file:
        yield IndexLookup(path, file.seek(0, SEEK_END), lambda size, start: pread(file, size, start), layout)


_RULE: Final = "TWL231"
_CRC_AT: Final = 2
_CRC_END: Final = 6


def read_producer_snapshot(path: Path) -> tuple[Any, ...]:
    """Return the entries of a snapshot, as in the archive's message ProducerSnapshot: `producer_id`, `epoch`,
    `last_sequence`, `last_offset`, `offset_delta`, `timestamp`, `coordinator_epoch`, `current_txn_first_offset`.

    Raises LogError.
    """
    data = read_file(path, _RULE)
    cls: Any = kafka_messages()["ProducerSnapshot"]
    version = int.from_bytes(data[:_CRC_AT], "big", signed=True)
    if len(data) < _CRC_END or version not in cls.VERSIONS:
        found = f"version {version}" if len(data) >= _CRC_END else count(len(data), "byte")
        refuse(str(path), _RULE, 0, found, f"version {cls.VERSIONS}, and a checksum")
    stated, actual = int.from_bytes(data[_CRC_AT:_CRC_END], "big"), checksum("crc32c", data[_CRC_END:])
    if stated != actual:
        refuse(str(path), _RULE, _CRC_AT, f"crc {stated:#010x}", f"{actual:#010x}, the checksum of the bytes after it")
    try:
        snapshot = cls.decode(data[_CRC_AT:], version)
    except DecodeError as error:
        raise placed(error, str(path), _RULE, _CRC_AT) from None
    return tuple(snapshot.producer_entries)
