"""Read a template folder's `targets.toml`, which lists files to generate in addition to, or instead of, Python modules.

    python = false                    # no Python modules; default: true

    [[targets]]
    template = "message.md.jinja"
    each = "message"                  # a file for each message, or for the "package"
    file = "{message}.md"             # {message}, {module} and {package} stand for their names

Paths are relative to the package folder. black formats the output of `*.py.jinja` and `*.pyi.jinja`; all other output
is written unchanged.
"""

import string
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from tagwire_generator.project.settings import SettingsError

FILE: Final = "targets.toml"
_EACH: Final = {"message": {"message", "module", "package"}, "package": {"package"}}
"""Maps each value of a target's `each` to the placeholders that the target's file name can contain."""


@dataclass(frozen=True, slots=True)
class Target:
    """A template to render once per message or once per package. `file` is a pattern for the file name."""

    template: str
    each: Literal["message", "package"]
    file: str

    def path(self, **names: str) -> str:
        return self.file.format(**names)


@dataclass(frozen=True, slots=True)
class Targets:
    """The content of `targets.toml`: the files to generate, and whether to generate Python modules."""

    targets: tuple[Target, ...] = ()
    python: bool = True

    def each(self, what: str) -> tuple[Target, ...]:
        """Return the targets to render once per message, or once per package. `what` is "message" or "package"."""
        return tuple(target for target in self.targets if target.each == what)


@lru_cache
def read_targets(templates: Path) -> Targets:
    """Read `targets.toml`. Without it, only Python modules are generated. Raises SettingsError if it is invalid."""
    file = templates / FILE
    if not file.is_file():
        return Targets()
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _error(file, f"the file can't be read: {error}") from error
    rows = document.pop("targets", [])
    python = document.pop("python", True)
    if document or not isinstance(python, bool) or not isinstance(rows, list):
        raise _error(
            file,
            "expected only the key `python` (true or false), and [[targets]] tables with the keys `template`, `each` "
            "and `file`",
        )
    return Targets(tuple(_target(file, number, row) for number, row in enumerate(rows, 1)), python)


def _target(file: Path, number: int, row: Any) -> Target:
    where = f"[[targets]] number {number}"
    if not isinstance(row, dict) or set(row) != {"template", "each", "file"}:
        raise _error(file, f"{where}: expected a table with exactly the keys `template`, `each` and `file`")
    if row["each"] not in _EACH:
        raise _error(file, f"{where}: the key `each` is {row['each']!r}; it must be 'message' or 'package'")
    if not all(isinstance(value, str) and value for value in row.values()):
        raise _error(file, f"{where}: the keys `template` and `file` must be strings")
    if not (file.parent / row["template"]).is_file():
        raise _error(file, f"{where}: there is no template {row['template']!r} in this folder")
    _check_pattern(file, where, row["file"], _EACH[row["each"]])
    return Target(row["template"], row["each"], row["file"])


def _check_pattern(file: Path, where: str, pattern: str, known: set[str]) -> None:
    try:
        parts = list(string.Formatter().parse(pattern))
    except ValueError as error:
        raise _error(file, f"{where}: `file` is {pattern!r}: {error}") from error
    names = {name for _, name, _, _ in parts if name is not None}
    plain = all(not form and not conversion for _, _, form, conversion in parts)
    if not names <= known or not plain:
        possible = "}, {".join(sorted(known))
        raise _error(file, f"{where}: `file` is {pattern!r}; use only these placeholders: {{{possible}}}")
    if "message" in known and not names & {"message", "module"}:
        raise _error(file, f"{where}: `file` is {pattern!r}, the same for each message; add {{message}} to the path")


def _error(file: Path, message: str) -> SettingsError:
    return SettingsError(f"{file}: {message}", file=str(file))
