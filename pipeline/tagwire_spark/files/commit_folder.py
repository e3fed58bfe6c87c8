"""The operations on a log folder that commits need, for local folders and for object storage.

Local folders use links and renames (`local_commit`); object storage uses conditional puts and copies
(`remote_commit`). All names are paths relative to the log folder, with `/`.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple
from uuid import uuid4

from tagwire.log.whole_folder import on_disk
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions

DONE: Final = "_SUCCESS"
_PREFIX: Final = ".tagwire-"
_WRITING: Final = ".writing"
ENDED: Final = "-ended"
"""The suffix of a job's ID while its local folder is being removed."""
_NUMBERED: Final = re.compile(r"\.tagwire-(\d{20})\.json")


class Job(NamedTuple):
    """A write to the log folder at `root`, a path or URL. It has its own ID and staging folder, and one driver."""

    root: str
    id: str
    storage: StorageOptions = NO_OPTIONS

    @property
    def name(self) -> str:
        """The staging folder's name within the log folder."""
        return f"{_PREFIX}{self.id}{_WRITING}"

    @property
    def folder(self) -> Path:
        return Path(self.root, self.name)


class Change(NamedTuple):
    """The changes that a commit makes: files to move and to remove, as paths relative to the log folder."""

    moves: tuple[tuple[str, str], ...]
    """Source and target of each move. A segment is moved after its indexes, so that it never appears without them."""
    removes: tuple[str, ...] = ()
    facts: Any = None
    batches: Mapping[str, Any] = {}
    """For a micro-batch, maps the query's ID to the batch ID, the run ID and a hash of the rows; empty for other jobs.
    """


Content = tuple[int | None, float]
"""A staged file's size in bytes (None for a folder), and the time of its last write in seconds since 1970."""


class Attempt:
    """The staging folder of one task attempt. This class is for local folders, and a subclass for object storage."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """Local path, two levels below the log folder or, for object storage, below a local substitute for it."""

    def keep(self, files: list[Path]) -> None:
        """Make finished files accessible to the driver: flush them to disk, or upload them to object storage.

        Raises PipelineError or OSError if that fails.
        """
        for path in (*files, *{file.parent for file in files}):
            on_disk(path)

    def end(self) -> None:
        """Check, after the attempt's last write, that the job is not over. Raises PipelineError if the job is over.

        A local folder needs no check: once a job is over, its folder no longer exists, so nothing can be written.
        """

    def close(self) -> None:
        """Remove local files that the driver doesn't need."""


class CommitFolder(ABC):
    """A log folder to which jobs commit.

    Methods raise PipelineError. Methods of local folders also raise OSError, which `rejected` converts.
    """

    slowness = 1
    """How many times longer a commit takes here than in a local folder. Waiting times are multiplied by this factor."""

    def __init__(self, root: str, shown: str) -> None:
        self.root = root
        self.shown = shown
        """The path or URL without secrets, for error messages."""

    @abstractmethod
    def rejected(self) -> AbstractContextManager[None]:
        """Convert file system errors in the `with` block to PipelineError."""

    @contextmanager
    def locked(self, *, shared: bool) -> Generator[bool]:
        """Hold the folder lock in the `with` block. Yield whether that succeeded. A shared lock admits others.

        Object storage has no locks.
        """
        yield False

    @abstractmethod
    def begin(self, job: Job) -> None:
        """Create the job's staging folder. Raises PipelineError if the file system can't support commits."""

    @abstractmethod
    def attempt(self, job: Job, *, is_begun: bool) -> Attempt:
        """Create the staging folder for one task attempt. `commit.staging` explains `is_begun`."""

    @abstractmethod
    def remove(self, job: Job) -> None:
        """Remove a job's staged files, ignoring errors."""

    @abstractmethod
    def jobs(self) -> list[str]:
        """Return the IDs of the jobs that have staged files in the folder."""

    @abstractmethod
    def contents(self, job: Job) -> list[Content]:
        """Return the size and last write time of a job's staged files and folders, or empty if they were removed."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """Return the bytes of a small file, or None if it doesn't exist."""

    @abstractmethod
    def stage(self, job: Job, name: str, data: bytes) -> str:
        """Write a small file to the job's staging folder, and return its name."""

    @abstractmethod
    def edited(self, name: str) -> AbstractContextManager[Path]:
        """Yield a local path at which a staged file can be edited, and store the file after the `with` block."""

    def done(self) -> dict[str, Any]:
        """Return the manifest of the last finished commit, or {} if tagwire did not write `_SUCCESS`."""
        return content_of_done(self.read(DONE))

    def last(self) -> tuple[int, dict[str, Any]]:
        """Return the number of the last commit, finished or undone, and the manifest of the last finished commit."""
        done = self.done()
        return done.get("number", 0), done

    @abstractmethod
    def pending(self) -> list[int]:
        """Return the numbers of unfinished commits."""

    def manifest(self, number: int) -> dict[str, Any]:
        """Return the manifest of a commit, or {} if the commit is already finished or undone."""
        found = self.read(manifest_name(number))
        try:
            return _checked(json.loads(found)) if found is not None else {}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            text = f"{self.shown}/{manifest_name(number)} is not a list of a commit's files ({error})"
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", f"{text}; remove it if tagwire did not write it.") from None

    def undone_by_another(self) -> PipelineError:
        """Return the error for a commit that another process has undone."""
        text = f"{self.shown} can't be written: another process could not put all files of this write in place, so it"
        return PipelineError("KAFKA_LOG_WRITE_FAILED", f"{text} undid the write; write again.")

    @abstractmethod
    def claim(self, job: Job, number: int, manifest: Mapping[str, Any]) -> bool:
        """Claim this commit number for a job. Return False if another job already has the number."""

    @abstractmethod
    def check(self, job: Job, change: Change) -> None:
        """Check that all files of a change can be moved, before any of them is moved. Raises PipelineError if not."""

    @abstractmethod
    def carry_out(self, number: int, *, is_own: bool) -> None:
        """Carry out the remaining steps of a commit. Raises PipelineError if the commit had to be undone."""


