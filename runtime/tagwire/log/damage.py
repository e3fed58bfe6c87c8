"""The whole batches of a segment that may be damaged, and the bytes between them that belong to none.

Two ways over a fault, and no third. If the batch at fault says how long it is,
and a whole batch or the end of the data is there, its length is right and the
rest of it is skipped: nothing in it is looked at, so that no value of a record
is taken for a batch. If not, the next bytes are tried one after the other: a
candidate is a batch only if length, magic byte and checksum agree, its offsets
go on from those before, and its records can be read: magic bytes are under no
checksum, and with a wrong one the bytes of a batch may look like those of
another format a little further on. Where zeros stand one behind the other, as
in a hole of a file or before it is full, only their last ones are tried: no
batch has a head of zeros. What is skipped is always reported.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.log.errors import LogError
from tagwire.log.file_bytes import window_of
from tagwire.log.scan import Scan
from tagwire.records import RecordBatch

__all__ = ["Damage", "Found", "pieces"]

# What a batch may begin with: an offset below 2^56, then a length and magic 0, 1 or 2 in their places, or magic 3
# behind a length of one to five bytes.
_MAYBE: Final = re.compile(rb"(?=\0[\s\S]{7}(?:[\0-\x7f][\s\S]{7}[\0-\x02]|[\s\S]{5,9}\x03))")

_LONGEST: Final = 18
"""So many bytes it looks at."""

_ZERO_HEAD: Final = 64
"""So many zeros are no head of a batch: its length is among them."""

NO_OFFSET: Final = -1


class Found(NamedTuple):
    """A whole batch."""

    position: int
    batch: RecordBatch


class Damage(NamedTuple):
    """Bytes that are no batch: why not, and where the next batch or the end of the file is."""

    position: int
    end: int
    error: LogError


def pieces(scan: Scan, position: int = 0, last: int = NO_OFFSET) -> Iterator[Found | Damage]:
    """Every byte of the file from a position up to its end, or to the zeros at its end, as batches and damage.

    `last` is the last offset before the position. Records in a batch may be wrong still: whoever reads them finds that.
    """
    while not scan.ends_at(position):
        try:
            batch = scan.batch(position)
        except LogError as error:
            scan.expect_damage()
            end = _next(scan, position, last)
            yield Damage(position, end, error)
            position = end
            continue
        yield Found(position, batch)
        position += batch.size
        last = batch.last_offset


def _next(scan: Scan, position: int, last: int) -> int:
    """Where the next batch begins, or the end of the file."""
    try:
        end = position + scan.size(position)
        if scan.ends_at(end) or _is_whole(scan, end, NO_OFFSET):
            return end
    except LogError:
        pass
    return next((each for each in _tried(scan, position + 1) if _is_whole(scan, each, last)), len(scan.data))


def _tried(scan: Scan, position: int) -> Iterator[int]:
    """From a position on, where a batch might begin."""
    data = scan.data
    window, start = b"", position
    while position < len(data):
        if not scan.known:
            end = start + len(window)
            if position + _LONGEST > end and end < len(data):
                window, start = window_of(data, position, _LONGEST), position
                end = start + len(window)
            match = _MAYBE.search(window, position - start)
            if match is None:
                if end == len(data):
                    return
                position = end - _LONGEST + 1
                continue
            position = start + match.start()
            if not _has_room(window, match.start(), len(data) - position):
                position += 1
                continue
        if data[position : position + _ZERO_HEAD].strip(b"\0"):
            yield position
            position += 1
        else:
            position = max(position, scan.zeros_end(position) - _ZERO_HEAD) + 1


def _has_room(window: bytes, at: int, left: int) -> bool:
    """Whether a length that may be meant fits into what is left: most places fail here, without an error made."""
    head = window[at : at + _LONGEST]
    length = int.from_bytes(head[8:12], "big")
    if len(head) > 16 and head[16] <= 2 and length <= left:
        return True
    return 3 in head[13:]  # behind a length of v3


def _is_whole(scan: Scan, position: int, last: int) -> bool:
    try:
        batch = scan.batch(position)
        if batch.last_offset <= last:
            return False
        for _ in batch:
            pass
        return last < batch.base_offset <= batch.last_offset
    except DecodeError:
        return False
