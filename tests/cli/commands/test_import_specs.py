"""`tagwire import`: jars and folders to canonical specs; what it reports and refuses."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from class_files import ENUM, enum_file
from click.testing import CliRunner, Result

from tagwire_cli.app import app

SPEC: dict[str, Any] = {
    "apiKey": 900,
    "type": "request",
    "listeners": ["broker"],
    "name": "PingRequest",
    "validVersions": "0",
    "flexibleVersions": "0+",
    "fields": [{"name": "Nonce", "type": "int64", "versions": "0+", "about": "Prose that is not taken."}],
}


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ("import", *map(str, words)))


def jar(path: Path, entry: str = "common/message/PingRequest.json", spec: dict[str, Any] = SPEC) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, json.dumps(spec))
    return path


def test_a_jar(tmp_path: Path) -> None:
    result = run(jar(tmp_path / "kafka-clients-9.9.9.jar"), "--out", tmp_path / "specs")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "1 spec (clients: 1)" in result.stdout and "1 spec written, 0 unchanged" in result.stdout
    written = (tmp_path / "specs/clients/PingRequest.json").read_text()
    assert "Nonce" in written and "Prose" not in written


def test_a_folder_needs_its_component(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/PingRequest.json").write_text(json.dumps(SPEC))
    result = run(tmp_path / "mine", "--out", tmp_path / "specs")
    assert result.exit_code == 1 and "say the component" in result.stderr
    assert not (tmp_path / "specs").exists()
    assert run(tmp_path / "mine", "--component", "pings", "--out", tmp_path / "specs").exit_code == 0
    assert (tmp_path / "specs/pings/PingRequest.json").is_file()


@pytest.mark.parametrize(
    ("entry", "changes", "text"),
    [
        ("common/message/PingRequest.json", {"validVersions": "often"}, "PingRequest.json"),
        ("../PingRequest.json", {}, "leads out of the archive"),
        ("elsewhere/PingRequest.json", {}, "no message specs"),
    ],
)
def test_a_bad_jar_is_refused_and_nothing_written(
    tmp_path: Path, entry: str, changes: dict[str, Any], text: str
) -> None:
    bad = jar(tmp_path / "kafka-clients-9.9.9.jar", entry, SPEC | changes)
    result = run(bad, "--out", tmp_path / "specs")
    assert (result.exit_code, result.stdout) == (1, "")
    assert text in result.stderr
    assert not (tmp_path / "specs").exists()


@pytest.mark.parametrize("words", [[], ["nosuch.jar", "--out", "specs"], ["--out", "specs"]])
def test_wrong_usage(words: list[str]) -> None:
    assert run(*words).exit_code == 2


def test_error_codes(tmp_path: Path) -> None:
    path = jar(tmp_path / "kafka-clients-9.9.9.jar")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(f"{ENUM}.class", enum_file([("NONE", 0, "")]))
    file = tmp_path / "ErrorCode.json"
    result = run(path, "--out", tmp_path / "specs", "--error-codes", file)
    assert result.exit_code == 0 and f"{file}: the error codes of {path}" in result.stdout
    assert '"key": 0, "name": "NONE"' in file.read_text()


def test_no_error_codes(tmp_path: Path) -> None:
    result = run(
        jar(tmp_path / "kafka-clients-9.9.9.jar"), "--out", tmp_path / "specs", "--error-codes", tmp_path / "E"
    )
    assert result.exit_code == 1 and "kafka-clients has them" in result.stderr
