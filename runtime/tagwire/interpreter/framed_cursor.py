"""Read the parts of layouts that only record formats have.

`LayoutReader` extends this class with the traversal of fields. This class reads lengths and checksums of following
bytes, constant values, named bits, and compressed bytes. Decompressed bytes are read as a separate input; an error in
them has the position of the compressed bytes, and its message gives the position in the decompressed bytes.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NoReturn

from tagwire.errors import DecodeError, LimitError
from tagwire.interpreter.cursor import LayoutCursor, byte_count
from tagwire.layout import Array, Checksum, Compression, Extent, Item, Nested, Order, StructLayout, Type

PLACES = ""
"""The key of a scope under which the positions of the struct's checksums are kept; no field has this name."""

Good = Mapping[int, tuple[int, int, int, int]]
"""The valid elements of each array before an error, by the start position of the array.

Each entry has the number of valid elements, the position after them, the element count so far, and the number of the
last valid element. That number matters only if elements must be in order and more follow.
"""

Scopes = tuple[dict[str, Any], ...]
"""The values read so far of a struct (last) and of the enclosing structs."""


class FramedCursor(LayoutCursor):
    """A position in bytes that may be enclosed, covered by a checksum, or compressed."""

    compressed_at: int | None = None
    """The start of the compressed bytes that are being read, or None outside compressed bytes."""
    good: Good = MappingProxyType({})
    """The array elements that the native engine has read before an error; they are not read again."""
    error_at = 0
    """The position of the last error; if it is in decompressed bytes, counted from their beginning."""

    def fail(
        self, found: str, expected: str, offset: int | None = None, error: type[DecodeError] = DecodeError
    ) -> NoReturn:
        """Raise a DecodeError at the current position, or at the compressed bytes that contain it."""
        self.error_at = self.pos if offset is None else offset
        if self.compressed_at is None:
            super().fail(found, expected, offset, error)
        where = f" at byte {self.error_at} of the {len(self.buf)} decompressed"
        super().fail(found + where, expected, self.compressed_at, error)

    def value(self, type: Type, scopes: Scopes) -> Any:
        """Read a value of a type, with its node in the trace."""
        raise NotImplementedError

    def read(self, type: Type, scopes: Scopes) -> Any:
        """Read a value of a type."""
        raise NotImplementedError

    # ------------------------------------------------------------ items

    def item(self, item: Item, struct: StructLayout, scopes: Scopes) -> Any:
        """Read an item that frames other items, or that is framed, compressed or checked."""
        kind, start = item.type, self.pos
        for name, check in struct.checks:
            if check.first == item.name:
                self.path[-1] = name
                self.verify(check, scopes[-1][name], scopes[-1][PLACES][name])
                self.path[-1] = item.name
        if item.extent:
            return self.within(item, scopes)
        if item.compression is not None:
            return self.packed(item, scopes)
        value = self.checked(item, self.value(kind, scopes), start)
        if isinstance(kind, Extent) and not kind.of:
            self.end = self.extent_end(kind, value, start)
        elif isinstance(kind, Extent):
            value = self.extent_end(kind, value, start) - self.pos  # store the other item's length without this item
        elif isinstance(kind, Checksum):
            scopes[-1].setdefault(PLACES, {})[item.name] = start
        return value

    def within(self, item: Item, scopes: Scopes) -> Any:
        """Read an item whose length was given by another item."""
        end, self.end = self.end, self.pos + scopes[-1][item.extent]
        value = self.value(item.type, scopes)
        self.exhausted(item.name)
        self.end = end
        return value

    def packed(self, item: Item, scopes: Scopes) -> Any:
        """Read an item whose bytes may be compressed: an array in its extent, or a value with nested messages."""
        assert item.compression is not None
        codec = self.codec(item.compression, scopes)
        if codec == "none" or (isinstance(item.type, Array) and not self.left):  # zero records may take zero bytes
            return self.value(item.type, scopes)
        self.open(f"{item.type} in {codec}", self.pos)
        if isinstance(item.type, Array):
            with self.unpacked(codec, self.pos, self.end):
                value = self.value(item.type, scopes)
            self.note(len(value))
        else:
            value = self.read(item.type, scopes)
            if self.recorder is not None and value is not None:  # without a trace, the nested messages are not read
                with self.unpacked(codec, self.pos - len(value), self.pos):
                    self.read(Array(Nested(self.layout.root), None, nullable=False), ())
            self.note(value)
        self.close()
        return value

    # ------------------------------------------------------------ lengths and counts

    def extent_end(self, kind: Extent, size: int, start: int) -> int:
        """Return the end of the extent whose length `size`, written at `start`, was just read."""
        size -= self.pos - start if kind.counts_itself else 0
        if not 0 <= size <= self.left:
            self.fail(f"length {size}", f"0 or more, and at most the {byte_count(self.left)} left", start)
        return self.pos + size

    def exhausted(self, what: str) -> None:
        """Reject bytes that are left over in an extent."""
        if self.left:
            self.fail(f"{byte_count(self.left)} after the last field", f"the end of {what}")

    # ------------------------------------------------------------ values

    def checked(self, item: Item, value: Any, start: int) -> Any:
        """Return a value that was read at `start`. Rejects a value that its item doesn't allow."""
        if item.equals is not None and value != item.equals:
            self.fail(f"{item.name} {value}", str(item.equals), start)
        for group in item.bits:
            number = group.of(value)
            if group.values and number >= len(group.values):
                known = ", ".join(f"{number} ({name})" for number, name in enumerate(group.values))
                self.fail(f"{group.name} {number}", f"one of {known}", start)
        if item.bits and self.recorder is not None:
            self.recorder.name_bits(item.bits)
        return value

    def verify(self, kind: Checksum, stated: int, at: int) -> None:
        """Reject the bytes from here to the end of the extent unless they have the checksum written at `at`."""
        from tagwire.wire.checksums import checksum

        found = checksum(kind.algorithm, memoryview(self.buf)[self.pos : self.end])
        if found != stated:
            of = f"0x{found:08x}, the {kind.algorithm} of the {byte_count(self.left)} from {kind.first} on"
            self.deviate(f"0x{stated:08x}", of, at)

    def after_good(self, start: int) -> tuple[int, int]:
        """Skip the valid elements of the array at `start`; return their count, and the number of the last element."""
        first, self.pos, self.elements, last = self.good.get(start, (0, self.pos, self.elements, 0))
        return first, last

    def in_order(self, kind: Array, values: tuple[Any, ...], first: int, last: int) -> None:
        """Reject an empty array that must have elements, and elements out of order; `values` begin at index `first`."""
        if kind.filled and not values and not first:
            self.fail("no element", "at least one, or else the field left out")
        order = kind.order
        if order is None:
            return
        keys = [last] if first else []
        keys += (key_of(order, value) for value in values)
        for one, two in pairwise(keys):
            if two <= one:
                how = "unsigned" if order.unsigned else "signed"
                self.fail(f"{order.field} {two} after {one}", f"ascending ones, each once ({how})")

    # ------------------------------------------------------------ compressed bytes

    def codec(self, packing: Compression, scopes: Scopes) -> str:
        """Return the name of the codec, or `none`."""
        return packing.bits.values[packing.bits.of(lookup(packing.field, scopes))]

    @contextmanager
    def unpacked(self, codec: str, start: int, end: int) -> Generator[None, None, None]:
        """Read the decompressed content of the bytes from `start` to `end`; after the block, the position is `end`."""
        from tagwire.wire.compression import DecompressionError, unpack

        if self.compressed_at is not None:
            self.fail(f"{codec} bytes", "no compression: compressed data can't contain compressed data", start)
        try:
            data = unpack(codec, memoryview(self.buf)[start:end], self.limits)
        except DecompressionError as fault:
            self.fail(fault.found, fault.expected, start, LimitError if fault.is_limit else DecodeError)
        outside = self.buf, self.raw, self.end
        if self.recorder is not None:
            self.recorder.unpack(data, end)
        self.buf = self.raw = data
        self.good = {}  # its positions refer to the outer bytes
        self.pos, self.end, self.compressed_at = 0, len(data), start
        yield
        self.exhausted(f"the {codec} bytes")
        self.buf, self.raw, self.end = outside  # kept after an error, which needs the inner position
        self.pos, self.compressed_at = end, None


def lookup(name: str, scopes: Scopes) -> Any:
    """Return the value of a field that was already read, in the struct or the nearest enclosing one; 0 if absent."""
    for scope in reversed(scopes):
        if name in scope:
            return scope[name]
    return 0


def key_of(order: Order, value: Any) -> int:
    """Return the number by which an element of an ordered array is ordered."""
    key: int = value[order.field] if isinstance(value, dict) else getattr(value, order.field)
    return key & 0xFFFFFFFF if order.unsigned else key
