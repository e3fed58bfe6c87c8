"""Batches out of bytes: of a format that is named, or found out.

The formats of the field have their magic byte at one place, so v0, v1 and v2
are told apart by it. The draft of v3 made a length before it variable: its
magic byte has no place, and a reader can only try. Both are tried; where both
could be meant, the checksums decide, and where these do not, nobody can.
"""

from collections.abc import Iterator
from typing import Any, Final, NoReturn

from tagwire.errors import DecodeError
from tagwire.interpreter.reader import LayoutReader
from tagwire.layout import Extent, Layout
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.record_format import RecordFormat
from tagwire.records.batch import RecordBatch, read_batch
from tagwire.records.format import Format
from tagwire.records.formats import format_of
from tagwire.wire.buffers import as_bytes
from tagwire.wire.varint import read_uvarint

__all__ = ["batch_at", "nearest_format", "read_batches", "read_outline"]

_MAGIC_AT: Final = 16
_BY_MAGIC: Final = ("v0", "v1", "v2")
_TRIED: Final = "v3"


def read_batches(
    data: Any,
    format: "str | Format | type[RecordFormat] | Layout" = "auto",
    limits: Limits = DEFAULT_LIMITS,
    *,
    partial: bool = False,
) -> Iterator[RecordBatch]:
    """The batches in `data` (any bytes-like object), one behind the other to its end.

    `auto` tells v0, v1, v2 and v3 apart, batch by batch; the other formats say
    magic 2 as well, and are named. A message set comes as its outermost
    messages. Checksums are held against the bytes; records are read when a batch
    is iterated. With `partial`, the last batch may be cut off, as brokers do it
    in Fetch responses: it is left out. Raises DecodeError (LimitError where `limits` stop it) where the
    bytes are no batch, FormatError for an unknown name.
    """
    buf = data if type(data) is bytes else as_bytes(data)
    known = None if format == "auto" else format_of(format)
    return _batches(buf, known, limits, partial)


def _batches(buf: bytes, known: Format | None, limits: Limits, partial: bool) -> Iterator[RecordBatch]:
    pos = 0
    while pos < len(buf) and not (partial and _is_cut(buf, pos, known)):
        batch = batch_at(buf, pos, known, limits)
        yield batch
        pos += batch.size


def batch_at(buf: bytes, pos: int, known: Format | None, limits: Limits) -> RecordBatch:
    """The batch at `pos`, of this format, or of whichever it is."""
    return read_batch(buf, pos, known, limits) if known else _found(buf, pos, limits)


def read_outline(buf: bytes, known: Format | None, limits: Limits) -> RecordBatch:
    """The first batch of `buf` without regard to its checksum; where two formats could be meant, that decides still."""
    if known is None:
        names = _candidates(buf, 0)
        if len(names) != 1:
            return _found(buf, 0, limits)
        known = format_of(names[0])
    return read_batch(buf, 0, known, limits, outline=True)


def nearest_format(buf: bytes, pos: int) -> Format:
    """The format that bytes at fault are most likely of: by the magic byte, else v2."""
    magic = buf[pos + _MAGIC_AT] if len(buf) - pos > _MAGIC_AT else 2
    return format_of(_BY_MAGIC[min(magic, 2)])


def _found(buf: bytes, pos: int, limits: Limits) -> RecordBatch:
    """The batch at `pos`, of whichever format it is."""
    names = _candidates(buf, pos)
    if len(names) == 1:
        return read_batch(buf, pos, format_of(names[0]), limits)
    if not names:
        magic = buf[pos + _MAGIC_AT] if len(buf) - pos > _MAGIC_AT else None
        found = f"{len(buf) - pos} bytes" if magic is None else f"magic {magic}"
        _refuse(pos + (0 if magic is None else _MAGIC_AT), found, "a batch of magic 0, 1, 2 or 3")
    right, faults = [], []
    for name in names:
        try:
            right.append(read_batch(buf, pos, format_of(name), limits))
        except DecodeError as error:
            faults.append(f"{name} ({error.found})")
    if len(right) == 1:
        return right[0]
    both = " and ".join(names)
    if right:
        _refuse(pos, f"a batch that is right as {both}", "one of them; name the format")
    _refuse(pos, f"a batch that could be {both} by its magic, but is neither: {', '.join(faults)}", "one of them")


def _candidates(buf: bytes, pos: int) -> list[str]:
    """The formats that the batch at `pos` could be of, by its magic byte."""
    magic = buf[pos + _MAGIC_AT] if len(buf) - pos > _MAGIC_AT else None
    names = [_BY_MAGIC[magic]] if magic is not None and magic < len(_BY_MAGIC) else []
    return [*names, _TRIED] if _may_be_v3(buf, pos) else names


def _is_cut(buf: bytes, pos: int, known: Format | None) -> bool:
    """Whether the batch at `pos` says that it is longer than what is left, or can't even say so."""
    if known is None:
        if len(buf) - pos <= _MAGIC_AT:
            return True
        known = nearest_format(buf, pos)  # all of these have their length at one place
    reader = LayoutReader(known.head, buf, offset=pos)
    for item in known.head.root.items:
        try:
            value = reader.read(item.type, ())
        except DecodeError:
            return True
        if isinstance(item.type, Extent):
            return bool(value > reader.left)
    return False


def _may_be_v3(buf: bytes, pos: int) -> bool:
    """Whether magic 3 stands where the length before it puts it, and the length fits."""
    try:
        length, begin = read_uvarint(buf, pos + 8)
        return buf[begin + 4] == 3 and length <= len(buf) - begin
    except (IndexError, ValueError):
        return False


def _refuse(offset: int, found: str, expected: str) -> NoReturn:
    raise DecodeError(message_name="batch", version=None, path="", offset=offset, found=found, expected=expected)
