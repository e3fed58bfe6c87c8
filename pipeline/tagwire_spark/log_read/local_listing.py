"""Cache local listings for streams.

A folder's modification time changes when files in it are added, removed or renamed. A segment's modification time
changes when the segment is written to. File systems round these times, so a listing is cached only if the last change
was some time ago.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from tagwire.log import Partition
from tagwire.log.errors import unreadable
from tagwire_spark.files.file_state import FileState, state_of_status
from tagwire_spark.log_read.splits import counted_folders

_T = TypeVar("_T")
_SETTLED: Final = 2_000_000_000
"""Minimum age of a modification time, in nanoseconds. A more recent time can stay the same after another change."""


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
        found = [*counted_folders(root, lambda folder: times.__setitem__(folder, _changed(folder)))]
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
        if known and is_kept and (not known.last or state_of_status(_status(known.last)) == known.state):
            return known.found
        self._known.pop(folder, None)
        start, partition = time.time_ns(), Partition(folder)
        last = str(partition.segments[-1].path) if partition.segments else ""
        status = _status(last or folder)
        found = self._compute(partition)
        if start - max(changed, status.st_mtime_ns) > _SETTLED:
            self._known[folder] = _Known(changed, last, state_of_status(status), found)
        return found


def _changed(folder: Path) -> int:
    return _status(folder).st_mtime_ns


def _status(path: str | Path) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116 - faster than Path.stat, for each of many partitions
    except OSError as error:
        raise unreadable(path, error) from None
