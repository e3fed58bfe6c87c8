"""The units of work in log jobs: segments in folders that all workers mount, or at URLs.

The driver lists each folder once. A task raises an error if its segment has been replaced or removed.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import SparkSession

from tagwire.errors import TagwireError
from tagwire.log import LogPathError, Partition, Segment
from tagwire.log.compact import SEGMENT_FILES
from tagwire.log.directory import partition_folders
from tagwire.log.errors import exists
from tagwire.log.file_bytes import file_status
from tagwire.log.partition import read_steadily
from tagwire.log.whole_folder import is_inside, reject_inside
from tagwire_spark.errors import PipelineError, changed, rejection
from tagwire_spark.files.local_files import local_path
from tagwire_spark.files.reading import GoneError, if_gone
from tagwire_spark.files.storage import Listed, Location, folder_of, received
from tagwire_spark.files.store import StorageOptions, is_remote, is_url, store
from tagwire_spark.jobs.outputs import JobOutput, Staging, job_output, staging
from tagwire_spark.log_read.listing import log_locations, settled_location
from tagwire_spark.log_read.query import partition_key

_OF_BROKER: Final = ("-checkpoint", ".properties", ".kafka_cleanshutdown")
"""Name endings of the broker's own files in a log folder."""


class FoundPartition(NamedTuple):
    """A partition of the input, and its path in the output."""

    partition: Partition
    target: str
    root: Location
    """The input location that contains the partition."""

    @property
    def name(self) -> str:
        return self.root.name_of(self.partition.path)

    def listed_segments(self, *, metadata: bool = False) -> list[Segment]:
        """List the partition's current segments. If `metadata` is true, list a metadata log's snapshots before them."""
        listed = self.root.partition(self.partition.path)
        return read_steadily(listed, lambda now: [*(now.metadata_snapshots if metadata else ()), *now.segments])


class SegmentUnit(NamedTuple):
    """A segment to process."""

    file: str
    topic: str
    target: str
    listed: Sequence[Listed] | int
    """The inode of a local segment, or the listing entries of a remote segment and its indexes."""


SentSegment = tuple[str, Sequence[Listed] | int]
"""The file and the `listed` of a SegmentUnit."""


def shown_path(name: str) -> Path | str:
    """Return a path as reports show it: as a Path or, for a URL, as a string."""
    return name if is_remote(name) else Path(name)


def job_inputs(
    paths: str | Path | Iterable[str | Path], stack: ExitStack, options: Mapping[str, Any] | None = None
) -> list[Location]:
    """Return the locations of a job's input paths and URLs. Complete or undo interrupted commits there.

    Until `stack` is closed, system errors are converted to PipelineError. Raises LogPathError for a missing path, and
    PipelineError if a URL can't be listed or a commit can't be completed or undone.
    """
    stack.enter_context(_named_errors())
    found: list[Location] = []
    for text in path_strings(paths):
        if is_remote(text):
            found += log_locations((text,), stack, StorageOptions(options or {}))
            continue
        local = local_path(text)
        if not exists(local):
            raise LogPathError(f"{local}: there is no such file or folder")
        found.append(Location(local, is_named=True))
    for location in found:
        with settled_location(location):  # completes or undoes interrupted commits
            pass
    return found


@contextmanager
def _named_errors() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise rejection(error) from None


def path_strings(paths: str | Path | Iterable[str | Path]) -> list[str]:
    """Return one or more paths and URLs as a list of strings. Raises PipelineError if a URL is given as a `Path`."""
    found = []
    for path in [paths] if isinstance(paths, (str, Path)) else paths:
        found.append(str(path))
        if isinstance(path, Path) and is_url(found[-1]):
            raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{path}: a Path can't represent a URL; give it as a string.")
    return found


def found_partitions(root: Location) -> list[FoundPartition]:
    """Return the partitions in a folder and its subfolders.

    Raises LogPathError if `root` is a file, or if no partition is found.
    """
    path = root.local
    if path.is_file():
        raise LogPathError(f"{root.origin}: a single segment is not a partition; give the folder of its partition")
    found = []
    for folder in partition_folders(path):
        target = path.name if folder == path else folder.relative_to(path).as_posix()
        found.append(FoundPartition(root.partition(folder), target, root))
    if not found:
        raise LogPathError(f"{root.origin}: no partition found in this folder or below it")
    return found


def segment_units(found: FoundPartition, segments: Iterable[Segment]) -> Iterator[tuple[SegmentUnit, int]]:
    """Yield a unit for each segment of a partition, and the segment's size."""
    topic, _ = partition_key(found.partition.path)
    for segment in segments:
        file, listed = sent_segment(segment, found.root)
        yield SegmentUnit(file, topic, found.target, listed), segment.size


def every_segment(root: Location) -> Iterator[tuple[SegmentUnit, int]]:
    """Yield a unit for each segment and metadata snapshot at or below a path."""
    path = root.local
    if path.is_file():
        found = FoundPartition(root.partition(path.parent), "", root)
        yield from segment_units(found, [root.segment(path)])
        return
    for found in found_partitions(root):
        yield from segment_units(found, found.listed_segments(metadata=True))


