"""Find the spec files in a folder, and the component of each file.

A `*.json` file directly in the folder has no component, and a file in a subfolder has the subfolder's name as its
component. Deeper files are errors, because they would never be read.
"""

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Final

from tagwire.errors import SpecError
from tagwire_generator.project.root import WINDOWS_DEVICES, is_folder

HEADER_NAMES: Final = {"request": "RequestHeader", "response": "ResponseHeader"}
"""The name of the header message for each kind of message."""

_COMPONENT: Final = re.compile("[A-Za-z0-9][A-Za-z0-9_-]*")
_NAMES: Final = re.compile(rb'"name"[^"]*"([^"]*)"')
_ESCAPE: Final = b"\\u"
_NO_VERSIONS: Final = re.compile(rb'"validVersions"\s*:\s*"none"')


@dataclass(frozen=True, slots=True, order=True)
class SpecFile:
    """A spec file. Spec files sort by component, then by name."""

    component: str
    """The name of the subfolder, or "" if the file is not in a subfolder."""
    path: Path


@dataclass(frozen=True, slots=True)
class SpecData:
    """The content of one spec as bytes, from a file or another source."""

    file: str
    """The name of the file in reports."""
    component: str
    data: bytes

    @property
    def name(self) -> str:
        """The file's name without suffix, which is the message's name."""
        return PurePath(self.file).stem


def spec_data(spec: SpecFile, *, file: str | None = None) -> SpecData:
    """Read a spec file. Raises SpecError if it can't be read."""
    try:
        return SpecData(file or str(spec.path), spec.component, spec.path.read_bytes())
    except OSError as error:
        raise SpecError(f"{file or spec.path} can't be read: {error.strerror}", file=file or str(spec.path)) from error


def read_specs(folder: Path, name: Callable[[Path], str] = str) -> list[SpecData]:
    """Read the specs of a folder. `name` returns a file's name in reports. Raises SpecError like `find_specs`."""
    return [spec_data(each, file=name(each.path)) for each in find_specs(folder)]


def find_specs(folder: Path) -> list[SpecFile]:
    """Return the specs of a folder, sorted. Hidden files are ignored.

    Raises SpecError if the folder can't be read, has no specs, has specs in nested subfolders, has links to folders, or
    has names that would not be safe in generated code.
    """
    if not is_folder(folder):
        problem = "this is not a folder of specs" if folder.exists() else "the specs folder does not exist"
        raise SpecError(f"{folder}: {problem}", file=str(folder))
    found: list[SpecFile] = []
    for parent, folders, names in os.walk(folder, onerror=_reject):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        components = Path(parent).relative_to(folder).parts
        for path in (Path(parent, name) for name in folders):
            if path.is_symlink() and any(path.glob("*.json")):
                reason = "tagwire does not follow links to folders of specs; replace it with the folder itself"
                raise SpecError(f"{path} is a link, and {reason}", file=str(path))
        for name in names:
            if name.endswith(".json") and not name.startswith("."):
                path, component = Path(parent, name), _component(components[:1], parent)
                check_path(path, depth=len(components))
                found.append(SpecFile(component, _not_special(path)))
    if not found:
        raise SpecError(f"{folder}: there are no specs (*.json) in this folder", file=str(folder))
    return sorted(found)


def may_be_register(data: bytes) -> bool:
    """Return whether a file may be a register (a table of named numbers). For speed, it is searched, not parsed."""
    return b'"register"' in data


def uses_registers(data: bytes) -> bool:
    """Return whether a spec may have a field with an enum. For speed, the text is searched, not parsed."""
    return b'"enum"' in data


def headers_among(specs: Iterable[SpecData]) -> frozenset[str]:
    """Return which header messages a spec set defines. For speed, only the specs of headers are parsed."""
    headers = (each.data for each in specs if re.search(rb'"type"\s*:\s*"header"', each.data))
    names = {name for data in headers if not _NO_VERSIONS.search(data) for name in _names(data)}
    return frozenset(each for each in HEADER_NAMES.values() if each.encode() in names)


def _component(parts: tuple[str, ...], parent: str) -> str:
    component = "".join(parts)
    if parts and (component.lower() in WINDOWS_DEVICES or not _COMPONENT.fullmatch(component)):
        raise SpecError(
            f"{parent!r}: {component!r} is not a valid component name; rename the folder: a name may contain only "
            "ASCII letters, digits, hyphens and underscores, and can't be the name of a Windows device such as NUL",
            file=parent,
        )
    return component


def check_path(path: PurePath, *, depth: int) -> None:
    """Raise SpecError if a spec is more than one folder (`depth`) below the specs, or its name is not printable."""
    # The generated module contains the path in a comment, which a line break in the path would end.
    if not all(map(str.isprintable, path.parts[-1 - depth :])):
        raise SpecError(f"{str(path)!r}: the file name contains a non-printable character; rename the file")
    if depth > 1:
        raise SpecError(
            f"{path} is nested too deeply; move the spec to the folder of specs, or to a component's folder directly "
            "below it",
            file=str(path),
        )


def _not_special(path: Path) -> Path:
    if not path.is_file() and path.exists():  # reading a pipe would block
        raise SpecError(
            f"{path} is a pipe, socket or device, not a file; move it out of the folder of specs", file=str(path)
        )
    return path


def _reject(error: OSError) -> None:
    raise SpecError(f"{error.filename} can't be read: {error.strerror}", file=str(error.filename)) from error


def may_be_shared(data: bytes) -> bool:
    """Return whether a file may be a shared struct. For speed, the text is searched, not parsed."""
    return b'"struct"' in data or _ESCAPE in data


def needed_by(data: bytes, shared: Iterable[SpecData]) -> list[SpecData]:
    """Return the shared structs that a spec may import, directly or through other structs.

    The specs are searched for struct names, but not parsed, so the result may contain structs that aren't imported.
    """
    waiting, found = [data], dict[str, SpecData]()
    others = {each.file: (each, _names(each.data)) for each in shared}
    while waiting:
        text = waiting.pop()
        if b'"imports"' not in text and _ESCAPE not in text:
            continue
        for file, (each, names) in list(others.items()):
            if _ESCAPE in text or any(b'"%s"' % name in text for name in names):
                found[file] = each
                del others[file]
                waiting.append(each.data)
    return [found[file] for file in sorted(found)]


@lru_cache(maxsize=1024)
def _names(data: bytes) -> tuple[bytes, ...]:
    """Return the value of a spec's `name` key. If the JSON is invalid, return all strings that may be that value."""
    try:
        tree = json.loads(data)
    except ValueError:
        return tuple(_NAMES.findall(data))
    name = tree.get("name") if isinstance(tree, dict) else None
    return (name.encode("utf-8", "replace"),) if isinstance(name, str) else ()
