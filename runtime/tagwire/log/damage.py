"""Find the whole batches of a segment that may be damaged, and the damaged bytes between them.

If the length of an invalid batch leads to a whole batch or to the end of the data, the batch is skipped. It isn't
searched, because its record values might contain batches. Otherwise, each following byte is tried as the start of a
batch. A candidate is accepted only if its length, magic byte and checksum agree, its offsets are above the earlier
ones, and its records can be read. Reading the records is necessary because checksums don't cover the magic byte.

The last offset before the damage may itself be wrong, because no checksum covers the base offset. So a candidate at a
lower offset is also accepted if a chain of adjacent batches with ascending offsets leads from it to a higher offset, or
to the end of the file. Batches inside a record value fail this test: their chain breaks off at the end of the value,
where the record's header count follows. If the format has no such header count, or if the file ends in zeros, only
candidates at higher offsets are accepted.

Computing the checksum of every candidate in full would take minutes for a few megabytes. But CRCs are linear: the
checksum of a range follows from the checksums of two prefixes of the file. So the file is divided into blocks and read
only once, and the checksum of all bytes before each block is kept (`RangeSums`).
"""

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from tagwire.errors import DecodeError, LimitError
from tagwire.layout import Array
from tagwire.log.errors import LogError, reject
from tagwire.log.file_bytes import Bytes
from tagwire.log.scan import LogBatch, Scan, Skip
from tagwire.records import Format, RecordBatch
from tagwire.records.format import LONGEST
from tagwire.text_format import byte_count
from tagwire.wire.checksums import POLYNOMIALS, extended

NO_OFFSET: Final = -1
_FIRST_WINDOW: Final = 1 << 12
_LARGEST_WINDOW: Final = 1 << 19
"""The maximum number of bytes to search at once."""


class Damage(NamedTuple):
    """A damaged range of bytes, and its error. The range ends at the next whole batch or at the end of the file."""

    position: int
    end: int
    error: LogError


def pieces(scan: Scan, position: int = 0, last: int = NO_OFFSET) -> Iterator[LogBatch | Damage]:
    """Yield the whole batches and the damaged ranges between them, from `position` to the end of the data.

    `last` is the last offset before `position`. Records are not checked.
    """
    while True:
        try:
            batch = scan.next_batch(position)
        except LogError as error:
            error = scan.with_formats(error, position)
            scan.expect_damage()
            end = _next(scan, position, last)
            yield Damage(position, end, error)
            position = end
            continue
        if batch is None:
            return
        yield batch
        position, last = batch.end, batch.last_offset


def without_damage(scan: Scan, position: int, skip: Skip, *, partial: bool) -> Iterator[LogBatch]:
    """Yield the whole batches, starting at `position`.

    `skip` is called with a LogError for damage between batches, and for invalid records. With `partial`, an incomplete
    batch at the end of the file is left out without an error.
    """
    for piece in pieces(scan, position):
        if isinstance(piece, LogBatch):
            piece.skip = skip
            yield piece
        elif not (partial and is_unfinished(scan, piece)):
            skip(piece.error)


def damage_at(scan: Scan, position: int, last: int) -> Damage | None:
    """Return the damage at a position; None if there is a whole batch, no data, or what may be an incomplete batch.

    `last` is the last offset before the position.
    """
    piece = next(pieces(scan, position, last), None)
    return piece if isinstance(piece, Damage) and not is_unfinished(scan, piece) else None


def is_unfinished(scan: Scan, damage: Damage) -> bool:
    """Return whether damage may be an incomplete batch: invalid bytes with no whole batch after them.

    The file ends within an incomplete batch or, if it is preallocated, continues with zeros. Bytes with the magic byte
    of no format are never a batch.
    """
    if isinstance(damage.error, LimitError) or not scan.ends_at(damage.end):
        return False
    at = damage.error.offset
    return damage.error.rule != "TWL103" or scan.data[at : at + 1] == b"\0"


