"""The file map of docs/architecture.md is complete, and docs/cli.md knows every command and option."""

import importlib
import re
from pathlib import Path

import click
import pytest
from command_paths import GROUPS

from tagwire_cli.app import COMMANDS, app

ROOT = Path(__file__).parents[1]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
PACKAGES = (
    "runtime/tagwire",
    "generator/tagwire_generator",
    "cli/tagwire_cli",
    "workbench/tagwire_workbench",
    "pipeline/tagwire_spark",
)


def section(page: str, heading: str) -> str:
    return page.partition(f"\n{heading}\n")[2].partition("\n#")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_map_has_every_room(package: str) -> None:
    """What a reader sees who opens the package: its folders, with a slash, and its modules."""
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", section(ARCHITECTURE, f"### {package}"), re.MULTILINE)
    mapped = {name for cells in rows for name in re.findall(r"`(\w+/?)`", cells[0])}
    top = ROOT / package
    top_folders = [path for path in top.iterdir() if path.is_dir() and path.name != "__pycache__"]
    folders = {f"{path.name}/" for path in top_folders if {each.name for each in path.iterdir()} - {"__pycache__"}}
    assert mapped == folders | {path.stem for path in top.glob("*.py")} - {"__init__"}


def test_every_command_is_a_module_and_every_module_a_command() -> None:
    commands = {**COMMANDS, **{f"{group} {n}": m for group, table in GROUPS.items() for n, m in table.items()}}
    roots = ("cli", "workbench")
    modules = {
        ".".join(path.relative_to(ROOT / root).with_suffix("").parts).removesuffix(".__init__")
        for root in roots
        for path in (ROOT / root).glob("*/commands/**/*.py")
    }
    assert set(commands.values()) == {name for name in modules if not name.endswith(".commands")}


def test_the_map_has_every_folder() -> None:
    rows = set(re.findall(r"^\| `([\w.]+/?)` \|", section(ARCHITECTURE, "### The rest"), re.MULTILINE))
    assert all((ROOT / row).exists() for row in rows)
    mapped = {row.rstrip("/") for row in rows} | {package.partition("/")[0] for package in PACKAGES}
    assert {"message_specs", "templates", "generated", "tests", "bench"} <= mapped


def test_files_that_are_named_exist() -> None:
    roots = "runtime|generator|cli|workbench|pipeline|tests|templates|bench"
    for name in re.findall(rf"`((?:{roots})/[\w./]+)`", ARCHITECTURE):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line_page_knows_every_option(name: str) -> None:
    text = section(CLI, f"## tagwire {name}")
    assert text, f"docs/cli.md has no section for tagwire {name}"
    command = app.get_command(click.Context(app), name)
    assert command is not None
    options = {flag for param in command.params if isinstance(param, click.Option) for flag in param.opts}
    assert {flag for flag in options if f"`{flag}" not in text} == set()


@pytest.mark.parametrize(
    ("group", "name", "module"),
    [(group, *row) for group, table in GROUPS.items() for row in table.items()],
)
def test_the_command_line_page_knows_every_option_of_groups(group: str, name: str, module: str) -> None:
    common = CLI.partition(f"\n## tagwire {group}\n")[2].partition("\n###")[0]
    text = section(CLI, f"### tagwire {group} {name}")
    assert text, f"docs/cli.md has no section for tagwire {group} {name}"
    command = importlib.import_module(module).command
    options = {flag for param in command.params if isinstance(param, click.Option) for flag in param.opts}
    assert {flag for flag in options if f"`{flag}" not in text + common} == set()


def test_the_command_line_page_has_no_command_of_its_own() -> None:
    assert set(re.findall(r"^## tagwire ([\w-]+)$", CLI, re.MULTILINE)) == set(COMMANDS)


def test_each_proposal_is_cited() -> None:
    page = (ROOT / "docs" / "proposals.md").read_text(encoding="utf-8")
    named = set(re.findall(r"KIP-\d+", page.partition("| proposal |")[2].partition("\n\n")[0]))
    assert named == set(re.findall(r"cwiki\.apache\.org/confluence/display/KAFKA/(KIP-\d+)", page))
