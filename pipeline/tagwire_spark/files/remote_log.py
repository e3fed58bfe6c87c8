"""Read the partitions and segments of a log in a remote file system, to plan a read or a job.

A local tree of empty files has the same names as a remote log, so that the code for local logs works for both. Only
the bytes that planning needs are fetched: ranges of segments and indexes, and small files.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from tagwire.log import Partition, Segment
from tagwire.log.checkpoints import EpochStart
from tagwire.log.file_bytes import FileBytes
from tagwire.log.indexes import AbortedTransaction, IndexLookup
from tagwire.log.names import LogFile, partition_name
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit import settle
from tagwire_spark.files.commit_folder import DONE, job_of_folder, number_of
from tagwire_spark.files.file_state import FileState, state_of_facts
from tagwire_spark.files.reading import remote_lookup
from tagwire_spark.files.store import StorageOptions, has_conditional_puts, reaching, retried

if TYPE_CHECKING:
    from tagwire_spark.files.storage import Location

_COPIED: Final = 8 << 20


class RemoteSegment(Segment):
    """A segment in a remote file system, with its index files."""

    def __init__(self, path: Path, location: "Location", name: LogFile | None = None) -> None:
        super().__init__(path, name)
        self._location = location

    @property
    def name(self) -> str:
        return self._location.name_of(self.path)

    @property
    def size(self) -> int:
        return self._location.state_of(self.path).size

    @contextmanager
    def opened(self) -> Generator[FileBytes]:
        with self._location.opened(self.path) as data:
            data.end_at(self.end)
            yield data

    def copy(self, path: Path, target: Path) -> None:
        """Download the segment, or a file next to it, in several ranges. Keep its modification time.

        Raises OSError, PipelineError or LogPathError if the download fails.
        """
        with self._location.opened(path) as data, target.open("wb") as file:
            for start in range(0, len(data), _COPIED):
                file.write(data[start : start + _COPIED])
        time = path.stat().st_mtime_ns
        os.utime(target, ns=(time, time))

    @contextmanager
    def lookup(self, path: Path, layout: Struct) -> Generator[IndexLookup]:
        yield remote_lookup(self._location.remote(path), layout)

    @cached_property
    def aborted_transactions(self) -> list[AbortedTransaction]:
        self._location.bring(*filter(None, [self.sibling("txnindex")]))
        return super().aborted_transactions


class RemotePartition(Partition):
    """A remote partition folder. Checkpoint and index files are fetched when they are first needed."""

    def __init__(self, path: Path, location: "Location") -> None:
        super().__init__(path)
        self._location = location

    def _listed(self) -> Partition:
        return RemotePartition(self.path, self._location)

    def _segment(self, path: Path, name: LogFile) -> Segment:
        return RemoteSegment(path, self._location, name)

    def _fetched(self, path: Path) -> Path:
        self._location.bring(path)
        return path

    @cached_property
    def leader_epochs(self) -> list[EpochStart]:
        self._location.bring(*self.path.glob("*leader[-_]epoch[-_]checkpoint"))
        return super().leader_epochs

    @cached_property
    def log_start_offset(self) -> int | None:
        """The log start offset, from the checkpoint file in the parent folder."""
        self._location.bring_above(self.path, "log-start-offset-checkpoint")
        return super().log_start_offset

    @property
    def is_compacted(self) -> bool:
        """Whether the broker has compacted the partition, according to the checkpoint file in the parent folder."""
        self._location.bring_above(self.path, "cleaner-offset-checkpoint")
        return super().is_compacted


# `Marks` detects listings of object storage that may show only part of a commit.
# While a commit copies objects, its manifest is in the log folder. When the commit is done, `_SUCCESS` is replaced.
# A listing is complete if it contains no manifest, and if `_SUCCESS` is the same object before and after listing.
# Folders are checked only if `kafka_log` has written to them, or if listing them took several requests.

_ONE_REQUEST: Final = 1000
"""Maximum number of objects that one S3 listing request returns; a single request is atomic."""


class Marks:
    """The commit marks in each listed folder: `_SUCCESS`, manifests and staging folders of `kafka_log` writes."""

    def __init__(self, system: Any, options: StorageOptions) -> None:
        self._system = system
        self._options = options
        self._is_kept = has_conditional_puts(system)
        """Whether `kafka_log` can commit to this file system."""
        self._is_long = False
        self._root = ""
        self._seen: dict[str, set[tuple[str, FileState]]] = {}
        self._checked: set[str] = set()

    def look_in_parents(self, name: str) -> None:
        """Remember which commit marks a partition's parent folder contains. Call this before listing the partition.

        Commits are not detected if the user isn't allowed to list the parent folder.
        """
        if self._is_kept and "/" in name and partition_name(Path(name)) is not None:
            above = name.rpartition("/")[0]
            try:
                found = self._now(above)
            except PermissionError:
                return
            if found:
                self._seen[above] = found

    def add(self, root: str, found: Mapping[str, Any]) -> None:
        """Remember the commit marks in `found`, a listing of all files below the folder `root`."""
        self._root, self._is_long = root, len(found) >= _ONE_REQUEST
        for name, facts in found.items() if self._is_kept else ():
            parts = name.split("/")
            if parts[-1] == DONE or number_of(parts[-1]) is not None:
                self._seen.setdefault("/".join(parts[:-1]), set()).add((parts[-1], state_of_facts(facts)))
            for level, part in enumerate(parts):
                if job_of_folder(part) is not None:
                    self._seen.setdefault("/".join(parts[:level]), set())

    def check(self, folder: str, url: str) -> None:
        """Check that no commit was made to a folder while it was listed. Carries out pending commits first.

        Raises PipelineError (KAFKA_LOG_CHANGED) if the folder's commit marks differ from those in the listing.
        """
        is_below = f"{folder}/".startswith(self._root)
        if folder in self._checked or not (folder in self._seen or (self._is_kept and self._is_long and is_below)):
            return
        with reaching(url, self._options):
            now = self._now(folder)
            if any(number_of(name) is not None for name, _ in now):
                settle(url, self._options)
                now = self._now(folder)
            if now == self._seen.get(folder, set()):
                self._checked.add(folder)
                return
        raise PipelineError(
            "KAFKA_LOG_CHANGED",
            self._options.hidden(f"{url}: another write was committed while the files were listed; read again."),
        )

    def _now(self, folder: str) -> set[tuple[str, FileState]]:
        self._system.invalidate_cache()
        try:
            found = retried(partial(self._system.ls, folder, detail=True))
        except FileNotFoundError:
            return set()
        named = [(str(each["name"]).rpartition("/")[2], each) for each in found if each["type"] == "file"]
        return {(name, state_of_facts(facts)) for name, facts in named if name == DONE or number_of(name) is not None}


def is_staged(name: str) -> bool:
    """Return whether a file is in a staging folder, which readers must ignore."""
    return any(job_of_folder(part) is not None for part in name.split("/"))
