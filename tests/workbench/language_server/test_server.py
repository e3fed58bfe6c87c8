import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result
from editor_client import PATIENCE, Editor, editor
from shapes import make_shapes

pytest.importorskip("pygls")

REQUEST = """{
  "apiKey": 12,
  "type": "request",
  "name": "FindShelfRequest",
  "validVersions": "0-1",
  "flexibleVersions": "1+",
  "fields": [
    { "name": "Books", "type": "[]Book", "versions": "0+", "about": "\N{GRINNING FACE}", "fields": [
      { "name": "Id", "type": "uuid", "versions": "0+", "about": "\N{GRINNING FACE}", "mapKey": true },
      { "name": "Cover", "type": "Picture", "versions": "1+" }
    ] }
  ],
  "commonStructs": [
    { "name": "Picture", "versions": "1+", "fields": [
      { "name": "Data", "type": "bytes", "versions": "1+" }
    ] }
  ]
}
"""
RESPONSE = REQUEST.replace("Request", "Response").replace("request", "response")
SETTINGS = '[[tool.tagwire.sets]]\nspecs = "specs"\npackage = "shelves"\n'


def make_project(root: Path) -> None:
    (root / "specs").mkdir()
    (root / "pyproject.toml").write_text(SETTINGS)
    (root / "specs" / "FindShelfRequest.json").write_text(REQUEST, "utf-8")
    (root / "specs" / "FindShelfResponse.json").write_text(RESPONSE, "utf-8")


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lsp").resolve()
    make_project(root)
    return root / "specs"


@pytest.fixture(scope="module")
def client(specs: Path) -> Iterator[Editor]:
    with editor(specs.parent) as started:
        yield started


@pytest.fixture
def uri(client: Editor, specs: Path) -> str:
    """The URI of the request, which is open in the editor with the text `REQUEST`."""
    uri = (specs / "FindShelfRequest.json").as_uri()
    if uri in client.texts:
        client.type(uri, REQUEST)
    else:
        client.open(specs / "FindShelfRequest.json")
    return uri


def written(client: Editor, uri: str, position: dict[str, Any]) -> str:
    edits = [{"range": position, "newText": "\0\0"}]
    before, after = client.texts[uri], client.after(uri, edits)
    start = after.index("\0\0")
    return before[start : len(before) - (len(after) - start - 2)]


def test_capabilities_of_the_server(client: Editor) -> None:
    can = client.capabilities
    assert can["positionEncoding"] == "utf-16"
    assert can["renameProvider"] == {"prepareProvider": True}
    features = ("completion", "hover", "definition", "references", "documentSymbol", "documentFormatting")
    assert all(can[f"{name}Provider"] for name in features)


def test_problems_while_typing(client: Editor, uri: str) -> None:
    client.type(uri, REQUEST.replace('"mapKey"', '"mapKye"'))
    [problem] = client.diagnostics(uri, "TW110")
    assert written(client, uri, problem["range"]) == '"mapKye"', "the face before it is two units"
    assert problem["source"] == "tagwire" and problem["severity"] == 1
    assert problem["codeDescription"]["href"].endswith("spec-language.md#rules")
    client.type(uri, REQUEST[:200])
    client.diagnostics(uri, "TW103")
    client.type(uri, REQUEST)
    client.diagnostics(uri)


def test_a_change_without_content(client: Editor, uri: str) -> None:
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 9}, "contentChanges": []})
    client.type(uri, "{")
    client.diagnostics(uri, "TW103")
    assert client.unread("window/showMessage") == []


def test_rules_about_the_set_while_typing(client: Editor, uri: str) -> None:
    other = uri.replace("Request", "Response")
    client.type(uri, REQUEST.replace("12", "13"))
    [problem] = client.diagnostics(uri, "TW804")
    assert written(client, uri, problem["range"]) == '"FindShelfRequest"'
    client.type(uri, REQUEST.replace('"0-1"', '"0-2"'))
    client.diagnostics(uri)
    client.diagnostics(other, "TW808")  # this file is not open in the editor
    client.type(uri, REQUEST)
    client.diagnostics(other)


def test_a_change_on_disk(client: Editor, specs: Path, uri: str) -> None:
    file = specs / "FindShelfResponse.json"
    file.write_text(RESPONSE.replace("12", "14"), "utf-8")
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": file.as_uri(), "type": 2}]})
    client.diagnostics(uri, "TW804")
    file.write_text(RESPONSE, "utf-8")
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    client.diagnostics(uri)


