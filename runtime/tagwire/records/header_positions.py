"""The positions of length, magic byte and offsets in the batch headers of a format.

A search for batches tests many positions. To avoid decoding whole headers, the positions of the tested fields are
computed once.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.layout import Checksum, Extent, Fixed, Item, Varint
from tagwire.wire.checksums import POLYNOMIALS
from tagwire.wire.varint import from_zigzag, read_uvarint

if TYPE_CHECKING:
    from tagwire.records.format import Format

LONGEST: Final = 64
"""The number of bytes needed to read a batch's magic byte and last offset in any format."""


class ChecksumPosition(NamedTuple):
    """The positions of a format's checksum and of the first byte it covers, relative to the end of the length field."""

    algorithm: str
    at: int
    begin: int
    first: str


class HeaderPositions:
    """The positions of one format's header fields, in bytes from the beginning of a batch."""

    def __init__(self, format: "Format") -> None:
        self._header = format.header
        items = format.header.root.items
        self._extent = next((at for at, item in enumerate(items) if _is_length(item)), -1)
        before = _width(items[: self._extent]) if self._extent >= 0 else None
        kind = items[self._extent].type if self._extent >= 0 else None
        self.length_at = before
        """The position of the length, or None if it varies, or there is no length."""
        self._code = kind.code if isinstance(kind, Extent) else None
        self._number = Struct(f">{self._code.wire.code}") if isinstance(self._code, Fixed) else None
        self._counts_itself = isinstance(kind, Extent) and kind.counts_itself
        self.least = sum(item.type.minimum for item in items[self._extent + 1 :] if item.condition is None)
        """The minimum number of bytes after the length."""
        self.magic = format.magic
        self.magic_at = self._fixed(format, "magic")
        """The position of the magic byte; None after a length of varying size, or if there is none."""
        self.magic_after_length = self._magic_after_length(format)
        """The distance of the magic byte from the end of the length, or None if this varies as well."""
        self.sum = self._sum()
        """The position of the checksum, or None if it varies, or there is none."""
        self.offset_at = self._fixed(format, "base_offset", 8)
        self.last_delta_at = self._fixed(format, "last_offset_delta", 4)
        self.gives_last_offset = self.offset_at is not None and (
            self.last_delta_at is not None or "last_offset_delta" not in format.fields
        )
        """Whether the last offset can be read from fixed positions."""

    @property
    def search_form(self) -> tuple[int, bool, bool, bool, int, int, int, int, int, int] | None:
        """The arguments for the native search for batch headers, or None if native code doesn't support the format."""
        code, checksum = self._code, self.sum
        is_int32 = self._number is not None and self._number.format == ">i"
        if self.length_at is None or self.magic_after_length is None or not (is_int32 or isinstance(code, Varint)):
            return None
        return (
            *(self.length_at, not is_int32, isinstance(code, Varint) and code.zigzag, self._counts_itself),
            *(self.least, self.magic_after_length, self.magic & 0xFF),
            *((POLYNOMIALS[checksum.algorithm], checksum.at, checksum.begin) if checksum else (0, 0, 0)),
        )

    @property
    def has_length(self) -> bool:
        return self._code is not None

    @property
    def length_is_varint(self) -> Varint | None:
        """The varint type of the length field. None if the field has a fixed width, or if there is no such field."""
        return self._code if isinstance(self._code, Varint) else None

    def _fixed(self, format: "Format", role: str, width: int = 1) -> int | None:
        item = format.fields.get(role)
        if item is None or not isinstance(item.type, Fixed) or item.type.wire.width != width:
            return None
        return _width(self._items_before(item.name))

    def _magic_after_length(self, format: "Format") -> int | None:
        item = format.fields.get("magic")
        if item is None or not isinstance(item.type, Fixed) or item.type.wire.width != 1 or self._extent < 0:
            return None
        return _width(self._items_before(item.name)[self._extent + 1 :])

    def _sum(self) -> ChecksumPosition | None:
        item = next((each for each in self._header.root.items if isinstance(each.type, Checksum)), None)
        if item is None or not isinstance(item.type, Checksum) or self._extent < 0 or item.condition is not None:
            return None
        at = _width(self._items_before(item.name)[self._extent + 1 :])
        begin = _width(self._items_before(item.type.first)[self._extent + 1 :])
        return (
            None if at is None or begin is None else ChecksumPosition(item.type.algorithm, at, begin, item.type.first)
        )

    def _items_before(self, name: str) -> tuple[Item, ...]:
        items = self._header.root.items
        return items[: next(at for at, item in enumerate(items) if item.name == name)]

    def length(self, header: bytes, pos: int) -> tuple[int, int] | None:
        """Return the length of the batch at `pos` and where that field ends, or None if the header is truncated."""
        if self.length_at is None or self._code is None:
            return self._length_by_layout(header, pos)
        begin = pos + self.length_at
        if self._number is not None:
            end = begin + self._number.size
            return (self._number.unpack_from(header, begin)[0], end) if end <= len(header) else None
        try:
            value, end = (header[begin], begin + 1) if header[begin] < 0x80 else read_uvarint(header, begin)
        except (IndexError, ValueError):
            return None
        return from_zigzag(value) if isinstance(self._code, Varint) and self._code.zigzag else value, end

    def _length_by_layout(self, header: bytes, pos: int) -> tuple[int, int] | None:
        if self._extent < 0:
            return None
        from tagwire.interpreter.reader import LayoutReader

        reader = LayoutReader(self._header, header, offset=pos)
        try:
            for item in self._header.root.items[: self._extent]:
                reader.read(item.type, ())
            return int(reader.read(self._header.root.items[self._extent].type, ())), reader.pos
        except DecodeError:
            return None

    def size(self, header: bytes, pos: int) -> int | None:
        """Return the size in bytes that the header at `pos` gives for its batch, or None if the header is truncated."""
        found = self.length(header, pos)
        return None if found is None else self.batch_size(*found, pos)

    def batch_size(self, length: int, end: int, pos: int) -> int:
        """Return the batch size in bytes.

        `length` is the value of the batch's length field, and `end` the position after that field.
        """
        return length + (self.length_at or 0 if self._counts_itself else end - pos)

    def sound_size(self, header: bytes, pos: int) -> int:
        """Return the size of the batch at `pos`, or 0 if its header is truncated or its length is too small."""
        found = self.length(header, pos)
        return 0 if found is None or found[0] < self.least else self.batch_size(*found, pos)

    def has_magic(self, header: bytes, pos: int) -> bool:
        if self.magic_at is not None:
            at = pos + self.magic_at
        else:
            if self.magic_after_length is None or (found := self.length(header, pos)) is None:
                return False
            at = found[1] + self.magic_after_length
        return at < len(header) and header[at] == self.magic


def _is_length(item: Item) -> bool:
    """Return whether an item is the batch's length field, which counts the bytes after itself."""
    return isinstance(item.type, Extent) and not item.type.of


def _width(items: tuple[Item, ...]) -> int | None:
    width = 0
    for item in items:
        code = item.type.code if isinstance(item.type, Extent) else item.type
        if not isinstance(code, Fixed | Checksum) or item.condition is not None:
            return None
        width += code.minimum
    return width
