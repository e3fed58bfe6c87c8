"""Read the files next to a segment: offset index, time index, transaction index and producer snapshot.

    .index       int32 offset relative to the base offset, int32 position; one entry every few kilobytes
    .timeindex   int64 timestamp, int32 relative offset: no record up to this offset has a later timestamp
    .txnindex    int16 version, then an AbortedTxn message
    .snapshot    int16 version, then a ProducerSnapshot message

While a segment is active, its `.index` and `.timeindex` are preallocated and end in zeros, which are not entries.
Entries are decoded only when they are used, because most of them never are.
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
from tagwire.log.errors import LogLimitError, log_error, reject, unreadable
from tagwire.log.file_bytes import opened, pread
from tagwire.text_format import count
from tagwire.wire.checksums import checksum

_MOST_BYTES: Final = 1 << 26
"""The maximum size of an index in bytes: 64 MiB. The `.index` of a 2 GiB segment usually takes only 4 MiB."""


class OffsetEntry(NamedTuple):
    """An entry of an offset index. The batch that contains `offset` begins at `position` or later."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """An entry of a time index. No record up to `offset` has a timestamp above `timestamp`."""

    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """An entry of a transaction index: the offsets of an aborted transaction's first record and of its abort marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def read_file(path: Path, rule: str, most: int = _MOST_BYTES) -> bytes:
    """Return all bytes of a small file.

    Raises LogPathError if the file can't be read. If it has more than `most` bytes, raises LogLimitError with the rule
    ID `rule`: brokers keep these files small, so a larger file may be an attack (such as a sparse file).
    """
    try:
        with FileIO(path) as file:  # unbuffered
            size = file.seek(0, SEEK_END)
            data = pread(file, size, 0) if size <= most else None
    except OSError as error:
        raise unreadable(path, error) from None
    if data is None:
        found, expected = f"more than {count(most, 'byte')}", f"at most {most} for a file of this kind"
        raise LogLimitError(str(path), rule, offset=most, found=found, expected=expected)
    return data


