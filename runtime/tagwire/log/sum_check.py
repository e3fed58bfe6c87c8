"""Whether a candidate for a batch has a wrong checksum, without reading all its bytes.

Only the head and the checksum are judged, with the same error as reading the batch.
Other faults are found when it is read.
"""

from typing import Final

from tagwire.errors import DecodeError
from tagwire.interpreter.cursor import byte_count
from tagwire.interpreter.reader import LayoutReader
from tagwire.layout import Checksum
from tagwire.log.errors import LogError, refuse
from tagwire.log.file_bytes import Bytes
from tagwire.log.range_sums import RangeSums
from tagwire.records import Format
from tagwire.records.head_positions import LONGEST

__all__ = ["SumCheck"]

_WIDTH: Final = 4


class SumCheck:
    """The checksums of one file, and the check of candidates."""

    def __init__(self, file: str, data: Bytes) -> None:
        self._file = file
        self._data = data
        self._sums: dict[str, RangeSums] = {}

    def refuse_wrong(self, position: int, formats: list[Format]) -> None:
        """Raise LogError if no batch of these formats can be here, because the checksum is wrong.

        A batch whose length does not fit is rejected anyway.
        """
        head, left = self._data[position : position + LONGEST], len(self._data) - position
        sizes = [(each, each.head_positions.sound_size(head, 0)) for each in formats]
        faults = [self._fault(position, head, size, each) for each, size in sizes if 0 < size <= left]
        if len(formats) == 1 and faults[0] is not None:
            raise faults[0]
        if all(faults):
            names = " and ".join(format.name for format in formats)
            found = f"a batch that could be {names} by its magic, but has the checksum of neither"
            refuse(self._file, "TWL105", position, found, "one of them")

    def _fault(self, position: int, head: bytes, size: int, format: Format) -> LogError | None:
        """The error of the checksum; None if it is right or can't be judged."""
        reader, at, kind = LayoutReader(format.head, head), 0, None
        try:
            for item in format.head.root.items:
                if kind is not None and item.name == kind.first:
                    return self._compared(position, at, (reader.pos, size), kind, format)
                if item.condition is not None:
                    return None
                if isinstance(item.type, Checksum):
                    at, kind = reader.pos, item.type
                value = reader.read(item.type, ())
                if item.equals is not None and value != item.equals:
                    return None
        except DecodeError:
            pass
        return None

    def _compared(
        self, position: int, at: int, part: tuple[int, int], kind: Checksum, format: Format
    ) -> LogError | None:
        """The error of the checksum at `at` of a part of the batch."""
        begin, end = part
        if begin > end:
            return None
        stated = int.from_bytes(self._data[position + at : position + at + _WIDTH], "big")
        sums = self._sums.setdefault(kind.algorithm, RangeSums(self._data, kind.algorithm))
        actual = sums.of(position + begin, position + end)
        if actual == stated:
            return None
        covered = f"the {kind.algorithm} of the {byte_count(end - begin)} from {kind.first} on"
        return LogError(
            *(self._file, "TWL104"),
            offset=position + at,
            found=f"0x{stated:08x}",
            expected=f"0x{actual:08x}, {covered}",
            message_name=format.name,
            path="crc",
        )
