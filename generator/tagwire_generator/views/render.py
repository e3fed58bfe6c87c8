"""Views through templates and black to text; nothing is written here.

`StrictUndefined`: a template that names what a view lacks fails instead of
printing nothing. black runs in this process, in whatever version is installed;
the package says which it was, since versions may break lines elsewhere.
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import black
import jinja2
from black.parsing import InvalidInput

from tagwire.errors import SpecError
from tagwire_generator.expansion.format_classes import format_class
from tagwire_generator.expansion.message_classes import message_class
from tagwire_generator.model import MessageSpec, MessageSummary
from tagwire_generator.model.python_names import snake_case
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.project import resources
from tagwire_generator.project.formatting import MARKER, formatter_line
from tagwire_generator.project.history import History
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.output import is_generated
from tagwire_generator.views.data_view import data_view
from tagwire_generator.views.format_view import format_view
from tagwire_generator.views.message_view import message_view
from tagwire_generator.views.package_view import PackageView, package_view
from tagwire_generator.views.register_view import register_view
from tagwire_generator.views.serializer_view import serializer_view
from tagwire_generator.views.targets import read_targets

__all__ = ["render_message", "render_package", "render_register"]

_FAULTS = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)
"""What the expressions of somebody's template may raise, beside what jinja2 and black refuse."""

_MARKUP: Final = re.compile(r"[\\`*_\[\]<>|&~]")

LINE_LENGTH = 120
"""Of generated code; as in this project's own pyproject.toml, so that black leaves both alone."""


def render_message(
    message: MessageSpec,
    package: str,
    options: SpecOptions,
    templates: Path,
    source: str,
    headers: Collection[str] = (),
) -> dict[str, str]:
    """The files of a message, by path inside the package: data classes, serializers, and what `targets.toml` adds.

    `source` is how their first lines name the spec, `headers` are the names of the
    headers that the package has. A message without versions has no files. Raises
    SpecError where a template fails.
    """
    if not message.valid_versions:
        return {}
    targets = read_targets(templates)
    module = snake_case(message.name)
    files: dict[str, str] = {}
    if message.format is None and message.kind != "struct" and (each := targets.each("message")):
        shown = message_view(message, package, options, source)
        names = {"message": message.name, "module": module, "package": package}
        files = {target.path(**names): _render(templates, target.template, shown) for target in each}
    if not targets.python:
        return files
    return files | _python_message(message, module, package, options, templates, source, headers)


def _python_message(
    message: MessageSpec,
    module: str,
    package: str,
    options: SpecOptions,
    templates: Path,
    source: str,
    headers: Collection[str],
) -> dict[str, str]:
    if message.format is not None:
        view = format_view(message, format_class(message, options), options, source)
        return {f"{module}.py": _render(templates, "format.py.jinja", view)}
    cls = message_class(message, options)
    data = data_view(message, cls, options, source, package, headers)
    files = {f"{module}.py": _render(templates, "message.py.jinja", data)}
    if message.kind == "struct":
        return files  # its bytes are in the serializers of its users
    shared = {struct.name: f"{package}.{snake_case(struct.owner)}" for struct in message.structs if struct.owner}
    serializers = serializer_view(cls, f"{package}.{module}", source, shared)
    return files | {f"serializers/{module}.py": _render(templates, "serializers.py.jinja", serializers)}


def render_register(register: RegisterSpec, templates: Path, source: str) -> dict[str, str]:
    """The module of a register, by path inside the package. Raises SpecError where a template fails."""
    if not read_targets(templates).python:
        return {}
    view = register_view(register, source)
    return {f"{snake_case(register.name)}.py": _render(templates, "register.py.jinja", view)}


def render_package(
    summaries: Sequence[MessageSummary],
    registers: Sequence[str],
    package: str,
    templates: Path,
    history: History | None = None,
) -> dict[str, str]:
    """The modules of a package that are not a message's, by path inside it."""
    view = package_view(summaries, registers, package, history)
    targets = read_targets(templates)
    files = {
        target.path(package=package): _render(templates, target.template, view) for target in targets.each("package")
    }
    return files | (_python_package(view, package, templates, history) if targets.python else {})


def _python_package(view: PackageView, package: str, templates: Path, history: History | None) -> dict[str, str]:
    files = {
        "__init__.py": _render(templates, "package.py.jinja", view),
        "__init__.pyi": _render(templates, "package.pyi.jinja", view, is_pyi=True),
        "api_key.py": _render(templates, "api_key.py.jinja", view),
        "serializers/__init__.py": _render(templates, "marker.py.jinja", view),
        MARKER: f"# Generated by tagwire: {package} has types. Do not edit.\n{formatter_line(version('black'))}\n",
    }
    if history is not None:
        files["releases.py"] = _render(templates, "releases.py.jinja", view)
    return files


def _render(templates: Path, name: str, view: object, *, is_pyi: bool = False) -> str:
    try:
        text: str = _environment(templates).get_template(name).render(view=view)
        if ".py" in name.removesuffix(".jinja")[-4:]:
            text = black.format_str(text, mode=black.Mode(line_length=LINE_LENGTH, is_pyi=is_pyi))
    except (jinja2.TemplateError, InvalidInput, *_FAULTS) as fault:
        line = getattr(fault, "lineno", None) or 1
        raise SpecError(f"{name}: {fault}", file=str(templates / name), line=line, column=1) from fault
    if not is_generated(text):
        # It could be written once, and would then be in its own way as somebody else's file.
        message = f"{name}: its first line must say 'Generated by tagwire ... Do not edit'"
        raise SpecError(message, file=str(templates / name), line=1, column=1)
    return text


@lru_cache
def _environment(templates: Path) -> Any:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([templates, resources.folder("templates")]),  # ours, where a user has none
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the output is Python, not HTML; every value is escaped by its view
    )
    environment.filters["markdown"] = _markdown
    return environment


def _markdown(text: str) -> str:
    """A text as Markdown shows it, in a cell too: nothing in it begins markup, another cell or a line."""
    return _MARKUP.sub(_escaped, " ".join(text.split()))


def _escaped(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};" if found[0] in "<>&" else f"\\{found[0]}"
