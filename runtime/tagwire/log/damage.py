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
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.layout import Array
from tagwire.log.errors import LogError
from tagwire.log.scan import LogBatch, Scan, Skip
from tagwire.records import RecordBatch
from tagwire.records.format import LONGEST

NO_OFFSET: Final = -1
_FIRST_WINDOW: Final = 1 << 12
_LARGEST_WINDOW: Final = 1 << 19
"""The maximum number of bytes to search at once."""


class Found(NamedTuple):
    """A whole batch and its position."""

    position: int
    batch: LogBatch


class Damage(NamedTuple):
    """A damaged range of bytes, and its error. The range ends at the next whole batch or at the end of the file."""

    position: int
    end: int
    error: LogError


def pieces(scan: Scan, position: int = 0, last: int = NO_OFFSET) -> Iterator[Found | Damage]:
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
        yield Found(position, batch)
        position += batch.size
        last = batch.last_offset


def without_damage(scan: Scan, position: int, skip: Skip, *, partial: bool) -> Iterator[Found]:
    """Yield the whole batches, starting at `position`.

    `skip` is called with a LogError for damage between batches, and for invalid records. With `partial`, a truncated
    batch at the end of the file is left out without an error.
    """
    for piece in pieces(scan, position):
        if isinstance(piece, Found):
            piece.batch.skip = skip
            yield piece
        elif not (partial and piece.error.rule == "TWL101" and piece.end == len(scan.data)):
            skip(piece.error)


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
    while pattern is not None and position < len(data):
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
    while position < len(data):
        header = data[position : position + LONGEST]
        if not header.strip(b"\0"):  # a header contains a length, so it can't be all zeros
            position = max(position, scan.zeros_end(position) - LONGEST) + 1
            continue
        if scan.may_begin(position, header):
            yield position
        position += 1


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
