"""Commits to a folder of this machine, or one that all workers mount: names are taken by links, and files renamed.

A commit is a hard link with the next number. Creating it fails if another writer has taken the
number, also on network file systems. When all files are in place, the draft that was linked, which is
in the job's folder, becomes `_SUCCESS`. If a file can't be moved, the job's folder gets another name,
and all files are moved back. After one of these renames the other fails. So two processes that carry
out the same commit agree on its end, and the slower one can't put a file in place any more.

The numbered name alone would not do for that. Once a commit is done and its name is free, a slow writer
may take the name again, for the moment that it needs to see that it is too late.
"""

import json
import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from errno import EACCES, EISDIR, EMLINK, ENOSYS, ENOTDIR, ENOTSUP, EOPNOTSUPP, EPERM, EXDEV
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from tagwire.log.whole_folder import on_disk
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit_folder import (
    DONE,
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
from tagwire_spark.files.folder_lock import locked

__all__ = ["LocalFolder"]

_REMOVED: Final = "removed"
_NO_LINKS: Final = (EPERM, ENOSYS, ENOTSUP, EOPNOTSUPP, EMLINK, EXDEV)
"""What file systems without hard links say; a full disk, for example, is another fault."""


class LocalFolder(CommitFolder):
    """A folder that is mounted."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.path = Path(root)
        self._found: dict[int, Path] = {}
        """Manifests by number: people may have written some, with names that have fewer digits."""
        self._claimed: Mapping[str, Any] = {}
        """The manifest of the commit that this process has claimed."""

    @contextmanager
    def refused(self) -> Generator[None]:
        """Turn OSError into PipelineError."""
        try:
            yield
        except OSError as error:
            raise write_failure(self.root, error) from None

    def locked(self, *, shared: bool) -> AbstractContextManager[bool]:
        """Hold its lock, if the file system has locks."""
        return locked(self.path, shared=shared)

    # ------------------------------------------------------------ jobs

    def begin(self, job: Job) -> None:
        """Make a place for tasks, if the file system has hard links."""
        job.folder.mkdir(parents=True)
        try:
            file = job.folder / "first"
            file.touch()
            self._link(file, job.folder / "second")
        except (OSError, PipelineError):
            shutil.rmtree(job.folder, ignore_errors=True)
            raise

    def attempt(self, job: Job, *, is_begun: bool) -> Attempt:
        """A folder in the job's."""
        folder = self.path / in_staging(job)
        try:
            folder.mkdir(parents=not is_begun)
        except FileNotFoundError:
            raise too_late(job) from None
        return Attempt(folder, self, job, is_begun=is_begun)

    def keep(self, top: Path, files: list[Path]) -> None:
        """They are there; flush them to disk."""
        for file in files:
            on_disk(file)
        for folder in {file.parent for file in files}:
            on_disk(folder)

    def end(self, attempt: Attempt) -> None:
        """A job that is over has no folder to write to."""

    def remove(self, job: Job) -> None:
        """Remove the job's folder."""
        shutil.rmtree(job.folder, ignore_errors=True)

    def jobs(self) -> list[str]:
        """By the folders that are there."""
        return [job for each in self.path.glob(".*") if (job := job_of_folder(each.name)) is not None]

    def contents(self, job: Job) -> list[Content]:
        """The folder, and all below it; its own process may be removing it."""
        found: list[Content] = []
        for folder, _, files in os.walk(job.folder):  # which passes over what is gone, unlike `rglob`
            for path in (Path(folder), *(Path(folder, each) for each in files)):
                with suppress(OSError):
                    status = path.stat()
                    found.append((None if path.is_dir() else status.st_size, status.st_mtime))
        return found

    # ------------------------------------------------------------ files

    def read(self, name: str) -> bytes | None:
        """The bytes of a file."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def stage(self, job: Job, name: str, data: bytes) -> str:
        """Write a file to the job's folder."""
        with self.refused():
            (job.folder / name).write_text(data.decode())
        return f"{job.name}/{name}"

    @contextmanager
    def edited(self, name: str) -> Generator[Path]:
        """The file itself."""
        yield self.path / name
        on_disk(self.path / name)

    # ------------------------------------------------------------ commits

    def done(self) -> dict[str, Any]:
        """What `_SUCCESS` says."""
        try:
            found = json.loads((self.path / DONE).read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def pending(self) -> list[int]:
        """A number that was done again is one that came too late."""
        found = self._manifests()
        done = self.done().get("number", 0) if found else 0
        return [number for number in sorted(found) if number > done]

    def manifest(self, number: int) -> dict[str, Any]:
        """What the numbered file says."""
        manifest = self._manifest(number)
        try:
            found: dict[str, Any] = json.loads(manifest.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            text = f"{manifest}: not valid JSON, but should list what a write committed: {error}."
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", text) from None
        return found

    def claim(self, job: Job, number: int, manifest: Mapping[str, Any]) -> bool:
        """Link the manifest to its number."""
        draft, name = job.folder / f"manifest-{uuid4().hex}.json", self._manifest(number)
        said = json.loads(json.dumps({**manifest, "draft": draft.relative_to(self.path).as_posix()}))
        draft.write_text(json.dumps(said, indent=1))
        on_disk(draft)
        for folder in {(self.path / source).parent for source, _ in manifest["moves"]}:
            on_disk(folder)
        try:
            self._link(draft, name)
        except FileExistsError:
            said = self.manifest(number)
            if said.get("job") != job.id:  # else the link was made, and the answer of a server lost
                return False
        if self._is_done(number) and (self.path / said["draft"]).exists():  # another one had the number, and is done
            name.unlink(missing_ok=True)
            return False
        self._claimed = said
        with self._finished_later():
            on_disk(self.path)
        return True

    def check(self, job: Job, change: Change) -> None:
        """Refuse missing sources, and targets that are on other file systems, are folders, or can't be written."""
        root = self.path
        job.folder.mkdir(exist_ok=True)  # a micro-batch may have no rows
        device = job.folder.stat().st_dev
        for source, target in change.moves:
            (root / source).stat()  # a driver that does not mount what a task has written to would lose it
            if (root / target).is_dir():
                raise IsADirectoryError(EISDIR, "it should be a file", str(root / target))
        for folder in {(root / name).parent for name in (*(target for _, target in change.moves), *change.removes)}:
            there = folder if folder.exists() else root
            if there.stat().st_dev != device:
                raise OSError(EXDEV, "it is on another file system than the folder above", str(folder))
            if not there.is_dir():
                raise NotADirectoryError(ENOTDIR, "it should be a folder", str(folder))
            if not os.access(there, os.W_OK | os.X_OK):
                raise PermissionError(EACCES, "no file can be moved there", str(folder))

    def carry_out(self, number: int, *, is_own: bool) -> None:
        """Rename; what of it was done before is not done again. If that fails, rename back."""
        change = self.manifest(number)
        is_over = not change or self._is_done(number)  # asked afterwards: what a slow writer has linked is no commit
        if is_own and (is_over or change != self._claimed):
            self._check_done(number, self._claimed)
            return
        if is_over:
            return
        draft = self.path / change["draft"]
        try:
            _move(draft.parent, change)
            draft.replace(self.path / DONE)
        except OSError:
            was_undone = _is_undone(draft)
            if not self._undone(number, change):
                if not self._is_done(number) and self.manifest(number) == change:
                    raise  # somebody has deleted the job's folder
                return
            if not was_undone:
                if is_own:
                    shutil.rmtree(_undone(draft), ignore_errors=True)
                raise
            if is_own:
                raise self._undone_by_another(draft) from None
            return
        with self._finished_later():
            for each, manifest in self._manifests().items():
                if each <= number:
                    manifest.unlink(missing_ok=True)
            on_disk(self.path)
        self.remove(Job(self.root, change["job"]))

    def _undone(self, number: int, change: Mapping[str, Any]) -> bool:
        """Undo a commit, unless it is done. Whether it is undone. Raises PipelineError."""
        draft = self.path / change["draft"]
        if draft.exists():
            with self._finished_later(), suppress(FileNotFoundError):
                draft.parent.replace(_undone(draft))
        if not _is_undone(draft):
            shutil.rmtree(_undone(draft), ignore_errors=True)
            return False
        try:
            _move_back(self.path, change)
            if self.manifest(number) == change:  # else the number is another's by now
                self._manifest(number).unlink(missing_ok=True)
        except OSError as error:
            text = f"{write_failure(self.root, error).text.rstrip('.')}. The write is not committed. The next kafka_log"
            text += f" read or write of {self.root} moves back those of its files that are still in place."
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", text) from None
        return True

    def _check_done(self, number: int, change: Mapping[str, Any]) -> None:
        """Refuse a commit of this process that another one has not finished. Raises PipelineError."""
        if self._undone(number, change):
            raise self._undone_by_another(self.path / change["draft"])

    def _undone_by_another(self, draft: Path) -> PipelineError:
        """The refusal of a commit that another process has undone; nobody else needs to know that it was."""
        shutil.rmtree(_undone(draft), ignore_errors=True)
        text = f"{self.root}: can't be written: another process could not put all files of this write in place."
        return PipelineError("KAFKA_LOG_WRITE_FAILED", text)

    def _is_done(self, number: int) -> bool:
        """Whether this commit, or one behind it, is carried out."""
        is_done: bool = self.done().get("number", 0) >= number
        return is_done

    def _manifests(self) -> dict[int, Path]:
        """By number, those that are there."""
        found = {number: each for each in self.path.glob(".*.json") if (number := number_of(each.name)) is not None}
        self._found.update(found)
        return found

    @contextmanager
    def _finished_later(self) -> Generator[None]:
        """Say that what fails in the block does not undo the commit. Raises PipelineError."""
        try:
            yield
        except OSError as error:
            text = f"{write_failure(self.root, error).text.rstrip('.')}. The write is committed all the same. The next "
            text += f"kafka_log read or write of {self.root} finishes it: see then whether its rows are there, before "
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", f"{text}you write them again.") from None

    def _manifest(self, number: int) -> Path:
        return self._found.get(number, self.path / manifest_name(number))

    def _link(self, file: Path, name: Path) -> None:
        """Give a file another name, unless there is one. Raises OSError, PipelineError."""
        try:
            name.hardlink_to(file)
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            text = f"{self.root}: its file system can't link a file ({error.strerror}), and a write is committed by a"
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", f"{text} link; write to another one.") from None


def _move(staged: Path, change: Mapping[str, Any]) -> None:
    """Take away what goes, and move what comes. Raises OSError."""
    root, removed = staged.parent, staged / _REMOVED
    removed.mkdir(exist_ok=True)
    for number, name in enumerate(change["removes"]):
        if not (removed / str(number)).exists():
            _rename(root / name, removed / str(number))
    for source, target in change["moves"]:
        (root / target).parent.mkdir(exist_ok=True)
        _rename(root / source, root / target)
    for folder in _folders(root, change):
        with suppress(OSError):  # of a partition that is no more, unless something is left in it
            folder.rmdir()
        if folder.exists():
            on_disk(folder)


def _rename(source: Path, target: Path) -> None:
    """Move a file, unless it was moved before, maybe by another process. Raises OSError."""
    try:
        source.replace(target)
    except FileNotFoundError:
        if source.exists():
            raise
        target.stat()


def _undone(draft: Path) -> Path:
    """The name that the folder of a job gets when its commit is undone; it ends like that of a job."""
    folder = draft.parent
    return folder.with_name(f"{folder.stem}-{draft.stem}{folder.suffix}")


def _is_undone(draft: Path) -> bool:
    return (_undone(draft) / draft.name).exists()


def _move_back(root: Path, change: Mapping[str, Any]) -> None:
    """Undo what `_move` has done. Raises OSError."""
    staged, undone = (root / change["draft"]).parent, _undone(root / change["draft"])
    if not undone.exists():  # all of it was moved back, and others may have written meanwhile
        return
    for source, target in change["moves"]:
        back = undone / (root / source).relative_to(staged)
        if not back.exists() and (root / target).exists():
            _rename(root / target, back)
    for number, name in enumerate(change["removes"]):
        if (undone / _REMOVED / str(number)).exists():
            (root / name).parent.mkdir(exist_ok=True)
            _rename(undone / _REMOVED / str(number), root / name)
    for folder in _folders(root, change):
        with suppress(OSError):  # one that was made for this commit, else something is in it
            folder.rmdir()


def _folders(root: Path, change: Mapping[str, Any]) -> set[Path]:
    """The folders that a commit changes, but the root."""
    names = (*(target for _, target in change["moves"]), *change["removes"])
    return {(root / name).parent for name in names} - {root}
