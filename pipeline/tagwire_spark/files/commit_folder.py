"""What a commit needs of the folder of logs that it changes, here or in object storage.

`commit` is the same for both. They differ in how a name is taken, how files come to their places, and how
that is undone: here by links and renames (`local_commit`), there by conditional puts and copies
(`remote_commit`). All names are paths below the folder, with `/`.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from tagwire_spark.errors import PipelineError
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions

__all__ = [
    "DONE",
    "Attempt",
    "Change",
    "CommitFolder",
    "Content",
    "Job",
    "in_staging",
    "job_of_folder",
    "manifest_name",
    "number_of",
    "too_late",
    "write_failure",
]

DONE: Final = "_SUCCESS"
_PREFIX: Final = ".tagwire-"
_WRITING: Final = ".writing"
_NUMBERED: Final = re.compile(r"\.tagwire-(\d+)\.json")


class Job(NamedTuple):
    """A write to a folder of logs."""

    root: str
    """Its path, or its URL."""
    id: str
    storage: StorageOptions = NO_OPTIONS

    @property
    def name(self) -> str:
        """Of the folder in the root where its tasks write."""
        return f"{_PREFIX}{self.id}{_WRITING}"

    @property
    def folder(self) -> Path:
        """That folder on this machine."""
        return Path(self.root, self.name)


class Change(NamedTuple):
    """What a commit does, in paths below the folder."""

    moves: tuple[tuple[str, str], ...]
    """Source and target of each move; a segment comes after its indexes."""
    removes: tuple[str, ...] = ()
    facts: Any = None
    """What else the manifest says."""
    batches: Mapping[str, Any] = {}
    """By query: what the manifest notes of the micro-batch that this is; each commit passes on those before it."""


Content = tuple[int | None, float]
"""The bytes of a file, None of a folder, and when it was last written, in seconds since 1970."""


class Attempt:
    """Where one attempt of a task writes."""

    def __init__(self, folder: Path, to: "CommitFolder", job: Job, *, is_begun: bool = True) -> None:
        self.folder = folder
        """On this machine; two levels below what stands for the root."""
        self.job = job
        self.is_begun = is_begun
        """Whether the job has begun at a time, so that it can be over."""
        self._to = to

    def keep(self, files: list[Path]) -> None:
        """Put finished files where the driver finds them. Raises PipelineError, OSError."""
        self._to.keep(self.folder.parents[1], files)

    def end(self) -> None:
        """All is written. Raises PipelineError if the job is over."""
        self._to.end(self)

    def close(self) -> None:
        """Nothing is written any more, maybe because something failed."""
        self._to.close(self)


class CommitFolder(ABC):
    """A folder of logs. Methods raise PipelineError; those of this machine OSError, too, in `refused`."""

    slowness = 1
    """How much longer than here a commit takes."""

    def __init__(self, root: str) -> None:
        self.root = root

    @abstractmethod
    def refused(self) -> AbstractContextManager[None]:
        """Turn errors of the file system into PipelineError."""

    @abstractmethod
    def locked(self, *, shared: bool) -> AbstractContextManager[bool]:
        """Hold its lock; yields whether there is one."""

    # ------------------------------------------------------------ jobs

    @abstractmethod
    def begin(self, job: Job) -> None:
        """Make a place for tasks, if a job can be committed here."""

    @abstractmethod
    def attempt(self, job: Job, *, is_begun: bool) -> Attempt:
        """A place for one attempt of a task; `is_begun` is for a job that must have begun."""

    @abstractmethod
    def keep(self, top: Path, files: list[Path]) -> None:
        """Put files where the driver finds them; they are below `top` as they are to be below the root."""

    @abstractmethod
    def end(self, attempt: Attempt) -> None:
        """Take back what an attempt has written whose job is over."""

    def close(self, attempt: Attempt) -> None:  # noqa: B027
        """Remove what an attempt has on this machine, unless the driver finds it there."""

    @abstractmethod
    def remove(self, job: Job) -> None:
        """Remove what the tasks of a job have written, as far as that is possible."""

    @abstractmethod
    def jobs(self) -> list[str]:
        """The jobs of which something is there."""

    @abstractmethod
    def contents(self, job: Job) -> list[Content]:
        """What is there of a job; nothing if it has gone meanwhile."""

    # ------------------------------------------------------------ files

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """A small file, None if there is none."""

    @abstractmethod
    def stage(self, job: Job, name: str, data: bytes) -> str:
        """Write a small file beside what tasks have staged. Its name."""

    @abstractmethod
    def edited(self, name: str) -> AbstractContextManager[Path]:
        """A staged file on this machine, to be changed in place."""

    # ------------------------------------------------------------ commits

    @abstractmethod
    def done(self) -> dict[str, Any]:
        """The manifest of the last commit that was carried out; empty if there is none, or another program wrote it."""

    @abstractmethod
    def pending(self) -> list[int]:
        """The numbers of the commits that are not carried out, or not to their end."""

    @abstractmethod
    def manifest(self, number: int) -> dict[str, Any]:
        """What a manifest says; empty where somebody has done it meanwhile."""

    @abstractmethod
    def claim(self, job: Job, number: int, manifest: Mapping[str, Any]) -> bool:
        """Make a job the commit of this number. Whether it is; if not, another one was faster."""

    @abstractmethod
    def check(self, job: Job, change: Change) -> None:
        """Refuse what can't be moved before anything is."""

    @abstractmethod
    def carry_out(self, number: int, *, is_own: bool) -> None:
        """Do what a manifest says, and has not been done; or refuse, and then all is as before."""


def manifest_name(number: int) -> str:
    """The name of a commit that is not done."""
    return f"{_PREFIX}{number:020}.json"


def number_of(name: str) -> int | None:
    """The number of a commit by the name of its manifest."""
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else None


def job_of_folder(name: str) -> str | None:
    """The job whose tasks write to a folder of this name."""
    is_one = name.startswith(_PREFIX) and name.endswith(_WRITING)
    return name.removeprefix(_PREFIX).removesuffix(_WRITING) if is_one else None


def in_staging(job: Job) -> str:
    """The name of a folder for one attempt of a task."""
    return f"{job.name}/{uuid4().hex}"


def too_late(job: Job) -> PipelineError:
    """The refusal of an attempt whose job is over."""
    text = f"{job.root}: this write is finished; a task attempt came too late and wrote nothing."
    return PipelineError("KAFKA_LOG_WRITE_FAILED", job.storage.hidden(text))


def write_failure(root: str, error: OSError) -> PipelineError:
    """The refusal of a write to a folder of logs: the path that failed, and why."""
    where = next((name for name in (error.filename2, error.filename) if name), root)
    return PipelineError("KAFKA_LOG_WRITE_FAILED", f"{where}: can't be written: {error.strerror or error}.")
