"""Find single entries of an `.index` or `.timeindex` by bisection.

The index of a 1 GiB segment has about 65,000 entries, and the index of an active segment is preallocated to 10 MiB. A
lookup reads only the few entries that it compares. It assumes that entries ascend and that zeros follow the last entry
only, so its result is a hint, which the caller compares with the batch at that position. `tagwire.log.indexes` reads
all entries, and `verify` checks them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from io import FileIO
from os import SEEK_END
from pathlib import Path
from struct import Struct
from typing import Any

from tagwire.log.errors import refuse, unreadable
from tagwire.log.file_bytes import pread
from tagwire.text_format import count


class IndexLookup(Sequence[tuple[int, ...]]):
    """The entries of an index as tuples of numbers, with offsets relative to the segment's base.

    `read(size, start)` returns bytes of the index.
    """

    def __init__(self, path: Path, size: int, read: Callable[[int, int], bytes], layout: Struct) -> None:
        self._path = path
        self._read = read
        self._layout = layout
        self._count = size // layout.size
        if self._count and not any(self[self._count - 1]):  # preallocated
            self._count = bisect_left(self, True, key=lambda entry: not any(entry))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        """Return an entry. Raises IndexError, LogPathError, and LogError if the file was cut in the meantime."""
        number, width = range(self._count)[index], self._layout.size
        try:
            data = self._read(width, number * width)
        except OSError as error:
            raise unreadable(self._path, error) from None
        if len(data) < width:
            refuse(str(self._path), "TWL201", number * width, count(len(data), "byte"), f"an entry of {width}")
        return self._layout.unpack(data)

    def at_or_before(self, value: int, column: int = 0) -> tuple[int, ...] | None:
        """Return the last entry whose number in this column is at most `value`, or None."""
        found = bisect_right(self, value, key=lambda entry: entry[column])
        return self[found - 1] if found else None


@contextmanager
def index_lookup(path: Path, layout: Struct) -> Generator[IndexLookup]:
    """Open an index file; `layout` is `LAYOUT` of its class in `tagwire.log.indexes`. Raises LogPathError."""
    try:
        file = FileIO(path)
    except OSError as error:
        raise unreadable(path, error) from None
    with file:
        yield IndexLookup(path, file.seek(0, SEEK_END), lambda size, start: pread(file, size, start), layout)
