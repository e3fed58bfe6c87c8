"""List the logs at a query's paths: locations, partition folders and partitions.

`LocalListing` caches the listings of local folders for streams. A folder's modification time changes when files in it
are added, removed or renamed. A segment's modification time changes when the segment is written to. File systems round
these times, so a listing is cached only if the last change was some time ago.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from tagwire.log import Partition
from tagwire.log.directory import partition_folders
from tagwire.log.errors import is_file
from tagwire.log.file_bytes import file_status
from tagwire.log.names import log_file, partition_name, segment_file
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit import settled
from tagwire_spark.files.commit_folder import DONE
from tagwire_spark.files.file_state import FileState, state_of_status
from tagwire_spark.files.storage import Location, locations
from tagwire_spark.files.store import StorageOptions, is_remote
from tagwire_spark.log_read.query import LogQuery, partition_key

_T = TypeVar("_T")
_SETTLED: Final = 2_000_000_000
"""Minimum age of a modification time, in nanoseconds. A more recent time can stay the same after another change."""
_NAMED: Final = 5
"""Maximum number of names listed in an error."""


def log_locations(paths: tuple[str, ...], stack: ExitStack, options: StorageOptions) -> Iterator[Location]:
    """Yield the locations that match paths and patterns. Raises PipelineError if there are no folders or segments.

    Patterns don't match files that are not segments, or partition folders that a broker is moving or deleting.
    """
    for path in paths:
        found = list(locations((path,), stack, options))
        counted = [location for location in found if location.is_named or _counts(location.local)]
        if not counted and all(location.local.is_file() for location in found):
            raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{path}: none of the matching files is a log segment.")
        yield from counted


def _counts(path: Path) -> bool:
    """Return whether to read a path that matches a pattern."""
    folder = path
    if path.is_file():
        file, folder = log_file(path), path.parent
        if file is None or file.kind != "log" or file.state:
            return False
    name = partition_name(folder)
    return name is None or not name.state


@contextmanager
def settled_location(
    location: Location, list_folders: Callable[[Location], Sequence[Path]] | None = None
) -> Generator[Sequence[Path]]:
    """Yield a location's partition folders. In the `with` block, no commit can move files in a local location.

    For a remote location, PipelineError is raised if its listing shows an unfinished commit. Raises LogPathError if a
    folder can't be listed.
    """
    path, list_folders = location.local, list_folders or folders_of
    with ExitStack() as stack:

        def settle(folders: Iterable[Path]) -> None:
            for folder in sorted(folders):
                if is_remote(location.origin):
                    location.check_settled(folder)
                else:
                    stack.enter_context(settled(folder))

        settle({path.parent, path.parent.parent} if path.is_file() else {path})
        folders = list_folders(location)
        if not path.is_file() and (others := {each.parent for each in folders} - {path}):
            settle(others)
            folders = list_folders(location)  # list again, because `settle` can move files
        yield folders


def folders_of(location: Location) -> Sequence[Path]:
    """Return the partition folders of a location, or the segment if the location is a segment."""
    return [location.local] if location.local.is_file() else [*_counted_folders(location.local)]


def check_found(path: str, found: Sequence[Location]) -> None:
    """Raise PipelineError if a path has no segments. The error lists what was found there instead.

    An empty log folder that `kafka_log` wrote is accepted.
    """
    names: list[str] = []
    for location in found:
        if location.local.is_file() or is_file(location.local / DONE):
            return
        if any(each.segments for each in partitions_of(location, LogQuery(()), folders_of(location))):
            return
        names += sorted(f"{each.name}/" if each.is_dir() else each.name for each in location.local.iterdir())
    text = f"{path}: no log segment found" + (f", only {shown_names(names)}" if names else "")
    raise PipelineError(
        "KAFKA_LOG_NOT_FOUND", f"{text}; a segment is a file such as orders-0/{segment_file(0, 'log')}."
    )


def shown_names(names: Sequence[str]) -> str:
    """Return names for an error message: the first few, and the number of the others."""
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def partitions_of(location: Location, query: LogQuery, folders: Iterable[Path]) -> Iterator[Partition]:
    """Yield the partitions that the query selects. The folders of other partitions are not listed."""
    for folder in folders:
        if query.selects(*partition_key(folder)):
            yield location.partition(folder)


def partitions_there(found: Iterable[Location]) -> set[tuple[str, int]] | None:
    """Return the topic and partition number of each partition in the locations.

    Returns None if there is only a `_SUCCESS` file. Raises LogPathError if a folder can't be listed.
    """
    roots = [each.local.parent if each.local.is_file() else each.local for each in found]
    keys = {partition_key(folder) for root in roots for folder in _counted_folders(root)}
    return keys if keys or not any(is_file(root / DONE) for root in roots) else None


def _counted_folders(path: Path, searched: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """Yield the partition folders in and below `path`, or `path` itself if it is a partition folder.

    Folders that a broker is moving or deleting are skipped, except for `path` itself. `searched` is called with each
    folder that is not a partition folder, before it is listed. Raises LogPathError if a folder can't be listed.
    """
    for folder in partition_folders(path, searched):
        name = partition_name(folder.absolute())
        if name is None or folder == path or not name.state:
            yield folder


class _Known(NamedTuple, Generic[_T]):
    changed: int
    """Modification time of the folder."""
    last: str
    """Path of the last segment, or "" if there are no segments."""
    state: FileState
    found: _T


class LocalListing(Generic[_T]):
    """Caches the partition folders below each root, and the result of `value_of` for each partition."""

    def __init__(self, value_of: Callable[[Partition], _T]) -> None:
        self._compute = value_of
        self._folders: dict[Path, tuple[dict[Path, int], list[Path]]] = {}
        """Maps a root to the modification times of the searched folders, and to the partition folders found."""
        self._known: dict[Path, _Known[_T]] = {}

    def clear(self) -> None:
        self._folders.clear()
        self._known.clear()

    def folders(self, root: Path) -> list[Path]:
        known = self._folders.get(root)
        if known is not None and all(_changed(each) == then for each, then in known[0].items()):
            return known[1]
        start, times = time.time_ns(), dict[Path, int]()
        found = [*_counted_folders(root, lambda folder: times.__setitem__(folder, _changed(folder)))]
        self._folders.pop(root, None)
        if all(start - each > _SETTLED for each in times.values()):
            self._folders[root] = times, found
        return found

    def value_of(self, folder: Path) -> _T:
        """Return the value of the partition in a folder. The value of an unchanged partition is cached.

        Raises LogPathError if the folder is gone, and any error that computing the value raises.
        """
        changed, known = _changed(folder), self._known.get(folder)
        is_kept = known is not None and known.changed == changed
        if known and is_kept and (not known.last or state_of_status(file_status(known.last)) == known.state):
            return known.found
        self._known.pop(folder, None)
        start, partition = time.time_ns(), Partition(folder)
        last = str(partition.segments[-1].path) if partition.segments else ""
        status = file_status(last or folder)
        found = self._compute(partition)
        if start - max(changed, status.st_mtime_ns) > _SETTLED:
            self._known[folder] = _Known(changed, last, state_of_status(status), found)
        return found


def _changed(folder: Path) -> int:
    return file_status(folder).st_mtime_ns
