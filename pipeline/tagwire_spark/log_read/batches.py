"""Read the batches of a split on a worker. In PERMISSIVE mode, also report ranges of damaged bytes."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import Any, Final

from tagwire.log.batch_rules import OUT_OF_ORDER, check_order
from tagwire.log.column_stream import Pass, ReadOptions
from tagwire.log.column_table import root_column
from tagwire.log.damage import NO_OFFSET, Damage, pieces
from tagwire.log.errors import LogError, LogPathError, reject
from tagwire.log.indexes import IndexLookup, OffsetIndex, index_lookup
from tagwire.log.scan import BatchSpan, LogBatch, Scan
from tagwire.log.segment import Segment
from tagwire.records import RecordBatch
from tagwire.records.format_set import format_set
from tagwire.text_format import encodable
from tagwire_spark.errors import loss
from tagwire_spark.files.reading import RemoteFile, opened, remote_lookup
from tagwire_spark.files.storage import folder_of, received
from tagwire_spark.files.store import is_remote
from tagwire_spark.log_read.log_offsets import has_gaps, has_offset, lost_by_intent, named_offset
from tagwire_spark.log_read.query import NO_OFFSET as NO_NEXT
from tagwire_spark.log_read.query import LogQuery
from tagwire_spark.log_read.splits import Split

CUT_OFF: Final = "TWL101"
"""The `rule` of the error that is raised if a log file ends in the middle of a batch."""
_SMALL: Final = 1 << 16
"""Native code skips batches of up to this size, in bytes, faster than Python does."""


@contextmanager
def begun_scan(split: Split, query: LogQuery) -> Generator[tuple[Scan, int, int]]:
    """Yield a scan of the split's file, the position of the split's first batch, and the last offset before it.

    The offset is NO_OFFSET if it is unknown. Raises PipelineError if the file has changed since planning, LogPathError
    if it can't be read, and LogError for damage.
    """
    hint = split.hint or _start_hint(split, query)
    first = hint[0] if hint else 0
    with opened(split.file, split.state, first, split.end, query.storage, may_grow=split.is_last) as data:
        data.end_at(split.stop)
        scan = Scan(split.file, data, query.formats, query.limits)
        if not split.end:
            check_complete(scan, split, query, 0, next_offset(split, 0) or 0)
        yield scan, *_begin(scan, split, query, hint)


def _read_again(split: Split, query: LogQuery) -> Iterator[LogBatch | Damage]:
    """Yield the batches that begin in a split, in order, up to the query's end offset.

    Raises LogError at the first invalid batch, or if a batch has offsets of an earlier batch or of the next segment (no
    checksum covers offsets). A permissive query yields a Damage object for invalid bytes, and accepts all offsets.
    """
    with begun_scan(split, query) as (scan, position, last):
        before, previous_offset = last, None
        while position < split.end and not scan.ends_at(position):
            batch = next(pieces(scan, position, before)) if query.permissive else scan.batch(position)
            if isinstance(batch, Damage):
                yield batch
                position = batch.end
                continue
            if not query.permissive:
                if before >= split.first_offset or is_requested(batch, split, query):
                    check_order(batch, before)
                if batch.last_offset >= split.next_base:
                    expected = f"an offset less than {split.next_base}, the base offset of the next segment"
                    reject(batch.file, OUT_OF_ORDER, position, f"last offset {batch.last_offset}", expected)
            before, position = batch.last_offset, position + batch.size
            if batch.base_offset < split.end_offset:
                previous_offset = None
                yield batch
                if batch.last_offset + 1 >= split.end_offset:
                    return
            elif previous_offset is not None and batch.base_offset > previous_offset:
                return
            else:
                # A single offset may be wrong (no checksum covers it), so stop only at a second batch after the end.
                previous_offset = batch.base_offset


def check_complete(scan: Scan, split: Split, query: LogQuery, position: int, reached: int) -> None:
    """Raise PipelineError if offsets are missing between the end of this segment and the start of the next.

    `position` and `reached` are the position and the offset after the split's last batch. Missing offsets are accepted
    in compacted logs and in logs written by `kafka_log`.
    """
    end = min(split.next_base, split.end_offset)
    is_incomplete = split.next_base != NO_NEXT and max(reached, split.first_offset) < end
    if not (query.fails_on_loss and is_incomplete and scan.ends_at(position)):
        return
    try:
        if has_gaps(scan) or _is_intended(split, query):
            return
    except (LogError, LogPathError):  # the task that reads the damaged batch reports this error
        return
    why = f"{split.file} ends before offset {reached}, but the next segment begins at offset {split.next_base}"
    raise loss(f"{why}; the end of this file, or a segment between the two, is missing")


def _is_intended(split: Split, query: LogQuery) -> bool:
    """Return whether the log was compacted or written by `kafka_log`.

    Raises LogError or PipelineError if the folder's files can't be read.
    """
    with ExitStack() as stack:
        location = received(folder_of(split.file), (), stack, query.storage)
        return lost_by_intent(location.partition(location.local), location)


def is_requested(batch: RecordBatch, split: Split, query: LogQuery) -> bool:
    """Return whether a batch can contain requested rows, according to its header."""
    if (split.first_offset and batch.last_offset < split.first_offset) or (batch.is_control and not query.control):
        return False
    known, base = split.transactions, batch.base_offset
    if known is not None and known.hides(base, batch.producer_id, batch.is_transactional, batch.is_control):
        return False
    return query.first_timestamp is None or batch.max_timestamp >= query.first_timestamp


def next_offset(split: Split, position: int) -> int | None:
    """If `position` is 0, return the offset in the file's name. Otherwise, the offset is unknown; return None."""
    return named_offset(split.file) if position == 0 else None


