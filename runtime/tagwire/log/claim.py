"""One process at a time writes an output: a lock beside it, which goes with its process.

The lock file says who holds it, for whoever comes second. A process that was
killed leaves the file but not the lock, so the next run takes it over. Where
the file system has no locks nobody is kept out: writers must not depend on the
lock for what they promise.
"""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tagwire.log.errors import LogPathError

__all__ = ["claimed", "host"]


def host() -> str:
    """The name of this machine, as a part of a file's name."""
    return socket.gethostname().replace(os.sep, "-") or "unknown"


@contextmanager
def claimed(target: Path, *, waits: bool = False) -> Generator[bool]:
    """Be the one who writes `target`; whether a lock says so. The folder above it is made.

    With `waits`, wait until whoever writes it has ended. Else raises LogPathError, which names that process. Raises
    LogPathError where the lock's file can't be written.
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
    """The lock's file, opened, and whether it is locked."""
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
                f"{target}: {who} is writing it (it holds {path}); wait until that has ended, or name another output"
            ) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # whoever held it has removed it; there may be a new one


def _is_locked(flock: Any, handle: int, *, waits: bool) -> bool:
    """Lock the file; False where the file system can't. Raises BlockingIOError where somebody else has."""
    try:
        flock.flock(handle, flock.LOCK_EX | (0 if waits else flock.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _is_still(path: Path, handle: int) -> bool:
    """Whether the file is still the one of that name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _flock() -> Any:
    try:
        return import_module("fcntl")
    except ImportError:  # not on Windows
        return None