def test_completion_in_broken_text(client: Editor, uri: str) -> None:
    client.type(uri, REQUEST.replace('"mapKey": true }', '"ma }'))
    items = client.ask("textDocument/completion", client.at(uri, '"ma', 3))
    [item] = [each for each in items if each["label"] == "mapKey"]
    assert item["filterText"] == '"mapKey"' and "the key, or part of the key" in item["documentation"]
    client.texts[uri] = client.after(uri, [item["textEdit"]])
    assert '"about": "\N{GRINNING FACE}", "mapKey": true }' in client.texts[uri]
    client.type(uri, REQUEST.replace('"versions": "1+" }\n    ]', '"ver }\n    ]'))
    items = client.ask("textDocument/completion", client.at(uri, '"ver }', 4))
    [item] = [each for each in items if each["label"] == "versions"]
    assert (item["textEdit"]["newText"], item["insertTextFormat"]) == ('"versions": "$1"', 2)
    items = client.ask("textDocument/completion", client.at(uri, '"uuid"', 3))
    assert {"uuid", "[]uuid", "Picture"} <= {each["label"] for each in items}
    assert "Book" not in {each["label"] for each in items}


def test_hover(client: Editor, uri: str) -> None:
    found = client.ask("textDocument/hover", client.at(uri, '"Id"'))
    assert "**Id**: `uuid`, field of Book" in found["contents"]["value"]
    assert "00 00 00 01`" in found["contents"]["value"]
    assert written(client, uri, found["range"]) == "Id"
    client.type(uri, REQUEST.replace('"uuid"', '"uuit"'))
    found = client.ask("textDocument/hover", client.at(uri, '"uuit"'))
    assert "**TW402** (error)" in found["contents"]["value"]
    assert client.ask("textDocument/hover", client.at(uri, "{", 0)) is None


def test_definition_and_references(client: Editor, uri: str) -> None:
    found = client.ask("textDocument/definition", client.at(uri, '"Picture"'))
    line = REQUEST[: REQUEST.index("commonS")].count("\n") + 1
    assert (found["uri"], found["range"]["start"]["line"]) == (uri, line)
    assert written(client, uri, found["range"]) == "Picture"
    found = client.ask("textDocument/definition", client.at(uri, '"apiKey"', 10))
    assert found["uri"] == uri.replace("Request", "Response")
    params = client.at(uri, '"Picture"') | {"context": {"includeDeclaration": True}}
    assert len(client.ask("textDocument/references", params)) == 2
    params["context"]["includeDeclaration"] = False
    [found] = client.ask("textDocument/references", params)
    assert found["range"]["start"]["line"] == REQUEST[: REQUEST.index('"Cover"')].count("\n")


def extended(keys: str, field: str) -> str:
    return REQUEST.replace("{", f"{{ {keys},", 1).replace('{ "name": "Books"', f'{field},\n    {{ "name": "Books"')


def test_registers(client: Editor, specs: Path, uri: str) -> None:
    register = specs / "Colour.json"
    entries = '[ { "key": 1, "name": "red", "description": "like blood" } ]'
    register.write_text(f'{{ "name": "Colour", "type": "register", "keys": "int8", "entries": {entries} }}')
    field = '{ "name": "Paint", "type": "int8", "versions": "0+", "enum": "Colour" }'
    client.type(uri, extended('"dialect": "tagwire"', field))
    position = client.at(uri, '"Colour"')
    assert client.ask("textDocument/definition", position)["uri"] == register.as_uri()
    assert "- 1 `red` like blood" in client.ask("textDocument/hover", position)["contents"]["value"]
    assert [each["label"] for each in client.ask("textDocument/completion", position)] == ["Colour"]
    register.unlink()


def test_shared_structs(client: Editor, specs: Path, uri: str) -> None:
    shared = specs / "Point.json"
    head = '"dialect": "tagwire", "name": "Point", "type": "struct", "validVersions": "0"'
    shared.write_text(f'{{ {head}, "fields": [ {{ "name": "X", "type": "int8", "versions": "0+" }} ] }}')
    imports = '"dialect": "tagwire", "imports": [ { "name": "Point" } ]'
    client.type(uri, extended(imports, '{ "name": "Place", "type": "[]Point", "versions": "0+" }'))
    for needle in ('"Point"', '"[]Point"'):
        assert client.ask("textDocument/definition", client.at(uri, needle, 4))["uri"] == shared.as_uri()
    found = client.ask("textDocument/completion", client.at(uri, '"Point"'))
    assert [each["label"] for each in found] == ["Point"]
    shared.unlink()


def rename_error(client: Editor, uri: str, old: str, new: str) -> str:
    error = client.answer("textDocument/rename", client.at(uri, f'"{old}"') | {"newName": new})["error"]
    assert error["code"] == -32803
    return str(error["message"])


