"""Compact a partition offline, into a new folder.

Compaction makes three passes, with one batch in memory at a time. The first reads batch headers and transaction markers
(`tagwire.log.batch_summary`), the second finds the last offset of every key, and the third writes the remaining records
(`Rewriter`). `tagwire.log.compaction` decides which records to keep. Segments that are not compacted, such as the
active one, are copied byte for byte.

A new segment gets the modification time of its last source segment. In formats without a delete horizon, compaction
uses this time to compute the age of tombstones. An empty segment is removed, unless it is the first one of the log.
Neighboring segments are joined up to a total size (`groups`). Each group can be written by a separate process, which
first calls `Rewriter.look_back` to find the transactions that are open at the start of its group.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.errors import EncodeError
from tagwire.log.batch_rules import RELATIVE_OFFSETS, OpenTransactions, is_far
from tagwire.log.batch_summary import Survey, modified_ms, summarize, survey
from tagwire.log.compaction import KEPT, Compaction, CompactionError, Judge, KeyMap, Verdict
from tagwire.log.errors import unwritable
from tagwire.log.names import INDEXES, log_file, segment_file
from tagwire.log.partition import Partition, read_steadily
from tagwire.log.scan import LogBatch, Progress, ignore
from tagwire.log.segment import Segment
from tagwire.log.whole_folder import CallbackError, whole_folder
from tagwire.log.writing import SegmentWriter, index_kinds
from tagwire.records import Record

SEGMENT_FILES: Final = ("log", *INDEXES)
"""The extensions of the files of a segment."""
_COPIED: Final = ("leader-epoch-checkpoint", "partition.metadata")


Explain = Callable[[Segment, Record, str], None]
"""A callback for each record. Its arguments are the segment, the record, and a reason from KEPT or REMOVED."""


class SegmentReport(NamedTuple):
    """The counts of a segment's batches, records and bytes before and after compaction."""

    file: Path | str
    """The path of the segment, or its URL as a string."""
    batches: int
    records: int
    bytes: int
    new_batches: int
    new_records: int
    new_bytes: int
    emptied: int
    """The number of batches that are kept although they contain no records any more."""
    kept: dict[str, int]
    """Maps the reasons in `tagwire.log.compaction.KEPT` to numbers of kept records."""
    removed: dict[str, int]
    """Maps the reasons in `tagwire.log.compaction.REMOVED` to numbers of removed records."""

    def to_json(self) -> dict[str, Any]:
        return self._asdict() | {"file": str(self.file)}


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
    progress: Progress = ignore,
    explain: Explain | None = None,
) -> CompactReport:
    """Write a compacted copy of a partition to a new folder, which appears only when it is complete.

    `progress` is called with the number of bytes read since its last call; the total can reach three times the size of
    the segments. Raises LogPathError if the folder exists or can't be written, LogError for a damaged log, and
    CompactionError if the log can't be compacted with these options. Errors that `explain` raises are passed on.
    """

    def compacted(found: Partition) -> CompactReport:
        with whole_folder(Path(target), partition.path) as folder:
            return _compacted(found, folder, compaction, progress, explain)

    return read_steadily(partition, compacted)


def _compacted(
    partition: Partition, folder: Path, compaction: Compaction, progress: Progress, explain: Explain | None
) -> CompactReport:
    segments = partition.segments
    active = () if compaction.include_active else segments[-1:]
    summaries = [summarize(each, compaction, partial=each in active, progress=progress) for each in segments]
    known = survey(segments, summaries, compaction)
    cleaned = [each for each in segments if (each.base_offset or 0) < known.end]
    keys = _keys(cleaned, known, compaction, progress)
    count = len(keys)
    lasts = keys.last_offsets() if compaction.dirty_from is None and known.ascends else keys
    judge = Judge(compaction, known, lasts, explains=explain is not None)
    del keys
    writer = Rewriter(folder, compaction, judge, progress, explain)
    together = groups(cleaned, compaction.segment_bytes)
    reports = [report for each in together for report in writer.group(each, is_first=each is together[0])]
    for each in segments[len(cleaned) :]:
        copy_segment(each, folder)
        progress(2 * each.size)
    copy_files(partition, folder, known.end)
    return CompactReport(partition.path, known.end, known.because, count, reports)


def _keys(segments: Sequence[Segment], known: Survey, compaction: Compaction, progress: Progress) -> KeyMap:
    keys = KeyMap()
    begin = compaction.dirty_from or 0
    for batch in (each for segment in segments for each in compaction.batches(segment, compaction.silent)):
        if not batch.is_control and batch.last_offset >= begin and not known.is_aborted(batch):
            with _located_errors(batch):
                for record in batch:
                    if record.key is not None and record.offset >= begin:
                        keys.put(record.key, record.offset)
        if len(keys) > compaction.max_keys:
            raise CompactionError(
                f"{batch.file}: there are more than {compaction.max_keys} keys up to offset "
                f"{batch.last_offset}; set argument `max_keys` to a larger number (a key needs up to 200 bytes of "
                "memory), or argument `dirty_from` to skip the part of the log that is already compacted"
            )
        progress(batch.size)
    return keys


