"""Commit the segments that tasks wrote to a log folder: all of them at once, or none.

Tasks write to a hidden folder next to the logs. Each task attempt has its own folder. The driver then writes a
manifest, which lists the files to move and to remove. Writing the manifest is the commit. Normally, the driver then
moves and removes the files. If the driver dies, the next process that reads or writes the folder does so. If a file
can't be moved, all files are moved back. Readers never see part of a commit.

    .tagwire-<job>.writing/<attempt>/orders-0/00000000000000000000.log     staged by a task
    .tagwire-00000000000000000007.json                                     commit 7, not yet finished
    _SUCCESS                                                               the manifest of the last finished commit

Manifests are numbered. If another writer has already taken the next number, that writer's commit is carried out first,
and this writer's changes are checked again. `local_commit` and `remote_commit` implement how a number is claimed and
how files are moved. The folder lock only makes other processes wait: correctness does not depend on it.

If a driver is killed before it commits, its staged files are left over. A later write removes them. The folder of a
killed write looks like the folder of a running write. Only age distinguishes them: the time since anything in the
folder was last written.
"""

import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from tagwire.log.errors import is_folder
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit_folder import Attempt, Change, CommitFolder, Content, Job
from tagwire_spark.files.local_commit import LocalFolder, contents_of
from tagwire_spark.files.local_files import local_path
from tagwire_spark.files.remote_commit import RemoteFolder
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions, has_conditional_puts, is_remote, store

_PATIENCE: Final = 10.0
"""Seconds to wait for other processes to finish their commits, if the folder can't be locked."""
_DIGITS: Final = 32
_WORK: Final = re.compile(rf"\..+\.[0-9a-f]{{{_DIGITS}}}")
"""Names of the hidden folders in which jobs build their output."""


def commit_folder(root: str, storage: StorageOptions = NO_OPTIONS) -> CommitFolder:
    """Return the CommitFolder for a path or URL. Raises PipelineError for a URL whose store lacks conditional puts."""
    return RemoteFolder(root, storage) if is_remote(root) else LocalFolder(root)


def job_of(root: str, id: str, storage: StorageOptions = NO_OPTIONS) -> Job:
    """Return the Job that has this ID in a log folder."""
    return Job(root.rstrip("/") if is_remote(root) else str(Path(root).absolute()), id, storage)


def check_folder(root: str, storage: StorageOptions = NO_OPTIONS) -> None:
    """Create the log folder, and check that it supports commits. Raises PipelineError if either fails."""
    folder = _of(job_of(root, "", storage))
    with folder.rejected():
        is_new = "number" not in folder.done()
    if is_new:
        folder.remove(begin(root, storage))


def begin(root: str, storage: StorageOptions = NO_OPTIONS) -> Job:
    """Start a new job and create its staging folder. Raises PipelineError if the folder doesn't support commits."""
    job = job_of(root, uuid4().hex, storage)
    folder = _of(job)
    with folder.rejected():
        folder.begin(job)
    return job


def staging(job: Job, *, is_begun: bool = True) -> Attempt:
    """Return the staging folder for one task attempt.

    If `is_begun` is true, `begin` has created the job's folder. A missing folder means that the job has already ended,
    and raises PipelineError. If `is_begun` is false, as for micro-batches, a missing folder is created.
    """
    return _of(job).attempt(job, is_begun=is_begun)


def carry_out(job: Job, change: Callable[[Mapping[str, Any]], Change | None]) -> None:
    """Commit a job. Raises PipelineError if the job could not be committed.

    `change(notes)` returns the files to move and remove, or None if the job is already committed. `notes` is the
    information about micro-batches in the last finished commit. If another job commits first, `change` is called again.
    """
    folder = _of(job)
    while True:
        with folder.rejected(), _alone(folder) as (last, done):
            number, before = last + 1, done.get("batches", {})
            try:
                files = change(before)
                if files is not None:
                    folder.check(job, files)
            except (OSError, PipelineError):
                if folder.pending() or folder.last()[0] != last:
                    continue  # another writer has moved the files that this writer listed
                raise
            if files is None:
                folder.remove(job)
                return
            manifest = {"number": number, "job": job.id, **files._asdict(), "batches": {**before, **files.batches}}
            if "undone" in done:
                manifest["undone"] = done["undone"]
            if folder.claim(job, number, manifest):
                folder.carry_out(number, is_own=True)
                return


def noted_batches(job: Job) -> Mapping[str, Any]:
    """Return the information about micro-batches in the last finished commit, keyed by the streaming query's ID."""
    folder = _of(job)
    with folder.rejected():
        found: Mapping[str, Any] = folder.done().get("batches", {})
    return found


def abandon(job: Job) -> None:
    """Remove the staged files of a job, unless the job is committed."""
    folder = _of(job)
    with folder.rejected(), folder.locked(shared=False):  # so that the job can't commit in between
        if all(folder.manifest(each).get("job") != job.id for each in folder.pending()):
            folder.remove(job)


def left_of(root: str, storage: StorageOptions = NO_OPTIONS) -> list[Job]:
    """Return the jobs whose staging folders are still in a log folder."""
    job = job_of(root, "", storage)
    folder = _of(job)
    with folder.rejected():
        return [job._replace(id=each) for each in folder.jobs()]


def settle(root: str, storage: StorageOptions) -> None:
    """Carry out a folder's pending commits, after waiting for other processes to finish them.

    Raises PipelineError if a commit can't be carried out.
    """
    with _alone(commit_folder(root, storage)):
        pass


