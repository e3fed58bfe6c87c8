"""The bytes of a growing file, in order and at any position, plain or decompressed from gzip.

Compressed bytes can't be read from the middle. So the decompressor's state is saved every few megabytes, and reading at
a position begins at the previous state: a compressed capture needs no copy on disk, and little memory. Members may be
added to the gzip file while it is read.
"""

import os
import zlib
from bisect import bisect_right
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Final

from tagwire.log.file_bytes import pread
from tagwire_cli.input.bytes import InputError

_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 18
_SPACING: Final = 1 << 22
_STATES: Final = 512
"""Maximum number of saved decompressor states, about 45 KB each; when it is exceeded, every second state is dropped."""
_BEHIND: Final = 1 << 20
"""Decompressed bytes kept before the last position, for reads at nearby positions."""


class PlainFile:
    """A file that is read without decompression."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _opened(path)
        self._place = 0

    def more(self) -> bytes:
        """Return the next bytes in order; b"" at the current end. Raises InputError for a truncated file."""
        data = _read(self._file, self.path, _CHUNK, self._place)
        if not data:
            _refuse_cut(self._file, self.path, self._place)
        self._place += len(data)
        return data

    def at(self, start: int, size: int) -> bytes:
        """Return the bytes at a position; fewer at the end of the file."""
        parts = []
        while size and (data := _read(self._file, self.path, size, start)):
            parts.append(data)
            start, size = start + len(data), size - len(data)
        return b"".join(parts)

    @property
    def progress(self) -> float:
        """The fraction of the file that was read in order, up to 1."""
        return self._place / max(os.fstat(self._file.fileno()).st_size, 1)

    @property
    def fault(self) -> str:
        """The error if the file ends here; "" if there is none."""
        return ""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Unpacking:
    """A position in a gzip file at which decompression can continue."""

    def __init__(self, file: FileIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._decoder = zlib.decompressobj(31)
        self.is_inside = False
        """Whether a member has begun and not ended."""
        self.packed = 0
        self.place = 0

    def copy(self) -> "_Unpacking":
        made = _Unpacking.__new__(_Unpacking)
        made.__dict__.update(self.__dict__, _decoder=self._decoder.copy())
        return made

    def more(self) -> bytes:
        """Return the next decompressed bytes; b"" at the current end. Raises InputError."""
        while True:
            data = _read(self._file, self._path, _CHUNK, self.packed)
            if not self.is_inside and (zeros := len(data) - len(data.lstrip(b"\0"))):
                self.packed += zeros  # some tools pad the last block
                continue
            if not data:
                _refuse_cut(self._file, self._path, self.packed)
                if not self.is_inside:
                    return b""
            found, data = self._unpacked(data)
            self.is_inside = not self._decoder.eof
            if self.is_inside:
                self.packed += len(data) - len(self._decoder.unconsumed_tail)
            else:
                self.packed += len(data) - len(self._decoder.unused_data)
                self._decoder = zlib.decompressobj(31)
            self.place += len(found)
            if found or not data:
                return found

    def _unpacked(self, data: bytes) -> tuple[bytes, bytes]:
        """Decompress some bytes; return the output and the bytes that were used. Raises InputError.

        If zlib meets damage, it drops the valid output before it, so decompression is retried with fewer bytes.
        """
        while True:
            before = self._decoder.copy()
            try:
                return self._decoder.decompress(data, _CHUNK), data
            except zlib.error as error:
                if len(data) < 2:
                    raise InputError(f"{self._path}: can't be decompressed after byte {self.packed}: {error}") from None
            self._decoder, data = before, data[: len(data) // 2]


class CompressedFile:
    """A gzip file that is read decompressed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _opened(path)
        self._next = _Unpacking(self._file, path)
        self._spacing = _SPACING
        self._states = [self._next.copy()]
        self._places = [0]
        self._near = self._next.copy()
        self._kept = b""
        """The decompressed bytes before the position of `_near`."""
        self._lock = Lock()

    def more(self) -> bytes:
        """Return the next bytes, like `PlainFile.more`."""
        found = self._next.more()
        if self._next.place - self._places[-1] >= self._spacing:
            with self._lock:
                self._keep()
        return found

    def _keep(self) -> None:
        self._states.append(self._next.copy())
        self._places.append(self._next.place)
        if len(self._states) > _STATES:
            del self._states[1::2], self._places[1::2]
            self._spacing *= 2

    def at(self, start: int, size: int) -> bytes:
        """Return the bytes at a position, like `PlainFile.at`. Raises InputError."""
        with self._lock:
            begin = self._near.place - len(self._kept)
            before = bisect_right(self._places, start) - 1
            if start < begin or self._places[before] > self._near.place:
                self._near, self._kept = self._states[before].copy(), b""
            while self._near.place < start + size:
                more = self._near.more()
                if not more:
                    break
                keep = max(self._near.place - len(more) - start, _BEHIND)
                self._kept = self._kept[-keep:] + more
            begin = self._near.place - len(self._kept)
            return self._kept[start - begin : start - begin + size]

    @property
    def progress(self) -> float:
        """The fraction that was read, like `PlainFile.progress`."""
        return self._next.packed / max(os.fstat(self._file.fileno()).st_size, 1)

    @property
    def fault(self) -> str:
        """The error at the end, like `PlainFile.fault`."""
        return f"{self.path}: the file ends within its gzip data" if self._next.is_inside else ""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


GrowingFile = PlainFile | CompressedFile


def open_growing(path: Path) -> GrowingFile:
    """Open a file, decompressing gzip. Raises InputError."""
    with _opened(path) as file:
        head = _read(file, path, 2, 0)
    return CompressedFile(path) if head == _GZIP else PlainFile(path)


def _opened(path: Path) -> FileIO:
    try:
        return FileIO(path)
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror}") from None


def _read(file: FileIO, path: Path, size: int, start: int) -> bytes:
    try:
        return pread(file, size, start)
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror}") from None


def _refuse_cut(file: FileIO, path: Path, place: int) -> None:
    size = os.fstat(file.fileno()).st_size
    if size < place:
        raise InputError(
            f"{path}: the file was cut while it was read: {place} bytes were read, it has {size}; open it again"
        )
