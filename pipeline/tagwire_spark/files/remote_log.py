"""Remote partitions and segments, for planning.

Their folder is a tree of empty files with the names of a listing, so names mean the same as for local logs. Only the
bytes that planning needs are fetched: ranges of segments and indexes, and whole small files.
"""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING

from tagwire.log import Partition, Segment
from tagwire.log.checkpoints import EpochStart
from tagwire.log.file_bytes import FileBytes
from tagwire.log.index_lookup import IndexLookup
from tagwire.log.indexes import AbortedTransaction
from tagwire.log.names import LogFile
from tagwire_spark.files.remote_file import remote_lookup

if TYPE_CHECKING:
    from tagwire_spark.files.storage import Location

__all__ = ["RemotePartition", "RemoteSegment"]


class RemoteSegment(Segment):
    """A remote segment with its index files."""

    def __init__(self, path: Path, location: "Location", name: LogFile | None = None) -> None:
        super().__init__(path, name)
        self._location = location

    @property
    def name(self) -> str:
        """The URL."""
        return self._location.name_of(self.path)

    @property
    def size(self) -> int:
        """The listed size in bytes."""
        return self._location.state_of(self.path).size

    @contextmanager
    def opened(self) -> Generator[FileBytes]:
        """Yield the segment's bytes up to `end`, read by ranges."""
        with self._location.opened(self.path) as data:
            data.end_at(self.end)
            yield data

    def copy(self, path: Path, target: Path) -> None:
        """Fetch the segment, or a file next to it, in pieces. Raises OSError, PipelineError, LogPathError."""
        self._location.copy(path, target)

    @contextmanager
    def lookup(self, path: Path, layout: Struct) -> Generator[IndexLookup]:
        """Yield the entries of an index of the segment, read by ranges."""
        yield remote_lookup(self._location.remote(path), layout)

    @cached_property
    def aborted_transactions(self) -> list[AbortedTransaction]:
        """The entries of the `.txnindex`, which is fetched now."""
        self._location.bring(*filter(None, [self.beside("txnindex")]))
        return super().aborted_transactions


class RemotePartition(Partition):
    """A remote partition folder. The files behind its properties are fetched on first access."""

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
        """The leader epochs from the checkpoint, which is fetched now."""
        self._location.bring(*self.path.glob("*leader[-_]epoch[-_]checkpoint"))
        return super().leader_epochs

    @cached_property
    def log_start_offset(self) -> int | None:
        """The log start offset, from the checkpoint in the parent folder."""
        self._location.bring_above(self.path, "log-start-offset-checkpoint")
        return super().log_start_offset

    @property
    def is_compacted(self) -> bool:
        """Whether the broker has compacted the partition, from the checkpoint in the parent folder."""
        self._location.bring_above(self.path, "cleaner-offset-checkpoint")
        return super().is_compacted
