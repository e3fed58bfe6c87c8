"""The files of a new protocol project, for `tagwire init`.

These are the specs of a sample request and its response, their golden bytes, settings, commit hooks and CI, rendered
from `templates/project`. Existing files are never replaced. If there is a pyproject.toml, the settings are appended to
it.
"""

import keyword
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tagwire
from tagwire.errors import TagwireError
from tagwire_generator.project import resources
from tagwire_generator.project.settings import SettingsError, package_error, parsed_toml, settings_error
from tagwire_generator.views.render import environment

HOOKS: Final = ".pre-commit-config.yaml"
SETTINGS: Final = "pyproject.toml"
_FILES: Final = {
    "message_specs/HelloRequest.json": "HelloRequest.json",
    "message_specs/HelloResponse.json": "HelloResponse.json",
    "tests/test_golden_bytes.py": "test_golden_bytes.py",
    ".github/workflows/protocol.yml": "protocol.yml",
}
"""Maps the path of each file in the project to the name of the file's template."""
_ONCE: Final = {"README.md": "README.md", ".gitignore": "gitignore", ".gitattributes": "gitattributes"}
"""Files that are only created if they don't exist yet. Maps the path of each file to the name of its template."""
_HEADERS: Final = {
    "message_specs/RequestHeader.json": "RequestHeader.json",
    "message_specs/ResponseHeader.json": "ResponseHeader.json",
}


class NewProjectError(TagwireError):
    """Raised for an invalid package name, or if existing files would be replaced."""


@dataclass(frozen=True, slots=True)
class NewProject:
    """The files to write, and the steps left to do by hand."""

    files: Mapping[str, str]
    """File contents by path in the project folder. All files are new, except that pyproject.toml may exist already."""
    hooks: str
    """Commit hooks that the user must add to the existing hook configuration, or "" if no such configuration exists."""


@dataclass(frozen=True, slots=True)
class _View:
    name: str
    headers: bool
    sections: tuple[str, ...]
    tagwire: str = tagwire.__version__


def new_project(name: str, folder: Path, *, headers: bool = True) -> NewProject:
    """Return the files of a new protocol with the package `name`, without writing them.

    If `headers` is False, the protocol has no header specs. Raises NewProjectError for an invalid name or existing
    files, and SettingsError if pyproject.toml already has spec sets or can't be read.
    """
    _check_name(name)
    paths = _FILES | (_HEADERS if headers else {})
    taken = [path for path in (*paths, f"src/{name}") if (folder / path).exists()]
    if taken:
        raise NewProjectError(
            f"{folder / taken[0]} already exists, and tagwire does not replace it; choose another name or folder"
        )
    settings = folder / SETTINGS
    before = _text(settings)
    view = _View(name, headers, _missing_sections(settings, before))
    paths |= {path: template for path, template in _ONCE.items() if not (folder / path).exists()}
    files = {path: _render(template, view) for path, template in paths.items()}
    files[SETTINGS] = _joined(settings, before, _render(SETTINGS, view))
    hooks = _render("pre-commit-config.yaml", view)
    if (folder / HOOKS).exists():
        return NewProject(files, hooks)
    return NewProject(files | {HOOKS: hooks}, "")


def _check_name(name: str) -> None:
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or not name.islower():
        near = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in Path(name).name.lower())
        where = f", and give the folder after it: tagwire init {near} {name}" if "/" in name else ""
        is_name = near.isidentifier() and near.islower() and not keyword.iskeyword(near)
        hint = f"; call it {near!r}{where}" if is_name else ""
        if keyword.iskeyword(name):
            raise NewProjectError(f"{name!r} is a Python keyword; choose another name")
        raise NewProjectError(f"expected a package name of lower-case letters, digits and _, got {name!r}{hint}")
    error = package_error(name)
    if error:
        raise NewProjectError(error)
    if name.partition("_")[0] == "tagwire":
        raise NewProjectError(f"{name!r} is a tagwire module; choose another name")


def _missing_sections(file: Path, text: str) -> tuple[str, ...]:
    document = parsed_toml(file, text)
    tool = document.get("tool", {})
    tool = tool if isinstance(tool, dict) else {}
    if "tagwire" in tool:
        text = "[tool.tagwire] already exists; add the keys `specs`, `package` and `output` to it by hand"
        raise settings_error(file, text)
    has = {"project": "project" in document or "build-system" in document, "mypy": "mypy" in tool}
    has["pytest"] = "pytest" in tool
    return tuple(section for section, there in has.items() if not there)


def _text(file: Path) -> str:
    """Return the text of a file with its own line endings, or "" if there is no such file."""
    try:
        return file.read_bytes().decode() if file.is_file() else ""
    except OSError as error:
        raise SettingsError(f"{file} can't be read: {error.strerror}", file=str(file)) from None
    except UnicodeDecodeError:
        raise SettingsError(
            f"{file} is not UTF-8, so tagwire can't add the project to this file; save it as UTF-8", file=str(file)
        ) from None


def _joined(file: Path, before: str, added: str) -> str:
    if before.strip():
        line_end = "\r\n" if "\r\n" in before else "\n"
        added = before.rstrip() + f"\n\n{added}".replace("\n", line_end)
    parsed_toml(file, added)  # raises SettingsError if the result is invalid
    return added


def _render(template: str, view: _View) -> str:
    templates = environment(resources.folder("templates") / "project")
    text: str = templates.get_template(f"{template}.jinja").render(view=view)
    return text
