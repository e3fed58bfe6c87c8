"""What is whole of a damaged partition, as a partition that a broker can open.

Batches are kept as they are, byte by byte, or not at all. Whether bytes are a
batch, `tagwire.log.damage` says. One thing more can be wrong with a batch whose
checksum agrees: the offset of magic 2 is not covered by it. Where offsets do
not ascend, as few batches as possible are left out so that they do: a single
wrong offset costs its own batch, not all that come behind it.

Indexes are made new; so is the checkpoint of leader epochs, if it does not fit.
Snapshots of producers are left out: a broker that finds none makes them from
the log.
"""

import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.batch_rules import BatchRules
from tagwire.log.checkpoints import EpochStart, read_leader_epochs, read_properties
from tagwire.log.damage import Damage, pieces
from tagwire.log.errors import LogError
from tagwire.log.file_bytes import open_file
from tagwire.log.partition import Partition
from tagwire.log.rules import Problem
from tagwire.log.scan import Scan
from tagwire.log.segment import Segment
from tagwire.log.transactions import Transactions
from tagwire.log.verify import leader_epoch_problems, problem_of
from tagwire.log.whole_folder import whole_folder
from tagwire.log.writing import SegmentWriter

__all__ = ["SalvageReport", "salvage"]

_INDEXES: Final = ("index", "timeindex", "txnindex")
_RELATIVE_OFFSETS: Final = 1 << 31


class SalvageReport(NamedTuple):
    """A segment, what was kept of it, and what was not, and why."""

    file: Path
    batches: int
    """Kept, and so on."""
    records: int
    bytes: int
    lost_bytes: int
    problems: list[Problem]


class _Place(NamedTuple):
    position: int
    end: int
    first: int
    last: int


def salvage(
    partition: Partition,
    output: str | Path,
    format: Any = "auto",
    limits: Limits = DEFAULT_LIMITS,
    tell: Callable[[int], None] | None = None,
) -> list[SalvageReport]:
    """Write what is whole of a partition to a folder of its name in `output`, which must not be there yet.

    Nothing is there before all of it is. `tell` is told how many more bytes were read. Raises LogPathError where the
    folder is there already, or can't be written.
    """
    with whole_folder(Path(output) / partition.path.absolute().name) as folder:
        return list(_Salvage(folder, format, limits, tell).partition(partition))


class _EpochRun(NamedTuple):
    """Batches one behind the other of one leader."""

    epoch: int
    offset: int
    batches: int


