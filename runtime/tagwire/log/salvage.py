"""Copy the intact batches of a damaged partition to a new partition that a broker can open.

Each batch is either copied byte for byte or left out. `tagwire.log.damage` decides which bytes are a batch. A batch is
left out if Kafka's own reader would reject its records. Where offsets do not ascend, as few batches as possible are
left out: a single wrong offset costs one batch, not all later ones.

Indexes are rebuilt, and so is the leader epoch checkpoint if it contradicts the batches. Producer snapshots are left
out, because a broker rebuilds them from the log.
"""

import shutil
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.batch_rules import RELATIVE_OFFSETS, BatchRules, OpenTransactions
from tagwire.log.checkpoints import (
    EpochStart,
    checkpoint_bytes,
    epoch_at,
    leader_epoch_problems,
    read_leader_epochs,
    read_topic_id,
    with_later_epochs,
)
from tagwire.log.damage import Damage, pieces
from tagwire.log.errors import LogError, LogPathError, LogProblem, Problems, is_file
from tagwire.log.file_bytes import open_file
from tagwire.log.partition import Partition, read_steadily, with_next
from tagwire.log.scan import Progress, Scan, ignore
from tagwire.log.segment import Segment
from tagwire.log.verify import file_problem, file_size, problem_of, unread
from tagwire.log.whole_folder import whole_folder
from tagwire.log.writing import SegmentWriter, index_kinds
from tagwire.records.format_set import format_set

__all__ = ["SalvageReport", "salvage"]


class SalvageReport(NamedTuple):
    """The counts of kept batches, records and bytes of a segment, and the problems that explain the lost bytes."""

    file: Path
    batches: int
    """The number of kept batches; the next two attributes count kept records and bytes."""
    records: int
    bytes: int
    lost_bytes: int
    problems: list[LogProblem]


class _Span(NamedTuple):
    position: int
    end: int
    first: int
    last: int


def salvage(
    partition: Partition,
    output: str | Path,
    format: Any = "auto",
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = ignore,
) -> list[SalvageReport]:
    """Write the intact batches of a partition to a new folder of the same name in `output`.

    The folder appears only when it is complete. If a running broker removes segments before they are read, the
    partition is read again. `progress` is called with the number of bytes read since the last call. Raises LogPathError
    if the folder exists or can't be written.
    """
    with whole_folder(Path(output) / partition.path.absolute().name, partition.path) as folder:

        def salvaged(found: Partition) -> list[SalvageReport]:
            for path in folder.iterdir():  # remove files of an earlier attempt
                path.unlink()
            return list(_Salvage(folder, format, limits, progress).partition(found))

        return read_steadily(partition, salvaged, lambda reports: any(report.problems for report in reports))


class _EpochRun(NamedTuple):
    epoch: int
    offset: int
    batches: int


