"""Partitions compacted off the broker, to a new folder.

Three ways through the log, each in the memory of a batch: its heads and markers
(`tagwire.log.survey`), the last offset of every key (`tagwire.log.key_map`), and
the batches with what is kept of them, by the rule (`tagwire.log.compaction`).
What is not compacted, the active segment first of all, is carried byte by byte.

Segments stay segments, and keep the time of their last write, since in older
formats that says how old a tombstone is. One that nothing is left of goes,
unless the log begins with it.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.log.batch_rules import Seen
from tagwire.log.compaction import KEPT, Compaction, CompactionError, Judge, Verdict
from tagwire.log.errors import placed
from tagwire.log.key_map import KeyMap
from tagwire.log.names import log_file
from tagwire.log.partition import Partition
from tagwire.log.segment import Segment
from tagwire.log.survey import Bounds, Survey, survey
from tagwire.log.transactions import Transactions
from tagwire.log.whole_folder import whole_folder
from tagwire.log.writing import SegmentWriter, index_kinds
from tagwire.records import Record, RecordBatch

__all__ = ["CompactReport", "SegmentReport", "compact_partition"]

_BESIDE: Final = ("log", "index", "timeindex", "txnindex")
_CARRIED: Final = ("leader-epoch-checkpoint", "partition.metadata")
_RELATIVE_OFFSETS: Final = 1 << 31

Tell = Callable[[int], None]
Explain = Callable[[Segment, Record, str], None]
"""Is told of each record what becomes of it: a reason of KEPT or REMOVED."""


class SegmentReport(NamedTuple):
    """A segment before and after."""

    file: Path
    batches: int
    records: int
    bytes: int
    new_batches: int
    new_records: int
    new_bytes: int
    emptied: int
    """Batches that stay without their records."""
    kept: dict[str, int]
    """Records by reason, as in `tagwire.log.compaction.KEPT`."""
    removed: dict[str, int]
    """And in REMOVED."""

    def to_json(self) -> dict[str, Any]:
        """As what JSON can hold."""
        return self._asdict() | {"file": str(self.file)}


class CompactReport(NamedTuple):
    """A partition."""

    partition: Path
    compacted_to: int
    """The first offset that was left alone."""
    because: str
    keys: int
    """How many were kept in mind."""
    segments: list[SegmentReport]
    """Those that were compacted."""


def compact_partition(
    partition: Partition,
    target: str | Path,
    compaction: Compaction,
    tell: Tell | None = None,
    explain: Explain | None = None,
) -> CompactReport:
    """Write a partition, compacted, to a folder that must not be there yet; nothing is there before all of it is.

    `tell` is told how many more bytes were read, of three times those of the segments. Raises LogError,
    CompactionError; LogPathError where the folder is there already, or can't be written.
    """
    with whole_folder(Path(target)) as folder:
        return _Compactor(partition, folder, compaction, tell, explain).run()


class _Compactor:
    """One partition on its way."""

    def __init__(
        self, partition: Partition, folder: Path, compaction: Compaction, tell: Tell | None, explain: Explain | None
    ) -> None:
        self.partition = partition
        self.folder = folder
        self.compaction = compaction
        self.tell = tell or (lambda count: None)
        self.explain = explain

    def run(self) -> CompactReport:
        segments = self.partition.segments
        asked = self.compaction
        bounds = Bounds(*(getattr(asked, name) for name in Bounds._fields))
        known = survey(segments, bounds, asked.format, asked.limits, self.tell)
        cleaned = [each for each in segments if (each.base_offset or 0) < known.end]
        keys = self._keys(cleaned, known)
        judge = Judge(asked, known, keys)
        output = _Output(self.folder, asked.segment_bytes)
        reports = [self._segment(each, judge, output) for each in cleaned]
        output.end()
        for each in segments[len(cleaned) :]:
            self._carry(each)
        self._carry_files(known)
        return CompactReport(self.partition.path, known.end, known.because, len(keys), reports)

    def _batches(self, segment: Segment) -> Iterator[tuple[int, RecordBatch]]:
        for position, batch in segment.placed_batches(None, self.compaction.format, self.compaction.limits):
            yield position, batch
            self.tell(batch.size)

    def _keys(self, segments: list[Segment], known: Survey) -> KeyMap:
        keys = KeyMap()
        aborted = known.aborted_transactions()
        begin = self.compaction.dirty_from or 0
        for segment in segments:
            for position, batch in self._batches(segment):
                if batch.is_control:
                    aborted.end(batch)
                elif batch.last_offset >= begin and not aborted.has(batch):
                    self._put(keys, batch, begin, segment, position)
        return keys

    def _put(self, keys: KeyMap, batch: RecordBatch, begin: int, segment: Segment, position: int) -> None:
        with _Placed(segment, position):
            for record in batch:
                if record.key is not None and record.offset >= begin:
                    keys.put(record.key, record.offset)
        if len(keys) > self.compaction.max_keys:
            raise CompactionError(
                f"{segment.path}: there are more than {self.compaction.max_keys} keys up to offset"
                f" {batch.last_offset}, and each takes up to 200 bytes; allow more (max_keys, --max-keys), or name the"
                " offset up to which the log was compacted before (dirty_from, --dirty-from)"
            )

    def _segment(self, segment: Segment, judge: Judge, output: "_Output") -> SegmentReport:
        output.begin(segment)
        judge.begin_segment(output.modified_ms)
        reasons = Counter[str]()
        batches = new_batches = new_records = new_bytes = emptied = 0
        for position, batch in self._batches(segment):
            with _Placed(segment, position):
                verdict = judge.verdict(batch)
            self._tell_reasons(segment, verdict)
            here = [reason for _, reason in verdict.records]
            kept = sum(1 for reason in here if reason in KEPT)
            reasons.update(here)
            batches += 1
            if verdict.batch is None:
                continue
            kind = Survey.marker([each for each, _ in verdict.records]) if kept and batch.is_control else None
            output.append(Seen(position, verdict.batch, kept, kind))
            new_batches, new_records, new_bytes = new_batches + 1, new_records + kept, new_bytes + verdict.batch.size
            emptied += kept == 0
        before = batches, reasons.total(), segment.size
        kept_for = {reason: count for reason, count in reasons.items() if reason in KEPT}
        removed_for = {reason: count for reason, count in reasons.items() if reason not in KEPT}
        return SegmentReport(segment.path, *before, new_batches, new_records, new_bytes, emptied, kept_for, removed_for)

    def _tell_reasons(self, segment: Segment, verdict: Verdict) -> None:
        if self.explain:
            for record, reason in verdict.records:
                self.explain(segment, record, reason)

    def _carry(self, segment: Segment) -> None:
        """A segment as it is, with its indexes."""
        for kind in _BESIDE:
            path = segment.path if kind == "log" else segment.beside(kind)
            if path is not None:
                name = log_file(path)
                assert name is not None
                shutil.copy2(path, self.folder / path.name.removesuffix(f".{name.state}"))
        self.tell(2 * segment.size)

    def _carry_files(self, known: Survey) -> None:
        """What stands beside segments and is still true: of snapshots of producers, those where a segment begins."""
        written = {path.stem for path in self.folder.glob("*.log")}
        for path in self.partition.files:
            name = log_file(path)
            is_snapshot = name is not None and name.kind == "snapshot" and not name.state
            is_needed = is_snapshot and name is not None and (name.base_offset >= known.end or path.stem in written)
            if path.name in _CARRIED or is_needed:
                shutil.copy2(path, self.folder / path.name)


class _Placed:
    """Faults of a batch's records with their file; those of the log that can't be compacted with its name."""

    def __init__(self, segment: Segment, position: int) -> None:
        self.segment = segment
        self.position = position

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, at: Any) -> None:
        if isinstance(error, DecodeError):
            raise placed(error, str(self.segment.path), "TWL106", self.position) from None
        if isinstance(error, CompactionError):
            raise CompactionError(f"{self.segment.path}: {error}") from None


class _Output:
    """The segments that are written, one after the other; small neighbours as one, where that is asked for."""

    def __init__(self, folder: Path, segment_bytes: int) -> None:
        self.folder = folder
        self.segment_bytes = segment_bytes
        self.transactions = Transactions()
        self.writer: SegmentWriter | None = None
        self.modified_ms = 0
        """When the segment at hand was last written to."""
        self._times = (0, 0)
        self._bytes = 0
        self._is_first = True

    def begin(self, segment: Segment) -> None:
        """Go on with a segment of the log."""
        status = segment.path.stat()
        base = segment.base_offset or 0
        self._bytes += status.st_size
        is_near = self.writer is not None and base - self.writer.base_offset + status.st_size < _RELATIVE_OFFSETS
        if self.writer is None or self._bytes > self.segment_bytes or not is_near:
            self.end()
            self.writer = SegmentWriter(self.folder, base, index_kinds(segment), self.transactions)
            self.writer.__enter__()
            self._bytes = status.st_size
        self._times = (status.st_atime_ns, status.st_mtime_ns)
        self.modified_ms = status.st_mtime_ns // 1_000_000

    def append(self, seen: Seen) -> None:
        """Write a batch."""
        assert self.writer is not None
        self.writer.append(seen)

    def end(self) -> None:
        """The segment at hand is whole. One that is empty goes, but not the first: the log begins there."""
        if self.writer is None:
            return
        self.writer.__exit__(None, None, None)
        for kind in _BESIDE:
            path = self.writer.path.with_suffix(f".{kind}")
            if self.writer.size or self._is_first:
                if path.is_file():
                    os.utime(path, ns=self._times)
            else:
                path.unlink(missing_ok=True)
        self.writer, self._is_first = None, False