class _Salvage:
    """The segments of one partition, in order."""

    def __init__(self, folder: Path, format: Any, limits: Limits, tell: Callable[[int], None] | None) -> None:
        self.folder = folder
        self.format = format
        self.limits = limits
        self.tell = tell
        self.transactions = Transactions()
        self.last_offset = -1
        self.epochs: list[_EpochRun] = []

    def partition(self, partition: Partition) -> Iterator[SalvageReport]:
        following = (*partition.segments[1:], None)
        for segment, after in zip(partition.segments, following, strict=True):
            yield self.segment(segment, after.base_offset if after else None)
        for snapshot in partition.metadata_snapshots:
            yield self.snapshot(snapshot)
        self._leader_epochs(partition.path / "leader-epoch-checkpoint")
        self._copy(partition.path / "partition.metadata")

    def segment(self, segment: Segment, next_base: int | None) -> SalvageReport:
        """Keep the whole batches of a segment, below the offset that the next one begins with."""
        problems: list[Problem] = []
        base = segment.base_offset or 0
        with open_file(segment.path) as data:
            scan = Scan(str(segment.path), data, self.format, self.limits)
            end = min(base + _RELATIVE_OFFSETS, base + _RELATIVE_OFFSETS if next_base is None else next_base)
            chosen = self._choose(scan, max(base, self.last_offset + 1), end, problems)
            kinds = {kind for kind in _INDEXES if segment.beside(kind)}
            batches = records = 0
            rules = BatchRules([])
            with SegmentWriter(self.folder, base, kinds | {"index"}, self.transactions) as writer:
                for place in chosen:
                    batch = scan.batch(place.position)
                    seen = rules.check(place.position, batch, None)
                    writer.append(seen)
                    self._epoch(batch.partition_leader_epoch, batch.base_offset)
                    batches, records = batches + 1, records + seen.records
                    self.last_offset = batch.last_offset
            lost = sum(problem[1] - problem[0] for problem in self._lost)
            kept = problems + rules.problems
            return SalvageReport(segment.path, batches, records, writer.size, lost, sorted(kept))

    def _choose(self, scan: Scan, begin: int, end: int, problems: list[Problem]) -> list[_Place]:
        """The places of the batches to keep; the others are problems."""
        self._lost: list[tuple[int, int]] = []
        places = []
        for piece in pieces(scan):
            if isinstance(piece, Damage):
                problems.append(problem_of(piece.error, skipped=(piece.position, piece.end)))
                self._lost.append((piece.position, piece.end))
                stop = piece.end
            else:
                batch = piece.batch
                stop = piece.position + batch.size
                places.append(_Place(piece.position, stop, batch.base_offset, batch.last_offset))
            if self.tell:
                self.tell(stop - piece.position)
        chosen = ascending([place for place in places if begin <= place.first <= place.last < end])
        kept = {place.position for place in chosen}
        for place in places:
            if place.position not in kept:
                what = f"offsets {place.first} to {place.last} are not where they belong"
                skipped = f"bytes {place.position} to {place.end} are skipped"
                problems.append(Problem(place.position, "TWL108", f"{what}; {skipped}"))
                self._lost.append((place.position, place.end))
        return chosen

    def _epoch(self, epoch: int, offset: int) -> None:
        if epoch < 0:
            return
        if self.epochs and self.epochs[-1].epoch == epoch:
            self.epochs[-1] = self.epochs[-1]._replace(batches=self.epochs[-1].batches + 1)
        else:
            self.epochs.append(_EpochRun(epoch, offset, 1))

    def snapshot(self, snapshot: Segment) -> SalvageReport:
        """A snapshot of a metadata log is kept whole or not at all: half of one says what never was."""
        batches = records = 0
        try:
            for batch in snapshot.batches(None, self.format, self.limits):
                batches, records = batches + 1, records + sum(1 for _ in batch)
        except LogError as error:
            return SalvageReport(snapshot.path, 0, 0, 0, snapshot.size, [problem_of(error, (0, snapshot.size))])
        shutil.copyfile(snapshot.path, self.folder / snapshot.path.name)
        return SalvageReport(snapshot.path, batches, records, snapshot.size, 0, [])

    def _leader_epochs(self, path: Path) -> None:
        """The checkpoint as it is, which knows leaders that wrote nothing, unless most batches say otherwise."""
        if not path.is_file():
            return
        try:
            known = [] if leader_epoch_problems(path) else read_leader_epochs(path)
        except LogError:
            known = []
        agreed = sum(run.batches for run in self.epochs if _epoch_at(known, run.offset) in (None, run.epoch))
        if known and agreed * 2 >= sum(run.batches for run in self.epochs):
            shutil.copyfile(path, self.folder / path.name)
            return
        starts: list[_EpochRun] = []
        for run in self.epochs:
            if not starts or run.epoch > starts[-1].epoch:
                starts.append(run)
        lines = ["0", str(len(starts)), *(f"{run.epoch} {run.offset}" for run in starts)]
        (self.folder / path.name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _copy(self, path: Path) -> None:
        """Copy properties, if they can be read."""
        if path.is_file():
            try:
                read_properties(path)
            except LogError:
                return
            shutil.copyfile(path, self.folder / path.name)


def _epoch_at(known: list[EpochStart], offset: int) -> int | None:
    """The epoch of an offset; None below the first start, where records may be deleted."""
    return max((start.epoch for start in known if start.start_offset <= offset), default=None)


def ascending(places: list[_Place]) -> list[_Place]:
    """As many of the places as can be kept in their order with offsets that ascend.

    The longest ascending chain, by the last offsets of the best chains of each length.
    """
    lasts: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, place in enumerate(places):
        length = bisect_left(lasts, place.first)
        before.append(ends[length - 1] if length else -1)
        if length == len(lasts):
            lasts.append(place.last)
            ends.append(number)
        elif place.last < lasts[length]:
            lasts[length], ends[length] = place.last, number
    chain = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(places[at])
        at = before[at]
    return chain[::-1]
