"""A fast path in Python for records of magic 2 and 3, used without the native engine.

A record consists of a length, an optional attributes byte, two deltas, a key, a value and headers. All lengths, counts
and deltas are varints. One-byte varints are read without a function call. This module does not describe errors: the
reader stops before an invalid record, and the layout interpreter then raises the exact error.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from tagwire.layout import (
    VARINT,
    Array,
    Extent,
    Fixed,
    Item,
    Nested,
    Sized,
    StructLayout,
    Varint,
)
from tagwire.records.record import Record
from tagwire.wire.types import WIRE_TYPES
from tagwire.wire.varint import from_zigzag, read_uvarint, uvarint_bytes

if TYPE_CHECKING:
    from tagwire.records.format import Format
    from tagwire.records.walk import Walk

REJECTIONS: Final = (TypeError, ValueError, AttributeError, OverflowError)
"""The exceptions that `write` raises for invalid records. The layout interpreter then raises the exact error."""

_LOW: Final = -(1 << 63)
_DATA_ERRORS: Final = (IndexError, ValueError)


def _types(items: tuple[Item, ...]) -> list[tuple[str, Any]]:
    return [(item.name, item.type) for item in items]


_BYTES: Final = Sized(WIRE_TYPES["bytes"], VARINT, nullable=True)
_HEADER: Final = [("key", Sized(WIRE_TYPES["string"], VARINT, nullable=False)), ("value", _BYTES)]
_RECORD: Final = [
    ("length", Extent(Varint(32, zigzag=True))),
    ("attributes", Fixed(WIRE_TYPES["int8"])),
    ("timestamp_delta", Varint(64, zigzag=True)),
    ("offset_delta", Varint(32, zigzag=True)),
    ("key", _BYTES),
    ("value", _BYTES),
]


def fits(format: "Format") -> bool:
    """Return whether records of this format consist of exactly the fields of magic 2.

    Only the attributes may be absent, if the batch header says so.
    """
    items = format.record.items
    if _types(items[:6]) != _RECORD or len(items) != 7 or not _has_headers(items[6]):
        return False
    return items[1].is_unframed and _are_plain(items[2:])


def _has_headers(item: Item) -> bool:
    kind = item.type
    if item.name != "headers" or not isinstance(kind, Array) or not isinstance(kind.element, Nested):
        return False
    fields = kind.element.struct.items
    return (
        kind == Array(Nested(kind.element.struct), VARINT, nullable=False)
        and _types(fields) == _HEADER
        and _are_plain(fields)
    )


def _are_plain(items: tuple[Item, ...]) -> bool:
    """Return whether each item is always present, and its type alone determines how to read it."""
    return all(item.is_unframed and item.condition is None for item in items)


def has_attributes(record: StructLayout, header: dict[str, Any]) -> bool:
    """Return whether the records of a batch with this header have an attributes byte."""
    condition = record.items[1].condition
    if condition is None:
        return True
    from tagwire.interpreter.reader import holds

    return holds(condition, (header,))


def read(walk: "Walk", count: int) -> Iterator[Record]:
    """Yield records up to the first invalid one. Leave `walk.reader` at the end of the last valid record."""
    reader = walk.reader
    buf, end, pos = reader.buf, reader.end, reader.pos
    base_offset, base_timestamp, appended = walk.base_offset, walk.base_timestamp, walk.appended
    with_attributes = has_attributes(walk.format.record, walk.header)
    attributes = 0
    try:
        for _ in range(count):
            size, pos = _varint(buf, pos)
            stop = pos + size
            if size < 0 or stop > end:
                return
            if with_attributes:
                attributes = buf[pos]
                pos += 1
            time, pos = _varint(buf, pos, 10)
            offset, pos = _varint(buf, pos)
            key, pos = _sized(buf, pos, stop)
            value, pos = _sized(buf, pos, stop)
            headers: tuple[Any, ...] = ()
            if buf[pos]:
                headers, pos = _headers(buf, pos, stop)
            else:
                pos += 1
            offset += base_offset
            timestamp = base_timestamp + time if appended is None else appended
            if pos != stop or not _LOW <= offset < -_LOW or not _LOW <= timestamp < -_LOW:
                return
            yield Record(
                offset,
                timestamp,
                key,
                value,
                headers,
                attributes=attributes if attributes < 0x80 else attributes - 0x100,
            )
            reader.pos = pos
    except _DATA_ERRORS:
        return


def write(records: Iterable[Record], base_offset: int, base_timestamp: int, *, with_attributes: bool) -> bytearray:
    """Encode the records of a batch. Raises an exception in REJECTIONS if a record is invalid or isn't a `Record`."""
    out = bytearray()
    for record in records:
        body = bytearray()
        if with_attributes:
            if not -0x80 <= record.attributes < 0x80:
                raise OverflowError
            body.append(record.attributes & 0xFF)
        _put(body, record.timestamp - base_timestamp, 64)
        _put(body, record.offset - base_offset, 32)
        _put_sized(body, record.key)
        _put_sized(body, record.value)
        _put(body, len(record.headers), 32)
        for key, value in record.headers:
            _put_sized(body, key.encode())  # type: ignore[union-attr]
            _put_sized(body, value)
        _put(out, len(body), 32)
        out += body
    return out


def _put(out: bytearray, value: int, bits: int) -> None:
    number = value << 1 if value >= 0 else (-value << 1) - 1
    if number < 0x80:
        out.append(number)
    elif number >> bits:
        raise OverflowError
    else:
        out += uvarint_bytes(number)


def _put_sized(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out.append(1)
    elif type(data) is not bytes:
        raise TypeError
    else:
        _put(out, len(data), 32)
        out += data


def _varint(buf: bytes, pos: int, size: int = 5) -> tuple[int, int]:
    """Read a zigzag varint of at most `size` bytes. Return its value and the position after it.

    Raises ValueError for a varint that is longer than necessary, or whose value is too large.
    """
    byte = buf[pos]
    if byte < 0x80:
        return byte >> 1 ^ -(byte & 1), pos + 1
    value, end = read_uvarint(buf, pos, size)
    if buf[end - 1] == 0 or value >> (32 if size == 5 else 64):
        raise ValueError
    return from_zigzag(value), end


def _sized(buf: bytes, pos: int, stop: int) -> tuple[bytes | None, int]:
    size, pos = _varint(buf, pos)
    if size < 0:
        if size != -1:
            raise ValueError
        return None, pos
    end = pos + size
    if end > stop:
        raise ValueError
    return buf[pos:end], end


def _headers(buf: bytes, pos: int, stop: int) -> tuple[tuple[Any, ...], int]:
    count, pos = _varint(buf, pos)
    if not 0 <= 2 * count <= stop - pos:
        raise ValueError
    headers = []
    for _ in range(count):
        key, pos = _sized(buf, pos, stop)
        if key is None:
            raise ValueError
        value, pos = _sized(buf, pos, stop)
        headers.append((key.decode(), value))
    return tuple(headers), pos
