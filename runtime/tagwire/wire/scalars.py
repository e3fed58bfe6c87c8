"""The pieces of straight-line serializers: what generated code calls for each kind of field.

Functions over `bytes` and a position, or over a growing `bytearray`. They check everything that
would let a fast path fail silently, and raise `Malformed` (or `struct.error`, `IndexError`,
`UnicodeDecodeError` ...) without a place: the serializer then lets the interpreter read the same
bytes or value again and report the place. Successful calls do no bookkeeping.

Positions only grow, so strings need no bounds check of their own: a slice past the end is short,
and the next read, or the last comparison of the position with the length, rejects it. So no
function here may return a smaller position than it was given.
"""

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Final, Protocol, TypeVar, cast
from uuid import UUID, SafeUUID

from tagwire.wire.types import STRING_MAX
from tagwire.wire.varint import UVARINT_MAX, uvarint_bytes

__all__ = [
    "BOOLEANS",
    "BOOLEAN_BYTES",
    "EMPTIES",
    "Binary",
    "Malformed",
    "Refused",
    "binary",
    "booleans",
    "new",
    "null",
    "put_binaries",
    "put_binary",
    "put_booleans",
    "put_compact_binaries",
    "put_compact_binary",
    "put_compact_count",
    "put_compact_string",
    "put_compact_strings",
    "put_count",
    "put_each",
    "put_nullable_binary",
    "put_nullable_compact_binary",
    "put_nullable_compact_string",
    "put_nullable_string",
    "put_string",
    "put_strings",
    "put_uuids",
    "read_arrays",
    "read_binaries",
    "read_compact_arrays",
    "read_compact_binaries",
    "read_compact_strings",
    "read_strings",
    "read_uuids",
    "required",
    "string_length",
    "uuid_bytes",
    "uuid_of",
    "uvarint",
]

T = TypeVar("T")


class Malformed(ValueError):
    """Bytes that a fast path refuses; the tracer finds out why and where."""


class Refused(ValueError):
    """A value that a fast path refuses; the interpreter finds out why and where."""


class _New(Protocol):
    def __call__(self, cls: type[T], /) -> T: ...


new: Final = cast(_New, object.__new__)
"""An object without its `__init__`: decoders set every slot themselves."""

# ---------------------------------------------------------------- booleans, uuids

BOOLEANS: Final = (False, True)
"""Indexed by the byte: any other byte is an IndexError."""
BOOLEAN_BYTES: Final[dict[object, int]] = {False: 0, True: 1}
"""Indexed by the value: anything else is a KeyError."""

# UUID forbids setting attributes, and its constructor takes three times as long as
# these two stores into its slots.
_set_int = cast(Any, UUID).int.__set__
_set_is_safe = cast(Any, UUID).is_safe.__set__
_UNKNOWN_SAFETY = SafeUUID.unknown
_from_bytes = int.from_bytes


def uuid_of(raw: bytes) -> UUID:
    """A UUID from its 16 bytes."""
    value = new(UUID)
    _set_int(value, _from_bytes(raw, "big"))
    _set_is_safe(value, _UNKNOWN_SAFETY)
    return value


def read_uuids(buf: bytes, pos: int, count: int) -> tuple[tuple[UUID, ...], int]:
    """`count` UUIDs at `pos`, and where they end."""
    end = pos + 16 * count
    if count < 0 or end > len(buf):
        raise Malformed
    return tuple(uuid_of(buf[at : at + 16]) for at in range(pos, end, 16)), end


def uuid_bytes(value: UUID) -> bytes:
    """The 16 bytes of a UUID, and of nothing else that has an attribute `bytes`: struct would pad those or cut them."""
    if not isinstance(value, UUID):
        raise Refused
    return value.int.to_bytes(16, "big")


def put_uuids(out: bytearray, values: Sequence[UUID]) -> None:
    """Append UUIDs without a count."""
    for value in values:
        out += uuid_bytes(value)


def booleans(buf: bytes, pos: int, count: int) -> tuple[tuple[bool, ...], int]:
    """`count` booleans at `pos`, and where they end."""
    end = pos + count
    if count < 0 or end > len(buf):
        raise Malformed
    return tuple(BOOLEANS[byte] for byte in buf[pos:end]), end


