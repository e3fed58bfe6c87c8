"""Whether what may be a batch has a wrong checksum, said without going over all its bytes.

Only what follows from head and checksum is said here, as reading the batch
would say it. Whatever else may be wrong is for whoever reads it.
"""

from typing import Final

from tagwire.errors import DecodeError
from tagwire.layout import Checksum, Extent
from tagwire.layout_cursor import byte_count
from tagwire.layout_reader import LayoutReader
from tagwire.log.errors import LogError, refuse
from tagwire.log.file_bytes import Bytes
from tagwire.log.range_sums import RangeSums
from tagwire.records import Format

__all__ = ["SumCheck"]

_LONGEST_HEAD: Final = 64
_WIDTH: Final = 4


class SumCheck:
    """The checksums of one file, and places that are held against them."""

    def __init__(self, file: str, data: Bytes) -> None:
        self._file = file
        self._data = data
        self._sums: dict[str, RangeSums] = {}

    def refuse_wrong(self, position: int, size: int, formats: list[Format]) -> None:
        """Raises LogError if what is there is no batch of any of these formats, by its checksum."""
        faults = [self._fault(position, size, format) for format in formats]
        if len(faults) == 1 and faults[0] is not None:
            raise faults[0]
        if all(faults):
            names = " and ".join(format.name for format in formats)
            found = f"a batch that could be {names} by its magic, but has the checksum of neither"
            refuse(self._file, "TWL105", position, found, "one of them")

    def _fault(self, position: int, size: int, format: Format) -> LogError | None:
        """What is wrong with the checksum; None where it is right, or nothing can be said."""
        head = self._data[position : position + _LONGEST_HEAD]
        reader, end = LayoutReader(format.head, head), size
        try:
            for item in format.head.root.items:
                if isinstance(item.type, Checksum):
                    return self._compared(position, reader.pos, end, item.type, format)
                value = reader.read(item.type, ())
                if item.equals is not None and value != item.equals:
                    return None
                if isinstance(item.type, Extent):
                    end = reader.pos + value
        except DecodeError:
            pass
        return None

    def _compared(self, position: int, at: int, end: int, kind: Checksum, format: Format) -> LogError | None:
        begin = at + _WIDTH
        if not begin <= end <= len(self._data) - position:
            return None
        stated = int.from_bytes(self._data[position + at : position + begin], "big")
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
