"""Write the segments of a partition in a task, with their indexes, and describe them for the driver."""

import mmap
from array import array
from functools import cache
from struct import Struct
from typing import Final, NamedTuple

from tagwire.layout import Checksum
from tagwire.log.batch_rules import OpenTransactions
from tagwire.log.writing import SegmentWriter, single_batches
from tagwire.records import RecordBatch, format_of
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit_folder import Attempt, CommitFolder
from tagwire_spark.log_write.existing_log import ExistingLog, transactions_before
from tagwire_spark.log_write.target import LogTarget

_INT32: Final = 0x7FFFFFFF


class StagedSegment(NamedTuple):
    """A task's description of a segment for the driver."""

    log: str
    """The name of the partition's folder, such as `orders-0`."""
    base_offset: int
    end_offset: int
    """The offset after the segment's last record."""
    batches: int
    records: int
    bytes: int
    files: tuple[str, ...]
    """File paths relative to the log folder. The segment comes last, after its indexes."""
    epochs: tuple[tuple[int, int], ...]
    """The leader epochs that begin in the segment, with their first offsets."""
    has_transactions: bool
    """Whether the segment has transactional batches or markers."""
    format: str
    first_record: int
    """The offset of the first record. The base offset of the record's batch can be lower."""
    content: int
    """The `content_sum` of the records."""
    is_numbered: bool = False
    """Whether the rows had no offsets. Only such a segment can be renumbered."""
    offset_positions: str | None = None
    """A file with the position of each batch's base offset, or None if the segment can't be renumbered."""


class Segments:
    """Writes the segments of one partition in a task, one after another."""

    def __init__(self, name: str, attempt: Attempt, target: LogTarget, before: ExistingLog | None) -> None:
        self.name = name
        self.attempt = attempt
        self.folder = attempt.folder / name
        self.most = target.segment_bytes
        self.before = before
        self.transactions: OpenTransactions | None = None
        self.writer: SegmentWriter | None = None
        self.done: list[StagedSegment] = []
        self.last_epoch = -1
        self.is_numbered = False

    def append(self, batch: RecordBatch, count: int, first_record: int) -> None:
        """Append a batch. Uncompressed messages of magic 0 or 1 are appended one by one."""
        for each, records in single_batches(batch, count):
            self._append(each, records, first_record if each is batch else each.base_offset)

    def end(self) -> list[StagedSegment]:
        self._close()
        return self.done

    def _append(self, batch: RecordBatch, count: int, first_record: int) -> None:
        writer = self._writer_for(batch, first_record)
        if batch.is_control or batch.is_transactional:
            self.has_transactions = True
            writer.transactions = self._known_transactions(batch.format)
        if self.is_numbered:
            self._note_offset_position(writer.size, batch)
        writer.append(batch, count)
        self.batches += 1
        self.records += count
        self.end_offset = batch.last_offset + 1
        if batch.partition_leader_epoch > self.last_epoch:
            self.last_epoch = batch.partition_leader_epoch
            self.epochs.append((self.last_epoch, batch.base_offset))

    def _writer_for(self, batch: RecordBatch, first_record: int) -> SegmentWriter:
        writer = self.writer
        if writer is not None:
            is_far = batch.last_offset - writer.base_offset > _INT32
            if not is_far and not (writer.size and writer.size + batch.size > self.most):
                return writer
            self._close()
        kinds = {"index", "txnindex"} if batch.magic == 0 else {"index", "timeindex", "txnindex"}
        writer = self.writer = SegmentWriter(self.folder, batch.base_offset, kinds, self.transactions)
        self.batches = self.records = self.content = 0
        self.epochs: list[tuple[int, int]] = []
        self.has_transactions = False
        self.offset_positions: array[int] | None = array("I")
        self.format, self.first_record = batch.format, first_record
        writer.__enter__()
        return writer

    def _note_offset_position(self, position: int, batch: RecordBatch) -> None:
        """Store a base offset's file position. If the batch can't be renumbered, set `offset_positions` to None."""
        at = _offset_position(batch.format, batch.compression != "none")
        # Transactional batches can't be renumbered, because the transaction index would still have the old offsets.
        if at is None or batch.is_transactional:
            self.offset_positions = None
        elif self.offset_positions is not None:
            self.offset_positions.append(position + at)

    def _close(self) -> None:
        if self.writer is None:
            return
        self.writer.__exit__(None, None, None)
        files = sorted(self.folder.glob(f"{self.writer.base_offset:020}.*"), key=lambda path: path.suffix == ".log")
        root = self.folder.parents[2]
        names = tuple(file.relative_to(root).as_posix() for file in files)
        offset_positions = None
        if self.is_numbered and self.offset_positions is not None:
            file = self.writer.path.with_name(f"places-{self.writer.path.stem}")
            file.write_bytes(self.offset_positions.tobytes())
            offset_positions = file.relative_to(root).as_posix()
            files.append(file)
        self.attempt.keep(files)
        numbers = (self.writer.base_offset, self.end_offset, self.batches, self.records, self.writer.size)
        facts = (tuple(self.epochs), self.has_transactions, self.format, self.first_record, self.content)
        self.done.append(StagedSegment(self.name, *numbers, names, *facts, self.is_numbered, offset_positions))
        self.writer = None

    def _known_transactions(self, format: str) -> OpenTransactions:
        if self.transactions is None:
            self.transactions = transactions_before(self.before, format) if self.before else OpenTransactions()
        return self.transactions


