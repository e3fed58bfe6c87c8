import pkgutil
import re
from pathlib import Path

import pytest
from command_paths import COMMAND_PATHS, GROUPS, command_of

from tagwire.errors import MissingExtraError
from tagwire_cli.app import app

ROOT = Path(__file__).parents[1]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CLI = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("cli-*.md"))
SECTIONS = dict(re.findall(r"(?ms)^## tagwire ([\w -]+)\n\n(.*?)(?=^## |\Z)", CLI))
ROOTS = ("runtime", "generator", "cli", "workbench", "pipeline")
FOLDERS = (*ROOTS, "generated", "templates", "message_specs", "docs", "tests", "bench", "tools", "site", "examples")
MIRRORED = 247
"""The number of modules that have a test file at the same path. It may grow, but not fall."""


def section(page: str, heading: str) -> str:
    return page.partition(f"\n{heading}\n")[2].partition("\n#")[0]


def test_the_table_has_every_folder_and_the_page_is_short() -> None:
    rows = re.findall(r"^\| (.+?) \|", section(ARCHITECTURE, "## Folders"), re.MULTILINE)
    named = {name.rstrip("/") for row in rows for name in re.findall(r"`([\w./]+/)`", row)}
    packages = [path for root in ROOTS for path in (ROOT / root).glob("tagwire*/")]
    rooms = [path for package in packages for path in package.glob("[!_]*/") if next(path.glob("[!_]*"), None)]
    rooms += [package / "_native" for package in packages if (package / "_native").is_dir()]
    folders = {path.relative_to(ROOT).as_posix() for path in (*packages, *rooms)}
    assert named == folders | {*FOLDERS} - {*ROOTS, "docs"}
    assert len(ARCHITECTURE.splitlines()) <= 150


def test_every_command_has_a_module_and_every_module_a_command() -> None:
    commands = [each for table in (app.table, *GROUPS.values()) for each in table.values()]
    roots = ("cli", "workbench")
    modules = {
        ".".join(path.relative_to(ROOT / root).with_suffix("").parts).removesuffix(".__init__")
        for root in roots
        for path in (ROOT / root).glob("*/commands/**/*.py")
    }
    assert {each.partition(":")[0] for each in commands} == {name for name in modules if not name.endswith(".commands")}


FILE = re.compile(r"(?<![\w./*<{@-])((?:[\w.-]+/)*[\w-]+\.(?:py|pyx|pxi|pyi|h|c|sh))(?![\w/(.])")
PROSE = {
    ".md": re.compile(r"`([^`\n]+)`"),
    ".py": re.compile(r'(?s:""".*?""")|#[^\n]*'),
    ".sh": re.compile(r"tests/\S+"),
    **dict.fromkeys((".pyx", ".pxi", ".h", ".c"), re.compile(r"(?s:/\*.*?\*/)")),
}
OF_OTHERS = {"Python.h", "malloc.h", "pyproject.toml"}


def test_files_named_in_documents_and_comments_exist() -> None:
    there = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if "data" not in path.parts]
    paths = [path.relative_to(ROOT) for path in (*there, *ROOT.glob("*"))]
    known = {"/".join(path.parts[start:]) for path in paths for start in range(len(path.parts))} | OF_OTHERS
    unknown = []
    for path in paths:
        prose = PROSE.get(path.suffix)
        if prose is None or path.name == "CHANGELOG.md" or path.parts[0] in ("tests", "generated"):
            continue
        text = re.sub(r"(?ms)^```.*?^```", "", (ROOT / path).read_text(encoding="utf-8"))
        for found in prose.finditer(text):
            unknown += [f"{path}: {name}" for name in FILE.findall(found[0]) if name not in known]
    assert not unknown


NATIVE = tuple(f"tagwire.{path.stem}" for path in (ROOT / "runtime" / "tagwire" / "_native").glob("*/_*.pyx"))
DOTTED = re.compile(r"(?<![\w./-])(tagwire(?:_\w+)?(?:\.\w+)+)(?![\w/-])")


def test_names_of_modules_and_functions_in_documents_and_comments_exist() -> None:
    """`CHANGELOG.md` has old names in the left column of its table; only the last column is checked."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
    missing = []
    for path in (*pages, *(each for root in ROOTS for each in (ROOT / root).rglob("*.py"))):
        text = re.sub(r"(?ms)^```.*?^```", "", path.read_text(encoding="utf-8"))
        if path.name == "CHANGELOG.md":
            text = "\n".join(line.rpartition(" | ")[2] for line in text.splitlines())
        named = {name for found in PROSE[path.suffix].finditer(text) for name in DOTTED.findall(found[0])}
        missing += [f"{path.relative_to(ROOT)}: {name}" for name in sorted(named) if not is_importable(name)]
    assert not missing


def is_importable(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except MissingExtraError:
        return True
    except ModuleNotFoundError as error:
        return not (error.name or "").startswith("tagwire")  # otherwise, the library of an extra is not installed
    except AttributeError:
        # It may be the name of a file, or a name in a native module that is not compiled.
        return name.endswith((".log", ".py", ".toml", ".tsv")) or name.startswith(NATIVE)
    return True


def test_headings_that_documents_link_to_exist() -> None:
    root = ROOT.resolve()
    pages = {path: path.read_text(encoding="utf-8") for path in (*root.glob("*.md"), *(root / "docs").glob("*.md"))}
    headings = {
        path: {
            re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"(?m)^#+ (.+)$", text)
        }
        for path, text in pages.items()
    }
    links = [
        (path.name, name, anchor, path if not name else (path.parent / name).resolve())
        for path, text in pages.items()
        for name, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", text)
    ]
    assert len(links) > 100
    assert [link[:3] for link in links if link[3] in headings and link[2] not in headings[link[3]]] == []


def test_paths_that_the_architecture_names_exist() -> None:
    for name in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", ARCHITECTURE):
        assert (ROOT / name).exists(), name


def test_modules_have_a_test_file_at_the_same_path() -> None:
    tested = 0
    for root in ROOTS:
        area = ROOT / "tests" / root.replace("pipeline", "spark")
        for package in (ROOT / root).glob("tagwire*/"):
            modules = [path.relative_to(package) for path in package.glob("**/[!_]*.py")]
            tested += sum((area / path.with_name(f"test_{path.name}")).exists() for path in modules)
    assert tested >= MIRRORED, "a test file is no longer at the path of its module; rename it"


@pytest.mark.parametrize("name", [*COMMAND_PATHS, *GROUPS])
def test_the_pages_of_commands_begin_with_their_help(name: str) -> None:
    summary = (command_of(name).help or "").split("\n\n")[0].replace("\n", " ").strip()
    assert SECTIONS.get(name, "").splitlines()[:1] == [summary], f"no section for tagwire {name} in docs/cli-*.md"


def test_the_pages_of_commands_have_no_other_section() -> None:
    assert SECTIONS.keys() == {*COMMAND_PATHS, *GROUPS}


def test_each_proposal_is_cited() -> None:
    page = (ROOT / "docs" / "proposals.md").read_text(encoding="utf-8")
    named = set(re.findall(r"KIP-\d+", page.partition("| proposal |")[2].partition("\n\n")[0]))
    assert named == set(re.findall(r"cwiki\.apache\.org/confluence/display/KAFKA/(KIP-\d+)", page))
