"""Read a partition folder: its segments in order, and the files next to them.

The segments are those that a broker would load at startup. `.deleted` files no longer belong to the log, and
`.cleaned` files are unfinished. A `.swap` file is a complete segment, written by compaction. It is used instead of its
source segments if the broker stopped before replacing them with it. It is ignored if there is a `.cleaned` file at or
below its offset, because compaction was not finished.
"""

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.checkpoints import (
    EpochStart,
    TopicPartition,
    read_leader_epochs,
    read_offsets,
    read_topic_id,
    topic_id_of,
)
from tagwire.log.damage import Damage, pieces
from tagwire.log.errors import LogError, LogPathError, is_file, unreadable
from tagwire.log.indexes import AbortedTransaction, read_producer_snapshot
from tagwire.log.names import LogFile, log_file, partition_name
from tagwire.log.scan import LogBatch, Scan, Skip
from tagwire.log.segment import Segment

T = TypeVar("T")
_ATTEMPTS: Final = 3


class Partition:
    """A partition folder, or any other folder that contains segments. Raises LogPathError if it can't be read."""

    def __init__(self, path: str | Path) -> None:
        self.path = path if isinstance(path, Path) else Path(path)
        try:
            with os.scandir(self.path) as found:
                self._inodes = {each.name: each.inode() for each in found if each.is_file()}
        except OSError as error:
            raise unreadable(self.path, error) from None
        self._names = sorted(self._inodes)
        name = partition_name(self.path.absolute())
        self.topic = name.topic if name else None
        """The topic, from the folder's name, or None if the name is not a partition's."""
        self.partition = name.partition if name else None
        self._topic_id = name.topic_id if name else ""
        self.state = name.state if name else ""
        """The state that the folder's name contains: delete, future, stray, or an empty string."""

    def listed_again(self) -> "Partition | None":
        """List the folder again, and return a new Partition, or None if the folder contains the same files as before.

        Raises LogPathError if it can't be read.
        """
        listed = self._listed()
        return None if listed._inodes == self._inodes else listed

    def unexplained_losses(self, earlier: "Partition") -> list[Path]:
        """Return the segments that have disappeared since an earlier listing, except for those that Kafka may delete.

        Kafka may delete the first segments (retention) and the last ones (truncation). Compaction may replace a segment
        by a `.swap` segment, which it later renames, and delete those right after it.
        """
        now = {name.removesuffix(".swap"): inode for name, inode in sorted(self._inodes.items())}
        paths = [segment.path for segment in earlier.segments]
        names = [path.name.removesuffix(".swap") for path in paths]
        left = [number for number, name in enumerate(names) if name in now]
        return [
            paths[lost]
            for before, after in pairwise(left)
            if now[names[before]] == earlier._inodes[paths[before].name]
            for lost in range(before + 1, after)
        ]

    def _listed(self) -> "Partition":
        return Partition(self.path)

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths of all files that were in the folder when it was listed."""
        return tuple(self.each_file())

    def each_file(self) -> Iterator[Path]:
        """Iterate over the paths in `files`. Doesn't create a tuple, because a folder may have many files."""
        return (self.path / name for name in self._names)

    def files_called(self, *names: str) -> list[Path]:
        """Return the paths of those files that were in the folder when it was listed."""
        return [self.path / name for name in names if name in self._inodes]

    def named(self, kind: str, state: str = "") -> Iterator[tuple[Path, LogFile]]:
        """Yield (path, parsed name) for the log's files of a kind, such as "snapshot", that have this state."""
        return ((self.path / each, name) for each, name in self._by_kind.get((kind, state), ()))

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str], list[tuple[str, LogFile]]]:
        """Maps (kind, state), such as ("log", "swap"), to the log's files, each as (file name, parsed name)."""
        found: dict[tuple[str, str], list[tuple[str, LogFile]]] = {}
        for each in self._names:
            if (name := log_file(each)) is not None:
                found.setdefault((name.kind, name.state), []).append((each, name))
        return found

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of the log, in order."""
        swaps = [self._segment(*each) for each in self.named("log", "swap")]
        unfinished = [name.base_offset for _, name in self.named("log", "cleaned")]
        if unfinished:
            swaps = [each for each in swaps if (each.base_offset or 0) < min(unfinished)]
        found: dict[int, Segment] = {}
        for path, name in self.named("log"):
            segment, known = self._segment(path, name), found.get(name.base_offset)
            if known is None or segment.size > known.size:  # of two copies in tiered storage, use the larger one
                found[name.base_offset] = segment
        for swap in swaps:
            first = swap.base_offset or 0
            end = _end_of_swap(swap) or first + 1
            found = {base: each for base, each in found.items() if not first <= base < end} | {first: swap}
        return tuple(found[base] for base in sorted(found))

    def _segment(self, path: Path, name: LogFile) -> Segment:
        """Return the Segment for a file. A subclass overrides this to read from another machine."""
        return Segment(path, name)

    @property
    def leftovers(self) -> tuple[Path, ...]:
        """The files that no longer belong to the log: deleted files, and leftovers of compaction."""
        counted = {each.path for each in self.segments}
        return tuple(
            path
            for path in self.files
            if (name := log_file(path)) and (name.state or name.kind == "log") and path not in counted
            if not (name.state == "swap" and path.with_name(f"{path.name.partition('.')[0]}.log.swap") in counted)
        )

    def batches(
        self,
        start_offset: int | None = None,
        format: Any = "auto",
        limits: Limits = DEFAULT_LIMITS,
        *,
        partial: bool = False,
        from_log_start: bool = False,
        skip: Skip | None = None,
    ) -> Iterator[LogBatch]:
        """Yield the batches of all segments, starting at the batch that contains `start_offset`.

        If no batch contains it, start at the next batch. With `from_log_start`, batches below `log_start_offset` are
        left out. With `partial`, an incomplete batch at the end of the log is left out. `skip` works as in
        `Segment.batches`. Raises LogError at the first invalid batch. If a broker compacts or deletes a segment during
        the iteration, the folder is listed again.
        """
        if from_log_start and self.log_start_offset is not None:
            start_offset = max(self.log_start_offset, start_offset or 0)
        listed: Partition | None = self
        while listed is not None:
            try:
                for segment, start, is_last in listed.segments_from(start_offset):
                    for batch in segment.batches(start, format, limits, partial=partial and is_last, skip=skip):
                        yield batch
                        start_offset = batch.last_offset + 1
                return
            except LogPathError:
                listed = listed.listed_again()
                if listed is None:
                    raise

    def segments_from(self, offset: int | None) -> Iterator[tuple[Segment, int | None, bool]]:
        """Yield (segment, start offset, is_last) for the segment that may contain `offset`, and all later segments.

        The start offset is None, except in the first of them, in which the caller must search for `offset`.
        """
        bases = [each.base_offset or 0 for each in self.segments]
        first = 0 if offset is None else max((n for n, base in enumerate(bases) if base <= offset), default=0)
        for number, segment in enumerate(self.segments[first:], first + 1):
            yield segment, offset if number == first + 1 else None, number == len(bases)

    @cached_property
    def leader_epochs(self) -> list[EpochStart]:
        """The entries of the leader epoch checkpoint, or empty if there is none. Raises LogError for an invalid file.

        In tiered storage, the last segment's checkpoint is used.
        """
        path = self.path / "leader-epoch-checkpoint"
        if is_file(path):
            return read_leader_epochs(path)
        copies = {name.base_offset: copy for copy, name in self.named("leader_epoch_checkpoint")}
        return read_leader_epochs(copies[max(copies)]) if copies else []

    @cached_property
    def topic_id(self) -> UUID | None:
        """The topic ID from `partition.metadata` or, in tiered storage, from the folder's name.

        Raises LogError for an invalid file.
        """
        path = self.path / "partition.metadata"
        if is_file(path):
            return read_topic_id(path)
        return topic_id_of(self._topic_id) if self._topic_id else None

    @property
    def aborted_transactions(self) -> Iterator[AbortedTransaction]:
        """The entries of the `.txnindex` files of all segments. Raises LogError for an invalid file."""
        for segment in self.segments:
            # Most segments have no `.txnindex`. The file names in `_inodes` show this, so no system call is needed.
            if segment.path.name.replace(".log", ".txnindex", 1) in self._inodes:
                yield from segment.aborted_transactions

    @property
    def producer_snapshots(self) -> dict[int, tuple[Any, ...]]:
        """The entries of the producer `.snapshot` files, by snapshot offset. Raises LogError for an invalid file."""
        found = self._snapshots()
        return {offset: read_producer_snapshot(self._fetched(self.path / name)) for offset, name in found.items()}

    @property
    def latest_producers(self) -> tuple[int, tuple[Any, ...]]:
        """The offset and the entries of the latest producer snapshot; (0, ()) if there is none.

        Raises LogError for an invalid file.
        """
        found = self._snapshots()
        offset = max(found, default=0)
        return offset, read_producer_snapshot(self._fetched(self.path / found[offset])) if found else ()

    def _snapshots(self) -> dict[int, str]:
        """Return the file names of the producer snapshots, by offset.

        In tiered storage, a snapshot has the name of the segment before it. So its offset is the base offset of the
        next segment. The last snapshot is left out, because there is no next segment.
        """
        found = self._by_kind.get(("snapshot", ""), ())
        has_copies = any(name.is_copy for _, name in found)
        bases = sorted({name.base_offset for _, name in self.named("log")}) if has_copies else ()
        next_bases = dict(pairwise(bases))
        return {
            next_bases[name.base_offset] if name.is_copy else name.base_offset: file
            for file, name in found
            if not name.is_copy or name.base_offset in next_bases
        }

    def _fetched(self, path: Path) -> Path:
        """Return the local path of a small file. A subclass overrides this to download the file first."""
        return path

    @property
    def metadata_snapshots(self) -> tuple[Segment, ...]:
        """A metadata log's snapshots (`.checkpoint` files), in order. Each ends right before its `base_offset`."""
        return tuple(self._segment(*each) for each in self.named("checkpoint"))

    @cached_property
    def log_start_offset(self) -> int | None:
        """The log's start offset in the parent folder's `log-start-offset-checkpoint`, or None.

        Records below this offset count as deleted. Raises LogError for an invalid checkpoint.
        """
        return self._offset_in("log-start-offset-checkpoint")

    @property
    def is_compacted(self) -> bool:
        """Whether the parent folder's `cleaner-offset-checkpoint` lists the partition.

        Raises LogError for an invalid checkpoint.
        """
        return self._offset_in("cleaner-offset-checkpoint") is not None

    def _offset_in(self, checkpoint: str) -> int | None:
        path = self.path.absolute().parent / checkpoint
        if self.topic is None or self.partition is None or not is_file(path):
            return None
        return read_offsets(path).get(TopicPartition(self.topic, self.partition))

    def __repr__(self) -> str:
        return f"<partition {self.path}>"


