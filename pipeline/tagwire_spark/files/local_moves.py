"""Move the files of a commit to a local folder into place, or back into the staging folder if the commit is undone.

Several processes may carry out or undo the same commit. A slower process must not remove a new file that has the name
of a removed file, or move files of later commits. So before a process moves files out of the partition folders, it
renames the folder into which it moves them. If another process has renamed that folder since, no further file can be
moved into it under its old name.
"""

import random
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from errno import EEXIST, ENOENT, ENOTEMPTY
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from tagwire.log.whole_folder import on_disk

_REMOVED: Final = "removed"
"""A folder in the staging folder. It contains a folder for the removed files and, if a commit is undone, its new files.
"""

_TRIES: Final = 3
"""How often to create a folder that another process removes."""


def move(staged: Path, change: Mapping[str, Any]) -> None:
    """Move the commit's new files into place, and the files that it removes into the staging folder. Raises OSError."""
    root = staged.parent
    _make_folder(staged)
    if change["removes"] and not _in_own_folder(staged, partial(_remove_files, root, change)):
        raise FileNotFoundError(ENOENT, "the folder was removed", str(staged / _REMOVED))
    for source, target in change["moves"]:
        _into_place(root / source, root / target)
    for folder in _folders(root, change):
        with suppress(OSError):  # rmdir fails if the partition folder still contains files
            folder.rmdir()
        if folder.exists():
            on_disk(folder)


def _make_folder(staged: Path) -> None:
    """Create the folder for moved files unless it exists. It appears with its content, so only one process creates it.

    Raises OSError.
    """
    if _is_there(staged / _REMOVED):
        return
    new = staged / uuid4().hex
    new.mkdir()
    (new / "files").mkdir()
    try:
        new.rename(staged / _REMOVED)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        if error.errno not in (EEXIST, ENOTEMPTY):
            raise


def _remove_files(root: Path, change: Mapping[str, Any], moved: Path) -> None:
    for number, name in enumerate(change["removes"]):
        if not _is_there(moved / str(number)):
            _rename(root / name, moved / str(number))


def _into_place(source: Path, target: Path) -> None:
    """Move a file, and create its folder. Raises OSError."""
    for tries in range(_TRIES):
        try:
            target.parent.mkdir(exist_ok=True)
            _rename(source, target)
            return
        except (FileExistsError, FileNotFoundError):
            # A slower process may have removed the empty folder in the meantime, at the end of an earlier commit.
            if tries == _TRIES - 1 or target.parent.exists():
                raise


def _is_there(path: Path) -> bool:
    """Return whether a file or folder exists. Raises OSError if the system can't determine that."""
    try:
        path.stat()  # Path.exists returns False for some errors
    except FileNotFoundError:
        return False
    return True


def _rename(source: Path, target: Path) -> None:
    """Move a file. Do nothing if an earlier attempt or another process has already moved it. Raises OSError."""
    try:
        source.replace(target)
    except FileNotFoundError:
        if _is_there(source):
            raise
        target.stat()


def undone_path(draft: Path) -> Path:
    """Return the path to which a commit's staging folder is renamed when the commit is undone."""
    folder = draft.parent
    return folder.with_name(f"{folder.stem}-{draft.stem}{folder.suffix}")


def is_undone(draft: Path) -> bool:
    """Return whether a commit was undone, and its staging folder is still there."""
    return _is_there(undone_path(draft) / draft.name)


def discard(undone: Path) -> None:
    """Remove a staging folder if it exists. Rename it first, so that `_take_over` in another process can't find it."""
    gone = undone.with_name(f"{undone.stem}-{uuid4().hex}{undone.suffix}")
    with suppress(OSError):
        undone.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def _take_over(undone: Path) -> Path | None:
    """Rename the folder of moved files, and return its new path. Return None if no file was moved. Raises OSError."""
    while True:
        try:
            found = next((undone / _REMOVED).iterdir())
        except (FileNotFoundError, StopIteration):
            return None
        with suppress(FileNotFoundError):  # another process was faster
            return found.rename(found.with_name(uuid4().hex))


def _in_own_folder(staging: Path, move_files: Callable[[Path], None]) -> bool:
    """Rename the folder of moved files, and call `move_files(folder)`. Return False if there is no such folder.

    If another process renames the folder in the meantime, do it all again. Raises OSError.
    """
    while (moved := _take_over(staging)) is not None:
        try:
            move_files(moved)
            moved.stat()  # fails if another process has taken over and may still be moving files
        except FileNotFoundError:
            if _is_there(moved):
                raise
            time.sleep(random.uniform(0, 0.1))  # another process has taken over; let it finish
        else:
            return True
    return False


def move_back(root: Path, change: Mapping[str, Any]) -> None:
    """Undo all moves of a commit. Does nothing if another process has already undone them. Raises OSError."""
    _in_own_folder(undone_path(root / change["draft"]), partial(_move_files_back, root, change))
    for folder in _folders(root, change):
        with suppress(OSError):  # fails if the folder has other files
            folder.rmdir()


def _move_files_back(root: Path, change: Mapping[str, Any], moved: Path) -> None:
    staged, undone = (root / change["draft"]).parent, moved.parents[1]
    for number, (source, target) in enumerate(change["moves"]):
        was_moved = not _is_there(undone / (root / source).relative_to(staged))
        back = moved / f"new-{number}"
        if was_moved and not _is_there(back) and _is_there(root / target):
            _rename(root / target, back)
    for number, name in enumerate(change["removes"]):
        if _is_there(moved / str(number)):
            _into_place(moved / str(number), root / name)


def _folders(root: Path, change: Mapping[str, Any]) -> set[Path]:
    names = (*(target for _, target in change["moves"]), *change["removes"])
    return {(root / name).parent for name in names} - {root}