class _Salvage:
    def __init__(self, folder: Path, format: Any, limits: Limits, progress: Progress) -> None:
        self.folder = folder
        self.format = format_set(format, strict=False)  # also keep batches with errors that Kafka's own reader ignores
        self.limits = limits
        self.progress = progress
        self.transactions = OpenTransactions()
        self.last_offset = -1
        self.epochs: list[_EpochRun] = []

    def partition(self, partition: Partition) -> Iterator[SalvageReport]:
        for segment, after in with_next(partition.segments):
            yield self.segment(segment, after.base_offset if after else None)
        for snapshot in partition.metadata_snapshots:
            yield self.snapshot(snapshot)
        self._leader_epochs(partition.path / "leader-epoch-checkpoint")
        yield from self.metadata(partition.path / "partition.metadata")

    def segment(self, segment: Segment, next_base: int | None) -> SalvageReport:
        """Salvage a segment: keep its intact batches that end below `next_base`, the next segment's base offset."""
        self._problems = Problems()
        self._kept_batches = self._kept_records = self._lost = self._reached = 0
        base = segment.base_offset or 0
        end = min(base + RELATIVE_OFFSETS, base + RELATIVE_OFFSETS if next_base is None else next_base)
        with SegmentWriter(self.folder, base, index_kinds(segment), self.transactions) as writer:
            try:
                with open_file(segment.path) as data:
                    scan = Scan(str(segment.path), data, self.format, self.limits)
                    self._keep(scan, self._choose(scan, max(base, self.last_offset + 1), end), writer)
            except LogPathError as error:  # continue, because other segments may be intact
                left = file_size(segment.path) - writer.size - self._lost
                self._lose(unread(segment.path, error, self._reached), max(left, 0))
        problems = sorted(self._problems.rows())
        return SalvageReport(segment.path, self._kept_batches, self._kept_records, writer.size, self._lost, problems)

    def _keep(self, scan: Scan, spans: Iterable[_Span], writer: SegmentWriter) -> None:
        rules = BatchRules([])
        rules.problems = self._problems
        for span in spans:
            batch = scan.batch(span.position)
            seen = rules.check(batch, None)
            # Leave out a batch with an invalid record, even if its checksum is right: no consumer could read past it.
            if not seen.is_whole:
                self._lost += batch.size
                continue
            writer.append(batch, seen.records, seen.marker)
            self._epoch(batch.partition_leader_epoch, batch.base_offset)
            self._kept_batches, self._kept_records = self._kept_batches + 1, self._kept_records + seen.records
            self.last_offset = batch.last_offset

    def _choose(self, scan: Scan, begin: int, end: int) -> list[_Span]:
        spans = []
        try:
            for piece in pieces(scan):
                if isinstance(piece, Damage):
                    self._lose(problem_of(piece.error, skipped=(piece.position, piece.end)), piece.end - piece.position)
                else:
                    spans.append(_Span(piece.position, piece.end, piece.base_offset, piece.last_offset))
                self.progress(piece.end - self._reached)
                self._reached = piece.end
        except LogPathError as error:  # keep the batches before the unreadable bytes
            text = f"{unread(Path(scan.file), error, 0).message}; bytes {self._reached} to {len(scan.data)} are skipped"
            self._lose(LogProblem(self._reached, "TWL100", text), len(scan.data) - self._reached)
        chosen = ascending([span for span in spans if begin <= span.first <= span.last < end])
        kept = {span.position for span in chosen}
        for span in spans:
            if span.position not in kept:
                what = f"offsets {span.first} to {span.last} are out of order"
                skipped = f"bytes {span.position} to {span.end} are skipped"
                self._lose(LogProblem(span.position, "TWL108", f"{what}; {skipped}"), span.end - span.position)
        return chosen

    def _lose(self, problem: LogProblem, lost: int) -> None:
        self._problems.add(*problem)
        self._lost += lost

    def _epoch(self, epoch: int, offset: int) -> None:
        if epoch < 0:
            return
        if self.epochs and self.epochs[-1].epoch == epoch:
            self.epochs[-1] = self.epochs[-1]._replace(batches=self.epochs[-1].batches + 1)
        else:
            self.epochs.append(_EpochRun(epoch, offset, 1))

    def snapshot(self, snapshot: Segment) -> SalvageReport:
        """Copy a metadata snapshot if it is intact."""
        batches = records = 0
        try:
            for batch in snapshot.batches(None, self.format, self.limits):
                batches, records = batches + 1, records + sum(1 for _ in batch)
        except LogPathError as error:
            return SalvageReport(snapshot.path, 0, 0, 0, 0, [unread(snapshot.path, error, 0)])
        except LogError as error:
            return SalvageReport(snapshot.path, 0, 0, 0, snapshot.size, [problem_of(error, (0, snapshot.size))])
        shutil.copyfile(snapshot.path, self.folder / snapshot.path.name)
        return SalvageReport(snapshot.path, batches, records, snapshot.size, 0, [])

    def metadata(self, path: Path) -> Iterator[SalvageReport]:
        """Copy `partition.metadata`. Yield a report if it is invalid, because a broker could not open such a log."""
        try:
            if is_file(path):
                read_topic_id(path)
                shutil.copyfile(path, self.folder / path.name)
        except (LogError, LogPathError) as error:
            yield SalvageReport(path, 0, 0, 0, file_size(path), [file_problem(path, error)])

    def _leader_epochs(self, path: Path) -> None:
        """Copy the leader epoch checkpoint. If most batches contradict it, rebuild it from the batches instead.

        A copy is better, because it also lists epochs in which no batch was written.
        """
        try:
            if not is_file(path):
                return
            known = [] if leader_epoch_problems(path) else read_leader_epochs(path)
        except (LogError, LogPathError):
            known = []
        agreed = sum(run.batches for run in self.epochs if epoch_at(known, run.offset) in (None, run.epoch))
        if known and agreed * 2 >= sum(run.batches for run in self.epochs):
            shutil.copyfile(path, self.folder / path.name)
            return
        starts = with_later_epochs((), (EpochStart(run.epoch, run.offset) for run in self.epochs))
        (self.folder / path.name).write_bytes(checkpoint_bytes(starts))


def ascending(spans: list[_Span]) -> list[_Span]:
    """Return the longest subsequence of spans with ascending offsets."""
    lasts: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, span in enumerate(spans):
        length = bisect_left(lasts, span.first)
        before.append(ends[length - 1] if length else -1)
        if length == len(lasts):
            lasts.append(span.last)
            ends.append(number)
        elif span.last < lasts[length]:
            lasts[length], ends[length] = span.last, number
    chain = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(spans[at])
        at = before[at]
    return chain[::-1]
