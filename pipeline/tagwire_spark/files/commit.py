"""Commits of the segments that tasks wrote to a folder of logs: all of them at once, or none.

Tasks write to a hidden folder beside the logs, each attempt to a folder of its own, so attempts
that died or ran in parallel don't interfere. The driver then writes a manifest of the files to
move and to remove. That manifest is the commit. The driver carries it out; if the driver dies,
the next process that reads or writes the folder does. If a file can't be moved, all files are
moved back. No reader sees a part of a commit.

    .tagwire-<job>.writing/<attempt>/orders-0/00000000000000000000.log     staged by a task
    .tagwire-<job>.writing/removed/0                                       a file that the commit removes
    .tagwire-00000000000000000007.json                                     commit 7, not all done yet
    _SUCCESS                                                               the manifest of the last commit that was done

A commit is a hard link with the next number. Creating it fails if another writer has taken the
number, also on network file systems; then that writer's commit is carried out, and this one is
checked again. The lock on the folder only makes others wait, because not every file system has
reliable locks.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from errno import EACCES, EISDIR, ENOTDIR, EXDEV
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from tagwire.log.whole_folder import on_disk
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.folder_lock import locked

__all__ = [
    "DONE",
    "Change",
    "Job",
    "abandon",
    "alone",
    "begin",
    "carry_out",
    "check_folder",
    "job_of",
    "left_of",
    "noted_batches",
    "settled",
    "staging",
    "write_failure",
]

DONE: Final = "_SUCCESS"
_PREFIX: Final = ".tagwire-"
_WRITING: Final = ".writing"
_NUMBERED: Final = re.compile(r"\.tagwire-(\d+)\.json")
_REMOVED: Final = "removed"
_PATIENCE: Final = 10.0
"""Seconds that a commit gets to be done by its own process, where no lock says that it has died."""


class Job(NamedTuple):
    """A write to a folder of logs."""

    root: str
    id: str

    @property
    def folder(self) -> Path:
        """Where its tasks write."""
        return Path(self.root, f"{_PREFIX}{self.id}{_WRITING}")


class Change(NamedTuple):
    """What a commit does, in paths below the folder."""

    moves: tuple[tuple[str, str], ...]
    """Source and target of each move; a segment comes after its indexes."""
    removes: tuple[str, ...] = ()
    facts: Any = None
    """What else the manifest says."""
    batches: Mapping[str, Any] = {}
    """By query: what the manifest notes of the micro-batch that this is; each commit passes on those before it."""


def job_of(root: str, id: str) -> Job:
    """A job by its name, such as that of a micro-batch, which is the same each time."""
    return Job(str(Path(root).absolute()), id)


def check_folder(root: str) -> None:
    """Make the folder. Raises PipelineError if it can't be made, or nothing could be committed there."""
    if "number" not in _done(Path(root)):  # else something was
        shutil.rmtree(begin(root).folder, ignore_errors=True)


def begin(root: str) -> Job:
    """A new job, with a place for its tasks. Raises PipelineError, also if it could not be committed."""
    job = job_of(root, uuid4().hex)
    with _refused(job.root):
        job.folder.mkdir(parents=True)
        try:
            _check_links(job)
        except PipelineError:
            shutil.rmtree(job.folder, ignore_errors=True)
            raise
    return job


def _check_links(job: Job) -> None:
    """Raise PipelineError if the file system of a job has no hard links."""
    file = job.folder / "first"
    file.touch()
    _link(job, file, job.folder / "second")


def _link(job: Job, file: Path, name: Path) -> None:
    """Give a file another name, unless there is one. Raises FileExistsError, PipelineError."""
    try:
        name.hardlink_to(file)
    except FileExistsError:
        raise
    except OSError as error:
        text = f"{job.root}: its file system can't link a file ({error.strerror}), and a write is committed by a link"
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", f"{text}; write to another one.") from None


def staging(job: Job, *, is_begun: bool = True) -> Path:
    """A folder for one attempt of a task. Raises PipelineError where the job, which was begun earlier, is over."""
    folder = job.folder / uuid4().hex
    try:
        folder.mkdir(parents=not is_begun)
    except FileNotFoundError:
        text = f"{job.root}: this write is finished; a task attempt came too late and wrote nothing."
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", text) from None
    return folder


def carry_out(job: Job, change: Callable[[Mapping[str, Any]], Change | None]) -> None:
    """Commit a job. Raises PipelineError, and then nothing of it is there.

    `change` is given what is noted of micro-batches, looks at the folder and says what moves; None is for a job that
    has been committed. It is called again where another job was committed meanwhile.
    """
    root = Path(job.root)
    while True:
        with alone(root):
            done, before = _done(root), noted_batches(root)
            made = change(before)
            if made is None:
                shutil.rmtree(job.folder, ignore_errors=True)
                return
            with _refused(job.root):
                job.folder.mkdir(exist_ok=True)  # a micro-batch may have no rows
                _check_targets(job, made)
                number = done.get("number", 0) + 1
                if _claim(job, number, made._replace(batches={**before, **made.batches})):
                    _do(_manifest(root, number))
                    return


def noted_batches(root: Path) -> Mapping[str, Any]:
    """By query: what the last commit that was carried out notes of its micro-batches."""
    found: Mapping[str, Any] = _done(root).get("batches", {})
    return found


def abandon(job: Job) -> None:
    """Remove what the tasks of a job have written that was not committed; one that was is not touched."""
    if all(_read(each).get("job") != job.id for each in _pending(Path(job.root))):
        shutil.rmtree(job.folder, ignore_errors=True)


