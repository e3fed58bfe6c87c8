"""The lock of a log folder: commits wait for each other, and readers wait for a commit.

The folder itself is locked, so no lock file can be left behind, and the lock ends with its process. Not every file
system has locks, and commits stay correct without them.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["locked"]


@contextmanager
def locked(root: Path, *, shared: bool) -> Generator[bool]:
    """Hold the folder lock, together with other readers if `shared`. Yields whether the lock is held."""
    flock, handle, is_held = _flock(), None, False
    with suppress(OSError):
        handle = os.open(root, os.O_RDONLY)
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


def _flock() -> Any:
    try:
        return import_module("fcntl")
    except ImportError:  # not on Windows
        return None