@contextmanager
def settled(root: Path) -> Generator[None]:
    """Carry out a local folder's pending commits, and hold a read lock on it during the `with` block.

    Raises PipelineError if a commit can't be carried out. If the file system has no locks, raises
    PipelineError (KAFKA_LOG_CHANGED) at the end of the block if another process committed during the block.
    """
    folder = LocalFolder(str(root))
    while True:
        with folder.locked(shared=True):
            number, _ = folder.last()
            if not folder.pending():
                with _unchanged(folder, number, "while its files were listed"):
                    yield
                return
        with _alone(folder):
            pass


def settled_number(root: str, storage: StorageOptions) -> int:
    """Carry out a folder's pending commits, and return the number of the last commit, finished or undone, or 0.

    Raises PipelineError if a commit can't be carried out.
    """
    if not _has_commits(root, storage):
        return 0
    folder = commit_folder(root, storage)
    if folder.pending():
        settle(root, storage)
    return folder.last()[0]


@contextmanager
def unchanged_since(root: str, number: int, storage: StorageOptions) -> Generator[None]:
    """Lock a folder for reading during the `with` block. At its end, check that no commit followed commit `number`.

    `number` is a result of `settled_number`. Raises PipelineError (KAFKA_LOG_CHANGED) if there is a later manifest or
    commit at the end of the block.
    """
    if not _has_commits(root, storage):
        yield
        return
    folder = commit_folder(root, storage)
    with folder.locked(shared=True), _unchanged(folder, number, "after the read was planned"):
        yield


@contextmanager
def _unchanged(folder: CommitFolder, number: int, when: str) -> Generator[None]:
    """Raise PipelineError (KAFKA_LOG_CHANGED) at the end of the `with` block if a commit followed commit `number`."""
    yield
    if folder.manifest(number + 1) or folder.last()[0] != number:
        raise PipelineError("KAFKA_LOG_CHANGED", f"{folder.shown}: another write was committed {when}; read again.")


def _has_commits(root: str, storage: StorageOptions) -> bool:
    return not is_remote(root) or ("::" not in root and has_conditional_puts(store(root, storage)[0]))


def _of(job: Job) -> CommitFolder:
    return commit_folder(job.root, job.storage)


@contextmanager
def _alone(folder: CommitFolder) -> Generator[tuple[int, dict[str, Any]]]:
    """Lock a folder in the `with` block, carry out its pending commits, and yield the result of `folder.last()`."""
    with folder.locked(shared=False) as is_held:
        if not is_held:
            _wait_for_others(folder)
        found = folder.last()  # before `pending`, so that this commit is finished if nothing is pending
        while numbers := folder.pending():
            for number in numbers:
                with folder.rejected():
                    folder.carry_out(number, is_own=False)
            found = folder.last()
        # The last commit's process may have died before it removed the staging folder.
        if job := found[1].get("job"):
            folder.remove(Job(folder.root, job))
        yield found


def _wait_for_others(folder: CommitFolder) -> None:
    """Give other processes time to finish their commits."""
    end = time.monotonic() + _PATIENCE * folder.slowness
    while folder.pending() and time.monotonic() < end:
        time.sleep(0.1 * folder.slowness)


class Leftover(NamedTuple):
    """A hidden folder next to the logs, with the number and size of its files."""

    path: str
    files: int
    bytes: int
    last_written: float
    """Seconds since 1970 of the last write to anything in the folder."""


def leftovers(root: str, storage: StorageOptions = NO_OPTIONS) -> list[Leftover]:
    """Return the hidden folders of killed or running writes. Raises PipelineError if there is no log folder."""
    if is_remote(root):
        found = [_job_leftover(job) for job in left_of(root, storage)]
    else:
        path = local_path(root)
        jobs, folders = list[Job](), work_folders(path)
        if is_folder(path):
            jobs = left_of(str(path), storage)
            folders += [each for each in path.iterdir() if _WORK.fullmatch(each.name)]
        elif not folders:  # a job that was killed in its first run may have left work folders, but no output folder
            raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{root}: there is no such folder.")
        found = [*map(_job_leftover, jobs), *(_leftover(str(each), contents_of(each)) for each in sorted(folders))]
    return [each for each in found if each is not None]


def work_folders(output: Path) -> list[Path]:
    """Return the hidden work folders that killed or running jobs have created next to `output`."""
    return [*output.parent.glob(f".{escape(output.name)}.{'[0-9a-f]' * _DIGITS}")]


def remove_leftovers(job: Job, hours: int) -> None:
    """Remove other jobs' folders to which nothing has been written for `hours` hours. Errors are ignored."""
    oldest = time.time() - 3600 * hours
    # Errors don't matter here, because the next write tries again to remove leftovers.
    with suppress(OSError, PipelineError):
        for left in left_of(job.root, job.storage):
            if left.id != job.id and (found := _job_leftover(left)) is not None and found.last_written < oldest:
                abandon(left)


def _job_leftover(job: Job) -> Leftover | None:
    return _leftover(f"{job.root}/{job.name}", _of(job).contents(job))


def _leftover(path: str, contents: list[Content]) -> Leftover | None:
    """Describe a hidden folder with these files. Return None if the folder no longer exists."""
    sizes = [size for size, _ in contents if size is not None]
    return Leftover(path, len(sizes), sum(sizes), max(time for _, time in contents)) if contents else None
