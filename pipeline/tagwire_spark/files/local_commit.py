"""Commit to a local or mounted folder: claim a number with a hard link, then rename files.

To commit, a writer creates a hard link whose name is the next number. Creating the link fails if another writer has
taken the number, even on network file systems. When all files are in place, the link's source (a draft in the job's
folder) is renamed to `_SUCCESS`. If a file can't be moved, the job's folder is renamed instead, and all files are moved
back. Only one of these two renames can succeed, so two processes that carry out the same commit agree on the outcome.

The link alone can't ensure this: when a commit is finished, its link is gone, and a slow writer may create a link of
the same name before it notices that the number has been used.

The number of an undone commit stays taken, because another writer may have listed the folder while files were moved
away. So the manifest is replaced by one without moves, which the next finished commit removes.
"""

import json
import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from errno import EACCES, EISDIR, EMLINK, ENOSYS, ENOTDIR, ENOTSUP, EOPNOTSUPP, EPERM, EXDEV
from itertools import chain
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from tagwire.log.whole_folder import file_locks, on_disk
from tagwire_spark.errors import PipelineError
from tagwire_spark.files import local_moves
from tagwire_spark.files.commit_folder import (
    DONE,
    ENDED,
    Attempt,
    Change,
    CommitFolder,
    Content,
    Job,
    in_staging,
    job_of_folder,
    manifest_name,
    number_of,
    too_late,
    write_failure,
)

_MOVES: Final = "moves"
"""The key of the list of files to move. The manifest of an undone commit has no such list."""
_NO_LINKS: Final = (EPERM, ENOSYS, ENOTSUP, EOPNOTSUPP, EMLINK, EXDEV)
"""The `errno` values with which `link` fails on a file system that does not support hard links."""


