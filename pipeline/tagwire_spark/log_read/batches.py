"""The batches of a split, on a worker; in PERMISSIVE, damage between them as well."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tagwire.log.damage import NO_OFFSET, Damage, Found, pieces
from tagwire.log.errors import LogError
from tagwire.log.file_bytes import open_file
from tagwire.log.names import log_file
from tagwire.log.scan import Scan
from tagwire.records import RecordBatch
from tagwire_spark.files.file_state import check_unchanged, state_of_status
from tagwire_spark.files.storage import Opened, opened
from tagwire_spark.log_read.query import LogQuery
from tagwire_spark.log_read.splits import Split

__all__ = ["begun_scan", "is_wanted", "next_offset", "split_pieces"]

_CUT_OFF: Final = "TWL101"
"""The rule of a batch that is not there to its end."""


@contextmanager
def _scan(split: Split, query: LogQuery) -> Generator[tuple[Scan, Opened]]:
    """A split's file, if it is still the one that was planned with. Raises LogPathError, PipelineError."""
    with opened(split.file, split.start, split.end) as source, open_file(source.path) as data:
        if split.state is not None:
            found = source.state or state_of_status(data.status())
            check_unchanged(split.file, split.state, found, end=split.end, may_grow=split.is_last)
        yield Scan(split.file, data, query.formats), source


@contextmanager
def begun_scan(split: Split, query: LogQuery) -> Generator[tuple[Scan, int] | None]:
    """A split's file, and where its first batch begins; None where not all of the file is here. Raises LogError."""
    with _scan(split, query) as (scan, source):
        yield (scan, _begin(scan, source, split, query)) if source.is_whole else None


def split_pieces(split: Split, query: LogQuery) -> Iterator[Found | Damage]:
    """The batches that begin in a split, in order, up to the end offset of the query.

    Raises LogError at the first invalid batch, unless the query is permissive: then
    there is a Damage for the bytes that belong to no batch.
    """
    with _scan(split, query) as (scan, source):
        position, last = _begin(scan, source, split, query), NO_OFFSET
        reached, behind = next_offset(split, position), None
        while position < split.end and not _ends_at(scan, source, position):
            try:
                piece: Found | Damage = Found(position, scan.batch(position))
            except LogError as error:
                if not source.is_whole:  # it may only be that its bytes are not all here
                    _fetch_all(scan, source)
                    continue
                is_behind = (
                    behind is not None and split.is_last and error.rule == _CUT_OFF
                )  # not written to its end yet
                if is_behind or _is_cut_off(error, split, query):
                    return
                if not query.permissive:
                    raise
                piece = next(pieces(scan, position, last))
            if isinstance(piece, Damage):
                if reached is None or reached >= split.first_offset:  # else it is before what is wanted
                    yield piece
                position = piece.end
                continue
            if piece.batch.base_offset >= split.end_offset:
                if behind is not None and piece.batch.base_offset > behind:
                    return
                behind = piece.batch.base_offset  # alone, it may be a wrong number, which no checksum covers
                position += piece.batch.size
                continue
            behind = None
            yield piece
            position, last = position + piece.batch.size, piece.batch.last_offset
            reached = last + 1
            if reached >= split.end_offset:  # what is behind it may not be there yet
                return


def is_wanted(batch: RecordBatch, split: Split, query: LogQuery) -> bool:
    """Whether a batch of a split may have wanted rows, as far as its head tells."""
    if batch.last_offset < split.first_offset or (batch.is_control and not query.control):
        return False
    known, base = split.transactions, batch.base_offset
    if known is not None and known.hides(base, batch.producer_id, batch.is_transactional, batch.is_control):
        return False
    return query.first_timestamp is None or batch.max_timestamp >= query.first_timestamp


def _fetch_all(scan: Scan, source: Opened) -> None:
    """Bring all bytes of the file here, and see them."""
    source.fetch_all()
    scan.forget()


def _ends_at(scan: Scan, source: Opened, position: int) -> bool:
    """Whether the data end here; zeros may also be what is not here yet."""
    if not source.is_whole and scan.ends_at(position):
        _fetch_all(scan, source)
    return scan.ends_at(position)


def next_offset(split: Split, position: int) -> int | None:
    """The next offset at the position where a split begins; None if it is unknown."""
    name = log_file(Path(split.file))
    return name.base_offset if name and position == 0 else None


def _is_cut_off(error: LogError, split: Split, query: LogQuery) -> bool:
    """Whether it is the batch at a log's end that a broker had not written to its end, and may be left out."""
    return query.partial and split.is_last and error.rule == _CUT_OFF


def _begin(scan: Scan, source: Opened, split: Split, query: LogQuery) -> int:
    """Where the first batch is that the split owns and somebody may want. Raises LogError."""
    if split.hint is not None:
        position, offset = split.hint
        try:
            batch = scan.batch(position)
            if batch.base_offset <= offset <= batch.last_offset:
                return position
        except LogError:
            pass
    if split.start == 0:
        return 0
    if not source.is_whole:
        _fetch_all(scan, source)
    every = pieces(scan) if query.permissive else scan.spans()
    try:
        return next((each.position for each in every if each.position >= split.start), split.end)
    except LogError as error:
        # The damage may be this split's own, or lie before everything that is wanted: no other task need report it.
        if _is_cut_off(error, split, query):
            return split.end
        raise