def test_rename(client: Editor, uri: str) -> None:
    position = client.at(uri, '"Picture"')
    assert client.ask("textDocument/prepareRename", position)["placeholder"] == "Picture"
    assert client.ask("textDocument/prepareRename", client.at(uri, '"uuid"')) is None
    edits = client.ask("textDocument/rename", position | {"newName": "Image"})["changes"][uri]
    assert client.after(uri, edits) == REQUEST.replace("Picture", "Image")
    assert "TW304" in rename_error(client, uri, "Picture", "Book")


def test_outline_and_format(client: Editor, uri: str) -> None:
    document = {"textDocument": {"uri": uri}}
    [message] = client.ask("textDocument/documentSymbol", document)
    assert [each["name"] for each in message["children"]] == ["Books", "Picture"]
    options = document | {"options": {"tabSize": 2, "insertSpaces": True}}
    client.type(uri, "// kept\n" + REQUEST.replace('"apiKey": 12,\n', "").replace("{", '{ "apiKey": "12", // key\n', 1))
    edits = client.ask("textDocument/formatting", options)
    assert client.after(uri, edits).startswith('// kept\n{\n  "apiKey": 12, // key\n  "type": "request",\n')
    client.type(uri, "{")
    assert client.ask("textDocument/formatting", options) == [], "a spec with errors stays as it is"


def test_suggested_names_as_quick_fixes(client: Editor, uri: str) -> None:
    client.type(uri, REQUEST.replace('"uuid"', '"uuit"'))
    position = client.at(uri, '"uuit"')["position"]
    context = {"range": {"start": position, "end": position}, "context": {"diagnostics": []}}
    [action] = client.ask("textDocument/codeAction", {"textDocument": {"uri": uri}} | context)
    assert (action["title"], action["kind"]) == ("Change to uuid", "quickfix")
    assert client.after(uri, action["edit"]["changes"][uri]) == REQUEST


def test_closed_files_are_as_on_disk(client: Editor, uri: str) -> None:
    client.type(uri, "{")
    client.diagnostics(uri, "TW103")
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    del client.texts[uri]
    client.diagnostics(uri)


def test_files_that_are_not_specs_are_left_alone(client: Editor, specs: Path) -> None:
    uri = client.open(specs.parent / "package.json", '{ "name": "x", "type": "module", ')
    assert client.ask("textDocument/completion", client.at(uri, "module", 0)) == []
    assert client.ask("textDocument/hover", client.at(uri, "name")) is None
    assert client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}) == []
    assert uri not in client.published
    new = "untitled:Untitled-1"
    document = {"uri": new, "languageId": "json", "version": 1, "text": '{ "type": "request", }'}
    client.notify("textDocument/didOpen", {"textDocument": document})
    assert len(client.diagnostics(new, "TW105", "TW113", "TW113", "TW204")) == 4


@pytest.mark.parametrize("uri", ["file://[", "file:///a%00b.json", "untitled:a%00b", "file:///\ud800.json"])
def test_invalid_uri(client: Editor, uri: str) -> None:
    error = client.answer("textDocument/documentSymbol", {"textDocument": {"uri": uri}})["error"]
    assert error["code"] == -32602 and error["message"].startswith(f"invalid URI {uri!a}: ") and "data" not in error