class LocalFolder(CommitFolder):
    """A log folder on this machine, or on a file system that all workers mount."""

    def __init__(self, root: str) -> None:
        super().__init__(root, root)
        self.path = Path(root)
        self._claimed: Mapping[str, Any] = {}
        """The manifest of the commit that this process has claimed."""

    @contextmanager
    def rejected(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise write_failure(self.root, error) from None

    # This locks the folder itself, so that no lock file is left behind. Commits are safe even without the lock.
    @contextmanager
    def locked(self, *, shared: bool) -> Generator[bool]:
        flock, handle, is_held = file_locks(), None, False
        with suppress(OSError):
            handle = os.open(self.path, os.O_RDONLY)
        if flock is None or handle is None:
            yield False
            return
        try:
            with suppress(OSError):
                flock.flock(handle, flock.LOCK_SH if shared else flock.LOCK_EX)
                is_held = True
            yield is_held
        finally:
            os.close(handle)

    def begin(self, job: Job) -> None:
        job.folder.mkdir(parents=True)
        try:
            file = job.folder / "first"
            file.touch()
            self._link(file, job.folder / "second")
        except (OSError, PipelineError):
            shutil.rmtree(job.folder, ignore_errors=True)
            raise

    def attempt(self, job: Job, *, is_begun: bool) -> Attempt:
        folder = self.path / in_staging(job)
        try:
            folder.mkdir(parents=not is_begun)
        except FileNotFoundError:
            raise too_late(job) from None
        return Attempt(folder)

    def remove(self, job: Job) -> None:
        # A slow process may still be carrying out this commit, and must not find only some of the removed files. So the
        # folder is first renamed. If this process dies before it has removed the folder, the next one removes it.
        gone = job._replace(id=f"{job.id}{ENDED}").folder
        shutil.rmtree(gone, ignore_errors=True)
        with suppress(OSError):
            job.folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def jobs(self) -> list[str]:
        return [job for each in self.path.glob(".*") if (job := job_of_folder(each.name)) is not None]

    def contents(self, job: Job) -> list[Content]:
        return contents_of(job.folder)

    def read(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def stage(self, job: Job, name: str, data: bytes) -> str:
        with self.rejected():
            (job.folder / name).write_text(data.decode())
        return f"{job.name}/{name}"

    @contextmanager
    def edited(self, name: str) -> Generator[Path]:
        yield self.path / name
        on_disk(self.path / name)

    def last(self) -> tuple[int, dict[str, Any]]:
        undone = [number for number in self._numbers() if _MOVES not in self._content(number)]
        done = self.done()  # must not be older than `undone`
        return max(done.get("number", 0), *undone, 0), done

    def pending(self) -> list[int]:
        """Return the numbers of unfinished commits.

        A slow writer may have reused the number of a finished commit. Its manifest is ignored.
        """
        found = self._numbers()
        done = self.done().get("number", 0) if found else 0
        return [number for number in found if number > done and _MOVES in self._content(number)]

    def manifest(self, number: int) -> dict[str, Any]:
        found = self._content(number)
        return found if _MOVES in found else {}

    def _content(self, number: int) -> dict[str, Any]:
        """Return the content of a manifest, also if its commit was undone, or {} if it doesn't exist."""
        return super().manifest(number)

    def claim(self, job: Job, number: int, manifest: Mapping[str, Any]) -> bool:
        """Write the manifest, and claim `number` with a hard link to it. Return False if the number is taken."""
        draft, name = job.folder / f"manifest-{uuid4().hex}.json", self._manifest(number)
        claimed = json.loads(json.dumps({**manifest, "draft": draft.relative_to(self.path).as_posix()}))
        draft.write_text(json.dumps(claimed, indent=1))
        on_disk(draft)
        for folder in {(self.path / source).parent for source, _ in manifest["moves"]}:
            on_disk(folder)
        try:
            self._link(draft, name)
        except OSError as error:
            # The link may have been created nevertheless, if only the reply was lost.
            with self._finished_later():
                is_claimed = self.manifest(number) == claimed
            if not is_claimed:
                if isinstance(error, FileExistsError):
                    return False
                raise
        # Give the number back if a commit with this or a later number is already finished.
        with self._finished_later():
            if self._is_done(number) and draft.exists():
                name.unlink(missing_ok=True)
                return False
        self._claimed = claimed
        with self._finished_later():
            on_disk(self.path)
        return True

    def check(self, job: Job, change: Change) -> None:
        """Check that all files can be moved. Raises OSError if one of them can't.

        All sources must exist, and no target may be a folder. The targets' folders must be writable, and on the same
        file system as the staging folder.
        """
        root = self.path
        job.folder.mkdir(exist_ok=True)  # a micro-batch without rows has no folder
        device = job.folder.stat().st_dev
        for source, target in change.moves:
            (root / source).stat()  # fails if the driver has not mounted the folder
            if (root / target).is_dir():
                raise IsADirectoryError(EISDIR, "expected a file, got a folder", str(root / target))
        for folder in {(root / name).parent for name in (*(target for _, target in change.moves), *change.removes)}:
            there = folder if folder.exists() else root
            if there.stat().st_dev != device:
                raise OSError(EXDEV, "the folder is on a different file system than its parent folder", str(folder))
            if not there.is_dir():
                raise NotADirectoryError(ENOTDIR, "expected a folder, got a file", str(folder))
            if not os.access(there, os.W_OK | os.X_OK):
                raise PermissionError(EACCES, "no permission to move files into this folder", str(folder))

    def carry_out(self, number: int, *, is_own: bool) -> None:
        """Rename the files that are not yet renamed. If a rename fails, move all files back."""
        with self._finished_later() if is_own else nullcontext():
            change = self._content(number)
            # Read the manifest before calling `_is_done`. Otherwise, another process could finish this commit after the
            # call, and this process could carry out the manifest of a slow writer that reused the number.
            is_over = _MOVES not in change or self._is_done(number)
        if is_own and (is_over or change != self._claimed):
            if self._undone(number, self._claimed):
                local_moves.discard(local_moves.undone_path(self.path / self._claimed["draft"]))
                raise self.undone_by_another()
            return
        if is_over:
            return
        if not is_own:
            self._reject_links(number, change)
        draft = self.path / change["draft"]
        try:
            local_moves.move(draft.parent, change)
            draft.replace(self.path / DONE)
        except OSError as error:
            with self._finished_later() if is_own else nullcontext():
                was_undone = local_moves.is_undone(draft)
                is_undone = self._undone(number, change)
                is_done = not is_undone and (self._is_done(number) or self._content(number) != change)
            if is_done or (was_undone and not is_own):
                return
            if was_undone:
                local_moves.discard(local_moves.undone_path(draft))
                raise self.undone_by_another() from None
            if is_own and is_undone:
                local_moves.discard(local_moves.undone_path(draft))
            raise error from None  # if the commit is not undone, another program deleted the job's folder
        with self._finished_later():
            for each in self._numbers():
                if each <= number:
                    self._manifest(each).unlink(missing_ok=True)
            on_disk(self.path)
        self.remove(Job(self.root, change["job"]))

    def _reject_links(self, number: int, change: Mapping[str, Any]) -> None:
        """Raise PipelineError if links would move files of another process's commit from or to other folders."""
        root = os.path.realpath(self.path)
        for name in chain(*change[_MOVES], change["removes"]):
            folder = (self.path / name).parent
            if not Path(os.path.realpath(folder)).is_relative_to(root):
                text = f"{self._manifest(number)} is not carried out, because the link {folder} leads outside the"
                raise PipelineError("KAFKA_LOG_WRITE_FAILED", f"{text} log folder; remove the link or the manifest.")

    def _undone(self, number: int, change: Mapping[str, Any]) -> bool:
        """Undo a commit unless it is finished; return whether it was undone. Raises PipelineError if a move fails."""
        draft = self.path / change["draft"]
        with self._finished_later(), suppress(FileNotFoundError):
            draft.stat()
            draft.parent.replace(local_moves.undone_path(draft))
        if not local_moves.is_undone(draft):
            local_moves.discard(local_moves.undone_path(draft))
            return False
        try:
            local_moves.move_back(self.path, change)
            if self._content(number) == change:  # a later commit may have removed the manifest
                self._mark_undone(number, change)
        except OSError as error:
            text = f"{write_failure(self.root, error).text.rstrip('.')}. The write is not committed, but some of its"
            text += f" files may still be in {self.root}. The next kafka_log read or write of this folder removes them."
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", text) from None
        return True

    def _mark_undone(self, number: int, change: Mapping[str, Any]) -> None:
        """Replace the manifest of an undone commit by one without moves."""
        mark = local_moves.undone_path(self.path / change["draft"]) / f"{uuid4().hex}.json"
        with suppress(FileNotFoundError):  # another process has replaced the manifest, and removed the staging folder
            mark.write_text(json.dumps({"number": number, "job": change["job"]}))
            mark.replace(self._manifest(number))
        on_disk(self.path)

    def _is_done(self, number: int) -> bool:
        """Return whether this or a later commit is finished. Raises OSError if that can't be determined."""
        return bool(self.done().get("number", 0) >= number)

    def _numbers(self) -> list[int]:
        """Return the numbers of all manifests of unfinished and undone commits."""
        return sorted(number for each in self.path.glob(".*.json") if (number := number_of(each.name)) is not None)

    @contextmanager
    def _finished_later(self) -> Generator[None]:
        """Convert an OSError in the `with` block to an error that says that the write is committed but not finished."""
        try:
            yield
        except OSError as error:
            failure = write_failure(self.root, error).text.rstrip(".")
            raise PipelineError(
                "KAFKA_LOG_WRITE_FAILED",
                f"{failure}. The write is committed nevertheless. The next kafka_log read or write of {self.root} "
                "finishes it. Before you write the rows again, check whether they exist.",
            ) from None

    def _manifest(self, number: int) -> Path:
        return self.path / manifest_name(number)

    def _link(self, file: Path, name: Path) -> None:
        """Create a hard link. Raises PipelineError if the file system has no hard links, OSError for other failures."""
        try:
            name.hardlink_to(file)
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            raise PipelineError(
                "KAFKA_LOG_WRITE_FAILED",
                f"{self.root}: commits need hard links, which this file system does not support ({error.strerror}); "
                "write to another file system.",
            ) from None


def contents_of(folder: Path) -> list[Content]:
    """Return the size and last write time of all files and folders in a folder, and of the folder itself."""
    found: list[Content] = []
    for parent, _, files in os.walk(folder):  # os.walk tolerates files that disappear, unlike `rglob`
        for path in (Path(parent), *(Path(parent, each) for each in files)):
            with suppress(OSError):
                status = path.stat()
                found.append((None if path.is_dir() else status.st_size, status.st_mtime))
    return found
