"""Render views with templates and format the result. Nothing is written to disk.

With `StrictUndefined`, a template that uses an unknown name fails instead of printing nothing. By default, the
installed version of black formats Python code. The package records this version, because versions may break lines
differently. A spec set may use ruff instead, which produces nearly the same text in a tenth of the time.

A template folder's `targets.toml` lists files to generate in addition to, or instead of, Python modules:

    python = false                    # no Python modules; default: true

    [[targets]]
    template = "message.md.jinja"
    each = "message"                  # a file for each message, or for the "package"
    file = "{message}.md"             # {message}, {module} and {package} stand for their names

Paths are relative to the package folder. Only the output of `*.py.jinja` and `*.pyi.jinja` is formatted; all other
output is written unchanged.
"""

import re
import string
import subprocess
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

import black
import jinja2
from black.parsing import InvalidInput

from tagwire.errors import SpecError
from tagwire.lazy import required
from tagwire.text_format import printable
from tagwire_generator.message_classes import format_class, message_class
from tagwire_generator.model import MessageSpec, MessageSummary
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.model.spec_names import snake_case
from tagwire_generator.project import resources
from tagwire_generator.project.history import History
from tagwire_generator.project.output import MARKER, formatter_line, is_generated
from tagwire_generator.project.settings import parsed_toml, settings_error
from tagwire_generator.views.data_view import DataViews
from tagwire_generator.views.format_view import format_view
from tagwire_generator.views.message_view import message_view
from tagwire_generator.views.package_view import package_view, register_view
from tagwire_generator.views.serializer_view import serializer_view

_CODE_ERRORS = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)
"""Errors that expressions in templates may raise, in addition to those of jinja2 and black."""

_MARKUP: Final = re.compile(r"[\\`*_\[\]<>|&~]")

LINE_LENGTH = 120
"""The line length of generated code, the same as in this project's own code."""

_TARGETS_FILE: Final = "targets.toml"
_EACH: Final = {"message": {"message", "module", "package"}, "package": {"package"}}
"""Maps each value of a target's `each` to the placeholders that the target's file name can contain."""


@dataclass(frozen=True, slots=True)
class Target:
    """A template to render once per message or once per package. `file` is a pattern for the file name."""

    template: str
    each: Literal["message", "package"]
    file: str


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
    """Read `targets.toml`. Without it, only Python modules are generated.

    Raises SettingsError if the file is invalid, or if tagwire would use none of the folder's templates.
    """
    file = templates / _TARGETS_FILE
    if not file.is_file():
        names, known = (
            sorted(path.name for path in folder.glob("*.jinja"))
            for folder in (templates, resources.folder("templates"))
        )
        if names and not {*names} & {*known}:
            text = f"tagwire uses none of these templates: {', '.join(names)}; the names that it uses are"
            raise settings_error(templates, f"{text} {', '.join(known)}")
        return Targets()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise settings_error(file, f"the file can't be read: {error}") from error
    document = parsed_toml(file, text)
    rows = document.pop("targets", [])
    python = document.pop("python", True)
    if document or not isinstance(python, bool) or not isinstance(rows, list):
        tables = "[[targets]] tables with the keys `template`, `each` and `file`"
        raise settings_error(file, f"expected only the key `python` (true or false), and {tables}")
    return Targets(tuple(_target(file, number, row) for number, row in enumerate(rows, 1)), python)


def _target(file: Path, number: int, row: Any) -> Target:
    where = f"[[targets]] number {number}"
    if not isinstance(row, dict) or set(row) != {"template", "each", "file"}:
        raise settings_error(file, f"{where}: expected a table with exactly the keys `template`, `each` and `file`")
    if not all(isinstance(value, str) and value for value in row.values()):
        raise settings_error(file, f"{where}: the values of `template`, `each` and `file` must be strings")
    if row["each"] not in _EACH:
        raise settings_error(file, f"{where}: the key `each` is {row['each']!r}; it must be 'message' or 'package'")
    if not (file.parent / row["template"]).is_file():
        raise settings_error(file, f"{where}: there is no template {row['template']!r} in this folder")
    _check_pattern(file, where, row["file"], _EACH[row["each"]])
    return Target(row["template"], row["each"], row["file"])


def _check_pattern(file: Path, where: str, pattern: str, known: set[str]) -> None:
    try:
        parts = list(string.Formatter().parse(pattern))
    except ValueError as error:
        raise settings_error(file, f"{where}: `file` is {pattern!r}: {error}") from error
    names = {name for _, name, _, _ in parts if name is not None}
    plain = all(not form and not conversion for _, _, form, conversion in parts)
    if not names <= known or not plain:
        possible = "}, {".join(sorted(known))
        raise settings_error(file, f"{where}: `file` is {pattern!r}; use only these placeholders: {{{possible}}}")
    if "message" in known and not names & {"message", "module"}:
        raise settings_error(
            file, f"{where}: `file` is {pattern!r}, the same for each message; add {{message}} to the path"
        )


