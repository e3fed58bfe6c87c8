"""Compact a partition offline, into a new folder.

Compaction makes three passes, with one batch in memory at a time. The first reads batch headers and transaction markers
(`tagwire.log.batch_summary`), the second finds the last offset of every key, and the third writes the remaining records
(`tagwire.log.rewriting`). `tagwire.log.compaction` decides which records to keep. Segments that are not compacted, such
as the active one, are copied byte for byte.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tagwire.log.batch_summary import Bounds, Survey, summarize, survey
from tagwire.log.compaction import Compaction, CompactionError, Judge, KeyMap
from tagwire.log.names import log_file, segment_file
from tagwire.log.partition import Partition, read_steadily
from tagwire.log.rewriting import SEGMENT_FILES, Explain, LocatedErrors, Rewriter, SegmentReport, Tell, groups
from tagwire.log.segment import Segment
from tagwire.log.whole_folder import whole_folder
from tagwire.records import RecordBatch

__all__ = ["CompactReport", "SegmentReport", "bounds_of", "compact_partition", "copy_files", "copy_segment"]

_CARRIED: Final = ("leader-epoch-checkpoint", "partition.metadata")


class CompactReport(NamedTuple):
    """The result of compacting a partition."""

    partition: Path | str
    """The partition's folder, or a URL as a string."""
    compacted_to: int
    because: str
    keys: int
    segments: list[SegmentReport]


def compact_partition(
    partition: Partition,
    target: str | Path,
    compaction: Compaction,
    tell: Tell | None = None,
    explain: Explain | None = None,
) -> CompactReport:
    """Write a compacted copy of a partition to a new folder, which appears only when it is complete.

    `tell` is called with the number of bytes read since its last call; the total can reach three times the segments'
    size. Raises LogPathError if the folder exists or can't be written, LogError for a damaged log, and CompactionError
    if the log can't be compacted with these options.
    """

    def compacted(found: Partition) -> CompactReport:
        with whole_folder(Path(target), partition.path) as folder:
            return _Compactor(found, folder, compaction, tell, explain).run()

    return read_steadily(partition, compacted)


def bounds_of(compaction: Compaction) -> Bounds:
    """Return the subset of the compaction options that `tagwire.log.batch_summary.survey` needs."""
    return Bounds(*(getattr(compaction, name) for name in Bounds._fields))


class _Compactor:
    def __init__(
        self, partition: Partition, folder: Path, compaction: Compaction, tell: Tell | None, explain: Explain | None
    ) -> None:
        self.partition = partition
        self.folder = folder
        self.compaction = compaction
        self.tell = tell or (lambda count: None)
        self.explain = explain

    def run(self) -> CompactReport:
        segments, compaction = self.partition.segments, self.compaction
        summaries = [
            summarize(
                segment, compaction.format, compaction.limits, partial=is_active, tell=self.tell, skip=compaction.silent
            )
            for segment, is_active in ((each, self._is_active(each)) for each in segments)
        ]
        known = survey(segments, summaries, bounds_of(compaction))
        cleaned = [each for each in segments if (each.base_offset or 0) < known.end]
        keys = self._keys(cleaned, known)
        count = len(keys)
        lasts = keys.last_offsets() if compaction.dirty_from is None and known.ascends else keys
        judge = Judge(compaction, known, lasts, explains=self.explain is not None)
        del keys
        writer = Rewriter(self.folder, compaction, judge, self.tell, self.explain)
        together = groups(cleaned, compaction.segment_bytes)
        reports = [report for each in together for report in writer.group(each, is_first=each is together[0])]
        for each in segments[len(cleaned) :]:
            copy_segment(each, self.folder)
            self.tell(2 * each.size)
        copy_files(self.partition, self.folder, known.end)
        return CompactReport(self.partition.path, known.end, known.because, count, reports)

    def _is_active(self, segment: Segment) -> bool:
        return segment is self.partition.segments[-1] and not self.compaction.include_active

    def _batches(self, segment: Segment) -> Iterator[tuple[int, RecordBatch]]:
        compaction = self.compaction
        for position, batch in segment.positioned_batches(
            None, compaction.format, compaction.limits, skip=compaction.silent
        ):
            yield position, batch
            self.tell(batch.size)

    def _keys(self, segments: Sequence[Segment], known: Survey) -> KeyMap:
        keys = KeyMap()
        begin = self.compaction.dirty_from or 0
        for segment in segments:
            for position, batch in self._batches(segment):
                if not batch.is_control and batch.last_offset >= begin and not known.is_aborted(batch):
                    self._put(keys, batch, begin, segment, position)
        return keys

    def _put(self, keys: KeyMap, batch: RecordBatch, begin: int, segment: Segment, position: int) -> None:
        with LocatedErrors(segment, position):
            for record in batch:
                if record.key is not None and record.offset >= begin:
                    keys.put(record.key, record.offset)
        if len(keys) > self.compaction.max_keys:
            raise CompactionError(
                f"{segment.name}: there are more than {self.compaction.max_keys} keys up to offset "
                f"{batch.last_offset}; set a larger `max_keys` (a key needs up to 200 bytes of memory), or set "
                "`dirty_from` to skip the part of the log that is already compacted"
            )


def copy_segment(segment: Segment, folder: Path) -> None:
    """Copy a segment and its index files to a folder."""
    for kind in SEGMENT_FILES:
        path = segment.path if kind == "log" else segment.sibling(kind)
        if path is not None:
            name = log_file(path)
            assert name is not None
            segment.copy(path, folder / segment_file(name.base_offset, name.kind))


def copy_files(partition: Partition, folder: Path, end: int) -> None:
    """Copy the leader epoch checkpoint, `partition.metadata`, and the producer snapshots that stay valid.

    The log was compacted up to the offset `end`. A producer snapshot below `end` stays valid only if the compacted log
    has a segment with the same base offset.
    """
    written = {path.stem for path in folder.glob("*.log")}
    for path in partition.files:
        name = log_file(path)
        is_snapshot = name is not None and name.kind == "snapshot" and not name.state
        is_needed = is_snapshot and name is not None and (name.base_offset >= end or path.stem in written)
        if path.name in _CARRIED or is_needed:
            shutil.copy2(path, folder / path.name)
