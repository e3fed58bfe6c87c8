"""Single entries of an `.index` or `.timeindex`, found by bisection.

An index of a segment of 1 GiB has some 65,000 entries, and that of a segment
which is written to is preallocated to 10 MiB. A lookup reads the few entries
that it compares, and never the file. So it trusts that entries ascend and that
zeros stand behind the last one only; what it finds is a hint, which the caller
compares with the batch that stands there. `tagwire.log.indexes` reads all
entries, and `verify` checks them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import FileIO
from os import SEEK_END
from pathlib import Path
from struct import Struct
from typing import Any

from tagwire.log.errors import LogPathError, refuse
from tagwire.log.file_bytes import pread
from tagwire.text_format import count

__all__ = ["IndexLookup", "index_lookup"]


class IndexLookup(Sequence[tuple[int, ...]]):
    """The entries of an open index as they stand in it: pairs of numbers; offsets are above the segment's base."""

    def __init__(self, path: Path, file: FileIO, layout: Struct) -> None:
        self._path = path
        self._file = file
        self._layout = layout
        self._count = file.seek(0, SEEK_END) // layout.size
        if self._count and not any(self[self._count - 1]):  # preallocated
            self._count = bisect_left(self, True, key=lambda entry: not any(entry))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        """An entry. Raises IndexError, LogError where the file was cut meanwhile, LogPathError."""
        number, width = range(self._count)[index], self._layout.size
        try:
            data = pread(self._file, width, number * width)
        except OSError as error:
            raise LogPathError(f"{self._path}: can't be read: {error.strerror}") from None
        if len(data) < width:
            refuse(str(self._path), "TWL201", number * width, count(len(data), "byte"), f"an entry of {width}")
        return self._layout.unpack(data)

    def at_or_before(self, value: int, column: int = 0) -> tuple[int, ...] | None:
        """The last entry whose number in this column is no higher than a value; None where there is none."""
        found = bisect_right(self, value, key=lambda entry: entry[column])
        return self[found - 1] if found else None

    def from_on(self, value: int, column: int, start: int = 0) -> int:
        """The place of the first entry, from `start` on, whose number in this column is not below a value."""
        return bisect_left(self, value, start, key=lambda entry: entry[column])


@contextmanager
def index_lookup(path: Path, layout: Struct) -> Generator[IndexLookup]:
    """The entries of an index file; `layout` is that of its class in `tagwire.log.indexes`. Raises LogPathError."""
    try:
        file = FileIO(path)
    except OSError as error:
        raise LogPathError(f"{path}: can't be read: {error.strerror}") from None
    with file:
        yield IndexLookup(path, file, layout)
