"""A lock file next to an output, so that only one process writes the output at a time.

The file names the process that holds the lock, for the error in a second process. A killed process leaves the file but
not the lock, so the next run takes it over. Some file systems have no locks, so writers must stay correct without one.
"""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tagwire.log.errors import LogPathError


def host() -> str:
    """Return the name of this machine, in a form that fits into a file name."""
    return socket.gethostname().replace(os.sep, "-") or "unknown"


@contextmanager
def claimed(target: Path, *, waits: bool = False) -> Generator[bool]:
    """Claim `target` for this process, create its parent folder, and yield whether a lock is held.

    If another process holds the lock, wait if `waits` is true; otherwise raise LogPathError, which names that process.
    Raises LogPathError if the lock file can't be written.
    """
    path = target.with_name(f".{target.name}.lock")
    flock = _flock()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, is_held = (None, False) if flock is None else _taken(flock, target, path, waits=waits)
    except OSError as error:
        raise LogPathError(f"{target}: can't be written: {error.strerror}") from None
    if handle is None:
        yield False
        return
    try:
        yield is_held
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def _taken(flock: Any, target: Path, path: Path, *, waits: bool) -> tuple[int, bool]:
    """Return a handle of the lock file, and whether it is locked."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            is_held = _is_locked(flock, handle, waits=waits)
            if not is_held or _is_still(path, handle):
                if is_held:
                    os.ftruncate(handle, 0)
                    os.write(handle, f"process {os.getpid()} on {host()}".encode())
                return handle, is_held
        except BlockingIOError:
            said = os.read(handle, 300).decode("utf-8", "replace")
            os.close(handle)
            who = said if said.isprintable() and said else "another process"
            raise LogPathError(
                f"{target}: {who} is writing it and holds {path}; wait until it has finished, or name another output"
            ) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the previous holder has removed this file, and there may be a new one


def _is_locked(flock: Any, handle: int, *, waits: bool) -> bool:
    """Lock the file; return False without lock support. Raises BlockingIOError if another process has the lock."""
    try:
        flock.flock(handle, flock.LOCK_EX | (0 if waits else flock.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _is_still(path: Path, handle: int) -> bool:
    """Whether the path still names the opened file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _flock() -> Any:
    try:
        return import_module("fcntl")
    except ImportError:  # on Windows
        return None
