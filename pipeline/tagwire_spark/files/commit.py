"""How segments that tasks have written become part of a folder of logs: all of them at once, or none.

Tasks write to a hidden folder beside the logs, each attempt to one of its own,
so an attempt that died, or that ran beside another, is in nobody's way. The
driver then writes down what moves where, and what goes. That manifest is the
commit: what it says is done, by the driver, or, if it dies over it, by the
next one who writes to the folder or reads it. No reader sees a part of it.

    .tagwire-<job>.writing/<attempt>/orders-0/00000000000000000000.log     staged by a task
    .tagwire-<job>.json                                                    committed, and not all done yet
    _SUCCESS                                                               the manifest of the last job that was done

Everybody holds a lock on the folder while he looks or moves: one who commits
alone, those who plan a query together. It goes with its process.
"""

import json
import os
import shutil
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from tagwire.log.directory import is_partition
from tagwire_spark.errors import PipelineError

__all__ = ["DONE", "Change", "Job", "abandon", "alone", "begin", "carry_out", "old_files", "settled", "staging", "sync"]

DONE: Final = "_SUCCESS"
_PREFIX: Final = ".tagwire-"
_KEPT: Final = ("partition.metadata",)
"""Stays when a partition is written anew: the topic is the same."""


class Job(NamedTuple):
    """A write to a folder of logs."""

    root: str
    id: str

    @property
    def folder(self) -> Path:
        """Where its tasks write."""
        return Path(self.root, f"{_PREFIX}{self.id}.writing")

    @property
    def manifest(self) -> Path:
        """What is there from its commit on until all of it is done."""
        return Path(self.root, f"{_PREFIX}{self.id}.json")


class Change(NamedTuple):
    """What a commit does, in paths below the folder."""

    moves: tuple[tuple[str, str], ...]
    """From where to where; a segment behind its indexes."""
    removes: tuple[str, ...] = ()
    facts: Any = None
    """What else the manifest says."""


def begin(root: str) -> Job:
    """A new job, with a place for its tasks. Raises PipelineError."""
    job = Job(str(Path(root).absolute()), uuid4().hex)
    with _refused(job.root):
        job.folder.mkdir(parents=True)
    return job


def staging(job: Job) -> Path:
    """A folder for one attempt of a task. Raises PipelineError where the job is over."""
    folder = job.folder / uuid4().hex
    try:
        folder.mkdir()
    except FileNotFoundError:
        text = f"{job.root}: this write is over; an attempt of a task came too late, and has written nothing."
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", text) from None
    return folder


def carry_out(job: Job, change: Change) -> None:
    """Commit a job, whose caller holds the lock. Raises PipelineError; what was committed stays so."""
    text = json.dumps({"job": job.id, **change._asdict()}, indent=1)
    draft = job.folder / "manifest.json"
    with _refused(job.root):
        draft.write_text(text)
        sync(draft)
        for folder in {Path(job.root, source).parent for source, _ in change.moves}:
            sync(folder)
        draft.rename(job.manifest)
        sync(Path(job.root))
        _do(job)


def abandon(job: Job) -> None:
    """Remove what the tasks of a job have written that was not committed; one that was is not touched."""
    if not job.manifest.exists():
        shutil.rmtree(job.folder, ignore_errors=True)


@contextmanager
def alone(root: Path) -> Generator[None]:
    """Nobody else commits or plans here now; and what others have committed is done. Raises PipelineError."""
    with _locked(root, shared=False):
        for job in _pending(root):
            with _refused(str(root)):
                _do(job)
        yield


@contextmanager
def settled(root: Path) -> Generator[None]:
    """Nobody commits here now; and what was committed is done. Raises PipelineError."""
    while True:
        with _locked(root, shared=True):
            if not _pending(root):
                yield
                return
        with alone(root):
            pass


def _pending(root: Path) -> list[Job]:
    manifests = sorted(root.glob(f"{_PREFIX}*.json")) if root.is_dir() else []
    return [Job(str(root), path.name.removeprefix(_PREFIX).removesuffix(".json")) for path in manifests]


def _do(job: Job) -> None:
    """What a manifest says; what of it was done before is not done again."""
    root = Path(job.root)
    try:
        change = json.loads(job.manifest.read_text())
    except ValueError as error:
        text = f"{job.manifest}: it should say what a write has committed, but is no JSON: {error}."
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", text) from None
    targets = {target for _, target in change["moves"]}
    for name in change["removes"]:
        if name not in targets:
            (root / name).unlink(missing_ok=True)
    for source, target in change["moves"]:
        if (root / source).exists():
            (root / target).parent.mkdir(exist_ok=True)
            (root / source).replace(root / target)
    for folder in {(root / name).parent for name in (*targets, *change["removes"])}:
        with suppress(OSError):  # of a partition that is no more, unless something is left in it
            folder.rmdir()
        if folder.exists():
            sync(folder)
    shutil.rmtree(job.folder, ignore_errors=True)
    job.manifest.replace(root / DONE)
    sync(root)


def old_files(root: Path, written: Iterable[str], *, others: bool) -> Iterator[str]:
    """The files that go where the partitions `written` are written anew; with `others`, where all logs are."""
    partitions = set(written)
    for path in sorted(root.iterdir()):
        if path.is_dir() and not path.name.startswith(_PREFIX) and is_partition(path):
            if path.name in partitions or others:
                kept = _KEPT if path.name in partitions else ()
                files = sorted(each for each in path.iterdir() if each.is_file() and each.name not in kept)
                yield from (f"{path.name}/{each.name}" for each in files)
        elif others and path.name.endswith("-checkpoint"):
            yield path.name


@contextmanager
def _locked(root: Path, *, shared: bool) -> Generator[None]:
    """Hold the lock of a folder. Where it has none, nobody is kept out."""
    flock, handle = _flock(), None
    with suppress(OSError):
        handle = os.open(root, os.O_RDONLY)
    if flock is None or handle is None:
        yield
        return
    try:
        with suppress(OSError):  # not every file system has locks
            flock.flock(handle, flock.LOCK_SH if shared else flock.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _flock() -> Any:
    try:
        return import_module("fcntl")
    except ImportError:  # not on Windows
        return None


def sync(path: Path) -> None:
    """See to it that a file or a folder is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems can't do it for folders
            os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _refused(root: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", f"{root}: can't be written: {error}.") from None
