"""`tagwire add-version`: in place, into another folder, as a dry run; what it reports and refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tagwire_cli.app import app

FIELD = {"name": "Nonce", "type": "int64", "versions": "0+", "about": "Prose that stays."}


def spec(name: str, kind: str, **keys: Any) -> dict[str, Any]:
    head = {"apiKey": 900, "type": kind, "name": name, "validVersions": "0-2", "flexibleVersions": "2+"}
    return head | {"fields": [FIELD]} | keys


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    specs = tmp_path / "specs"
    specs.mkdir()
    for each in (spec("PingRequest", "request"), spec("PingResponse", "response")):
        (specs / f"{each['name']}.json").write_text(json.dumps(each))
    return specs


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ("add-version", *map(str, words)))


def versions(folder: Path) -> dict[str, tuple[str, str | None]]:
    specs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return {each["name"]: (each["validVersions"], each.get("versionsWithOptional")) for each in specs}


def test_in_place(folder: Path) -> None:
    result = run(folder)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "PingRequest: 0-2; new 2; 2 cut",
        "PingResponse: 0-2; new 2; 2 cut",
        "2 messages with a new version, 2 files written",
    ]
    assert versions(folder) == {"PingRequest": ("0-2", "2+"), "PingResponse": ("0-2", "2+")}
    assert "Prose that stays." in (folder / "PingRequest.json").read_text()
    assert run(folder).stdout.startswith("PingRequest: 0-2 -> 0-3; new 3\n")


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for words in ((folder, "--dry-run"), (folder, "--dry-run", "--only-new", "--out", folder.parent / "out")):
        result = run(*words)
        assert result.exit_code == 0
        assert result.stdout.endswith("2 messages with a new version, 2 files would be written\n")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not (folder.parent / "out").exists()


@pytest.mark.parametrize(("words", "valid"), [((), "0-2"), (("--only-new",), "2")])
def test_another_folder(folder: Path, words: tuple[str, ...], valid: str) -> None:
    out = folder.parent / "out"
    assert run(folder, "--out", out, *words).exit_code == 0
    assert versions(out) == {"PingRequest": (valid, "2+"), "PingResponse": (valid, "2+")}
    assert versions(folder) == {"PingRequest": ("0-2", None), "PingResponse": ("0-2", None)}
    assert run(folder, "--out", out, *words).stdout.endswith("0 files written\n")


def test_bad_specs_are_shown_and_nothing_written(folder: Path) -> None:
    (folder / "PingResponse.json").write_text(json.dumps(spec("PingResponse", "response", validVersions="0-1")))
    result = run(folder)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "PingRequest and PingResponse have versions 0-2 and 0-1; give them the same ones first" in result.stderr
    (folder / "PingResponse.json").write_text("{")
    result = run(folder)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "PingResponse.json:1:2: error TW103" in result.stderr
    assert json.loads((folder / "PingRequest.json").read_text()) == spec("PingRequest", "request")


def test_the_options_of_the_spec_set_hold(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagged = {"name": "Trace", "type": "int64", "versions": "2+", "taggedVersions": "2+", "tag": 5}
    (folder / "PingRequest.json").write_text(json.dumps(spec("PingRequest", "request", fields=[FIELD, tagged])))
    monkeypatch.chdir(folder.parent)
    assert "TW609" in run("specs").stderr
    project = '[[tool.tagwire.sets]]\nspecs = "specs"\npackage = "pings"\noptions = { tag_gaps = true }\n'
    (folder.parent / "pyproject.toml").write_text(project)
    assert run("specs").stdout.startswith("PingRequest: 0-2; new 2; 2 cut; without Trace\n")


@pytest.mark.parametrize("words", [(), ("nosuch",), ("specs", "--only-new"), ("specs/PingRequest.json",)])
def test_wrong_usage(folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.chdir(folder.parent)
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
