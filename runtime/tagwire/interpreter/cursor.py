"""The state of a layout reader: its position in the input, the path of the current field, and the limits.

`LayoutCursor` reads bytes, varints and lengths (strictly or leniently), enforces limits, and raises errors with their
positions. It also reads items that occur only in record formats, such as lengths and checksums of later bytes, and
compressed records. Its subclass `LayoutReader` reads whole structs. Decompressed bytes are read as a separate input. An
error in them has the offset of the compressed bytes, and its message contains the offset in the decompressed bytes.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from struct import unpack_from
from types import MappingProxyType
from typing import Any, NoReturn, Protocol

from tagwire.errors import DecodeError, LimitError
from tagwire.layout import (
    Array,
    Bits,
    Checksum,
    Extent,
    Item,
    Layout,
    LengthCode,
    Nested,
    Order,
    StructLayout,
    Type,
)
from tagwire.limits import DEFAULT_LIMITS, Limits, check_limits
from tagwire.text_format import byte_count
from tagwire.wire.varint import UVARINT_MAX, from_zigzag

CHECKSUM_STARTS = ""
"""The key under which a struct's values (see `Scopes`) include the positions of checksums. No field has this name."""

Good = Mapping[int, tuple[int, int, int, int]]
"""Describes the array elements that the native engine found valid before an error, so that the reader can skip them.

Maps the position where an array starts to four numbers:

- the number of valid elements at the beginning of the array
- the position after these elements
- the number of elements that have been read in all arrays up to this position, to compare with the limit on elements
- the sort key of the last valid element, used only if the elements must be in order
"""

Scopes = tuple[dict[str, Any], ...]
"""The values read so far: one dict per enclosing struct, outermost first, and one for the current struct."""


class Recorder(Protocol):
    """Receives the spans (byte ranges) of a message while it is read. `open` starts a span, and `close` ends it."""

    def open(self, path: list[str | int], what: Type | str, offset: int) -> None:
        """Open a span (a range of bytes): a field, an array element, a struct, or a tag section."""

    def note(self, value: Any) -> None:
        """Record `value` as the decoded value of the innermost open span."""

    def name_bits(self, bits: tuple[Bits, ...]) -> None:
        """Attach the names and values of an integer's bits to the most recently closed span."""

    def close(self, end: int) -> None:
        """Close the innermost open span, which ends at position `end`."""

    def decompress(self, data: bytes, end: int) -> None:
        """Mark the innermost open span, up to `end`, as compressed. Offsets inside it refer to decompressed `data`."""


