import ast
import dataclasses
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

from tagwire_generator.project import resources
from tagwire_generator.views import data_view, message_view, package_view, read_steps, serializer_view, write_steps

PAGE = (Path(__file__).parents[1] / "docs" / "templates.md").read_text(encoding="utf-8")
MODULES = (data_view, serializer_view, read_steps, write_steps, package_view, message_view)
VIEWS = {
    name: value
    for module in MODULES
    for name, value in vars(module).items()
    if inspect.isclass(value) and dataclasses.is_dataclass(value) and value.__module__ == module.__name__
    if not name.startswith("_")
}
STEPS = {"ReadStep": (read_steps, "read.jinja"), "WriteStep": (write_steps, "write.jinja")}


def section(heading: str) -> str:
    return PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]


def table(text: str, title: str) -> list[list[str]]:
    _, _, rest = text.partition(f"| {title} |")
    rows = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]


def shapes_of(module: ModuleType, step: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == step:
            [shape] = node.args
            assert isinstance(shape, ast.Constant), "a shape is written out where the step is made"
            found.setdefault(str(shape.value), set()).update(keyword.arg or "" for keyword in node.keywords)
    return found


def test_every_view_has_its_section() -> None:
    headings = re.findall(r"^### (\w+)$", PAGE, re.MULTILINE)
    assert sorted(headings) == sorted(VIEWS)


def attributes_of(view: type) -> list[tuple[str, str]]:
    [body] = [node.body for node in ast.parse(inspect.getsource(view)).body if isinstance(node, ast.ClassDef)]
    return [
        (ast.unparse(node.target), ast.unparse(node.annotation).replace("'", "").replace(" | ", " or "))
        for node in body
        if isinstance(node, ast.AnnAssign)
    ]


@pytest.mark.parametrize("name", VIEWS)
def test_attributes_and_types(name: str) -> None:
    rows = table(section(name), "attribute")
    assert [(row[0].strip("`"), row[1]) for row in rows] == attributes_of(VIEWS[name])


@pytest.mark.parametrize("step", STEPS)
def test_shapes_and_what_they_use(step: str) -> None:
    module, template = STEPS[step]
    rows = {row[0].strip("`"): set(re.findall(r"\w+", row[1])) for row in table(section(step), "shape")}
    assert rows == shapes_of(module, step)
    macros = re.findall(r"macro (\w+)\(", (resources.folder("templates") / template).read_text(encoding="utf-8"))
    assert set(rows) <= set(macros)


def test_every_template_is_listed() -> None:
    names = {path.name for path in resources.folder("templates").glob("*.jinja")}
    assert names == set(re.findall(r"`([\w.]+\.jinja)`", PAGE.partition("## Data classes")[0]))
