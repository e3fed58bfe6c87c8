"""The bytes of a segment's file, read as they are asked for.

A broker cuts a segment while others read it: it removes the tail of zeros when
it rolls, and records when it follows a new leader. A map of such a file ends
the process (SIGBUS), so files are read with plain reads. A read that comes back
short is an error that says so.

Whoever goes through a file asks for small slices next to each other, so a
window of the file is kept. A jump reads only a page: whoever looks at heads
alone does not read what is between them.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from io import FileIO
from os import SEEK_END
from pathlib import Path
from typing import Final

from tagwire.log.errors import LogReadError, unreadable
from tagwire.text_format import count

_WINDOW: Final = 1 << 19
"""Bytes read at once: as many as fit into a core's cache."""
_JUMP: Final = 1 << 12
"""Bytes read after a jump."""


def pread(file: FileIO, size: int, start: int) -> bytes:
    """Up to `size` bytes from `start` on. Raises OSError."""
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), size, start)
    file.seek(start)
    return file.read(size) or b""


def file_status(path: Path) -> os.stat_result:
    """What the system says of a file. Raises LogPathError if it is gone."""
    try:
        return os.stat(path)  # noqa: PTH116 - a third faster than that of a Path, for each of many segments
    except OSError as error:
        raise unreadable(path, error) from None


class FileBytes:
    """A file with the length that it had when it was opened; slices are bytes."""

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
        """The bytes from `start` to before `stop`, both given. Raises LogPathError if the file is shorter now."""
        start, stop = part.start, part.stop
        if stop > self._end or start < self._start:
            stop = min(stop, self._size)
            if start >= stop:
                return b""
            if stop > self._end or start < self._start:
                self._turn(start, stop - start)
        return self._window[start - self._start : stop - self._start]

    def end_at(self, end: int | None) -> None:
        """Hide the bytes from this position on."""
        if end is not None:
            self._size = min(self._size, end)

    def status(self) -> os.stat_result:
        """What the system says of the open file."""
        return os.fstat(self._file.fileno())

    def forget(self) -> None:
        """Forget what was read, so that later changes of the file are seen."""
        self._window, self._end = b"", self._start

    def _turn(self, start: int, least: int) -> None:
        """Move the window to begin there."""
        follows = self._start <= start <= self._end
        self._window = self.read(start, min(max(least, _WINDOW if follows else _JUMP), self._size - start))
        self._start, self._end = start, start + len(self._window)

    def window(self, start: int, least: int) -> bytes:
        """At least `least` bytes from `start` on, and more if there are any. Raises LogPathError."""
        return self.read(start, min(max(least, _WINDOW), self._size - start))

    def read(self, start: int, size: int) -> bytes:
        """Bytes from `start` on that the file had when it was opened. Raises LogPathError."""
        try:
            data = pread(self._file, size, start)
            while len(data) < size and (more := pread(self._file, size - len(data), start + len(data))):
                data += more
        except OSError as error:
            raise unreadable(self._path, error, f" at byte {start}") from None
        if len(data) < size:
            end = start + len(data)
            raise LogReadError(
                f"{self._path}: the file was cut while it was read: it had {count(self._size, 'byte')}, and now ends at"
                f" byte {end} or before; read it again"
            )
        return data


Bytes = bytes | FileBytes


def window_of(data: Bytes, start: int, least: int) -> bytes:
    """At least `least` bytes of a file from `start` on, and more if there are any. Raises LogPathError."""
    return data[start : start + max(least, _WINDOW)] if isinstance(data, bytes) else data.window(start, least)


@contextmanager
def open_file(path: Path, end: int | None = None) -> Generator[FileBytes]:
    """The bytes of a file, or those before `end`. Raises LogPathError if it can't be read."""
    try:
        file = FileIO(path)
    except OSError as error:
        raise unreadable(path, error) from None
    with file:
        data = FileBytes(path, file)
        data.end_at(end)
        yield data
