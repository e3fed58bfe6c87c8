import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result
from spec_projects import commit, read_tree

FIELD = {"name": "Nonce", "type": "int64", "versions": "0+", "about": "Prose that stays."}


def spec(name: str, kind: str, **keys: Any) -> dict[str, Any]:
    head = {"apiKey": 900, "type": kind, "name": name, "validVersions": "0-2", "flexibleVersions": "2+"}
    return head | {"fields": [FIELD]} | keys


def write(folder: Path, **keys: Any) -> None:
    for kind in ("request", "response"):
        name = f"Ping{kind.title()}"
        (folder / f"{name}.json").write_text(json.dumps(spec(name, kind, **keys)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    specs = tmp_path / "specs"
    specs.mkdir()
    write(specs)
    return specs


run = partial(tagwire_result, "draft-version")


def versions(folder: Path) -> dict[str, tuple[str, str | None]]:
    specs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return {each["name"]: (each["validVersions"], each.get("versionsWithOptional")) for each in specs}


def test_another_folder(folder: Path) -> None:
    result = run(folder, "--output", folder.parent / "out")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "PingRequest: 0-2; new 2; old 2 removed",
        "PingResponse: 0-2; new 2; old 2 removed",
        "2 messages with a new version; 2 files written",
    ]
    assert versions(folder.parent / "out") == {"PingRequest": ("0-2", "2+"), "PingResponse": ("0-2", "2+")}
    assert "Prose that stays." in (folder.parent / "out/PingRequest.json").read_text()


@pytest.mark.parametrize("by_git", [False, True])
def test_removed_versions_are_not_drafted_again(folder: Path, monkeypatch: pytest.MonkeyPatch, by_git: bool) -> None:
    monkeypatch.chdir(folder.parent)
    project = '[[tool.tagwire.sets]]\nspecs = "specs"\npackage = "pings"\n' + ('lock = "lock.json"\n' * (not by_git))
    (folder.parent / "pyproject.toml").write_text(project)
    plain = partial(write, folder, flexibleVersions="none")
    plain(validVersions="0-3")
    if by_git:
        commit(folder.parent)
    else:
        tagwire_result("lock", code=0)
    plain(validVersions="0-2")
    words = ("--against", "HEAD") if by_git else ()
    result = run("specs", "--in-place", *words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "PingRequest 3: " in result.stderr and "TW901" in result.stderr
    assert versions(folder)["PingRequest"] == ("0-2", None)
    assert run("specs", "--in-place", "--against", "nosuch").exit_code == 2
    plain(validVersions="0-3")
    assert run("specs", "--in-place", *words).stdout.startswith("PingRequest: 0-3 -> 0-4; new 4\n")


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    before = read_tree(folder)
    out = ("--output", folder.parent / "out")
    for words in ((folder, "--dry-run", *out), (folder, "--dry-run", "--only-new", *out)):
        result = run(*words)
        assert result.exit_code == 0
        assert result.stdout.endswith("2 messages with a new version; 2 files would be written\n")
    assert read_tree(folder) == before
    assert not (folder.parent / "out").exists()


def test_the_options_of_the_spec_set_hold(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagged = {"name": "Trace", "type": "int64", "versions": "2+", "taggedVersions": "2+", "tag": 5}
    (folder / "PingRequest.json").write_text(json.dumps(spec("PingRequest", "request", fields=[FIELD, tagged])))
    monkeypatch.chdir(folder.parent)
    assert "TW609" in run("specs", "--output", "out").stderr
    project = '[[tool.tagwire.sets]]\nspecs = "specs"\npackage = "pings"\noptions = { tag_gaps = true }\n'
    (folder.parent / "pyproject.toml").write_text(project)
    assert run("specs", "--output", "out").stdout.startswith("PingRequest: 0-2; new 2; old 2 removed; without Trace\n")


IN_PLACE = "specs --in-place"


@pytest.mark.parametrize(
    "words",
    [
        "",
        "specs",
        "nosuch --in-place",
        f"{IN_PLACE} --only-new",
        f"{IN_PLACE} --output out",
        "specs/PingRequest.json --in-place",
    ],
)
def test_wrong_usage(folder: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.chdir(folder.parent)
    result = run(*words.split())
    assert (result.exit_code, result.stdout) == (2, "")


def test_output_is_a_loop_of_links(folder: Path) -> None:
    (folder.parent / "loop").symlink_to("loop")
    assert "loop" in run(folder, "--output", folder.parent / "loop", code=1).stderr
