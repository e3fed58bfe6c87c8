"""The process that writes a capture file. It runs as a script and imports nothing from tagwire.

A thread of the proxy would delay the traffic, because only one thread of a process runs Python at a time. This process
ends when its input ends, so the file becomes complete even if the proxy is killed.

Each frame on standard input has four parts: the sizes of the other two parts (four bytes each), the start of the line
to write, and the frame's bytes, which are written as hex digits. Standard output is the file. It grows by whole gzip
members, at least twice a second. If a member becomes large in less than half a second, it is stored uncompressed,
because zlib compresses only 40 MB of frames a second.

Pages of the file that are already on disk are removed from the page cache. On a virtual machine, this saves most of the
writing time, because the removed pages are reused for new data.
"""

import os
import select
import sys
import time
import zlib
from binascii import hexlify
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

_SIZES_LENGTH: Final = 8
_READ_SIZE: Final = 1 << 20
_PIECE: Final = 0x7FFF
"""Number of bytes to convert to hex digits at a time."""
_MEMBER: Final = 1 << 20
"""Maximum number of frame bytes in a gzip member. Longer writes would delay the traffic."""
_CACHED: Final = 1 << 27
"""Number of bytes at the end of the file that stay in the page cache, since they may not be on disk yet."""
_PERIOD: Final = 0.5
_GZIP: Final = 31
_STORED: Final = 0
_FAST: Final = 1
"""Levels of compression."""


def _members() -> Iterator[tuple[list[bytes], bool]]:
    """Yield (lines to compress, whether the member has its maximum size) for each gzip member."""
    pieces: list[bytes] = []
    waiting = bytearray()
    size = 0
    end = 0.0
    while True:
        is_due = bool(pieces) and not select.select([0], [], [], max(end - time.monotonic(), 0))[0]
        data = b"" if is_due else os.read(0, _READ_SIZE)
        waiting += data
        for frame_size, line in _taken(waiting):
            end = end if pieces else time.monotonic() + _PERIOD
            pieces += line
            size += frame_size
        if pieces and (size >= _MEMBER or not data or time.monotonic() > end):
            yield pieces, size >= _MEMBER
            pieces, size = [], 0
        if not data and not is_due:
            return


def _taken(waiting: bytearray) -> Iterator[tuple[int, list[bytes]]]:
    """Remove all complete frames from `waiting`. Yields (frame size, chunks of the output line) for each frame."""
    at = 0
    while len(waiting) - at >= _SIZES_LENGTH:
        start, size = (int.from_bytes(waiting[at + each : at + each + 4], "big") for each in (0, 4))
        begin = at + _SIZES_LENGTH
        if len(waiting) < begin + start + size:
            break
        with memoryview(waiting) as view:
            yield size, _line(bytes(view[begin : begin + start]), view[begin + start : begin + start + size])
        at = begin + start + size
    del waiting[:at]


def _line(start: bytes, frame: memoryview) -> list[bytes]:
    return [start, *(hexlify(frame[at : at + _PIECE]) for at in range(0, len(frame), _PIECE)), b'"}\n']


def _gzipped(pieces: list[bytes], level: int) -> Iterator[bytes]:
    pack = zlib.compressobj(level, zlib.DEFLATED, _GZIP)
    yield from map(pack.compress, pieces)
    yield pack.flush()


def _write(data: bytes) -> None:
    """Append all bytes to the capture file, which is this process's standard output.

    If that fails, restore the file's size, and raise OSError.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(1, rest) :]
    except OSError:  # for example, the disk is full
        with suppress(OSError):  # for example, a pipe can't be truncated
            end = os.lseek(1, 0, os.SEEK_CUR) - (len(data) - len(rest))
            os.ftruncate(1, end)
        raise
    with suppress(AttributeError, OSError):  # raised if `posix_fadvise` is not supported
        # Drop pages that are already on disk from the cache. This starts writing the others; the next call drops them.
        end = os.lseek(1, 0, os.SEEK_CUR)
        os.posix_fadvise(1, max(end - _CACHED, 0), 0, os.POSIX_FADV_DONTNEED)


def main(is_compressed: bool) -> None:
    """Write the frames from standard input to the file. Raises OSError if the file can't be written."""
    is_empty = True
    for pieces, is_full in _members():
        _write(b"".join(_gzipped(pieces, _STORED if is_full else _FAST) if is_compressed else pieces))
        is_empty = False
    if is_compressed and is_empty:
        _write(b"".join(_gzipped([], _FAST)))  # gzip rejects a file without members


if __name__ == "__main__":
    try:
        main(sys.argv[1] == "gzip")
    except OSError as error:
        sys.exit(error.strerror)