def _next(scan: Scan, position: int, last: int) -> int:
    try:
        end = position + scan.size(position)
        if scan.ends_at(end) or _whole(scan, end) is not None:
            return end
    except LogError:
        pass
    refuted = position  # chains of batches that begin before this position reach no offset above `last`
    for each in _tried(scan, position + 1):
        batch = _whole(scan, each)
        if batch is None:
            continue
        if batch.base_offset > last:
            return each
        if each >= refuted and _has_bytes_after_values(batch):
            stop = _leads_nowhere_at(scan, each, batch, last)
            if stop is None:
                return each
            refuted = stop
    return len(scan.data)


def _tried(scan: Scan, position: int) -> Iterator[int]:
    data, pattern, size = scan.data, scan.formats.pattern, _FIRST_WINDOW
    while pattern is not None and (position := _past_zeros(scan, position)) < len(data):
        window = data[position : position + size]
        stop = len(window) if position + len(window) >= len(data) else len(window) - LONGEST + 1
        if (search := scan.search) is not None:
            at = -1
            while (at := search.next(window, position, at + 1, stop)) >= 0:
                yield position + at
        for match in pattern.finditer(window) if search is None else ():
            at = match.start()
            if at >= stop:
                break
            if scan.may_begin(position + at, window[at : at + LONGEST]):
                yield position + at
        position, size = position + stop, min(size * 2, _LARGEST_WINDOW)
    while (position := _past_zeros(scan, position)) < len(data):
        if scan.may_begin(position, data[position : position + LONGEST]):
            yield position
        position += 1


def _past_zeros(scan: Scan, position: int) -> int:
    """Return the first position, from `position` on, at which a batch may begin if zeros can't be a batch.

    A header contains a length, so it can't be all zeros.
    """
    if scan.data[position : position + LONGEST].strip(b"\0"):
        return position
    return max(position, scan.zeros_end(position) - LONGEST) + 1


def _whole(scan: Scan, position: int) -> RecordBatch | None:
    try:
        batch = scan.batch(position)
        if batch.base_offset > batch.last_offset:
            return None
        for _ in batch:
            pass
    except DecodeError:
        return None
    return batch


def _leads_nowhere_at(scan: Scan, position: int, batch: RecordBatch, last: int) -> int | None:
    """Follow adjacent batches with ascending offsets, starting with `batch`. Return the position where they break off.

    Return None if the batches reach an offset above `last`, or the end of the file.
    """
    while (position := position + batch.size) < len(scan.data):
        try:
            following = scan.batch(position)
        except LogError:
            return position
        if following.base_offset <= batch.last_offset:
            return position
        if following.base_offset > last:
            return None
        batch = following
    return None


def _has_bytes_after_values(batch: RecordBatch) -> bool:
    """Return whether the batch's records end with a list of headers, whose count follows the value."""
    end = batch.record_format.record.items[-1].type
    return batch.record_format.records is not None and isinstance(end, Array) and end.length is not None


_WIDTH: Final = 4


class _Wrong(NamedTuple):
    at: int
    size: int
    stated: int
    actual: int