class LayoutCursor:
    """Keeps a position in the bytes of one message, and the path of the field that is read there."""

    compressed_at: int | None = None
    """While compressed bytes are read, the offset at which they begin in the input; otherwise None."""
    good: Good = MappingProxyType({})
    """The array elements that the native engine found valid before an error (see `Good`)."""
    error_at = 0
    """The position of the last error, in the decompressed bytes if the input is compressed."""

    def __init__(
        self,
        layout: Layout,
        buf: bytes,
        *,
        raw: Any = None,
        offset: int = 0,
        strict: bool = True,
        limits: Limits = DEFAULT_LIMITS,
        recorder: Recorder | None = None,
    ) -> None:
        check_limits(limits)
        self.layout = layout
        self.buf = buf
        self.raw = buf if raw is None else raw
        """The buffer from which field values are sliced: `buf`, or a view of the same bytes."""
        self.pos = offset
        self.end = len(buf)
        """The end of the readable bytes: of the input, of a tagged field, or of what a length field covers."""
        self.strict = strict
        self.limits = limits
        self.recorder = recorder
        self.canonical = True
        """Whether encoding the value gives the bytes that were read."""
        self.path: list[str | int] = []
        self.elements = 0
        self.unknown_tags = 0
        self.unknown_tag_bytes = 0

    @property
    def left(self) -> int:
        """The number of bytes left before `end`, the end of the readable bytes."""
        return self.end - self.pos

    def fail(
        self, found: str, expected: str, offset: int | None = None, error: type[DecodeError] = DecodeError
    ) -> NoReturn:
        """Raise `error` at `offset`, by default the current offset.

        An error in decompressed bytes has the offset of the compressed data.
        """
        offset = self.error_at = self.pos if offset is None else offset
        if self.compressed_at is not None:
            found += f" at byte {offset} of the {len(self.buf)} decompressed"
            offset = self.compressed_at
        raise error(
            message_name=self.layout.name,
            version=self.layout.version,
            path=dotted(self.path),
            offset=offset,
            found=found,
            expected=expected,
        )

    def deviate(self, found: str, expected: str, offset: int | None = None) -> None:
        """Raise DecodeError if the reader is strict. Otherwise, accept the input, but set `canonical` to False."""
        if self.strict:
            self.fail(found, expected, offset)
        self.canonical = False

    def bound(self, limit: str, amount: int) -> None:
        most = getattr(self.limits, limit)
        if most is not None and amount > most:
            what = limit.replace("_", " ")
            found = f"a depth of {amount}" if limit == "depth" else f"{amount} {what[:-1] if amount == 1 else what}"
            self.fail(found, f"at most {most} (Limits.{limit})", error=LimitError)

    def open(self, what: Type | str, offset: int) -> None:
        """Open a span (a range of bytes) if a trace is recorded.

        `what` is the type of the value, or a description such as `tag 3`.
        """
        if self.recorder is not None:
            self.recorder.open(self.path, what, offset)

    def note(self, value: Any) -> None:
        if self.recorder is not None:
            self.recorder.note(value)

    def close(self) -> None:
        if self.recorder is not None:
            self.recorder.close(self.pos)

    def take(self, count: int) -> int:
        """Skip `count` bytes and return the offset of the first of them. Raises DecodeError if fewer bytes are left."""
        start = self.pos
        if count > self.end - start:
            self.fail(f"{byte_count(self.end - start)} left", byte_count(count))
        self.pos = start + count
        return start

    def raw_varint(self, size: int) -> int:
        """Read an unsigned varint of at most `size` bytes. Raises DecodeError if it is longer."""
        start = self.pos
        value = 0
        for shift in range(0, 7 * size, 7):
            byte = self.buf[self.take(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    self.deviate(f"varint {value} in {byte_count(self.pos - start)}", "its shortest form", start)
                return value
        self.fail(f"a varint of more than {size} bytes", f"at most {size}", start)

    def uvarint(self) -> int:
        """Read a length, count or tag. Lenient readers treat bit 31 as the sign, like an int32 in Java."""
        start = self.pos
        value = self.raw_varint(5)
        if value > UVARINT_MAX:
            self.deviate(f"varint {value}", f"at most {UVARINT_MAX}", start)
            value = _as_int32(value)
        return value

    def signed_length(self, code: LengthCode) -> int:
        """Read a length or count and return it as stored: it may be negative, and -1 usually means null."""
        if code.code:
            return int(unpack_from(">" + code.code, self.buf, self.take(code.width))[0])
        return from_zigzag(self.raw_varint(5)) if code.zigzag else _as_int32(self.uvarint() - code.bias)

    def length(self, code: LengthCode) -> int | None:
        """Read a length or count. Return None for null.

        A strict reader raises DecodeError for other negative values; a lenient reader treats them as null.
        """
        start = self.pos
        value = self.signed_length(code)
        if value >= 0:
            return value
        if code.null is None or value != -1:
            self.deviate(f"length {value}", "0 or more" if code.null is None else "-1 (null) or more", start)
        return None

    def value(self, type: Type, scopes: Scopes) -> Any:
        """Read a value of this type. If a trace is recorded, add a span for the value."""
        raise NotImplementedError

    def read(self, type: Type, scopes: Scopes) -> Any:
        raise NotImplementedError

    def item(self, item: Item, struct: StructLayout, scopes: Scopes) -> Any:
        """Read an item of a struct: a field, a length or a checksum.

        Before the first item that a checksum covers, verify the checksum.
        """
        kind, start = item.type, self.pos
        for name, check in struct.checks:
            if check.first == item.name:
                self.path[-1] = name
                self.verify(check, scopes[-1][name], scopes[-1][CHECKSUM_STARTS][name])
                self.path[-1] = item.name
        if item.extent:
            return self.within(item, scopes)
        if item.compression is not None:
            return self.compressed(item, scopes)
        value = self.checked(item, self.value(kind, scopes), start)
        if isinstance(kind, Extent) and not kind.of:
            self.end = self.extent_end(kind, value, start)
        elif isinstance(kind, Extent):
            # Some lengths also count their own bytes, so subtract these to get the size of the field itself.
            value = self.extent_end(kind, value, start) - self.pos
        elif isinstance(kind, Checksum):
            scopes[-1].setdefault(CHECKSUM_STARTS, {})[item.name] = start
        return value

    def within(self, item: Item, scopes: Scopes) -> Any:
        """Read a field whose size in bytes is in an earlier field. Raises DecodeError if the value is shorter."""
        end, self.end = self.end, self.pos + scopes[-1][item.extent]
        value = self.value(item.type, scopes)
        self.exhausted(item.name)
        self.end = end
        return value

    def compressed(self, item: Item, scopes: Scopes) -> Any:
        """Read an item that may be compressed: the array of records in a batch, or bytes that contain messages."""
        assert item.compression is not None
        bits = item.compression.bits
        codec = bits.values[bits.of(lookup(item.compression.field, scopes))]
        # If an array is empty, there may be no bytes to decompress, even if a codec is set.
        if codec == "none" or (isinstance(item.type, Array) and not self.left):
            return self.value(item.type, scopes)
        self.open(f"{item.type} in {codec}", self.pos)
        if isinstance(item.type, Array):
            with self.decompressed(codec, self.pos, self.end):
                value = self.value(item.type, scopes)
            self.note(len(value))
        else:
            value = self.read(item.type, scopes)
            # The value stays compressed. It is decoded here only to record the spans inside it.
            if self.recorder is not None and value is not None:
                with self.decompressed(codec, self.pos - len(value), self.pos):
                    self.read(Array(Nested(self.layout.root), None, nullable=False), ())
            self.note(value)
        self.close()
        return value

    def extent_end(self, kind: Extent, size: int, start: int) -> int:
        """Return the end offset of the bytes that the length `size` covers. `start` is the offset of the length."""
        size -= self.pos - start if kind.counts_itself else 0
        if not 0 <= size <= self.left:
            self.fail(f"length {size}", f"0 to {byte_count(self.left)} (all that is left)", start)
        return self.pos + size

    def exhausted(self, what: str) -> None:
        if self.left:
            self.fail(f"{byte_count(self.left)} after the last field", f"the end of {what}")

    def checked(self, item: Item, value: Any, start: int) -> Any:
        """Check `value`, which was read at offset `start`, and return it.

        Raises DecodeError if it isn't the item's constant, or if a group of its bits has an undefined value.
        """
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
        """Check that the checksum of the remaining bytes equals `stated`, which was read at offset `at`."""
        from tagwire.wire.checksums import checksum

        found = checksum(kind.algorithm, memoryview(self.buf)[self.pos : self.end])
        if found != stated:
            of = f"0x{found:08x}, the {kind.algorithm} of the {byte_count(self.left)} that begin with {kind.first!r}"
            self.deviate(f"0x{stated:08x}", of, at)

    def after_good(self, start: int) -> tuple[int, int]:
        """Skip the elements that the native engine has already found valid in the array that begins at `start`.

        Return their number, and the sort key (`key_of`) of the last one.
        """
        first, self.pos, self.elements, last = self.good.get(start, (0, self.pos, self.elements, 0))
        return first, last

    def in_order(self, kind: Array, values: tuple[Any, ...], first: int, last: int) -> None:
        """Raise DecodeError if the array is empty but must not be, or if its elements' sort keys don't ascend."""
        if kind.filled and not values and not first:
            self.fail("an empty array", "at least one element, because empty arrays must be omitted")
        order = kind.order
        if order is None:
            return
        keys = [last] if first else []
        keys += (key_of(order, value) for value in values)
        for one, two in pairwise(keys):
            if two <= one:
                how = "unsigned" if order.unsigned else "signed"
                self.fail(f"{order.field} {two} after {one}", f"strictly ascending {how} numbers")

    @contextmanager
    def decompressed(self, codec: str, start: int, end: int) -> Generator[None, None, None]:
        """Decompress the bytes from `start` to `end`. Inside the `with` block, the reader reads the result."""
        from tagwire.wire.compression import DecompressionError, decompress

        if self.compressed_at is not None:
            self.fail(f"{codec} data inside compressed data", "data that is not compressed", start)
        try:
            data = decompress(codec, memoryview(self.buf)[start:end], self.limits)
        except DecompressionError as cause:
            self.fail(cause.found, cause.expected, start, LimitError if cause.is_limit else DecodeError)
        outside = self.buf, self.raw, self.end
        if self.recorder is not None:
            self.recorder.decompress(data, end)
        self.buf = self.raw = data
        self.good = {}  # its positions refer to the compressed input
        self.pos, self.end, self.compressed_at = 0, len(data), start
        yield
        self.exhausted(f"the {codec} bytes")
        # Don't restore the outer input after an error: the trace needs the error's position in the decompressed bytes.
        self.buf, self.raw, self.end = outside
        self.pos, self.compressed_at = end, None


def dotted(path: list[str | int]) -> str:
    """Format `["topics", 3, "name"]` as `topics[3].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _as_int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - ((value & 0x80000000) << 1)


def lookup(name: str, scopes: Scopes) -> Any:
    """Return the value of field `name` in the innermost struct of `scopes` that has this field, or 0 if none has it."""
    for scope in reversed(scopes):
        if name in scope:
            return scope[name]
    return 0


def key_of(order: Order, value: Any) -> int:
    """Return the sort key of an element of an ordered array."""
    key: int = value[order.field] if isinstance(value, dict) else getattr(value, order.field)
    return key & 0xFFFFFFFF if order.unsigned else key