def put_booleans(out: bytearray, values: Sequence[bool]) -> None:
    """Append booleans without a count."""
    out += bytes([BOOLEAN_BYTES[value] for value in values])


EMPTIES: Final[tuple[object, ...]] = ((), [])
"""Whether a value equals the default of an array; other empty values, such as "", are not arrays."""

# ---------------------------------------------------------------- lengths


def null(length: int) -> None:
    """What a negative length means where null is legal: -1 says null, anything else is refused."""
    if length != -1:
        raise Malformed


def uvarint(buf: bytes, pos: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte was `first` (0x80 or more): value and end.

    Refuses one that is longer than it need be (else a long zero would pass for
    null) or above 2^31 - 1.
    """
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 or value > UVARINT_MAX:
                raise Malformed
            return value, pos
    raise Malformed


def string_length(buf: bytes, pos: int, first: int) -> tuple[int, int]:
    """As `uvarint`, for the compact length (n + 1) of a string of at most 32767 bytes."""
    value, pos = uvarint(buf, pos, first)
    if value > STRING_MAX + 1:
        raise Malformed
    return value, pos


def _compact_length(buf: bytes, pos: int) -> tuple[int, int]:
    first = buf[pos]
    value, pos = (first, pos + 1) if first < 0x80 else uvarint(buf, pos + 1, first)
    if value == 0:
        raise Malformed
    return value - 1, pos


_INT16 = Struct(">h")
_INT32 = Struct(">i")
_pack_int16 = _INT16.pack
_pack_int32 = _INT32.pack


def put_count(out: bytearray, values: Sequence[object] | None) -> None:
    """Append the int32 count of an array. Refuses what is neither tuple nor list: a str would pass for its letters."""
    out += _pack_int32(_count(values))


def put_compact_count(out: bytearray, values: Sequence[object] | None) -> None:
    """Append the compact count of an array, tuple or list."""
    _put_compact_length(out, _count(values))


def _count(values: Any) -> int:
    kind = type(values)
    if kind is tuple or kind is list:
        return len(values)
    if not issubclass(kind, (tuple, list)):
        raise Refused
    return sum(1 for _ in values)  # the length of a subclass may be another


def _put_compact_length(out: bytearray, size: int) -> None:
    if size < 0x7F:
        out.append(size + 1)
    else:
        out += uvarint_bytes(size + 1)


def required(value: T | None) -> T:
    """`value`, refused where it is None: in this version the field is not nullable."""
    if value is None:
        raise Refused
    return value


# ---------------------------------------------------------------- arrays of arrays

_ReadMany = Callable[[bytes, int, int], tuple[tuple[T, ...], int]]
"""What reads so many elements at a position, and says where they end."""


def read_arrays(buf: bytes, pos: int, count: int, read: _ReadMany[T]) -> tuple[tuple[tuple[T, ...], ...], int]:
    """`count` arrays with int32 counts at `pos`, and where they end; `read` reads the elements of one."""
    arrays = []
    for _ in range(count):
        (size,) = _INT32.unpack_from(buf, pos)
        if size < 0:
            raise Malformed
        array, pos = read(buf, pos + 4, size)
        arrays.append(array)
    return tuple(arrays), pos


def read_compact_arrays(buf: bytes, pos: int, count: int, read: _ReadMany[T]) -> tuple[tuple[tuple[T, ...], ...], int]:
    """`count` arrays with compact counts at `pos`, and where they end; `read` reads the elements of one."""
    arrays = []
    for _ in range(count):
        size, pos = _compact_length(buf, pos)
        array, pos = read(buf, pos, size)
        arrays.append(array)
    return tuple(arrays), pos


def put_each(out: bytearray, values: Sequence[T], put: Callable[[bytearray, T], object]) -> None:
    """Append arrays without a count; `put` appends one."""
    for value in values:
        put(out, value)


# ---------------------------------------------------------------- strings

_utf8 = str.encode
"""Not `value.encode()`, which works for any object with a method of this name."""


def put_string(out: bytearray, value: str | None) -> None:
    """Append an int16 length and UTF-8."""
    if value is None:
        raise Refused
    data = _utf8(value)
    out += _pack_int16(len(data))
    out += data


def put_nullable_string(out: bytearray, value: str | None) -> None:
    """Append an int16 length and UTF-8, or -1 for None."""
    if value is None:
        out += b"\xff\xff"
    else:
        put_string(out, value)


def put_compact_string(out: bytearray, value: str | None) -> None:
    """Append a compact length and UTF-8."""
    if value is None:
        raise Refused
    data = _utf8(value)
    size = len(data) + 1
    if size < 0x80:
        out.append(size)
    elif size <= STRING_MAX + 1:
        out += uvarint_bytes(size)
    else:
        raise Refused
    out += data


def put_nullable_compact_string(out: bytearray, value: str | None) -> None:
    """Append a compact length and UTF-8, or 0 for None."""
    if value is None:
        out.append(0)
    else:
        put_compact_string(out, value)


def read_strings(buf: bytes, pos: int, count: int) -> tuple[tuple[str, ...], int]:
    """`count` strings with int16 lengths at `pos`, and where they end."""
    items = []
    unpack = _INT16.unpack_from
    for _ in range(count):
        (size,) = unpack(buf, pos)
        if size < 0:
            raise Malformed
        end = pos + 2 + size
        items.append(buf[pos + 2 : end].decode())
        pos = end
    return tuple(items), pos


def read_compact_strings(buf: bytes, pos: int, count: int) -> tuple[tuple[str, ...], int]:
    """`count` strings with compact lengths at `pos`, and where they end."""
    items = []
    for _ in range(count):
        size, pos = _compact_length(buf, pos)
        if size > STRING_MAX:
            raise Malformed
        end = pos + size
        items.append(buf[pos:end].decode())
        pos = end
    return tuple(items), pos


def put_strings(out: bytearray, values: Sequence[str]) -> None:
    """Append strings with int16 lengths, without a count."""
    for value in values:
        put_string(out, value)


def put_compact_strings(out: bytearray, values: Sequence[str]) -> None:
    """Append strings with compact lengths, without a count."""
    for value in values:
        put_compact_string(out, value)


# ---------------------------------------------------------------- bytes and records

Binary = bytes | bytearray | memoryview


def binary(value: Binary) -> Binary:
    """`value` as an object whose length is its number of bytes; TypeError for anything but a buffer of bytes."""
    # bytearray += would take any iterable of ints, and len() of a view counts its items.
    return value if type(value) is bytes else memoryview(value).cast("B")


def put_binary(out: bytearray, value: Binary | None) -> None:
    """Append an int32 length and bytes."""
    if value is None:
        raise Refused
    data = binary(value)
    out += _pack_int32(len(data))
    out += data


def put_nullable_binary(out: bytearray, value: Binary | None) -> None:
    """Append an int32 length and bytes, or -1 for None."""
    if value is None:
        out += b"\xff\xff\xff\xff"
    else:
        put_binary(out, value)


def put_compact_binary(out: bytearray, value: Binary | None) -> None:
    """Append a compact length and bytes."""
    if value is None:
        raise Refused
    data = binary(value)
    _put_compact_length(out, len(data))
    out += data


def put_nullable_compact_binary(out: bytearray, value: Binary | None) -> None:
    """Append a compact length and bytes, or 0 for None."""
    if value is None:
        out.append(0)
    else:
        put_compact_binary(out, value)


def read_binaries(buf: bytes, raw: Any, pos: int, count: int) -> tuple[tuple[bytes, ...], int]:
    """`count` byte strings with int32 lengths at `pos`, sliced from `raw`, and where they end."""
    items = []
    for _ in range(count):
        (size,) = _INT32.unpack_from(buf, pos)
        if size < 0:
            raise Malformed
        end = pos + 4 + size
        items.append(raw[pos + 4 : end])
        pos = end
    return tuple(items), pos


def read_compact_binaries(buf: bytes, raw: Any, pos: int, count: int) -> tuple[tuple[bytes, ...], int]:
    """`count` byte strings with compact lengths at `pos`, sliced from `raw`, and where they end."""
    items = []
    for _ in range(count):
        size, pos = _compact_length(buf, pos)
        end = pos + size
        items.append(raw[pos:end])
        pos = end
    return tuple(items), pos


def put_binaries(out: bytearray, values: Sequence[Binary]) -> None:
    """Append byte strings with int32 lengths, without a count."""
    for value in values:
        put_binary(out, value)


def put_compact_binaries(out: bytearray, values: Sequence[Binary]) -> None:
    """Append byte strings with compact lengths, without a count."""
    for value in values:
        put_compact_binary(out, value)
