import importlib
import inspect
import json
import pydoc
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from command import tagwire_result

from tagwire.explain.html import Unit, tree_of
from tagwire.explain.trace import trace
from tagwire.message.declarations import class_about
from tagwire_generator.editing.spec_edit import format_spec
from tagwire_generator.message_classes import message_class
from tagwire_generator.model import MessageSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.views.docstrings import deprecated_versions, version_history
from tagwire_generator.views.render import environment
from tagwire_workbench.language.hover import hover, register_hover


def field(name: str, type: str, about: str = "", versions: str = "0+", **more: str) -> dict[str, str]:
    return {"name": name, "type": type, "versions": versions, "about": about, **more}


PAGES = field("Pages", "int8", "without the cover")
BOOK = {"name": "Book", "versions": "0+", "about": "A book.", "fields": [PAGES]}
SPEC = {
    "name": "ShelfData",
    "type": "data",
    "about": 'Where books stand. "Quoted" \\N{BULLET}',
    "validVersions": "0-2",
    "deprecatedVersions": "0",
    "deprecated": "it has no room",
    "flexibleVersions": "none",
    "fields": [field("Room", "int8", "at the door", deprecated="use Place"), field("Books", "[]Book")],
    "commonStructs": [BOOK],
}
SETTINGS = """
[[tool.tagwire.sets]]
specs = "specs"
package = "documented_messages"
output = "."
options = { dialect = "tagwire" }
"""
USE = """from documented_messages import ShelfData
shelf = ShelfData(room=1)
shelf.room = 2
number: int = shelf.room
"""


def read(**changes: object) -> MessageSpec:
    message = read_spec(json.dumps(SPEC | {"dialect": "tagwire"} | changes)).message
    assert message is not None
    return message


def project(folder: Path, package: str, *specs: dict[str, Any]) -> Path:
    (folder / "pyproject.toml").write_text(SETTINGS.replace("documented_messages", package))
    (folder / "specs").mkdir()
    for spec in specs:
        (folder / "specs" / f"{spec['name']}.json").write_text(json.dumps(spec, indent=2))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        tagwire_result("generate", code=0)
        tagwire_result("generate", "--templates", "@markdown", "--output", "pages", code=0)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("documented"), "documented_messages", SPEC)


@pytest.fixture
def module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module("documented_messages.shelf_data")


def test_docstrings(module: ModuleType, folder: Path) -> None:
    assert inspect.getdoc(module.ShelfData) == (
        'Where books stand. "Quoted" \\N{BULLET} (data, versions 0-2)\n\n'
        "Fields:\n\nroom: int\n    at the door (int8, all versions) Deprecated: use Place\n"
        "books: Array[Book]\n    A book. ([]Book, all versions)\n\n"
        "Deprecated in version 0: it has no room\n\nVersions 1-2 have the same fields."
    )
    page = pydoc.plain(pydoc.render_doc(module.Book))
    assert "|  pages: int\n |      without the cover" in page and len(page.splitlines()) < 80
    text = " ".join((folder / "documented_messages/shelf_data.py").read_text().split())
    assert '"""at the door (int8, all versions) Deprecated: use Place"""' in text
    assert (class_about(module.Book), class_about(module.ShelfData)) == ("A book.", SPEC["about"])


def test_rows_and_run_time(module: ModuleType) -> None:
    room, _ = module.ShelfData.FIELDS
    assert (room.about, room.deprecated) == ("at the door", "use Place")
    assert module.Book.FIELDS[0].about == "without the cover"
    shelf = module.ShelfData(room=3, books=[module.Book(pages=7)])
    assert module.ShelfData.decode(shelf.encode(2), 2) == shelf and not hasattr(shelf, "__dict__")
    shelf.room = 4
    assert shelf.replace(room=5).room == 5


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Deprecated in version 0: it has no room"),
        ({"deprecatedVersions": None}, "Deprecated: it has no room"),
        ({"deprecated": ""}, "Deprecated in version 0."),
        ({"deprecated": None}, ""),
    ],
)
def test_which_versions_are_deprecated(changes: dict[str, object], expected: str) -> None:
    assert deprecated_versions(read(**changes)) == expected


def test_the_history_names_each_new_format_of_records_once() -> None:
    records = field("Records", "records", nullableVersions="0+")
    formats = {"recordFormats": {"0": "v0", "1": "v1", "2+": "v2"}}
    message = read(validVersions="0-4", fields=[{**records, **formats}], commonStructs=[])
    assert version_history(message, message_class(message)) == [
        "Version 1 uses record format v1 in `records`.",
        "Version 2 uses record format v2 in `records`.",
        "Versions 3-4 have the same fields.",
    ]


def test_it_is_an_extension() -> None:
    fields = [field("Room", "int8", deprecated="use Place")]
    problems = read_spec(json.dumps(SPEC | {"commonStructs": None, "fields": fields})).problems
    assert [problem.rule for problem in problems] == ["TW709", "TW709"]


def test_markdown(folder: Path) -> None:
    page = next((folder / "pages").rglob("ShelfData.md")).read_text()
    assert "\nWhere books stand. " in page and "\nDeprecated in version 0: it has no room\n" in page
    assert "| at the door Deprecated: use Place |" in page and "| A book. |" in page
    assert environment(folder).filters["markdown"]("a\x1b[2J\u202e<") == r"a\\x1b\[2J\\u202e&#60;"


