"""Find tagwire's own folders of templates and specs, and the root folder of a project.

In a wheel, tagwire's folders are inside `tagwire_generator`, because `hatch_build.py` moves them there. In a checkout,
they are at the top of the repository.
"""

from pathlib import Path
from typing import Final, Literal

from tagwire.errors import TagwireError

__all__ = ["DEFAULT_SPECS", "SETTINGS_FILE", "find_root", "folder", "has_specs", "templates"]

SETTINGS_FILE: Final = "pyproject.toml"
DEFAULT_SPECS: Final = "message_specs"
"""The folder from which specs are read if the project's settings list no spec sets."""

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: Literal["templates", "message_specs"]) -> Path:
    """Return the folder with this name, from the wheel or the checkout. Raises TagwireError if it is missing."""
    for path in (_PACKAGE / name, _PACKAGE.parents[1] / name):
        if path.is_dir():
            return path
    raise TagwireError(f"{_PACKAGE} has no folder {name!r}: the installation is incomplete; install tagwire again")


def templates(name: str) -> Path:
    """Return the folder of built-in templates such as `@markdown`. Raises TagwireError for an unknown name."""
    path = folder("templates") / "targets"
    known = sorted(f"@{path.name}" for path in path.iterdir())
    if name not in known:
        raise TagwireError(f"unknown templates {name!r}; built-in templates are {', '.join(known)}")
    return path / name[1:]


def find_root(start: Path) -> Path:
    """Return the nearest folder, from `start` upwards, that contains a pyproject.toml, or `start` if none does."""
    here = start.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / SETTINGS_FILE).is_file()), here)


def has_specs(root: Path) -> bool:
    """Return whether a folder may be the root of a project. Its settings are not read, because that is slow."""
    return (root / SETTINGS_FILE).is_file() or (root / DEFAULT_SPECS).is_dir()