# Assign offsets to rows without offsets. Each task numbers its rows from the log end offset, so several tasks may
# assign the same offsets. The driver then renumbers the segments, which changes only the 8-byte base offset of each
# batch. This requires that no checksum covers the base offset, and that all other offsets in the batch and in
# index files are relative.

_OFFSET: Final = Struct(">q")


@cache
def _offset_position(name: str, is_compressed: bool) -> int | None:
    """Return the base offset's position within a batch, or None if renumbering would also change other bytes."""
    format = format_of(name)
    items = [item.name for item in format.header.root.items]
    sums = [item.type.first for item in format.header.root.items if isinstance(item.type, Checksum)]
    offset = items.index(format.fields["base_offset"].name)
    if any(items.index(first) <= offset for first in sums):
        return None
    # In compressed batches of magic 0, the offsets of the messages inside would also have to change.
    if format.records is None and format.magic == 0 and is_compressed:
        return None
    return format.header_positions.offset_at


def renumber(folder: CommitFolder, end: int, found: "list[StagedSegment]") -> None:
    """Renumber a partition's segments in place, to begin at offset `end`. Raises PipelineError if that fails.

    After an error, a segment's file may have new offsets, although `found` has the old ones.
    """
    for number, segment in enumerate(found):
        with folder.rejected():
            found[number] = _moved(folder, segment, end - segment.base_offset)
        end = found[number].end_offset


def _moved(folder: CommitFolder, segment: "StagedSegment", shift: int) -> "StagedSegment":
    """Add `shift` to all offsets of a segment, and return the new StagedSegment."""
    if not shift:
        return segment
    if segment.offset_positions is None:
        why = "with transactions" if segment.has_transactions else f"of {segment.format} with these codecs"
        text = f"Several tasks, or concurrent writes, wrote rows without offsets to {segment.log}, but "
        text += f"batches {why} can't be renumbered; repartition by topic and partition, or add column 'offset'."
        raise PipelineError("KAFKA_LOG_ROWS_NOT_IN_ORDER", text)
    offset_positions = array("I", folder.read(segment.offset_positions) or b"")
    with folder.edited(segment.files[-1]) as path, path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        for position in offset_positions:
            _OFFSET.pack_into(data, position, _OFFSET.unpack_from(data, position)[0] + shift)
        data.flush()
    return segment._replace(
        base_offset=segment.base_offset + shift,
        end_offset=segment.end_offset + shift,
        first_record=segment.first_record + shift,
        epochs=tuple((epoch, offset + shift) for epoch, offset in segment.epochs),
    )
