"""Which files are the specs of a folder, and to which component each belongs.

The rule is flat on purpose: `*.json` directly in the folder have no component,
those in a subfolder have its name as theirs, and there is nothing deeper. A
file below that would be a spec that nobody reads, so it is an error.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tagwire.errors import SpecError

__all__ = ["SpecFile", "find_specs", "may_be_register", "uses_registers"]

_COMPONENT: Final = re.compile("[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True, order=True)
class SpecFile:
    """A spec on disk; sorts by component, then name."""

    component: str
    """The subfolder's name, "" for none."""
    path: Path


def find_specs(folder: Path) -> list[SpecFile]:
    """The specs of a folder, sorted; names that begin with a dot are not looked at.

    Raises SpecError if the folder can't be read, has no specs, has some too deep,
    or has names that would not be safe in generated code.
    """
    if not folder.is_dir():
        raise SpecError(f"{folder}: no such folder of specs", file=str(folder))
    found: list[SpecFile] = []
    for place, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        components = Path(place).relative_to(folder).parts
        for name in names:
            if name.endswith(".json") and not name.startswith("."):
                if len(components) > 1:
                    raise SpecError(
                        f"{Path(place, name)}: nested too deeply; a spec belongs in the folder of specs or in a "
                        "subfolder named after its component",
                        file=str(Path(place, name)),
                    )
                found.append(SpecFile(_component(components, place), _named(Path(place, name))))
    if not found:
        raise SpecError(f"{folder}: no specs (*.json) in this folder", file=str(folder))
    return sorted(found)


def may_be_register(data: bytes) -> bool:
    """Whether a file can hold a register: a look at its bytes, without parsing it."""
    return b'"register"' in data


def uses_registers(data: bytes) -> bool:
    """Whether a spec can have a field with an enum: a look at its bytes, too."""
    return b'"enum"' in data


def _component(parts: tuple[str, ...], place: str) -> str:
    component = "".join(parts)
    if parts and not _COMPONENT.fullmatch(component):
        raise SpecError(
            f"{place!r}: {component!r} is not a component name, which consists of "
            "ASCII letters, digits, hyphens and underscores; rename the folder",
            file=place,
        )
    return component


def _named(path: Path) -> Path:
    # The path stands in the first line of generated modules, where a line break would begin a line of code.
    if not path.name.isprintable():
        raise SpecError(f"{str(path)!r}: the file name has a character that can't be printed; rename the file")
    return path


def _refuse(error: OSError) -> None:
    raise SpecError(f"{error.filename}: can't be read: {error.strerror}", file=str(error.filename)) from error