@dataclass(frozen=True, slots=True)
class Printer:
    """The templates of a package, and the formatter for generated Python code."""

    templates: Path
    formatter: str = "black"
    """The formatter of Python code, one of `tagwire_generator.project.settings.FORMATTERS`."""

    def render(self, name: str, view: object, *, is_pyi: bool = False) -> str:
        """Render a view with a template. Raises SpecError if the template fails or its output is not valid Python."""
        try:
            text: str = environment(self.templates).get_template(name).render(view=view)
            if ".py" in name.removesuffix(".jinja")[-4:]:
                text = self._formatted(text, is_pyi=is_pyi)
        except (jinja2.TemplateError, InvalidInput, *_CODE_ERRORS) as cause:
            line = getattr(cause, "lineno", None) or 1
            message = f"the template {name} failed: {cause}"
            raise SpecError(message, file=str(self.templates / name), line=line, column=1) from cause
        if not is_generated(text):
            # Later runs recognize generated files by their first line.
            message = f"{name}: its first line must contain 'Generated by tagwire ... Do not edit'"
            raise SpecError(message, file=str(self.templates / name), line=1, column=1)
        return text

    def _formatted(self, text: str, *, is_pyi: bool) -> str:
        if self.formatter == "ruff":
            options = ("format", "--isolated", "--no-cache", f"--line-length={LINE_LENGTH}", "--target-version=py311")
            command = [_ruff(), *options, f"--stdin-filename=module.py{'i' if is_pyi else ''}", "-"]
            done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
            if done.returncode == 0:
                return done.stdout
        # If ruff fails, black reports the error.
        return black.format_str(text, mode=black.Mode(line_length=LINE_LENGTH, is_pyi=is_pyi))


@lru_cache
def _ruff() -> str:
    find: Callable[[], str] = required("ruff", "generate").find_ruff_bin
    return find()


def render_message(
    message: MessageSpec,
    package: str,
    printer: Printer,
    source: str,
    headers: Collection[str] = (),
) -> dict[str, str]:
    """Return the files of a message: its classes, and the files that `targets.toml` defines.

    The keys are paths inside the package. `source` names the spec in the first line of each file, and `headers` names
    the package's header specs. A message without versions has no files. Raises SpecError if a template fails.
    """
    if not message.valid_versions:
        return {}
    targets = read_targets(printer.templates)
    module = snake_case(message.name)
    files: dict[str, str] = {}
    if message.format is None and message.kind != "struct" and (each := targets.each("message")):
        shown = message_view(message, package, source)
        names = {"message": message.name, "module": module, "package": package}
        files = {target.file.format(**names): printer.render(target.template, shown) for target in each}
    if not targets.python:
        return files
    if message.format is not None:
        view = format_view(message, format_class(message), source)
        return files | {f"{module}.py": printer.render("message.py.jinja", view)}
    cls = message_class(message)
    data = DataViews(message, cls, package, headers).module(source)
    files[f"{module}.py"] = printer.render("message.py.jinja", data)
    if message.kind == "struct":
        return files  # the importing messages have the serializers
    shared = {struct.name: f"{package}.{snake_case(struct.owner)}" for struct in message.structs if struct.owner}
    serializers = serializer_view(cls, f"{package}.{module}", source, shared)
    return files | {f"serializers/{module}.py": printer.render("serializers.py.jinja", serializers)}


def render_register(register: RegisterSpec, printer: Printer, source: str) -> dict[str, str]:
    """Return the text of a register's module, by path inside the package. Raises SpecError if a template fails."""
    if not read_targets(printer.templates).python:
        return {}
    view = register_view(register, source)
    return {f"{snake_case(register.name)}.py": printer.render("register.py.jinja", view)}


def render_package(
    summaries: Sequence[MessageSummary],
    registers: Sequence[str],
    package: str,
    printer: Printer,
    history: History | None = None,
) -> dict[str, str]:
    """Return the modules that don't belong to a single message, by path inside the package."""
    view = package_view(summaries, registers, package, history)
    targets = read_targets(printer.templates)
    files = {
        target.file.format(package=package): printer.render(target.template, view) for target in targets.each("package")
    }
    if not targets.python:
        return files
    if history is not None:
        files["releases.py"] = printer.render("releases.py.jinja", view)
    return files | {
        "__init__.py": printer.render("package.py.jinja", view),
        "__init__.pyi": printer.render("package.pyi.jinja", view, is_pyi=True),
        "api_key.py": printer.render("api_key.py.jinja", view),
        "serializers/__init__.py": printer.render("marker.py.jinja", view),
        MARKER: f"# Generated by tagwire: {package} has types. Do not edit.\n{formatter_line(version('black'))}\n",
    }


@lru_cache
def environment(templates: Path) -> Any:
    """Return the jinja environment for a folder of templates. It also finds the built-in templates."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([templates, resources.folder("templates")]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the output is not HTML, and views escape their values
    )
    environment.filters["markdown"] = _markdown
    return environment


def _markdown(text: str) -> str:
    """Escape markup and unprintable characters for a table cell in Markdown, and join the lines."""
    return _MARKUP.sub(_escaped, printable(" ".join(text.split())))


def _escaped(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};" if found[0] in "<>&" else f"\\{found[0]}"
