"""Read the bytes of a segment file on demand.

Brokers truncate segments while other processes read them. Reading past the end of a memory-mapped file would kill the
process (SIGBUS), so files are read with pread, and a short read raises an error.

Sequential readers request small adjacent slices, so a window of the file is cached. After a jump to another position,
only 4 KiB are read.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from errno import ENXIO
from io import FileIO
from os import SEEK_END
from pathlib import Path
from typing import Final

from tagwire.log.errors import LogReadError, unreadable
from tagwire.text_format import count

_WINDOW: Final = 1 << 19
"""The number of bytes that sequential readers read at once. They fit into a core's cache."""
JUMP: Final = 1 << 12
"""The number of bytes to read at once after a jump to a position outside the cached bytes."""


def pread(file: FileIO, size: int, start: int) -> bytes:
    """Read up to `size` bytes, starting at `start`, without moving the file position. Raises OSError if that fails."""
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), size, start)
    file.seek(start)
    return file.read(size) or b""


def file_status(path: str | Path) -> os.stat_result:
    """Return the `stat` result of a file or folder. Raises LogPathError if it does not exist."""
    try:
        return os.stat(path)  # noqa: PTH116 - a third faster than `Path.stat`, for each of many segments
    except OSError as error:
        raise unreadable(path, error) from None


class FileBytes:
    """An open file that can be sliced like bytes. Its length is the size that the file had when it was opened."""

    __slots__ = ("_end", "_file", "_path", "_size", "_start", "_window")

    def __init__(self, path: Path, file: FileIO) -> None:
        self._path = path
        self._file = file
        self._size = file.seek(0, SEEK_END)
        self._window = b""
        self._start = self._end = 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        """Return the bytes of a slice with a start and a stop. Raises LogPathError if the file was truncated."""
        start, stop = part.start, part.stop
        window, at = self.around(start, stop)
        return window[at : at + stop - start]

    def around(self, start: int, stop: int) -> tuple[bytes, int]:
        """Return a part of the file that contains the bytes from `start` to `stop`, and the index of `start` in it.

        At the end of the file, there may be fewer bytes. Raises LogPathError if the file was truncated.
        """
        if stop > self._end or start < self._start:
            stop = min(stop, self._size)
            if start >= stop:
                return b"", 0
            if stop > self._end or start < self._start:
                self._turn(start, stop - start)
        return self._window, start - self._start

    def end_at(self, end: int | None) -> None:
        """Treat position `end` as the end of the file, unless it is None."""
        if end is not None:
            self._size = min(self._size, end)

    def hole_end(self, position: int) -> int:
        """Return the end of the hole at `position`, or `position` itself if the file has no hole there.

        A hole is a part that was never written, and consists of zeros. It need not be read.
        """
        try:
            return os.lseek(self._file.fileno(), position, os.SEEK_DATA)
        except AttributeError:  # this system can't find holes
            return position
        except OSError as error:
            return len(self) if error.errno == ENXIO else position

    def status(self) -> os.stat_result:
        return os.fstat(self._file.fileno())

    def _turn(self, start: int, least: int) -> None:
        """Refill the cache with at least `least` bytes, starting at `start`, unless the file ends earlier."""
        follows = self._start <= start <= self._end
        self._window = self.read(start, min(max(least, _WINDOW if follows else JUMP), self._size - start))
        self._start, self._end = start, start + len(self._window)

    def window(self, start: int, least: int) -> bytes:
        """Read at least `least` bytes from `start` on, or fewer at the end. Raises LogPathError if reading fails."""
        return self.read(start, min(max(least, _WINDOW), self._size - start))

    def read(self, start: int, size: int) -> bytes:
        try:
            data = pread(self._file, size, start)
            while len(data) < size and (more := pread(self._file, size - len(data), start + len(data))):
                data += more
        except OSError as error:
            raise unreadable(self._path, error, f" at byte {start}") from None
        if len(data) < size:
            end = start + len(data)
            raise LogReadError(
                f"{self._path}: the file was truncated while it was read: at most {end} of its "
                f"{count(self._size, 'byte')} are left; read it again"
            )
        return data


Bytes = bytes | FileBytes


def window_of(data: Bytes, start: int, least: int) -> bytes:
    """Return at least `least` bytes of `data` from `start` on, or fewer at the end. Raises LogPathError on failure."""
    return data[start : start + max(least, _WINDOW)] if isinstance(data, bytes) else data.window(start, least)


def opened(path: Path) -> FileIO:
    """Open a file without a buffer. Raises LogPathError if that fails."""
    try:
        return FileIO(path)
    except OSError as error:
        raise unreadable(path, error) from None


@contextmanager
def open_file(path: Path, end: int | None = None) -> Generator[FileBytes]:
    """Open a file for random access, up to position `end` unless it is None. Raises LogPathError if that fails."""
    with opened(path) as file:
        data = FileBytes(path, file)
        data.end_at(end)
        yield data
