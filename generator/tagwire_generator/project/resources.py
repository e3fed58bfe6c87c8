"""Find tagwire's own folders of templates and specs.

In a wheel, tagwire's folders are inside `tagwire_generator`, because `hatch_build.py` moves them there. In a checkout,
they are at the top of the repository.
"""

from pathlib import Path
from typing import Literal

from tagwire.errors import TagwireError

__all__ = ["folder", "templates"]

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
