"""The building blocks of generated serializers: functions that read or write a single value.

Arrays are in `arrays`, but the functions for their counts are here.

The functions read from `bytes` at a position, or append to a `bytearray`. For invalid bytes or values, they raise
`UnreadableBytes`, `struct.error`, `IndexError` or the like, without a position. The interpreter then finds the
position.

The functions for strings don't check whether the input ends within the string. If it does, they return a position past
the end, so the next read fails. After the last field, the serializer checks the position. This works only because
positions never decrease: no function here may return a smaller position than it was given.
"""

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Final, Protocol, TypeVar, cast
from uuid import UUID, SafeUUID

from tagwire.wire.types import STRING_MAX
from tagwire.wire.varint import UVARINT_MAX, uvarint_bytes

T = TypeVar("T")


class UnreadableBytes(ValueError):
    """Raised by a fast path for invalid bytes. The layout interpreter then finds the reason and the position."""


class UnwritableValue(ValueError):
    """Raised by a fast path for an invalid value. The layout interpreter then finds the reason and the path."""


class _New(Protocol):
    def __call__(self, cls: type[T], /) -> T: ...


empty_object: Final = cast(_New, object.__new__)
"""Make an object without calling `__init__`: decoders set every slot themselves."""
is_subclass: Final = cast(Callable[[type, type], bool], issubclass)
"""`issubclass`, but typed so that type checkers don't report the calls as unnecessary."""

BOOLEANS: Final = (False, True)
"""The booleans that the bytes 0 and 1 encode. Any other byte raises IndexError."""
BOOLEAN_BYTES: Final[dict[object, int]] = {False: 0, True: 1}
"""The byte that encodes each boolean. Any other value raises KeyError."""

# The attributes of a UUID are read-only, so set its slots directly. This takes a third of the constructor's time.
_set_int = cast(Any, UUID).int.__set__
_set_is_safe = cast(Any, UUID).is_safe.__set__
_UNKNOWN_SAFETY = SafeUUID.unknown
_from_bytes = int.from_bytes


def uuid_of(raw: bytes) -> UUID:
    """Make a UUID from its 16 bytes."""
    value = empty_object(UUID)
    _set_int(value, _from_bytes(raw, "big"))
    _set_is_safe(value, _UNKNOWN_SAFETY)
    return value


def uuid_bytes(value: UUID) -> bytes:
    """Return a UUID's 16 bytes. Raises UnwritableValue for any other object, even if it has an attribute `bytes`."""
    if not isinstance(value, UUID):
        raise UnwritableValue
    return value.int.to_bytes(16, "big")


EMPTIES: Final[tuple[object, ...]] = ((), [])
"""The empty arrays: a tuple and a list. Unlike `not value`, `value in EMPTIES` is false for "", 0 and None."""


def check_null_length(length: int) -> None:
    """Raise UnreadableBytes for a negative length other than -1, which means null."""
    if length != -1:
        raise UnreadableBytes


def uvarint(buf: bytes, pos: int, first: int) -> tuple[int, int]:
    """Read the rest of a varint after its byte `first` (0x80 or more). Return its value and the position after it.

    Raises UnreadableBytes for a value above 2^31 - 1, and for a varint that is longer than needed, because a zero of
    several bytes would be mistaken for null.
    """
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 or value > UVARINT_MAX:
                raise UnreadableBytes
            return value, pos
    raise UnreadableBytes


def string_length(buf: bytes, pos: int, first: int) -> tuple[int, int]:
    """Read the compact length (n + 1) of a string, like `uvarint`. Raises UnreadableBytes for n above 32767."""
    value, pos = uvarint(buf, pos, first)
    if value > STRING_MAX + 1:
        raise UnreadableBytes
    return value, pos


_pack_int16 = Struct(">h").pack
_pack_int32 = Struct(">i").pack


def put_count(out: bytearray, values: Sequence[object] | None) -> None:
    """Append an array's int32 count. Accepts only tuples and lists, because a str also has a length."""
    out += _pack_int32(_count(values))


def put_compact_count(out: bytearray, values: Sequence[object] | None) -> None:
    """Append an array's compact count. Accepts only tuples and lists."""
    _put_compact_length(out, _count(values))


def _count(values: Any) -> int:
    kind = type(values)
    if kind is tuple or kind is list:
        return len(values)
    if not issubclass(kind, (tuple, list)):
        raise UnwritableValue
    return sum(1 for _ in values)  # counts the elements, because a subclass may override `len`


def _put_compact_length(out: bytearray, size: int) -> None:
    if size < 0x7F:
        out.append(size + 1)
    else:
        out += uvarint_bytes(size + 1)


def required(value: T | None) -> T:
    """Return `value`. Raises UnwritableValue if it is None, because the field is not nullable."""
    if value is None:
        raise UnwritableValue
    return value


_utf8 = str.encode
"""Encodes a str as UTF-8. Unlike `value.encode()`, rejects other objects that have a method `encode`."""


def put_string(out: bytearray, value: str | None) -> None:
    """Append a string: its int16 length, then UTF-8."""
    if value is None:
        raise UnwritableValue
    data = _utf8(value)
    out += _pack_int16(len(data))
    out += data


def put_compact_string(out: bytearray, value: str | None) -> None:
    """Append a string: its compact length, then UTF-8."""
    if value is None:
        raise UnwritableValue
    data = _utf8(value)
    size = len(data) + 1
    if size < 0x80:
        out.append(size)
    elif size <= STRING_MAX + 1:
        out += uvarint_bytes(size)
    else:
        raise UnwritableValue
    out += data


Binary = bytes | bytearray | memoryview


def binary(value: Binary) -> Binary:
    """Return `value` in a form whose `len()` is its number of bytes. Raises TypeError if it is not bytes-like."""
    # `bytearray +=` would also accept a list of ints, and `len()` of a memoryview counts items instead of bytes.
    return value if type(value) is bytes else memoryview(value).cast("B")


def put_binary(out: bytearray, value: Binary | None) -> None:
    """Append bytes with their int32 length."""
    if value is None:
        raise UnwritableValue
    data = binary(value)
    out += _pack_int32(len(data))
    out += data


def put_compact_binary(out: bytearray, value: Binary | None) -> None:
    """Append bytes with their compact length."""
    if value is None:
        raise UnwritableValue
    data = binary(value)
    _put_compact_length(out, len(data))
    out += data


def _nullable(put: Callable[[bytearray, T], object], null: bytes) -> Callable[[bytearray, T], None]:
    """Return a function that appends a value with `put`, but None as the bytes `null`."""

    def put_nullable(out: bytearray, value: T) -> None:
        if value is None:
            out += null
        else:
            put(out, value)

    return put_nullable


put_nullable_string: Final = _nullable(put_string, b"\xff\xff")
"""Append a string with its int16 length. None is written as the length -1."""
put_nullable_compact_string: Final = _nullable(put_compact_string, b"\0")
"""Append a string with its compact length. None is written as the byte 0."""
put_nullable_binary: Final = _nullable(put_binary, b"\xff\xff\xff\xff")
"""Append bytes with their int32 length. None is written as the length -1."""
put_nullable_compact_binary: Final = _nullable(put_compact_binary, b"\0")
"""Append bytes with their compact length. None is written as the byte 0."""
