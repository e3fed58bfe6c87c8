import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editor_client import Editor, editor
from shapes import make_shapes

pytest.importorskip("pygls")

from command import tagwire_result

RENAMES = {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename"]}}
KIND = {"name": "Kind", "type": "register", "keys": "int8", "entries": [{"key": 0, "name": "NONE"}]}


def add_kinds(root: Path) -> None:
    (root / "specs" / "Kind.json").write_text(json.dumps(KIND, indent=2) + "\n", "utf-8")
    for name in ("PlaceRequest", "Line"):
        path = root / "specs" / f"{name}.json"
        spec = json.loads(path.read_text("utf-8"))
        spec["fields"].append({"name": "Kind", "type": "int8", "versions": "0+", "enum": "Kind"})
        path.write_text(json.dumps(spec, indent=2) + "\n", "utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_shapes(tmp_path.resolve())
    add_kinds(root)
    return root


@pytest.fixture
def client(root: Path) -> Iterator[Editor]:
    with editor(root, workspace=RENAMES) as started:
        yield started


def apply(client: Editor, root: Path, steps: list[dict[str, Any]]) -> None:
    for step in steps:
        if step.get("kind") == "rename":
            path_of(root, step["oldUri"]).rename(path_of(root, step["newUri"]))
            continue
        uri = step["textDocument"]["uri"]
        path = path_of(root, uri)
        client.texts.setdefault(uri, path.read_text("utf-8"))
        path.write_text(client.after(uri, step["edits"]), "utf-8")


def path_of(root: Path, uri: str) -> Path:
    assert uri.startswith(root.as_uri())
    return Path(uri.removeprefix("file://"))


def everything(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in (root / "specs").rglob("*.json")}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "needle", "old", "new"),
    [
        ("geometry/Point.json", '"Point"', "Point", "Spot"),
        ("PlaceResponse.json", '"[]Point"', "Point", "Spot"),
        ("Line.json", '"Point"', "Point", "Spot"),
        ("Line.json", '"Line"', "Line", "Edge"),
        ("Kind.json", '"Kind"', "Kind", "Sort"),
        ("Line.json", '"enum": "Kind"', "Kind", "Sort"),
    ],
)
def test_a_name_changes_everywhere(client: Editor, root: Path, file: str, needle: str, old: str, new: str) -> None:
    uri = client.open(root / "specs" / file)
    before = everything(root)
    position = client.at(uri, needle, len(needle) - 2)
    assert client.ask("textDocument/prepareRename", position)["placeholder"] == old
    found = client.ask("textDocument/references", position | {"context": {"includeDeclaration": True}})
    steps = client.ask("textDocument/rename", position | {"newName": new})["documentChanges"]
    edits = [edit for step in steps for edit in step.get("edits", ())]
    assert len(edits) == len(found)
    apply(client, root, steps)
    after = everything(root)
    declared = next(name for name in before if name.endswith(f"{old}.json"))
    assert after.keys() == before.keys() - {declared} | {declared.replace(old, new)}
    for name in ("PlaceRequest.json", "PlaceResponse.json"):
        assert f'"{old}"' not in after[f"specs/{name}"].replace(
            '"name": "Kind"', ""
        ), "only a field is still called like it"
    tagwire_result("validate", str(root / "specs"), code=0)


def test_editor_that_does_not_rename_files(root: Path) -> None:
    """An editor that can't rename files must get only text edits. Edits of an open file must fit its unsaved text."""
    with editor(root) as client:
        request = client.open(root / "specs" / "PlaceRequest.json")
        client.type(request, "// mine\n" + client.texts[request])
        uri = client.open(root / "specs" / "geometry" / "Point.json")
        changes = client.ask("textDocument/rename", client.at(uri, '"Point"') | {"newName": "Spot"})["changes"]
        expected = {"Point.json", "Line.json", "PlaceRequest.json", "PlaceResponse.json"}
        assert {Path(each).name for each in changes} == expected
        after = client.after(request, changes[request])
        assert after == client.texts[request].replace('"Point"', '"Spot"').replace('"[]Point"', '"[]Spot"')


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("new", "words"),
    [("Line", "Point can't be renamed to 'Line': "), ("point", "(TW207)"), ("Style", "(TW"), ("int32", "(TW")],
)
def test_a_name_that_would_break_a_rule_in_another_file(client: Editor, root: Path, new: str, words: str) -> None:
    uri = client.open(root / "specs" / "geometry" / "Point.json")
    rejected = client.answer("textDocument/rename", client.at(uri, '"Point"') | {"newName": new})["error"]
    assert rejected["code"] == -32803 and words in rejected["message"]


def test_file_that_is_not_json(client: Editor, root: Path) -> None:
    uri = client.open(root / "specs" / "geometry" / "Point.json")
    client.open(root / "specs" / "Line.json", '{ "type": "struct", "imports": [ { "name": "Point" } ], ')
    rejected = client.answer("textDocument/rename", client.at(uri, '"Point"') | {"newName": "Spot"})["error"]
    assert "Line.json is not a JSON object" in rejected["message"]


def test_errors_of_a_shared_struct_are_reported_once_for_files_that_are_not_open(client: Editor, root: Path) -> None:
    path = root / "specs" / "geometry" / "Point.json"
    uri = client.open(path)
    line = client.open(root / "specs" / "Line.json")
    client.type(uri, client.texts[uri].replace('"int16"', '"int17"'))
    client.diagnostics(line, "TW314")
    with_problems = {Path(each).name for each, found in client.published.items() if found}
    assert with_problems == {"Point.json", "Line.json"}, "not the messages, which nobody has open"