def _checked(manifest: Any) -> dict[str, Any]:
    """Return a manifest. Raises an error if it has another form, or if it would move files outside the log folder."""
    staging = Job("", manifest["job"]).name
    for name in chain([staging], *manifest.get("moves", ()), manifest.get("removes", ())):
        below(name)
    draft = PurePosixPath(manifest.get("draft", f"{staging}/manifest"))
    if "/" in staging or draft.parent != PurePosixPath(staging):
        raise ValueError(f"the path {str(draft)!r} is not in the folder of job {manifest['job']!r}")
    return dict(manifest)


def below(name: str) -> str:
    """Return a path in a manifest. Raises ValueError if the path is outside the base folder."""
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        raise ValueError(f"the path {name!r} points outside the folder")
    return name


def content_of_done(data: bytes | None) -> dict[str, Any]:
    """Return the manifest in the bytes of `_SUCCESS`, or {} if there is none."""
    try:
        found = json.loads(data or b"{}")
    except ValueError:
        return {}
    # The job's folder is removed, so it must not be outside the log folder.
    return found if isinstance(found, dict) and "/" not in str(found.get("job")) else {}


def manifest_name(number: int) -> str:
    """Return the file name of the manifest of an unfinished commit."""
    return f"{_PREFIX}{number:020}.json"


def number_of(name: str) -> int | None:
    """Return the commit number in a manifest's file name, or None if the file is not a manifest."""
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else None


def job_of_folder(name: str) -> str | None:
    """Return the job ID in the name of a staging folder, or None if the folder is not a staging folder."""
    is_one = name.startswith(_PREFIX) and name.endswith(_WRITING)
    return name.removeprefix(_PREFIX).removesuffix(_WRITING) if is_one else None


def in_staging(job: Job) -> str:
    """Return a new folder name for a task attempt, in the job's staging folder."""
    return f"{job.name}/{uuid4().hex}"


def too_late(job: Job) -> PipelineError:
    """Return the error for a task attempt that runs after its job is over."""
    text = f"{job.root}: this task attempt wrote nothing, because the write had finished before it started."
    return PipelineError("KAFKA_LOG_WRITE_FAILED", job.storage.hidden(text))


def write_failure(root: str, error: OSError) -> PipelineError:
    """Return the error for a failed write to a log folder, with the path and the reason."""
    where = next((name for name in (error.filename2, error.filename) if name), root)
    return PipelineError("KAFKA_LOG_WRITE_FAILED", f"{where} can't be written: {error.strerror or error}.")
