"""Read batches from bytes. Each batch's magic byte determines its format (`tagwire.records.format_set`).

If two formats are possible, both are tried, and the checksums decide. It is an error if both checksums match.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tagwire.errors import DecodeError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.records.batch import RecordBatch, read_batch
from tagwire.records.format import LONGEST, Format
from tagwire.records.format_set import AUTO, MAGIC_AT, Formats, FormatSet, format_names, format_of, format_set
from tagwire.text_format import count
from tagwire.wire.buffers import as_bytes

if TYPE_CHECKING:
    from tagwire._engine import BatchReader


def read_batches(
    data: Any,
    format: Formats = AUTO,
    limits: Limits = DEFAULT_LIMITS,
    *,
    only: bool = False,
    partial: bool = False,
    strict: bool = True,
) -> Iterator[RecordBatch]:
    """Iterate over all batches in `data` (any bytes-like object).

    `format` is `auto` (v0, v1, v2 and v3), a name such as "kip87", or several names as a list or separated by commas.
    Each batch's magic byte determines which of these formats it has. Unless `only` is true, v0, v1 and v2 are also
    accepted, but a named format replaces the one with the same magic byte. A message set is returned as its outermost
    messages. Checksums are verified at once; records are read when a batch is iterated. With `partial`, a truncated
    last batch, as in Fetch responses, is left out. With `strict=False`, records are read as Kafka's own reader reads
    them: see docs/records.md. Raises DecodeError for invalid bytes, LimitError beyond `limits`, and FormatError for an
    unknown name or two formats with the same magic byte.
    """
    if format is AUTO and limits is DEFAULT_LIMITS and strict and not only and not partial:
        return _read_auto(data)
    if limits is DEFAULT_LIMITS and strict and not only and not partial and type(format) is str:
        reader = _usual_readers[format]
        if reader is not None:
            return reader.over(data)
    formats = format_set(format, only=only, strict=strict)
    if limits is DEFAULT_LIMITS and not partial and formats.native_reader is not None:
        return formats.native_reader.over(data)
    return _batches(as_bytes(data), formats, limits, partial)


_MOST_READERS: Final = 64


class _UsualReaders(dict[Any, "BatchReader | None"]):
    """Maps a string of format names to its native reader, or to None if it has none.

    A dict lookup is faster than a cached function.
    """

    def __missing__(self, format: Any) -> "BatchReader | None":
        if len(self) >= _MOST_READERS:
            self.clear()
        return self.setdefault(format, format_set(format).native_reader)


_usual_readers: Final = _UsualReaders()


def _choose_reader(data: Any) -> Iterator[RecordBatch]:
    """Read batches of the default formats. Also set `_read_auto` to a function that does the same, but faster."""
    global _read_auto
    formats = format_set(AUTO)
    reader = formats.native_reader
    if reader is None:
        return _batches(as_bytes(data), formats, DEFAULT_LIMITS, False)
    _read_auto = reader.over
    return _read_auto(data)


_read_auto: Callable[[Any], Iterator[RecordBatch]] = _choose_reader


def _batches(buf: bytes, formats: FormatSet, limits: Limits, partial: bool) -> Iterator[RecordBatch]:
    pos = 0
    while pos < len(buf) and not (partial and formats.is_cut(buf, pos)):
        batch = batch_at(buf, pos, formats, limits)
        yield batch
        pos += batch.size


def other_formats(data: Any, pos: int, formats: FormatSet, limits: Limits) -> list[str]:
    """Return the names of formats outside `formats` in which the bytes at `pos` are a complete, valid batch.

    `data` may be any object that has a length and whose slices are bytes.
    """
    header, names = data[pos : pos + LONGEST], []
    for name in format_names():
        format = format_of(name)
        size = format.header_positions.sound_size(header, 0) if format.header_positions.has_magic(header, 0) else 0
        if format not in formats.formats and 0 < size <= len(data) - pos:
            with suppress(DecodeError):
                read_batch(data[pos : pos + size], 0, format, limits)
                names.append(name)
    return names


def naming_hint(names: Sequence[str]) -> str:
    """Return a hint for an error message: the formats in which the batch is valid, and how to select one."""
    return f"the batch is valid as {' or '.join(names)}: select a format, on the command line with --record-format"


def batch_at(buf: bytes, pos: int, formats: FormatSet, limits: Limits) -> RecordBatch:
    """Read the batch at `pos`. Its bytes determine which of the `formats` it has."""
    found = formats.candidates(buf, pos)
    if len(found) == 1:
        return read_batch(buf, pos, found[0], limits, strict=formats.strict)
    if not found:
        left = len(buf) - pos
        if left <= MAGIC_AT:
            _reject(pos, count(left, "byte"), f"a batch of magic {formats.magics}")
        magic = buf[pos + MAGIC_AT]
        _reject(pos + MAGIC_AT, f"magic {magic}", f"a batch of magic {formats.expected_instead_of(magic)}")
    return _right_one(buf, pos, found, limits, strict=formats.strict)


def read_outline(buf: bytes, formats: FormatSet, limits: Limits) -> RecordBatch:
    """Read the first batch of `buf`. Its checksum is verified only to decide between two possible formats."""
    found = formats.candidates(buf, 0)
    if len(found) == 1:
        return read_batch(buf, 0, found[0], limits, outline=True)
    return batch_at(buf, 0, formats, limits)


def _right_one(buf: bytes, pos: int, candidates: list[Format], limits: Limits, *, strict: bool) -> RecordBatch:
    """Return the batch at `pos`. Raises DecodeError unless it is valid in exactly one of the candidate formats."""
    right, errors = [], []
    for each in candidates:
        try:
            right.append(read_batch(buf, pos, each, limits, strict=strict))
        except DecodeError as error:
            errors.append(f"{each.name} ({error.found})")
    if len(right) == 1:
        return right[0]
    both = " and ".join(each.name for each in candidates)
    if right:
        _reject(
            pos,
            f"a batch that is valid as {both}",
            "a batch that is valid in only one format; select the right one",
        )
    found = f"a batch that has the magic byte of {both}, but is valid in neither: {', '.join(errors)}"
    _reject(pos, found, f"a batch that is valid as {' or '.join(each.name for each in candidates)}")


def _reject(offset: int, found: str, expected: str) -> NoReturn:
    raise DecodeError(message_name="batch", version=None, path="", offset=offset, found=found, expected=expected)
