"""Write a folder that appears under its name only when it is complete.

The folder is filled under a temporary name next to its target, and then renamed. Before it is renamed, its files are
flushed to disk. Otherwise, after a power failure, an incomplete partition could look like a complete one.

Each run fills a separate folder, and renaming does not replace a folder that has files. So if two runs have the same
target, one of them fails, and nothing is lost. A lock makes the second run fail immediately, but some file systems
don't support locks. The next run on the same machine removes the leftovers of a killed run.
"""

import os
import re
import shutil
import socket
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, ELOOP, ENOTEMPTY
from functools import reduce
from hashlib import sha256
from importlib import import_module
from operator import and_
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from tagwire.log.errors import LogPathError, not_written


class CallbackError(Exception):
    """Carries an OSError of a caller's function through `whole_folder`, which would take it for one of its folder."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


def host() -> str:
    """Return the name of this machine, in a form that can be part of a file name."""
    return socket.gethostname().replace(os.sep, "-") or "unknown"


@contextmanager
def claimed(target: Path, *, waits: bool = False) -> Generator[bool]:
    """Lock `target` for this process. Yield True, or False if locks aren't supported.

    Creates the parent folder, unless it exists, and a lock file that names the process. A killed process leaves the
    file, but not the lock. Removes a folder that it has created if it is still empty at the end.

    If another process has the lock, waits for it if `waits` is set, or else raises LogPathError. Raises LogPathError if
    the lock file can't be written.
    """
    path = target.with_name(f"{_hidden_name(target)}.lock")
    flock = file_locks()
    try:
        created = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, is_held = (None, False) if flock is None else _taken(flock, target, path, waits=waits)
    except OSError as error:
        reason = f"{path} is a link; remove it" if error.errno == ELOOP else error.strerror
        raise LogPathError(f"{target} can't be written: {reason}") from None
    if handle is None:
        yield False
        return
    try:
        yield is_held
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)
        with suppress(OSError):
            for folder in created:
                folder.rmdir()


def _taken(flock: Any, target: Path, path: Path, *, waits: bool) -> tuple[int, bool]:
    """Open the lock file and lock it. Return (file descriptor, whether the lock was acquired)."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            is_held = _is_locked(flock, handle, waits=waits)
            if not is_held or _is_still(path, handle):
                if is_held:
                    os.ftruncate(handle, 0)
                    os.write(handle, f"process {os.getpid()} on {host()}".encode())
                return handle, is_held
        except BlockingIOError:
            content = os.read(handle, 300).decode("utf-8", "replace")
            os.close(handle)
            writer = content if content.isprintable() and content else "another process"
            raise LogPathError(
                f"{target}: {writer} is writing this folder and has locked {path}; wait until it has finished, or "
                "choose another output"
            ) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the other process has removed the file, so try again


def _is_locked(flock: Any, handle: int, *, waits: bool) -> bool:
    """Lock the file. Return False if locks aren't supported. Raises BlockingIOError if another process has the lock."""
    try:
        flock.flock(handle, flock.LOCK_EX | (0 if waits else flock.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def file_locks() -> Any:
    """Return Python's module for file locks, or None on Windows, which does not have it."""
    try:
        return import_module("fcntl")
    except ImportError:
        return None


_LONGEST: Final = 120
"""The maximum length, in bytes, of a name to which the name of a machine and 42 more bytes can be added.

File systems allow 255 bytes. Kafka allows topics whose folders have names of this length.
"""


def _hidden_name(target: Path) -> str:
    """Return a hidden name for files that belong to `target`. It contains the target's name, or a hash if too long."""
    name = os.fsencode(target.name)
    return f".{target.name if len(name) <= _LONGEST else sha256(name).hexdigest()}"


_PARTIAL: Final = ".partial"
_UNIQUE: Final = re.compile(rf"[0-9a-f]{{32}}{re.escape(_PARTIAL)}")
"""Matches the end of a temporary folder's name, after the target's and the machine's name."""


@contextmanager
def whole_folder(target: Path, *sources: Path) -> Generator[Path]:
    """Yield a temporary folder to fill. If the block succeeds, rename it to `target`; otherwise remove it.

    `sources` are the partitions that the block reads, and the target gets their permissions. Raises LogPathError if the
    target exists, is inside a source, can't be written, or is being written by another process. Raises the error in a
    CallbackError unchanged.
    """
    reject_inside([target], sources)
    reject_existing(target)
    with claimed(target) as is_alone:
        reject_existing(target)  # another process may have created the target before this one got the lock
        prefix = f"{_hidden_name(target)}.{host()}-"
        partial = target.with_name(f"{prefix}{uuid4().hex}{_PARTIAL}")
        try:
            if is_alone:
                _remove_leftovers(target.parent, prefix)
            partial.mkdir(reduce(and_, (each.stat().st_mode for each in sources), 0o777) | 0o700)
            yield partial
            for path in partial.iterdir():
                on_disk(path)
            on_disk(partial)
            publish(partial, target)
        except CallbackError as error:
            raise error.error from None
        except OSError as error:
            raise not_written(target, partial, error) from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def reject_existing(target: Path) -> None:
    """Raise LogPathError if `target` exists, because existing files are never overwritten."""
    if os.path.lexists(target):  # a link to a missing folder can't be replaced by a folder
        raise LogPathError(f"{target} already exists, and tagwire does not replace it; choose another output")


def reject_inside(targets: Iterable[Path], sources: Iterable[Path]) -> None:
    """Raise LogPathError if a target is a source (a file or folder) or inside one, even via links.

    The output would replace the input, or the next run would read it as part of the input.
    """
    read = dict(_identities(sources))
    for target in targets:
        real = Path(os.path.realpath(target))  # Path.resolve fails if links form a loop
        for identity, _ in _identities((real, *real.parents)):
            if identity in read:
                source = read[identity]
                if source.is_file():
                    raise LogPathError(f"{target} is {source}, which is being read; choose another output")
                raise is_inside(target, source)


def is_inside(target: Path | str, source: Path | str) -> LogPathError:
    """Return the error for an output that is inside a folder or URL from which a command reads."""
    return LogPathError(f"{target} is inside {source}, which is being read; choose an output outside of {source}")


def _identities(folders: Iterable[Path]) -> Iterator[tuple[tuple[int, int], Path]]:
    for folder in folders:
        with suppress(OSError):
            status = folder.stat()
            yield (status.st_dev, status.st_ino), folder


def publish(partial: Path, target: Path) -> None:
    """Rename a finished folder to `target`. Raises LogPathError if `target` is a nonempty folder.

    Raises OSError for all other failures.
    """
    try:
        partial.rename(target)
    except OSError as error:
        if error.errno not in (EEXIST, ENOTEMPTY):
            raise
        raise LogPathError(
            f"another run has written {target} in the meantime; this run has removed its own output; "
            "choose another output"
        ) from None
    on_disk(target.parent)


def _remove_leftovers(folder: Path, prefix: str) -> None:
    for path in folder.iterdir():
        # Compare the rest of the name too, because the name of another machine can begin with the name of this one.
        if path.name.startswith(prefix) and _UNIQUE.fullmatch(path.name.removeprefix(prefix)):
            shutil.rmtree(path, ignore_errors=True)


def on_disk(path: Path) -> None:
    """Flush a file or folder to disk. Does nothing for folders that can't be read, or that the system can't flush."""
    if os.name == "nt":
        return
    try:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError:
        if not path.is_dir():
            raise
