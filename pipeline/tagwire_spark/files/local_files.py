"""Local files: find those that match a pattern such as `/mnt/disk*/orders-*`, or all below a folder.

`glob.glob` and `Path.rglob` ignore most errors. With them, a query would silently leave out the logs on a failed disk.
The functions in this module raise LogReadError instead.
"""

import os
import tempfile
from fnmatch import filter as matching
from glob import has_magic
from pathlib import Path
from random import choice
from typing import NoReturn

from tagwire.log import LogPathError
from tagwire.log.errors import is_file, unreadable


def temporary_folder(prefix: str) -> "tempfile.TemporaryDirectory[str]":
    """Create a temporary folder, on a worker in one of Spark's own folders (`spark.local.dir`).

    Spark kills workers, for example when a query is stopped. It then removes the folder when the executor exits. If
    Spark has folders on several disks, a random one is used, so that all disks get about the same number of tasks.
    """
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    of_spark = [each for each in folders if each and Path(each).is_dir()]
    parent = choice(of_spark) if of_spark else None
    return tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)


def matching_paths(pattern: Path) -> list[Path]:
    """Return the paths that match an absolute pattern, sorted. Raises LogReadError if a folder can't be listed.

    As in a shell, only a pattern that starts with a dot matches hidden names.
    """
    found = [Path(pattern.anchor)]
    for part in pattern.parts[1:]:
        found = [path for folder in found for path in _children(folder, part)]
    return sorted(found)


def _children(folder: Path, part: str) -> list[Path]:
    """Return the paths in a folder whose names match one part of a pattern, or [] if `folder` is not a folder."""
    try:
        if not has_magic(part):
            os.lstat(folder / part)
            return [folder / part]
        with os.scandir(folder) as listed:
            names = [each.name for each in listed if part.startswith(".") or not each.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise unreadable(error.filename or folder, error) from None
    return [folder / name for name in matching(names, part)]


def files_below(folder: Path) -> list[Path]:
    """Return all files in a folder and its subfolders, sorted. Raises LogReadError if a folder can't be listed."""

    def failed(error: OSError) -> NoReturn:
        raise unreadable(error.filename or folder, error) from None

    paths = (Path(parent, name) for parent, _, names in os.walk(folder, onerror=failed) for name in names)
    return sorted(path for path in paths if is_file(path))


def local_path(path: str) -> Path:
    """Return a local path or file URL as an absolute path. Resolve `..`, so that the path ends with a name.

    `file:/x`, `file:///x` and `file://localhost/x` are the same path (RFC 8089). Raises LogPathError for an empty path,
    and for a file URL of another host.
    """
    name = path.removeprefix("file:")
    if path.startswith("file://"):
        host, slash, rest = path.removeprefix("file://").partition("/")
        if host not in ("", "localhost"):
            raise LogPathError(
                f"{path}: a file URL can't name another host; for a path on this machine, give file:///PATH"
            )
        name = f"{slash}{rest}"
    if not name:
        raise LogPathError("the path is empty; give a file or a directory")
    bare = Path(name)
    return bare.resolve() if ".." in bare.parts else bare.absolute()