class _Index:
    """Base class of OffsetIndex and TimeIndex. Raises LogError if the last entry is incomplete."""

    LAYOUT: ClassVar[Struct]
    _REPEATS: ClassVar[bool]
    """Whether the second value of an entry may be equal to that of the previous entry."""

    def __init__(self, path: str | Path, base_offset: int) -> None:
        self.path = Path(path)
        self.base_offset = base_offset
        self._data = read_file(self.path, "TWL201")
        width = self.LAYOUT.size
        complete = len(self._data) // width * width
        if complete != len(self._data):
            found = f"{count(len(self._data) - complete, 'byte')} after the last whole entry"
            reject(str(path), "TWL201", complete, found, f"entries of {width} bytes")
        self._count = -(-len(self._data.rstrip(b"\0")) // width)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        return self._entry(*self.LAYOUT.unpack_from(self._data, self.at(range(self._count)[index])))

    def _entry(self, first: int, second: int) -> Any:
        """Return the entry with these values."""
        raise NotImplementedError

    def not_ascending(self) -> Iterator[int]:
        before: tuple[int, ...] = ()
        for number, entry in enumerate(self.LAYOUT.iter_unpack(self._data[: self._count * self.LAYOUT.size])):
            if before and not (before[0] < entry[0] and before[1] < entry[1] + self._REPEATS):
                yield number
            before = entry

    def at(self, index: int) -> int:
        return index * self.LAYOUT.size


class OffsetIndex(_Index, Sequence[OffsetEntry]):
    """The entries of an `.index` file. Their offsets are absolute, not relative to the base offset."""

    LAYOUT = Struct(">ii")
    _REPEATS = False

    def _entry(self, first: int, second: int) -> OffsetEntry:
        return OffsetEntry(self.base_offset + first, second)

    def position(self, offset: int) -> int:
        """Return a position at which a reader can start to find the batch that contains `offset`.

        This is 0 if all entries have higher offsets.
        """
        found = bisect_right(self, offset, key=lambda entry: entry.offset)
        return self[found - 1].position if found else 0


class TimeIndex(_Index, Sequence[TimeEntry]):
    """The entries of a `.timeindex` file. Their offsets are absolute, not relative to the base offset."""

    LAYOUT = Struct(">qi")
    _REPEATS = True

    def _entry(self, first: int, second: int) -> TimeEntry:
        return TimeEntry(first, self.base_offset + second)

    def offset(self, timestamp: int) -> int:
        """Return an offset at which a reader can start to find all records whose timestamp is `timestamp` or later."""
        found = bisect_right(self, timestamp - 1, key=lambda entry: entry.timestamp)
        return self[found - 1].offset if found else self.base_offset


def read_transaction_index(path: Path) -> list[AbortedTransaction]:
    """Return the entries of a `.txnindex` file. Raises LogError for invalid bytes."""
    return [entry for _, entry in positioned_transactions(path)]


def positioned_transactions(path: Path) -> Iterator[tuple[int, AbortedTransaction]]:
    """Yield (byte position, entry) for each entry of a `.txnindex` file. Raises LogError for invalid bytes."""
    data = read_file(path, "TWL201")
    aborted: Any = kafka_messages()["AbortedTxn"]
    position = 0
    while position < len(data):
        version = int.from_bytes(data[position : position + 2], "big", signed=True)
        if version not in aborted.VERSIONS:
            reject(str(path), "TWL221", position, f"version {version}", f"one of {aborted.VERSIONS}")
        try:
            entry, end = aborted.decode_from(data, version, position + 2)
        except DecodeError:
            reject(str(path), "TWL201", position, f"{count(len(data) - position, 'byte')} at the end", "a whole entry")
        yield (
            position,
            AbortedTransaction(entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset),
        )
        position = end


class IndexLookup(Sequence[tuple[int, ...]]):
    """Finds entries of an `.index` or `.timeindex` by bisection. Their offsets are relative to the base offset.

    `read(size, start)` is called only for the entries that are compared, because an index can have 65,000 entries. The
    order of the entries is not checked, so a result may be wrong. Compare it with the batch at its position.
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
        """Read an entry. Raises IndexError, LogPathError if reading fails, or LogError if the file was truncated."""
        number, width = range(self._count)[index], self._layout.size
        try:
            data = self._read(width, number * width)
        except OSError as error:
            raise unreadable(self._path, error) from None
        if len(data) < width:
            reject(str(self._path), "TWL201", number * width, count(len(data), "byte"), f"an entry of {width} bytes")
        return self._layout.unpack(data)

    def at_or_before(self, value: int, column: int = 0) -> tuple[int, ...] | None:
        """Return the last entry whose value in `column` (0 or 1) is at most `value`, or None if there is none."""
        found = bisect_right(self, value, key=lambda entry: entry[column])
        return self[found - 1] if found else None


@contextmanager
def index_lookup(path: Path, layout: Struct) -> Generator[IndexLookup]:
    """Open an index file for lookups. `layout` is `OffsetIndex.LAYOUT` or `TimeIndex.LAYOUT`.

    Raises LogPathError if the file can't be read.
    """
    with opened(path) as file:
        yield IndexLookup(path, file.seek(0, SEEK_END), lambda size, start: pread(file, size, start), layout)


_RULE: Final = "TWL231"
_CRC_AT: Final = 2
_CRC_END: Final = 6


def read_producer_snapshot(path: Path) -> tuple[Any, ...]:
    """Return the entries of a producer `.snapshot` file. Raises LogError for invalid bytes.

    The entries' attributes are `producer_id`, `epoch`, `last_sequence`, `last_offset`, `offset_delta`, `timestamp`,
    `coordinator_epoch` and `current_txn_first_offset`, as in the message ProducerSnapshot.
    """
    data = read_file(path, _RULE)
    cls: Any = kafka_messages()["ProducerSnapshot"]
    version = int.from_bytes(data[:_CRC_AT], "big", signed=True)
    if len(data) < _CRC_END:
        reject(str(path), _RULE, 0, count(len(data), "byte"), f"at least {_CRC_END} bytes (a version and a checksum)")
    if version not in cls.VERSIONS:
        reject(str(path), _RULE, 0, f"version {version}", f"version {cls.VERSIONS}")
    stated, actual = int.from_bytes(data[_CRC_AT:_CRC_END], "big"), checksum("crc32c", data[_CRC_END:])
    if stated != actual:
        reject(
            str(path), _RULE, _CRC_AT, f"crc {stated:#010x}", f"{actual:#010x}, the checksum of the bytes that follow"
        )
    try:
        snapshot = cls.decode(data[_CRC_AT:], version)
    except DecodeError as error:
        raise log_error(error, str(path), _RULE, _CRC_AT) from None
    return tuple(snapshot.producer_entries)