def groups(segments: Sequence[Segment], segment_bytes: int) -> list[list[Segment]]:
    """Divide segments into groups of neighbors, each with at most `segment_bytes` in total.

    If `segment_bytes` is 0, each segment is a separate group.
    """
    found: list[list[Segment]] = []
    size = 0
    for segment in segments:
        size += segment.size
        base = found[-1][0].base_offset or 0 if found else 0
        is_near = (segment.base_offset or 0) - base + segment.size < RELATIVE_OFFSETS
        if not found or size > segment_bytes or not is_near:
            found.append([])
            size = segment.size
        found[-1].append(segment)
    return found


@dataclass
class Rewriter:
    """Writes compacted segments to a folder, in log order."""

    folder: Path
    compaction: Compaction
    judge: Judge
    progress: Progress = ignore
    explain: Explain | None = None
    transactions: OpenTransactions = field(default_factory=OpenTransactions)

    def look_back(self, segments: Sequence[Segment], begin: int) -> None:
        """Read `segments`, from offset `begin` on, to find the transactions that are open at their end."""
        for segment in segments:
            self.judge.begin_segment(modified_ms(segment))
            for batch in self.compaction.batches(segment, self.compaction.silent, begin):
                if batch.is_transactional or batch.is_control:
                    verdict = self._verdict(batch)
                    if verdict.batch is not None:
                        self.transactions.see(verdict.batch, verdict.kept)

    def group(self, group: Sequence[Segment], *, is_first: bool) -> list[SegmentReport]:
        """Write a group of segments as a single segment.

        Raises LogError for an invalid batch, and CompactionError for one that can't be compacted.
        """
        kinds = index_kinds(group[0])
        with SegmentWriter(self.folder, group[0].base_offset or 0, kinds, self.transactions) as writer:
            reports = [self._segment(segment, writer) for segment in group]
        status = group[-1].status()
        for kind in SEGMENT_FILES:
            path = writer.path.with_suffix(f".{kind}")
            if not writer.size and not is_first:
                path.unlink(missing_ok=True)
            elif path.is_file():
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        return reports

    def _segment(self, segment: Segment, writer: SegmentWriter) -> SegmentReport:
        self.judge.begin_segment(modified_ms(segment))
        reasons = Counter[str]()
        batches = new_batches = new_records = new_bytes = emptied = 0
        for batch in self._batches(segment):
            verdict = self._verdict(batch)
            if self.explain:
                try:
                    for record, reason in verdict.records:
                        self.explain(segment, record, reason)
                except OSError as error:  # for example, it prints to a closed pipe
                    raise CallbackError(error) from None
            for reason, count in verdict.counts.items():
                reasons[reason] += count
            batches += 1
            if verdict.batch is None:
                continue
            kept = verdict.kept
            writer.append(verdict.batch, kept)
            new_batches, new_records, new_bytes = new_batches + 1, new_records + kept, new_bytes + verdict.batch.size
            emptied += kept == 0
        before = batches, reasons.total(), segment.size
        kept_for = {reason: count for reason, count in reasons.items() if reason in KEPT}
        removed_for = {reason: count for reason, count in reasons.items() if reason not in KEPT}
        return SegmentReport(segment.path, *before, new_batches, new_records, new_bytes, emptied, kept_for, removed_for)

    def _batches(self, segment: Segment) -> Iterator[LogBatch]:
        skip = self.compaction.skip
        for batch in self.compaction.batches(segment, skip):
            if not is_far(batch, batch, segment.base_offset or 0, skip):
                yield batch
            self.progress(batch.size)

    def _verdict(self, batch: LogBatch) -> Verdict:
        with _located_errors(batch):
            return self.judge.verdict(batch)


@contextmanager
def _located_errors(batch: LogBatch) -> Generator[None]:
    """Add the file name to errors, and the position to EncodeErrors."""
    try:
        yield
    except EncodeError as error:
        raise unwritable(error, batch.file, batch.position) from None
    except CompactionError as error:
        raise CompactionError(f"{batch.file}: {error}") from None


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
    snapshots = [path for path, name in partition.named("snapshot") if name.base_offset >= end or path.stem in written]
    for path in (*partition.files_called(*_COPIED), *snapshots):
        shutil.copy2(path, folder / path.name)