@contextmanager
def partition_job(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    output: str | Path,
    work_folder: str | Path | None,
    options: Mapping[str, Any] | None,
) -> Generator[tuple[list[FoundPartition], Staging]]:
    """Yield the partitions that a job reads, and the folders that it fills, with a folder for each partition.

    Raises LogPathError if two partitions have the same output folder, or if the output is inside an input path.
    """
    target = job_output(output, work_folder, options)
    with ExitStack() as stack:
        partitions = [found for root in job_inputs(paths, stack, options) for found in found_partitions(root)]
        reject_output_inside(target, [(found.root, found.root.local) for found in partitions])
        reject_output_inside(target, [(found.root, found.partition.path) for found in partitions])  # may be links
        seen: dict[str, str] = {}
        for found in partitions:
            take_target(seen, found.target, found.name, "written")
        staged = stack.enter_context(staging(target, spark))
        for found in partitions:
            (staged.output / found.target).mkdir(parents=True, exist_ok=True)
        yield partitions, staged


def take_target(taken: dict[str, str], target: str, name: str, what: str) -> None:
    """Add the folder `name` to `taken`, which maps targets to folders. Raises LogPathError if the target is taken."""
    if (other := taken.get(target)) is not None:
        twice = "given twice" if other == name else f"would be {what} to {target}, the same folder as {other}"
        raise LogPathError(f"{name}: {twice}")
    taken[target] = name


def reject_output_inside(output: JobOutput, folders: Sequence[tuple[Location, Path]]) -> None:
    """Raise LogPathError if a job's output is inside one of `folders`, which the job reads."""
    local = [folder for root, folder in folders if not is_remote(root.origin)]
    reject_inside([each for each in (output.location, output.work) if isinstance(each, Path)], local)
    if isinstance(output.location, Path):
        return
    system, name = store(output.location, output.storage)
    for root, folder in folders:
        if is_remote(root.origin):
            other, bare = store(root.name_of(folder), output.storage)
            if type(other) is type(system) and f"{name}/".startswith(f"{bare}/"):
                raise is_inside(*map(output.storage.hidden, (output.location, root.name_of(folder))))


def fetch_companions(partitions: Iterable[FoundPartition], files: Callable[[FoundPartition], Iterable[Path]]) -> None:
    """Download the files that `files` returns for remote partitions, and the broker's files in the log folders.

    Raises PipelineError or LogPathError if a file can't be fetched.
    """
    companions: dict[int, tuple[Location, list[Path]]] = {}
    found = [each for each in partitions if is_remote(each.root.origin)]
    for each in found:
        companions.setdefault(id(each.root), (each.root, []))[1].extend(files(each))
    for folder, _, root in log_folders(found):
        companions[id(root)][1].extend(path for path in folder.iterdir() if path.name.endswith(_OF_BROKER))
    for root, paths in companions.values():
        try:
            root.bring(*paths)
        except GoneError as error:
            raise changed(str(error)) from None


def log_folders(partitions: Iterable[FoundPartition]) -> list[tuple[Path, str, Location]]:
    """Return the log folders of the partitions, each with its path below the input path, and this input path.

    A path is, for example, `broker1/data`. An input path that is itself a partition has no log folder.
    """
    found = {each.partition.path.parent: each.root for each in partitions if each.partition.path != each.root.local}
    return [(folder, folder.relative_to(root.local).as_posix(), root) for folder, root in found.items()]


def sent_segment(segment: Segment, root: Location) -> SentSegment:
    """Describe a segment for `received_segment`: by path and inode or, if it is remote, by URL and listing entries.

    Raises PipelineError if the segment no longer exists.
    """
    if not is_remote(root.origin):
        return segment.name, _inode(segment.name)
    siblings = filter(None, map(segment.sibling, SEGMENT_FILES[1:]))
    return segment.name, root.listed(segment.path.parent, [segment.path, *siblings]) or ()


def _inode(file: str) -> int:
    try:
        return file_status(Path(file)).st_ino
    except LogPathError as error:
        raise if_gone(rejection(error), file) from None


@contextmanager
def received_segment(sent: SentSegment, options: StorageOptions) -> Generator[Segment]:
    """Yield, on a worker, the segment that the driver described with `sent_segment`.

    Raises PipelineError if the segment was replaced or removed in the meantime. The segment is checked again if the
    `with` block fails.
    """
    file, listed = sent
    if not isinstance(listed, int):
        with received_folder(folder_of(file), listed, options) as location:
            yield location.segment(location.local / listed[0][0])
        return
    try:
        _check_inode(file, listed)
        yield Segment(file)
    except TagwireError:
        _check_inode(file, listed)
        raise


def _check_inode(file: str, listed: int) -> None:
    if _inode(file) != listed:
        raise changed(f"{file} was replaced by another file after the job listed it")


@contextmanager
def received_folder(folder: str, listed: Sequence[Listed] | None, options: StorageOptions) -> Generator[Location]:
    """Yield, on a worker, a folder that the driver has listed. Raises PipelineError if a remote file is gone."""
    with ExitStack() as stack:
        try:
            yield received(folder, listed or (), stack, options)
        except GoneError as error:
            raise changed(str(error)) from None