class SumCheck:
    """Verifies the checksums of possible batches in one file, even overlapping ones."""

    def __init__(self, file: str, data: Bytes) -> None:
        self._file = file
        self._data = data
        self._sums: dict[str, RangeSums] = {}

    def reject_wrong(self, position: int, formats: list[Format]) -> None:
        """Raise LogError if the checksum of the batch at `position` is wrong in all `formats`.

        Formats in which the batch would extend beyond the end of the data are not checked here.
        """
        header, left = self._data[position : position + LONGEST], len(self._data) - position
        sizes = [(each, each.header_positions.sound_size(header, 0)) for each in formats]
        errors = [self._error(position, header, each) for each, size in sizes if 0 < size <= left]
        if len(formats) == 1 and errors[0] is not None:
            raise errors[0]
        if all(errors):
            names = [format.name for format in formats]
            found = f"a batch that has the magic byte of {' and '.join(names)}, but a wrong checksum in each format"
            reject(self._file, "TWL105", position, found, f"a correct checksum of {' or '.join(names)}")

    def may_begin(self, position: int, header: bytes, formats: list[Format]) -> bool:
        """Return whether a batch in one of these formats could begin at a position, judging by length and checksum.

        `header` contains the bytes at that position. Returns a bool, because raising an error would be slow: crafted
        bytes can make every position a candidate.
        """
        left = len(self._data) - position
        for each in formats:
            if 0 < each.header_positions.sound_size(header, 0) <= left and not self._wrong(position, header, each):
                return True
        return False

    def _wrong(self, position: int, header: bytes, format: Format) -> "_Wrong | None":
        """Return the stored and the computed checksum of the batch at `position` if they differ.

        Returns None if they are equal, or if the checksum can't be computed.
        """
        checksum, length = format.header_positions.sum, format.header_positions.length(header, 0)
        if checksum is None or length is None:
            return None
        size = format.header_positions.batch_size(*length, 0)
        at, begin = length[1] + checksum.at, length[1] + checksum.begin
        if begin > size or at + _WIDTH > len(header):
            return None
        sums = self._sums.get(checksum.algorithm)
        if sums is None:
            sums = self._sums[checksum.algorithm] = RangeSums(self._data, checksum.algorithm)
        stated, actual = int.from_bytes(header[at : at + _WIDTH], "big"), sums.of(position + begin, position + size)
        return None if stated == actual else _Wrong(at, size - begin, stated, actual)

    def _error(self, position: int, header: bytes, format: Format) -> LogError | None:
        positions, wrong = format.header_positions, self._wrong(position, header, format)
        if wrong is None or positions.sum is None or (format.magic >= 0 and not positions.has_magic(header, 0)):
            return None
        covered = (
            f"the {positions.sum.algorithm} of the {byte_count(wrong.size)} that begin with {positions.sum.first!r}"
        )
        return LogError(
            *(self._file, "TWL104"),
            offset=position + wrong.at,
            found=f"0x{wrong.stated:08x}",
            expected=f"0x{wrong.actual:08x}, {covered}",
            message_name=format.name,
            path="crc",
        )


_BLOCK_BITS: Final = 12
_BLOCK: Final = 1 << _BLOCK_BITS
_DIRECT: Final = 4 * _BLOCK
"""The maximum size in bytes of a range whose checksum is computed from all its bytes, not from sums of blocks."""
_ONE: Final = 1 << 31
_X: Final = 1 << 30


class RangeSums:
    """Computes CRCs of ranges of a file, as fast for long ranges as for short ones.

    If two adjacent parts have the checksums `a` and `b`, and the second part has `n` bytes, then the checksum of both
    is `shift(a, n) ^ b`. Here, `shift(c, n)` is c * x^(8n), in GF(2) modulo the polynomial, with the lowest power in
    the highest bit. Source: zlib's crc32_combine.
    """

    def __init__(self, data: Bytes, algorithm: str) -> None:
        self._data = data
        self._algorithm = algorithm
        self._polynomial = POLYNOMIALS[algorithm]
        self._before = array("L", [0])
        """The checksum of all bytes before each block."""
        self._powers = array("L", [_ONE])
        """Element n is x to the power of the number of bits in n blocks."""

    def of(self, start: int, end: int) -> int:
        """Return the checksum of the bytes from `start` to `end - 1`."""
        if end - start <= _DIRECT:
            return extended(self._algorithm, 0, self._data[start:end])
        first, last = -(-start >> _BLOCK_BITS), end >> _BLOCK_BITS
        value = extended(self._algorithm, 0, self._data[start : first << _BLOCK_BITS])
        value = self._shifted(value ^ self._sum_before(first), last - first) ^ self._sum_before(last)
        return extended(self._algorithm, value, self._data[last << _BLOCK_BITS : end])

    def _sum_before(self, block: int) -> int:
        known = self._before
        while len(known) <= block:
            start = (len(known) - 1) << _BLOCK_BITS
            known.append(extended(self._algorithm, known[-1], self._data[start : start + _BLOCK]))
        return known[block]

    def _shifted(self, value: int, blocks: int) -> int:
        powers = self._powers
        if len(powers) == 1:
            power = _X
            for _ in range(_BLOCK_BITS + 3):
                power = self._product(power, power)
            powers.append(power)
        while len(powers) <= blocks:
            powers.append(self._product(powers[-1], powers[1]))
        return self._product(value, powers[blocks])

    def _product(self, one: int, other: int) -> int:
        product, polynomial = 0, self._polynomial
        while one:
            if one & _ONE:
                product ^= other
            one = one << 1 & 0xFFFFFFFF
            other = other >> 1 ^ polynomial if other & 1 else other >> 1
        return product