def _end_of_swap(swap: Segment) -> int | None:
    """Return the offset after a `.swap` segment's last whole batch, even if the segment is damaged."""
    try:
        return swap.end_offset()
    except LogError:
        end = None
        with swap.opened() as data:
            for piece in pieces(Scan(swap.name, data)):
                end = end if isinstance(piece, Damage) else piece.last_offset + 1
        return end


def with_next(segments: tuple[Segment, ...]) -> Iterator[tuple[Segment, Segment | None]]:
    """Yield (segment, next segment) pairs. The last segment is paired with None."""
    return zip(segments, (*segments[1:], None), strict=False)


def read_steadily(
    partition: Partition, read: Callable[[Partition], T], is_suspect: Callable[[T], bool] = lambda _: False
) -> T:
    """Return `read(partition)`. If this fails or looks wrong, and the folder has changed meanwhile, read again.

    `is_suspect(result)` returns whether a result looks wrong.

    An intact log looks damaged if a running broker compacts or deletes segments before they are read. After a few
    attempts, returns the last result, or raises the last LogError or LogPathError.
    """
    for _ in range(_ATTEMPTS):
        try:
            result = read(partition)
            listed = partition.listed_again() if is_suspect(result) else None
            if listed is None:
                return result
        except (LogError, LogPathError):
            listed = partition.listed_again()
            if listed is None:
                raise
        partition = listed
    return read(partition)