def test_settings_that_can_not_be_read_are_reported_once(tmp_path: Path) -> None:
    make_project(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool")
    with editor(tmp_path.resolve()) as client:
        client.open(tmp_path.resolve() / "specs" / "FindShelfRequest.json")
        shown = client.notification("window/showMessage")
        assert "pyproject.toml: the file is not valid TOML" in shown["message"]
        (tmp_path / "pyproject.toml").write_text(SETTINGS)
        uri = client.open(tmp_path.resolve() / "specs" / "FindShelfResponse.json", RESPONSE.replace("12", "15"))
        client.diagnostics(uri, "TW805")


def test_files_of_two_sets_are_opened_at_once_and_then_the_settings_change(tmp_path: Path) -> None:
    root, sets = tmp_path.resolve(), ("one", "two")
    settings = [f'[[tool.tagwire.sets]]\nspecs = "{name}"\npackage = "{name}"\n' for name in sets]
    (root / "pyproject.toml").write_text("".join(settings))
    for name in sets:
        (root / name).mkdir()
        (root / name / "FindShelfResponse.json").write_text(RESPONSE.replace("12", "14"), "utf-8")
    with editor(root) as client:
        one, two = [client.open(root / name / "FindShelfRequest.json", REQUEST) for name in sets]
        assert client.diagnostics(one, "TW804") and client.diagnostics(two, "TW804")
        (root / "pyproject.toml").write_text("")  # the files are in no set now
        change = {"uri": f"{root.as_uri()}/pyproject.toml", "type": 2}
        client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
        assert client.diagnostics(one) == client.diagnostics(two) == []


def test_position_encoding_is_negotiated(tmp_path: Path) -> None:
    make_project(tmp_path)
    with editor(tmp_path.resolve(), encodings=("utf-8", "utf-16")) as client:
        assert client.capabilities["positionEncoding"] == "utf-8"
        text = REQUEST.replace('"mapKey"', '"mapKye"')
        uri = client.open(tmp_path.resolve() / "specs" / "FindShelfRequest.json", text)
        [problem] = client.diagnostics(uri, "TW110")
        line = text.splitlines()[problem["range"]["start"]["line"]].encode()
        start, end = (problem["range"][side]["character"] for side in ("start", "end"))
        assert line[start:end] == b'"mapKye"'


def test_invalid_json_neither_ends_the_server_nor_causes_a_traceback() -> None:
    unknown = b'{"jsonrpc": "2.0", "id": 1, "method": "textDocument/nothing", "params": {}}'
    data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(each), each) for each in (b"{x}", unknown))
    command, data = [sys.executable, "-m", "tagwire_cli", "lsp"], data + b'Content-Length: 9\r\n\r\n{"a'
    done = subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, b"Traceback" in done.stderr, done.stdout.count(b"Error in server")) == (0, False, 2)
    assert b"-32601" in done.stdout.partition(b"Error in server")[2]


RENAMES = {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename"]}}
KIND = {"name": "Kind", "type": "register", "keys": "int8", "entries": [{"key": 0, "name": "NONE"}]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with shared structs, and a register that a message and a shared struct use."""
    root = make_shapes(tmp_path.resolve())
    (root / "specs" / "Kind.json").write_text(json.dumps(KIND, indent=2) + "\n", "utf-8")
    for name in ("PlaceRequest", "Line"):
        path = root / "specs" / f"{name}.json"
        spec = json.loads(path.read_text("utf-8"))
        spec["fields"].append({"name": "Kind", "type": "int8", "versions": "0+", "enum": "Kind"})
        path.write_text(json.dumps(spec, indent=2) + "\n", "utf-8")
    return root


@pytest.fixture
def shape_editor(root: Path) -> Iterator[Editor]:
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
def test_renaming_everywhere(shape_editor: Editor, root: Path, file: str, needle: str, old: str, new: str) -> None:
    uri = shape_editor.open(root / "specs" / file)
    before = everything(root)
    position = shape_editor.at(uri, needle, len(needle) - 2)
    assert shape_editor.ask("textDocument/prepareRename", position)["placeholder"] == old
    found = shape_editor.ask("textDocument/references", position | {"context": {"includeDeclaration": True}})
    steps = shape_editor.ask("textDocument/rename", position | {"newName": new})["documentChanges"]
    edits = [edit for step in steps for edit in step.get("edits", ())]
    assert len(edits) == len(found)
    apply(shape_editor, root, steps)
    after = everything(root)
    declared = next(name for name in before if name.endswith(f"{old}.json"))
    assert after.keys() == before.keys() - {declared} | {declared.replace(old, new)}
    for name in ("PlaceRequest.json", "PlaceResponse.json"):
        assert f'"{old}"' not in after[f"specs/{name}"].replace('"name": "Kind"', ""), "only a field has this name"
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
def test_a_name_that_would_break_a_rule_in_another_file(shape_editor: Editor, root: Path, new: str, words: str) -> None:
    uri = shape_editor.open(root / "specs" / "geometry" / "Point.json")
    assert words in rename_error(shape_editor, uri, "Point", new)


def test_file_that_is_not_json(shape_editor: Editor, root: Path) -> None:
    uri = shape_editor.open(root / "specs" / "geometry" / "Point.json")
    shape_editor.open(root / "specs" / "Line.json", '{ "type": "struct", "imports": [ { "name": "Point" } ], ')
    assert "Line.json is not a JSON object" in rename_error(shape_editor, uri, "Point", "Spot")


def test_errors_of_a_shared_struct_are_reported_once_for_closed_files(shape_editor: Editor, root: Path) -> None:
    uri = shape_editor.open(root / "specs" / "geometry" / "Point.json")
    line = shape_editor.open(root / "specs" / "Line.json")
    shape_editor.type(uri, shape_editor.texts[uri].replace('"int16"', '"int17"'))
    shape_editor.diagnostics(line, "TW314")
    with_problems = {Path(each).name for each, found in shape_editor.published.items() if found}
    assert with_problems == {"Point.json", "Line.json"}, "not the messages, which nobody has open"
