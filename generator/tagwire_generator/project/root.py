"""Find the root folder of a project.

Every command that finds messages by name imports this module, so it does not import pathlib, which is slow.
"""

# ruff: noqa: PTH109, PTH112, PTH113, PTH118, PTH120

import os
from stat import S_ISDIR
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

from tagwire.errors import SpecError

__all__ = ["DEFAULT_SPECS", "SETTINGS_FILE", "WINDOWS_DEVICES", "find_root", "is_folder", "is_in_project"]

SETTINGS_FILE: Final = "pyproject.toml"
DEFAULT_SPECS: Final = "message_specs"
"""The folder from which specs are read if the project's settings list no spec sets."""
WINDOWS_DEVICES: Final = frozenset(
    {"aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
)
"""Names that a file or folder can't have on Windows, whatever its suffix, in lower case."""


def find_root(start: "Path") -> "Path":
    """Return the nearest folder, from `start` upwards, that contains a pyproject.toml, or `start` if none does."""
    here = start.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / SETTINGS_FILE).is_file()), here)


def is_folder(path: "Path") -> bool:
    """Return whether a path is a folder. Unlike `Path.is_dir` in Python 3.14, reports a path that may not be read."""
    try:
        return S_ISDIR(path.stat().st_mode)
    except PermissionError as error:
        raise SpecError(f"{path} can't be read: {error.strerror}", file=str(path)) from error
    except (OSError, ValueError):
        return False


def is_in_project() -> bool:
    """Return whether the current folder may be in a project. Its settings are not read, because that is slow."""
    folder = os.getcwd()
    if os.path.isdir(DEFAULT_SPECS):
        return True
    while not os.path.isfile(os.path.join(folder, SETTINGS_FILE)):
        folder, inner = os.path.dirname(folder), folder
        if folder == inner:
            return False
    return True
