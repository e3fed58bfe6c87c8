"""One way through the bytes of a segment: where its batches begin, and the batches.

A segment may be larger than memory, so it is mapped, and each batch is copied
out of the map when its turn comes: nothing that is handed out keeps the file
open. Where a batch ends is asked of its head alone, so that what lies before a
wanted offset is passed over, not read.

A segment that is written to may be preallocated: zeros up to its full size
stand behind its last batch. No batch begins with zeros, since it has a length;
so nothing but zeros up to the end of the file is the end of the data.
"""

import mmap
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from mmap import PAGESIZE
from os import SEEK_END
from pathlib import Path
from struct import Struct
from typing import Any, Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.interpreter.reader import LayoutReader
from tagwire.layout import Extent
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.errors import LogError, LogPathError, placed, refuse
from tagwire.records import Format, RecordBatch, format_of
from tagwire.records.reading import batch_at, read_outline
from tagwire.wire.varint import read_uvarint

__all__ = ["Place", "Scan", "mapped"]

Bytes = bytes | mmap.mmap

_HEAD: Final = Struct(">qi4xb")  # offset, length, and the magic byte of v0, v1 and v2
_LAST_DELTA: Final = Struct(">i")
_LAST_DELTA_AT: Final = 23
_LENGTH_END: Final = 12
_LEAST: Final = {0: 14, 1: 22, 2: 49}
"""The least that a length may say, by magic byte."""
_BY_MAGIC: Final = ("v0", "v1", "v2")
_LONGEST_HEAD: Final = 64
"""Where the length of a batch ends at the latest, whatever its format."""
_ZEROS: Final = bytes(1 << 16)
_HELD: Final = 16 << 20
"""Bytes of a map that stay in memory behind the place that is read."""


class Place(NamedTuple):
    """Where a batch is, by its head alone."""

    position: int
    size: int
    """All its bytes."""
    last_offset: int


@contextmanager
def mapped(path: Path) -> Generator[Bytes]:
    """The bytes of a file, mapped. Raises LogPathError where it can't be read."""
    try:
        with path.open("rb") as file:
            is_empty = file.seek(0, SEEK_END) == 0  # nothing can't be mapped
            data = b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise LogPathError(f"{path}: can't be read: {error.strerror}") from None
    if isinstance(data, bytes):
        yield data
        return
    with data:
        yield data


