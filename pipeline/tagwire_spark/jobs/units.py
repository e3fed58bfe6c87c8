"""What jobs over logs work on: the segments of folders that all workers mount, found as `tagwire log` finds them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tagwire.log import LogPathError, Partition, Segment, find_partitions
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.storage import is_remote, local_path

__all__ = [
    "FoundPartition",
    "SegmentUnit",
    "every_segment",
    "found_partitions",
    "local_paths",
    "log_folders",
    "only_once",
    "segment_units",
]


class FoundPartition(NamedTuple):
    """A partition, and what it is called in the output, below its folder."""

    partition: Partition
    target: str
    root: Path
    """The path that it was found at."""


class SegmentUnit(NamedTuple):
    """A segment as it goes to a worker, as a list in JSON."""

    file: str
    topic: str
    target: str


def local_paths(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """Paths as absolute `Path` objects. Raises PipelineError, and LogPathError for a path that does not exist."""
    found = []
    for path in [paths] if isinstance(paths, (str, Path)) else paths:
        text = str(path)
        if is_remote(text):
            reason = "jobs need a path that the driver and all workers mount; copy the logs there, or read the URL as a"
            raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{text}: {reason} DataFrame with format kafka_log.")
        local = local_path(text)
        if not local.exists():
            raise LogPathError(f"{local}: there is no such file or folder")
        found.append(local)
    return found


def found_partitions(path: Path) -> list[FoundPartition]:
    """The partitions in and below a folder. Raises LogPathError if there is none, or the path is a file."""
    if path.is_file():
        raise LogPathError(f"{path}: a single segment is not a partition; give the folder of its partition")
    found = []
    for partition in find_partitions(path):
        is_root = partition.path == path
        target = path.name if is_root else partition.path.relative_to(path).as_posix()
        found.append(FoundPartition(partition, target, path))
    if not found:
        raise LogPathError(f"{path}: no partition found in this folder or below it")
    return found


def segment_units(found: FoundPartition, segments: Iterable[Segment]) -> Iterator[SegmentUnit]:
    """The units of a partition's segments."""
    topic = found.partition.topic
    for segment in segments:
        yield SegmentUnit(str(segment.path), found.partition.path.name if topic is None else topic, found.target)


def every_segment(path: Path) -> Iterator[SegmentUnit]:
    """The segments in and below a path, which may be one itself, and the snapshots of metadata logs."""
    if path.is_file():
        found = FoundPartition(Partition(path.parent), "", path)
        yield from segment_units(found, [Segment(path)])
        return
    for found in found_partitions(path):
        yield from segment_units(found, [*found.partition.metadata_snapshots, *found.partition.segments])


def only_once(partitions: Iterable[FoundPartition]) -> None:
    """Refuse two partitions that would become one folder. Raises LogPathError."""
    seen: dict[str, Path] = {}
    for found in partitions:
        path = found.partition.path
        if found.target in seen:
            other = seen[found.target]
            twice = "it is named twice" if other == path else f"{other} goes to the same folder, {found.target}"
            raise LogPathError(f"{path}: {twice}")
        seen[found.target] = path


def log_folders(partitions: Iterable[FoundPartition]) -> list[tuple[Path, str]]:
    """The folders of logs, as paths have them, and where they go in the output; none where the path is a partition."""
    found = {each.partition.path.parent: each.root for each in partitions if each.partition.path != each.root}
    return [(folder, folder.relative_to(root).as_posix()) for folder, root in found.items()]
