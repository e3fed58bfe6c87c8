"""Move the files of a commit to a local folder into place, or back into the staging folder if the commit is undone.

Several processes may move the files of one commit back, and the slower ones must not move files of later commits. So
each process first renames the folder into which it moves them. If another process has renamed that folder since, no
further file can be moved into it under its old name.
"""

import random
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from tagwire.log.whole_folder import on_disk

_REMOVED: Final = "removed"
"""A folder in the staging folder. It contains a folder for the removed files and, if a commit is undone, its new files.
"""


def move(staged: Path, change: Mapping[str, Any]) -> None:
    """Move the commit's new files into place, and the files that it removes into the staging folder. Raises OSError."""
    root, removed = staged.parent, staged / _REMOVED / "files"
    removed.parent.mkdir(exist_ok=True)
    removed.mkdir(exist_ok=True)
    for number, name in enumerate(change["removes"]):
        if not (removed / str(number)).exists():
            _rename(root / name, removed / str(number))
    for source, target in change["moves"]:
        (root / target).parent.mkdir(exist_ok=True)
        _rename(root / source, root / target)
    for folder in _folders(root, change):
        with suppress(OSError):  # rmdir fails if the partition folder still contains files
            folder.rmdir()
        if folder.exists():
            on_disk(folder)


def _rename(source: Path, target: Path) -> None:
    """Move a file. Do nothing if an earlier attempt or another process has already moved it. Raises OSError."""
    try:
        source.replace(target)
    except FileNotFoundError:
        if source.exists():
            raise
        target.stat()


def undone_path(draft: Path) -> Path:
    """Return the path to which a commit's staging folder is renamed when the commit is undone."""
    folder = draft.parent
    return folder.with_name(f"{folder.stem}-{draft.stem}{folder.suffix}")


def is_undone(draft: Path) -> bool:
    """Return whether a commit was undone, and its staging folder is still there."""
    return (undone_path(draft) / draft.name).exists()


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


def move_back(root: Path, change: Mapping[str, Any]) -> None:
    """Undo all moves of a commit. Does nothing if another process has already undone them. Raises OSError."""
    undone = undone_path(root / change["draft"])
    while (moved := _take_over(undone)) is not None:
        try:
            _move_files_back(root, change, moved)
        except FileNotFoundError:
            if moved.exists():
                raise
            time.sleep(random.uniform(0, 0.1))  # another process has taken over; let it finish
        else:
            break
    for folder in _folders(root, change):
        with suppress(OSError):  # fails if the folder has other files
            folder.rmdir()


def _move_files_back(root: Path, change: Mapping[str, Any], moved: Path) -> None:
    staged, undone = (root / change["draft"]).parent, moved.parents[1]
    for number, (source, target) in enumerate(change["moves"]):
        was_moved = not (undone / (root / source).relative_to(staged)).exists()
        back = moved / f"new-{number}"
        if was_moved and not back.exists() and (root / target).exists():
            _rename(root / target, back)
    for number, name in enumerate(change["removes"]):
        if (moved / str(number)).exists():
            (root / name).parent.mkdir(exist_ok=True)
            _rename(moved / str(number), root / name)
    moved.stat()  # fails if another process has taken over and may still be moving files


def _folders(root: Path, change: Mapping[str, Any]) -> set[Path]:
    names = (*(target for _, target in change["moves"]), *change["removes"])
    return {(root / name).parent for name in names} - {root}