class Scan:
    """The batches of one file; `format` as for `tagwire.records.read_batches`."""

    def __init__(self, file: str, data: Bytes, format: Any = "auto", limits: Limits = DEFAULT_LIMITS) -> None:
        self.file = file
        self.data = data
        self.known: Format | None = None if format == "auto" else format_of(format)
        self.limits = limits
        self._held_from = 0
        self._clear = ""
        """The format of the batch whose size was asked for last, where its head leaves no doubt."""

    def batches(self, position: int = 0, *, partial: bool = False) -> Iterator[tuple[int, RecordBatch]]:
        """Each batch from here on with its position; with `partial`, one that is cut off at the end is left out.

        Raises LogError at the first that is not right.
        """
        while not self.ends_at(position):
            try:
                batch = self.batch(position)
            except LogError as error:
                if partial and error.rule == "TWL101":
                    return
                raise
            yield position, batch
            position += batch.size

    def ends_at(self, position: int) -> bool:
        """Whether the data end here: at the end of the file, or before zeros to its end."""
        if self.data[position : position + _HEAD.size].strip(b"\0"):
            return False
        return self.zeros_end(position) == len(self.data)

    def zeros_end(self, position: int) -> int:
        """Where the zeros end that stand here: the position itself if there are none."""
        while position < len(self.data):
            chunk = self.data[position : position + len(_ZEROS)]
            if chunk != _ZEROS and (rest := chunk.lstrip(b"\0")):
                return position + len(chunk) - len(rest)
            position += len(chunk)
            self.let_go(position)
        return position

    def batch(self, position: int) -> RecordBatch:
        """The batch at this position, its checksum held against its bytes. Raises LogError."""
        data = self.data[position : position + self.size(position)]
        try:
            return batch_at(data, 0, self.known or (format_of(self._clear) if self._clear else None), self.limits)
        except DecodeError as error:
            rule = "TWL104" if error.path == "crc" else "TWL105"
            raise placed(error, self.file, rule, position) from None

    def outline(self, position: int) -> RecordBatch:
        """The head of the batch at this position; its checksum is not looked at. Raises LogError."""
        data = self.data[position : position + self.size(position)]
        try:
            return read_outline(data, self.known, self.limits)
        except DecodeError as error:
            raise placed(error, self.file, "TWL105", position) from None

    def places(self, position: int = 0) -> Iterator[Place]:
        """Where batches are, by their heads; their checksums are not looked at. Raises LogError."""
        while not self.ends_at(position):
            place = self.place(position)
            yield place
            position += place.size

    def place(self, position: int) -> Place:
        """Where the batch at this position ends, and its last offset. Raises LogError."""
        size = self.size(position)
        format = self.known.name if self.known else self._clear
        if format not in _BY_MAGIC:  # v3's last offset is behind varints, and so is what bytes are that may be v3
            batch = self.batch(position)
            return Place(position, batch.size, batch.last_offset)
        offset, _, magic = _HEAD.unpack_from(self.data, position)
        if magic == 2:
            offset += _LAST_DELTA.unpack_from(self.data, position + _LAST_DELTA_AT)[0]
        return Place(position, size, offset)

    def let_go(self, position: int) -> None:
        """Give back the pages before this position: what was read of a map counts as the memory of its reader."""
        end = position // PAGESIZE * PAGESIZE
        if isinstance(self.data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") and end > self._held_from:
            self.data.madvise(mmap.MADV_DONTNEED, self._held_from, end - self._held_from)
        self._held_from = end

    # ------------------------------------------------------------ lengths

    def size(self, position: int) -> int:
        """The bytes of the batch at this position, as its head says; they are there. Raises LogError."""
        if not 0 <= position - self._held_from < _HELD:
            self.let_go(position)
        size = self._size_as_found(position) if self.known is None else self._size_as_known(position, self.known)
        left = len(self.data) - position
        if size > left:
            refuse(self.file, "TWL101", position, f"a batch of {size} bytes", f"no more than the {left} that are left")
        return size

    def _size_as_found(self, position: int) -> int:
        """The length where v0, v1 and v2 have it; if magic 3 says that it may be v3, the longer of both."""
        left = len(self.data) - position
        self._clear = ""
        if left < _HEAD.size:
            refuse(self.file, "TWL101", position, f"{left} bytes", f"a batch's head of {_HEAD.size} bytes or more")
        _, length, magic = _HEAD.unpack_from(self.data, position)
        v3 = self._v3_size(position, left)
        if magic not in _LEAST:
            if not v3:
                refuse(self.file, "TWL103", position + 16, f"magic {magic}", "0, 1, 2 or 3")
            return v3
        if length < _LEAST[magic]:
            if not v3:
                expected = f"{_LEAST[magic]} or more for magic {magic}"
                refuse(self.file, "TWL102", position + 8, f"a length of {length}", expected)
            return v3
        size = _LENGTH_END + int(length)
        self._clear = "" if v3 else _BY_MAGIC[magic]
        return v3 if v3 and size > left else max(size, v3)

    def _v3_size(self, position: int, left: int) -> int:
        """The size that the batch has if it is v3; 0 if it can't be."""
        if self.data[position + 8] < 0x80 and self.data[position + 13] != 3:
            return 0  # a length of one byte, as most have that are no v3, and no magic byte where it would be then
        head = self.data[position : position + _LONGEST_HEAD]
        try:
            length, begin = read_uvarint(head, 8)
            fits: bool = head[begin + 4] == 3 and begin + length <= left
            return begin + length if fits else 0
        except (IndexError, ValueError):
            return 0

    def _size_as_known(self, position: int, known: Format) -> int:
        """The length where the format has it."""
        head = self.data[position : position + _LONGEST_HEAD]
        reader = LayoutReader(known.head, head)
        try:
            for item in known.head.root.items:
                value = reader.read(item.type, ())
                if isinstance(item.type, Extent):
                    if value < 1:
                        refuse(self.file, "TWL102", position, f"a length of {value}", "that of a batch's head")
                    return int(reader.pos + value)
        except DecodeError as error:
            if isinstance(error, LogError):
                raise
            raise placed(error, self.file, "TWL101", position) from None
        raise LogPathError(f"{self.file}: batches of {known.name} don't say how long they are; read them as bytes")
