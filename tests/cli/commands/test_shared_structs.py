import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import tagwire_result as run
from shapes import LINE, make_shapes
from spec_projects import commit


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(make_shapes(tmp_path))
    monkeypatch.setenv("CI", "")
    return tmp_path


def edit(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


def test_validate(project: Path) -> None:
    for path in ("specs", "specs/PlaceRequest.json", "specs/geometry", "specs/geometry/Point.json"):
        result = run("validate", path, code=0)
    edit("specs/Line.json", '"Point"', '"Pont"')
    result = run("validate")
    assert "specs/Line.json:8:15: error TW314: there is no shared struct Pont; did you mean 'Point'?" in result.output
    assert "1 error in 4 specs" in result.output, "it is not said again for PlaceResponse, which imports Line"
    result = run("validate", "specs/PlaceResponse.json", "specs/PlaceRequest.json")
    assert "specs/PlaceResponse.json:10:15: error TW314: the shared struct Line has errors" in result.output
    edit("specs/Line.json", '"Pont"', '"Point"')
    edit("specs/geometry/Point.json", '"int16"', '"int17"')
    assert {each["file"] for each in json.loads(run("validate", "--json").stdout)} == {"specs/geometry/Point.json"}
    result = run("validate", "specs/PlaceResponse.json", "specs/PlaceRequest.json", "specs/Line.json")
    assert result.output.count("error TW314: the shared struct Point has errors") == 1, "the first says where"
    for command in ("generate", "export"):
        result = run(command, *(["--kafka", "specs"] if command == "export" else []), code=1)
        assert "TW314" not in result.output and "int17" in result.output, result.output


def test_a_finding_is_in_the_file_of_the_struct(project: Path) -> None:
    assert run("lock").exit_code == 0
    assert run("breaking").exit_code == 0
    since_2 = '",\n      "versions": "2+"'
    edit("specs/geometry/Point.json", f'"type": "int16{since_2}', f'"type": "int32{since_2}')
    findings = json.loads(run("breaking", "--json").stdout)
    assert {each["message_name"] for each in findings} == {"PlaceRequest", "PlaceResponse"}
    assert {(each["file"], each["line"]) for each in findings} == {("specs/geometry/Point.json", 26)}
    request = next(each for each in findings if each["path"] == "at.z")
    assert (request["rule"], request["versions"]) == ("TW903", "3"), "only version 3 has Point in version 2"
    assert request["proof"]["old"] != request["proof"]["new"]
    assert run("lock").exit_code == 1


def test_a_new_version_of_a_struct_breaks_nothing(project: Path) -> None:
    assert run("lock").exit_code == 0
    before = Path("lock.json").read_text()
    new = {"name": "W", "type": "int8", "versions": "2+", "required": True}
    *ends, style = LINE["fields"]
    grown = LINE | {"validVersions": "0-2", "fields": [*ends, style | {"fields": [*style["fields"], new]}]}
    Path("specs/Line.json").write_text(json.dumps(grown))
    assert run("breaking").stderr.startswith("no breaking changes")
    assert run("lock").exit_code == 0
    assert Path("lock.json").read_text() == before, "no version of the messages has the new field"


def test_lock_needs_no_other_file(project: Path) -> None:
    assert run("lock").exit_code == 0
    [request, _] = json.loads(Path("lock.json").read_text())["messages"]
    assert "imports" not in request["current"]
    [point] = request["current"]["commonStructs"]
    assert [each["versions"] for each in point["fields"]] == ["0+", "0+", "2+", "3+"]
    Path("specs/geometry/Point.json").unlink()
    assert run("breaking").exit_code == 1


def test_against_a_revision(project: Path) -> None:
    commit(project)
    edit("specs/Line.json", '"To"', '"Until"')
    for path in ([], ["specs/PlaceResponse.json"]):
        findings = json.loads(run("breaking", "--against", "HEAD", "--json", *path).stdout)
        assert {(each["rule"], each["file"]) for each in findings} == {("TW941", "specs/Line.json")}, findings


def test_fmt_keeps_imports(project: Path) -> None:
    assert run("fmt").exit_code == 0
    text = Path("specs/PlaceRequest.json").read_text()
    assert '"imports"' in text and json.loads(text)["imports"][0]["structVersions"] == {"0-1": 0, "2": 1, "3+": 2}
    assert json.loads(Path("specs/Line.json").read_text())["fields"] == LINE["fields"]
    assert run("fmt", "--check").exit_code == 0 and run("validate").exit_code == 0


def test_show_diff_and_json(project: Path) -> None:
    assert run("generate").exit_code == 0
    code = "from tagwire_cli.app import app; app()"

    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", *sys.path])}

    def shown(*words: str) -> str:
        command = [sys.executable, "-c", code, *words, "--package", "shapes_messages"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    table = shown("show", "PlaceRequest")
    assert "Point, version 0 in 0-1, version 1 in 2, version 2 in 3+" in table
    assert [line.split()[2] for line in table.splitlines() if line.strip().startswith("z ")] == ["3+", "3+"]
    facts = json.loads(shown("show", "PlaceResponse", "--json"))
    edge = next(each for each in facts["fields"] if each["name"] == "edge")
    assert edge["structVersions"] == {"2+": 1}
    assert edge["fields"][0]["structVersions"] == {"2+": 2}, "in versions of the message"
    assert "at.label" in shown("diff", "PlaceRequest", "1", "2")


def test_draft_version_rejects_imports(project: Path) -> None:
    result = run("draft-version", "specs", "--output", "drafts")
    error = result.output + str(result.exception)
    assert result.exit_code != 0 and "does not support structs shared between files" in error


def test_add_version_to_a_message_with_imports(project: Path) -> None:
    result = run("add-version", "PlaceRequest", "--field", "Note", "--type", "string", code=0)
    assert json.loads(Path("specs/PlaceRequest.json").read_text())["validVersions"] == "0-4"
    result = run("add-version", "specs/geometry/Point.json", code=1)
    assert "Point.json is a shared struct" in result.output, result.output
