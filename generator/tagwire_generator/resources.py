"""Where templates and specs lie.

In a wheel they are inside this package, in a checkout at the top of the
repository (`hatch_build.py` moves them). Nobody else needs to know the
difference.
"""

from pathlib import Path
from typing import Literal

from tagwire.errors import TagwireError

__all__ = ["folder"]

_PACKAGE = Path(__file__).resolve().parent


def folder(name: Literal["templates", "message_specs"]) -> Path:
    """The folder of this name that belongs to the installed generator.

    Raises TagwireError if an installation lost it.
    """
    for place in (_PACKAGE / name, _PACKAGE.parents[1] / name):
        if place.is_dir():
            return place
    raise TagwireError(f"{_PACKAGE} has no folder {name!r}: the installation is not whole; install tagwire again")