def test_explain_html(module: ModuleType) -> None:
    data = bytes.fromhex("03 00000001 07")  # room 3, one book, 7 pages
    tree = tree_of([Unit((), [trace(module.ShelfData, data, 2)])])
    names = tree["rows"]["name"]
    assert {names[int(row)]: text for row, text in tree["about"].items()} == {
        "ShelfData v2": 'Where books stand. "Quoted" \\N{BULLET} Deprecated in version 0: it has no room',
        "room": "at the door Deprecated: use Place",
        "books": "A book.",
        "[0]": "A book.",
        "pages": "without the cover",
    }


def test_show(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    words = ["show", "ShelfData", "--package", "documented_messages"]
    assert "int8, deprecated" in tagwire_result(*words).stdout
    for version in ([], ["--version", "1"]):
        assert "at the door Deprecated: use Place" in tagwire_result(*words, *version, "--wide").stdout
    room = json.loads(tagwire_result(*words, "--json").stdout)["fields"][0]
    assert (room["about"], room["deprecated"]) == ("at the door", "use Place")


@pytest.mark.slow
def test_type_checkers_report_deprecated_fields(folder: Path) -> None:
    (folder / "use.py").write_text(USE)
    words = ["--strict", "--config-file=", "--enable-error-code", "deprecated", "use.py"]
    result = subprocess.run([sys.executable, "-m", "mypy", *words], cwd=folder, capture_output=True, text=True)
    expected = "use.py:3: error: function documented_messages.shelf_data.ShelfData.room is deprecated: use Place"
    assert expected in result.stdout, result.stdout
    assert result.stdout.count("use.py:") == 1


STATE = {
    "name": "ShelfState",
    "type": "register",
    "keys": "int8",
    "entries": [
        {"key": 0, "name": "OPEN", "description": "Anybody may take one", "deprecated": "use FREE"},
        {"key": 1, "name": "SHUT", "deprecated": ""},
        {"key": 2, "name": "FREE"},
    ],
}
CORNER = {
    "name": "Corner",
    "type": "struct",
    "dialect": "tagwire",
    "about": "Where two walls meet.",
    "validVersions": "0-1",
    "deprecated": "rooms are round",
    "fields": [field("Angle", "int16", "in degrees")],
}
OLD_BOOK = BOOK | {"deprecated": "use Volume"}
USER = SPEC | {
    "name": "RoomData",
    "deprecated": "read the sign",
    "dialect": "tagwire",
    "imports": [{"name": "Corner", "structVersions": {"0+": 0}}],
    "fields": [
        field("Books", "[]Book"),
        field("Corner", "Corner", "the first one"),
        field("Old", "Corner", "gone since version 2", "0-1"),
        field("Last", "Corner", "the last one", deprecated="as its struct"),
        field("State", "int8", "may change", enum="ShelfState"),
        field("Next", "int8", "planned", enum="ShelfState", default="FREE"),
    ],
    "commonStructs": [OLD_BOOK],
}


@pytest.fixture(scope="module")
def deprecated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a project with a deprecated struct, a deprecated shared struct and deprecated enum members."""
    return project(tmp_path_factory.mktemp("deprecated"), "deprecated_messages", STATE, CORNER, USER)


def test_deprecated_structs_and_enum_members_are_documented(deprecated: Path) -> None:
    package = deprecated / "deprecated_messages"
    texts = {path.stem: " ".join(path.read_text().split()) for path in package.glob("*.py")}
    assert "A book. (`books[]` of RoomData, all versions) Deprecated: use Volume" in texts["room_data"]
    assert "Where two walls meet. (shared struct, versions 0-1) Deprecated: rooms are round" in texts["corner"]
    members = 'OPEN = 0 """Anybody may take one. Deprecated: use FREE""" SHUT = 1 """Deprecated."""'
    assert members in texts["shelf_state"]


def test_lint_findings_for_deprecated_uses(deprecated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(deprecated)
    found = json.loads(tagwire_result("lint", "--json", "--select", "TL9").stdout)
    assert sorted((each["rule"], each["path"], each["message"]) for each in found) == [
        ("TL94", "books", "Books is a Book, which is deprecated"),
        ("TL94", "corner", "Corner is a Corner, which is deprecated"),
        ("TL94", "state", "State is OPEN by default, which is deprecated"),
    ]
    path = deprecated / "specs" / "RoomData.json"
    text = path.read_text()
    path.write_text(text.replace('"use Volume"', '""'))
    found = json.loads(tagwire_result("lint", "--json", "--select", "TL91").stdout)
    path.write_text(text)
    line = text[: text.index('"commonStructs"')].count("\n") + 1
    assert [(each["message"], each["line"]) for each in found] == [("Book is deprecated without a reason", line)]


def test_normal_form_and_plain_kafka(deprecated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(deprecated)
    for name in ("ShelfState", "Corner", "RoomData"):
        text = (deprecated / "specs" / f"{name}.json").read_text()
        assert '"deprecated"' in format_spec(text, file=name, options=SpecOptions())
    plain = SPEC | {"dialect": "tagwire", "commonStructs": [OLD_BOOK]}
    (deprecated / "plain").mkdir()
    (deprecated / "plain" / "ShelfData.json").write_text(json.dumps(plain))
    tagwire_result("export", "--kafka", "plain", "--output", "out", code=0)
    assert "deprecated" not in (deprecated / "out" / "ShelfData.json").read_text().replace("deprecatedVersions", "")


def test_hover_on_deprecated_names() -> None:
    text = json.dumps(USER)
    found = register_hover(text, text.index('"ShelfState"') + 1, json.dumps(STATE))
    assert found is not None and "- 0 `OPEN` Anybody may take one (deprecated: use FREE)" in found.text
    found = hover(text, text.index('"[]Book"') + 4, None, [])
    assert found is not None and "- deprecated: `use Volume`" in found.text