def _begin(scan: Scan, split: Split, query: LogQuery, hint: tuple[int, int] | None) -> tuple[int, int]:
    """Return the position of the split's first batch, and the last offset before it.

    A permissive read needs the last offset to recognize the first batch after damage. The task of the preceding split
    uses the same last offset, so both tasks find the same batch. Reads that aren't permissive raise LogError for
    damage.
    """
    start, last = hint[0] if hint is not None and has_offset(scan, *hint) else 0, NO_OFFSET
    if start >= split.start:
        first = None if query.permissive else next_offset(split, start)
        return start, last if first is None else first - 1
    if query.permissive:
        every: Iterator[LogBatch | Damage | BatchSpan] = pieces(scan, start)
    else:
        start, last = _passed(scan, query, start, split.start)
        every = scan.spans(start)
    for each in every:
        if each.position >= split.start:
            return each.position, last
        if not isinstance(each, Damage):
            last = each.last_offset
    return split.end, last


def _passed(scan: Scan, query: LogQuery, start: int, end: int) -> tuple[int, int]:
    """Use native code to skip the batches up to `end`. Return the position reached, and the last offset before it.

    The offset is NO_OFFSET if it is unknown.
    """
    formats = format_set(query.formats)
    options = ReadOptions(formats=formats, headers_only=True, limits=query.limits)
    batch_headers = Pass(root_column("batch", ["position"], formats), options)
    if not batch_headers.is_native:
        return start, NO_OFFSET
    batch_headers.rows.begin(encodable(scan.file), start, None)
    with suppress(LogError):  # the caller raises the same error
        if scan.size(start) <= _SMALL:
            for _ in batch_headers.of_file(scan, None, cut_off=False, end=end):
                pass
    return batch_headers.rows.position, batch_headers.rows.last_offset


def _start_hint(split: Split, query: LogQuery) -> tuple[int, int] | None:
    """Return the position and offset of the last index entry at or before the split's start, or None."""
    if split.start == 0:
        return None
    # A strict read also reads the batch before the split, to check that offsets ascend.
    position = split.start if query.permissive else split.start - 1
    try:
        with _offset_index(split, query) as entries:
            found = entries.at_or_before(position, 1) if entries else None
    except (LogError, LogPathError):
        return None  # the read works without the index
    if found is None or not 0 < found[1] <= split.start:
        return None
    return found[1], (named_offset(split.file) or 0) + found[0]


def _offset_index(split: Split, query: LogQuery) -> AbstractContextManager[IndexLookup | None]:
    """Open the split's offset index, or yield None if there is none. Raises LogPathError if it can't be opened."""
    if is_remote(split.file):
        remote = split.offset_index and RemoteFile(*split.offset_index, query.storage)
        return nullcontext(remote_lookup(remote, OffsetIndex.LAYOUT) if remote else None)
    path = Segment(split.file).sibling("index")
    return index_lookup(path, OffsetIndex.LAYOUT) if path is not None else nullcontext()


