"""Read a file that may still grow, in order or at any position. Gzip files are decompressed.

Decompression can't start in the middle of a file. So the decompressor's state is saved every few megabytes, and a read
starts from the last saved state before its position. A gzip file may grow by more members while it is read.
"""

import os
import zlib
from bisect import bisect_right
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Final

from tagwire.log.file_bytes import pread
from tagwire_cli.input.files import InputError

_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 18
_SPACING: Final = 1 << 22
_STATES: Final = 512
"""Maximum number of saved decompressor states, each about 45 KB."""
_BEHIND: Final = 1 << 20
"""Number of decompressed bytes to keep before the last position, so that reading just before it is fast."""


class PlainFile:
    """A file that is read without decompression."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _opened(path)
        self._position = 0

    def more(self) -> bytes:
        """Return the file's next bytes, or b"" if it has none yet. Raises InputError if the file has become shorter."""
        data = _read(self._file, self.path, _CHUNK, self._position)
        if not data:
            _reject_cut(self._file, self.path, self._position)
        self._position += len(data)
        return data

    def at(self, start: int, size: int) -> bytes:
        """Return `size` bytes at a position, or fewer if the file ends first."""
        parts = []
        while size and (data := _read(self._file, self.path, size, start)):
            parts.append(data)
            start, size = start + len(data), size - len(data)
        return b"".join(parts)

    @property
    def progress(self) -> float:
        return self._position / max(os.fstat(self._file.fileno()).st_size, 1)

    @property
    def error(self) -> str:
        """Always "". In a `CompressedFile`, it is an error if the gzip data is incomplete."""
        return ""

    def close(self) -> None:
        self._file.close()


class _Decompression:
    """A zlib decompressor and its position in a gzip file."""

    def __init__(self, file: FileIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._decoder = zlib.decompressobj(31)
        self.is_inside = False
        """Whether the position is inside a gzip member."""
        self.position = 0
        self.output_position = 0
        """The number of bytes decompressed so far."""

    def copy(self) -> "_Decompression":
        copied = _Decompression.__new__(_Decompression)
        copied.__dict__.update(self.__dict__, _decoder=self._decoder.copy())
        return copied

    def more(self) -> bytes:
        """Return the next decompressed bytes, or b"" if there are none yet. Raises InputError for invalid gzip."""
        while True:
            data = _read(self._file, self._path, _CHUNK, self.position)
            if not self.is_inside and (zeros := len(data) - len(data.lstrip(b"\0"))):
                self.position += zeros  # skip zeros, which some tools add after a gzip member
                continue
            if not data:
                _reject_cut(self._file, self._path, self.position)
                if not self.is_inside:
                    return b""
            found, data = self._decompressed(data)
            self.is_inside = not self._decoder.eof
            if self.is_inside:
                self.position += len(data) - len(self._decoder.unconsumed_tail)
            else:
                self.position += len(data) - len(self._decoder.unused_data)
                self._decoder = zlib.decompressobj(31)
            self.output_position += len(found)
            if found or not data:
                return found

    def _decompressed(self, data: bytes) -> tuple[bytes, bytes]:
        """Decompress as much of `data` as possible. Return the output, and the part of `data` that was used.

        If `data` contains invalid bytes, zlib returns no output, not even for the bytes before them. So try again with
        half of `data`, until zlib succeeds.
        """
        while True:
            before = self._decoder.copy()
            try:
                return self._decoder.decompress(data, _CHUNK), data
            except zlib.error as error:
                if len(data) < 2:
                    raise InputError(
                        f"{self._path} can't be decompressed after byte {self.position}: {error}"
                    ) from None
            self._decoder, data = before, data[: len(data) // 2]


class CompressedFile:
    """A gzip file, read as its decompressed bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _opened(path)
        self._next = _Decompression(self._file, path)
        self._spacing = _SPACING
        self._states = [self._next.copy()]
        self._positions = [0]
        self._near = self._next.copy()
        self._kept = b""
        """The decompressed bytes just before the position of `_near`."""
        self._lock = Lock()

    def more(self) -> bytes:
        found = self._next.more()
        if self._next.output_position - self._positions[-1] >= self._spacing:
            with self._lock:
                self._states.append(self._next.copy())
                self._positions.append(self._next.output_position)
                if len(self._states) > _STATES:
                    del self._states[1::2], self._positions[1::2]
                    self._spacing *= 2
        return found

    def at(self, start: int, size: int) -> bytes:
        with self._lock:
            begin = self._near.output_position - len(self._kept)
            before = bisect_right(self._positions, start) - 1
            if start < begin or self._positions[before] > self._near.output_position:
                self._near, self._kept = self._states[before].copy(), b""
            while self._near.output_position < start + size:
                more = self._near.more()
                if not more:
                    break
                keep = max(self._near.output_position - len(more) - start, _BEHIND)
                self._kept = self._kept[-keep:] + more
            begin = self._near.output_position - len(self._kept)
            return self._kept[start - begin : start - begin + size]

    @property
    def progress(self) -> float:
        return self._next.position / max(os.fstat(self._file.fileno()).st_size, 1)

    @property
    def error(self) -> str:
        return f"{self.path}: the file ends within its gzip data" if self._next.is_inside else ""

    def close(self) -> None:
        self._file.close()


GrowingFile = PlainFile | CompressedFile


def open_growing(path: Path) -> GrowingFile:
    """Open a file for reading, and decompress it if it is gzipped. Raises InputError if it can't be read."""
    with _opened(path) as file:
        head = _read(file, path, 2, 0)
    return CompressedFile(path) if head == _GZIP else PlainFile(path)


def _opened(path: Path) -> FileIO:
    try:
        return FileIO(path)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None


def _read(file: FileIO, path: Path, size: int, start: int) -> bytes:
    try:
        return pread(file, size, start)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None


def _reject_cut(file: FileIO, path: Path, position: int) -> None:
    size = os.fstat(file.fileno()).st_size
    if size < position:
        raise InputError(
            f"{path}: the file was truncated while it was read: expected at least {position} bytes, got {size}; "
            "open it again"
        )
