import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result
from release_jars import jar

JAR = "kafka-clients-9.9.9.jar"
ENTRY = "common/message/PingRequest.json"
NONCE = {"name": "Nonce", "type": "int64", "versions": "0+", "about": "Prose that is not taken."}
HEAD: dict[str, Any] = {"apiKey": 900, "type": "request", "listeners": ["broker"], "name": "PingRequest"}
SPEC = HEAD | {"validVersions": "0", "flexibleVersions": "0+", "fields": [NONCE]}

run = partial(tagwire_result, "import")


def test_a_jar(tmp_path: Path) -> None:
    result = run(jar(tmp_path, {ENTRY: json.dumps(SPEC)}, JAR), "--output", tmp_path / "specs")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "1 spec (clients: 1)" in result.stdout and "1 spec written, 0 unchanged" in result.stdout
    written = (tmp_path / "specs/clients/PingRequest.json").read_text()
    assert "Nonce" in written and "Prose" not in written


def test_a_folder_needs_its_component(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/PingRequest.json").write_text(json.dumps(SPEC))
    result = run(tmp_path / "mine", "--output", tmp_path / "specs")
    assert result.exit_code == 1 and "specify one with --component" in result.stderr
    assert not (tmp_path / "specs").exists()
    assert run(tmp_path / "mine", "--component", "pings", "--output", tmp_path / "specs").exit_code == 0
    assert (tmp_path / "specs/pings/PingRequest.json").is_file()


@pytest.mark.parametrize("words", [[], ["nosuch.jar", "--output", "specs"], ["--output", "specs"]])
def test_wrong_usage(words: list[str]) -> None:
    assert run(*words).exit_code == 2


@pytest.mark.parametrize("output", ["pings", "pings/new"])
def test_output_inside_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pings").mkdir()
    (tmp_path / "pings/PingRequest.json").write_text(json.dumps(SPEC))
    result = run("pings", "--component", "pings", "--output", output)
    assert result.exit_code == 1
    assert f"{output} is inside pings, which is being read; choose an output outside of pings" in result.stderr
    assert [path.name for path in (tmp_path / "pings").iterdir()] == ["PingRequest.json"]
