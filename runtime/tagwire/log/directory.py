"""Find partitions in folders, read partitions, and read the properties and checkpoints of a broker's log folder."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import SupportsIndex

from tagwire.arguments import check_type
from tagwire.limits import DEFAULT_LIMITS, Limits, check_limits
from tagwire.log.checkpoints import TopicPartition, read_offsets, read_properties
from tagwire.log.errors import LogPathError, is_file, is_folder, unreadable
from tagwire.log.names import log_file, partition_name
from tagwire.log.partition import Partition
from tagwire.log.scan import Skip
from tagwire.log.segment import Segment
from tagwire.records import RecordBatch
from tagwire.records.format_set import AUTO, Formats, format_set


def is_partition(path: Path) -> bool:
    """Return whether a folder is a partition: it contains segments, or has a partition's name and no subfolders.

    The name isn't enough: a log folder may be called kafka-logs-1. Raises OSError if the folder can't be read.
    """
    has_folders = False
    with os.scandir(path) as found:
        for each in found:
            if (name := log_file(each.name)) and name.kind in ("log", "checkpoint"):
                return True
            has_folders = has_folders or (each.is_dir() and not _is_hidden(each.name))
    return partition_name(path) is not None and not has_folders


def find_partitions(path: str | Path) -> Iterator[Partition]:
    """Find the partitions in a folder and its subfolders, in name order. Raises LogPathError if a folder can't be read.

    Hidden folders that aren't named like a partition are skipped, because they contain incomplete output. Links to
    folders inside `path` are skipped, so that no partition is found twice.
    """
    return map(Partition, partition_folders(Path(path)))


def partition_folders(path: Path, searched: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """Yield the folders of the partitions that `find_partitions` finds. Raises LogPathError if a folder can't be read.

    `searched` is called with each folder that isn't a partition itself, before its subfolders are searched.
    """
    yield from _below(path, (), searched or (lambda _: None))


def _below(path: Path, parents: tuple[Path, ...], searched: Callable[[Path], None]) -> Iterator[Path]:
    """Yield the partition folders in and below a folder.

    `parents` lists the folders above it, with links resolved. Links that lead back to one of them are not followed.
    """
    try:
        if is_partition(path.absolute()):
            yield path
            return
        searched(path)
        parents = (*parents, path.resolve())
        with os.scandir(path) as found:
            below = sorted((each.name, each) for each in found if each.is_dir() and not _is_hidden(each.name))
    except OSError as error:
        raise unreadable(error.filename or path, error) from None
    for name, each in below:
        if not (each.is_symlink() and _leads_back((path / name).resolve(), parents)):
            yield from _below(path / name, parents, searched)


def _leads_back(target: Path, parents: tuple[Path, ...]) -> bool:
    """Return whether a search that follows the link would search a folder twice, or would never end."""
    return target.is_relative_to(parents[0]) or any(each.is_relative_to(target) for each in parents)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") and partition_name(Path(name)) is None


class LogDirectory:
    """A log folder: one of a broker's `log.dirs`. Raises LogPathError if there is no such folder.

    The attributes that read a checkpoint file raise LogError if the file is invalid.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not is_folder(self.path):
            raise LogPathError(f"{self.path}: there is no such folder")

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The folder's partitions, in name order."""
        folders = sorted(each for each in self.path.iterdir() if is_folder(each) and is_partition(each))
        return tuple(map(Partition, folders))

    @property
    def broker(self) -> dict[str, str]:
        """The entries of `meta.properties`, such as node.id and cluster.id, or empty if the file does not exist."""
        path = self.path / "meta.properties"
        return read_properties(path) if is_file(path) else {}

    @property
    def was_stopped_cleanly(self) -> bool:
        """Whether the broker shut down cleanly. If it didn't, the last batches of a log may be missing."""
        return is_file(self.path / ".kafka_cleanshutdown")

    @property
    def log_start_offsets(self) -> dict[TopicPartition, int]:
        """The start offset of each log whose first records were deleted."""
        return self._offsets("log-start-offset")

    @property
    def recovery_points(self) -> dict[TopicPartition, int]:
        """Maps each log to the offset up to which all records are known to be on disk."""
        return self._offsets("recovery-point-offset")

    @property
    def high_watermarks(self) -> dict[TopicPartition, int]:
        """Maps each log to the offset up to which all records are replicated."""
        return self._offsets("replication-offset")

    @property
    def cleaner_offsets(self) -> dict[TopicPartition, int]:
        """Maps each log to the offset up to which the log cleaner has compacted it."""
        return self._offsets("cleaner-offset")

    def _offsets(self, name: str) -> dict[TopicPartition, int]:
        path = self.path / f"{name}-checkpoint"
        return read_offsets(path) if is_file(path) else {}

    def __repr__(self) -> str:
        return f"<log directory {self.path}>"


def check_arguments(start_offset: object, limits: object, skip: object = None) -> None:
    """Raise TypeError for an argument of the wrong type, for example if the format is passed as `start_offset`."""
    check_type("start_offset", start_offset, SupportsIndex | None, "an offset")
    check_limits(limits)
    check_type("skip", skip, Callable | None, "a function of a LogError")


def read(
    path: str | Path,
    start_offset: int | None = None,
    format: Formats = AUTO,
    *,
    only: bool = False,
    strict: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    partial: bool = False,
    from_log_start: bool = False,
    skip: Skip | None = None,
) -> Iterator[RecordBatch]:
    """Iterate over the batches of a segment file or a partition folder, in the order of the files.

    The first batch is the one that contains `start_offset`, even if it also contains lower offsets. If compaction has
    removed that batch, reading begins with the next one. `format`, `only` and `strict` work as in
    `tagwire.records.read_batches`. With `from_log_start`, batches below the partition's start offset are left out. With
    `partial`, an incomplete batch at the end of the log is left out. Zeros at the end of a file are ignored. With
    `skip`, reading continues after damage, as in `Segment.batches`.

    Raises LogPathError at once if there is no log, FormatError for an unknown format name, and LogError for an invalid
    checkpoint. While reading, raises LogError at the first invalid batch.
    """
    check_arguments(start_offset, limits, skip)
    formats = format_set(format, only=only, strict=strict)
    found = log_at(Path(path))
    first = starting_offset(found, start_offset, from_log_start=from_log_start)
    return found.batches(first, formats, limits, partial=partial, skip=skip)


def starting_offset(found: Segment | Partition, start_offset: int | None, *, from_log_start: bool) -> int | None:
    """Return `start_offset` or, with `from_log_start`, the log start offset if it is higher.

    A segment has the log start offset of its folder's partition. This does not apply to a metadata log's snapshot.
    """
    name = log_file(found.path)
    if not from_log_start or (name is not None and name.kind == "checkpoint"):
        return start_offset
    partition = Partition(found.path.parent) if isinstance(found, Segment) else found
    return max((each for each in (partition.log_start_offset, start_offset) if each is not None), default=None)


def log_at(path: Path) -> Segment | Partition:
    """Return the segment file or the partition folder at a path. Raises LogPathError if there is no log."""
    if not is_folder(path):
        return Segment(path)
    if not is_partition(path.absolute()):
        raise LogPathError(f"{path}: no log segment found; give a segment, or the folder of a partition")
    return Partition(path)