class SplitPass(Pass):
    """Reads splits with the native engine."""

    def __init__(self, columns: Sequence[str], query: LogQuery) -> None:
        options = ReadOptions(
            formats=query.formats,
            headers_only=query.by_batch,
            limits=query.limits,
            verified=query.by_batch,
            ordered=not query.permissive,
            transient=True,
        )
        super().__init__(root_column("batch" if query.by_batch else "record", columns, query.formats), options)
        self.query = query

    def of_split(self, split: Split, scan: Scan, position: int, last: int) -> Iterator[Any]:
        """Yield a split's Arrow arrays, and a Damage object for each range of invalid bytes.

        The last rows stay buffered. Raises LogError for invalid bytes if the query isn't permissive.
        """
        self.split, self.start, self.before, self.damage_end = split, position, last, -1
        self.rows.begin(encodable(scan.file), position, split.first_offset or None)
        self.rows.resume_at(position, last)
        batch_end = None
        for piece in self.of_file(scan, split.first_offset or None, cut_off=False, end=split.end):
            yield piece
            self._check_end()
            reached = self.rows.last_offset + 1
            if batch_end is not None and reached > batch_end:
                return
            # A single offset may be wrong (no checksum covers it), so stop only at a second batch at or after the end.
            batch_end = reached if reached >= split.end_offset else None
        self._check_end()
        end = self.rows.position
        if end not in (position, self.damage_end):
            check_complete(scan, split, self.query, end, self.rows.last_offset + 1)

    def _check_end(self) -> None:
        """Raise LogError if the split's last batch has offsets that belong to the next segment."""
        if not self.query.permissive and self.rows.last_offset >= self.split.next_base:
            for _ in _read_again(self.split, self.query):  # raises the error
                pass

    def failed(self, scan: Scan, error: LogError) -> Iterator[Any]:
        """Skip an invalid batch if it has no requested rows. Otherwise, yield the buffered rows and raise `error`.

        If the query is permissive, yield a Damage object instead of raising the error.
        """
        split, query, rows = self.split, self.query, self.rows
        reached = self._reached(rows.last_offset)
        if reached is not None and reached >= split.end_offset:
            last = None if split.is_last and error.rule == CUT_OFF else self._last_before(rows.position)
            if last is None:  # stop here, because the broker may still be writing the next bytes
                rows.resume_at(split.end, None)
                return
            rows.resume_at(rows.position, last)
            reached = self._reached(last)
        # `batch` is None if the batch can't be decoded.
        batch = _whole_batch(scan, rows.position)
        may_hide = error.rule == OUT_OF_ORDER and rows.last_offset >= split.first_offset
        if batch is not None and not may_hide and not is_requested(batch, split, query):
            rows.resume_at(rows.position + batch.size, batch.last_offset)
            return
        if not query.permissive:
            yield from self._so_far()
            raise error
        damage, found = self.skip(scan, error)
        self.damage_end = damage.end if found is None else -1
        is_earlier = batch is None and reached is not None and reached < split.first_offset
        if not is_earlier and not query.drops:
            yield from self._so_far()
            yield damage

    def _reached(self, last: int) -> int | None:
        """Return the offset after `last`. If no batch was read (-1), return the split's first offset, if known."""
        return next_offset(self.split, self.start) if last < 0 else last + 1

    def _last_before(self, position: int) -> int | None:
        """Return the last valid offset before the invalid batch at `position`; None if the query ends before the batch.

        The split is read again, because the last offset that the engine read may be wrong.
        """
        last = self.before
        try:
            for piece in _read_again(self.split, self.query):
                if piece.position >= position:
                    return last
                if not isinstance(piece, Damage):
                    last = piece.last_offset
        except LogError:
            return last
        return None

    def _so_far(self) -> Iterator[Any]:
        if len(self.rows):
            yield self.rows.take()


def _whole_batch(scan: Scan, position: int) -> RecordBatch | None:
    try:
        return scan.batch(position)
    except LogError:
        return None