def left_of(root: str) -> list[Job]:
    """The jobs whose folders are there."""
    folders = Path(root).absolute().glob(f"{_PREFIX}*{_WRITING}")
    return [job_of(root, each.name.removeprefix(_PREFIX).removesuffix(_WRITING)) for each in folders]


@contextmanager
def alone(root: Path) -> Generator[None]:
    """Hold the folder's lock, if the file system has locks, with all earlier commits carried out.

    Raises PipelineError.
    """
    with locked(root, shared=False) as is_held:
        if not is_held:
            _wait_for_others(root)
        for manifest in _pending(root):
            with _refused(str(root)):
                _do(manifest)
        if last := _done(root).get("job"):  # its process may have died before it removed what is of no use any more
            shutil.rmtree(Job(str(root), last).folder, ignore_errors=True)
        yield


@contextmanager
def settled(root: Path) -> Generator[None]:
    """Hold the folder for reading, with all earlier commits carried out.

    Raises PipelineError; KAFKA_LOG_CHANGED if locks don't hold and another process committed meanwhile.
    """
    while True:
        with locked(root, shared=True):
            before = _done(root)
            if not _pending(root):
                yield
                if _pending(root) or _done(root) != before:
                    text = f"{root}: another write was committed while its files were listed; read again."
                    raise PipelineError("KAFKA_LOG_CHANGED", text)
                return
        with alone(root):
            pass


# ---------------------------------------------------------------- manifests


def _manifest(root: Path, number: int) -> Path:
    return root / f"{_PREFIX}{number:020}.json"


def _pending(root: Path) -> list[Path]:
    """The manifests of commits that are not done. A number that was done again is one that came too late."""
    found = {int(match[1]): each for each in root.glob(f"{_PREFIX}*.json") if (match := _NUMBERED.fullmatch(each.name))}
    done = _done(root).get("number", 0) if found else 0
    return [found[number] for number in sorted(found) if number > done]


def _done(root: Path) -> dict[str, Any]:
    """The manifest of the last commit that was carried out; empty if there is none, or if another program wrote it."""
    try:
        found = json.loads((root / DONE).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _read(manifest: Path) -> dict[str, Any]:
    """What a manifest says; empty where somebody has done it meanwhile. Raises PipelineError."""
    try:
        found: dict[str, Any] = json.loads(manifest.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        text = f"{manifest}: not valid JSON, but should list what a write committed: {error}."
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", text) from None
    return found


def _claim(job: Job, number: int, change: Change) -> bool:
    """Make a job the commit of this number. Whether it is; if not, another one was faster."""
    draft, manifest = job.folder / f"manifest-{uuid4().hex}.json", _manifest(Path(job.root), number)
    draft.write_text(json.dumps({"number": number, "job": job.id, **change._asdict()}, indent=1))
    on_disk(draft)
    for folder in {Path(job.root, source).parent for source, _ in change.moves}:
        on_disk(folder)
    try:
        _link(job, draft, manifest)
    except FileExistsError:
        if _read(manifest).get("job") != job.id:  # else the link was made, and the answer of a file server lost
            return False
    if _done(Path(job.root)).get("number", 0) >= number:  # the other one is done already, and its manifest gone
        manifest.unlink(missing_ok=True)
        return False
    on_disk(Path(job.root))
    return True


def _wait_for_others(root: Path) -> None:
    """Leave a commit to its own process for a while: where no lock holds, two would do it at once."""
    end = time.monotonic() + _PATIENCE
    while _pending(root) and time.monotonic() < end:
        time.sleep(0.1)


# ---------------------------------------------------------------- files


def _check_targets(job: Job, change: Change) -> None:
    """Refuse what can't be moved before anything is. Raises OSError."""
    root, device = Path(job.root), job.folder.stat().st_dev
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


def _do(manifest: Path) -> None:
    """What a manifest says; what of it was done before is not done again. Raises OSError, and then all is as before."""
    root, change = manifest.parent, _read(manifest)
    if not change:
        return
    job = Job(str(root), change["job"])
    try:
        _move(job, change)
        manifest.replace(root / DONE)
    except OSError:
        if not manifest.exists():  # another process has done all of it
            return
        _move_back(job, change)
        manifest.unlink()
        raise
    on_disk(root)
    shutil.rmtree(job.folder, ignore_errors=True)


def _move(job: Job, change: dict[str, Any]) -> None:
    """Take away what goes, and move what comes. Raises OSError."""
    root, removed = Path(job.root), job.folder / _REMOVED
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


def _move_back(job: Job, change: dict[str, Any]) -> None:
    """Undo what `_move` has done. Raises OSError."""
    root, removed = Path(job.root), job.folder / _REMOVED
    for source, target in change["moves"]:
        if not (root / source).exists() and (root / target).exists():
            (root / target).replace(root / source)
    for number, name in enumerate(change["removes"]):
        if (removed / str(number)).exists():
            (root / name).parent.mkdir(exist_ok=True)
            (removed / str(number)).replace(root / name)
    for folder in _folders(root, change):
        with suppress(OSError):  # one that was made for this commit, else something is in it
            folder.rmdir()


def _folders(root: Path, change: dict[str, Any]) -> set[Path]:
    """The folders that a commit changes, but the root."""
    names = (*(target for _, target in change["moves"]), *change["removes"])
    return {(root / name).parent for name in names} - {root}


@contextmanager
def _refused(root: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise write_failure(root, error) from None


def write_failure(root: str, error: OSError) -> PipelineError:
    """The refusal of a write to a folder of logs: the path that failed, and why."""
    where = next((name for name in (error.filename2, error.filename) if name), root)
    return PipelineError("KAFKA_LOG_WRITE_FAILED", f"{where}: can't be written: {error.strerror or error}.")
