import importlib.util
import os
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import tagwire_outcome, tagwire_result
from spec_projects import read_tree

FILES = {
    ".gitattributes",
    ".gitignore",
    ".github/workflows/protocol.yml",
    ".pre-commit-config.yaml",
    "message_specs/HelloRequest.json",
    "message_specs/HelloResponse.json",
    "README.md",
    "pyproject.toml",
    "tests/test_golden_bytes.py",
}
HEADERS = {"message_specs/RequestHeader.json", "message_specs/ResponseHeader.json"}
init = partial(tagwire_result, "init", code=0)


def run(*command: str, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHONPATH"))}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("folder_", "next"), [("protocols/pings", "cd protocols/pings"), ("my pings", "cd 'my pings'")]
)
def test_the_next_command_is_shown(folder_: str, next: str) -> None:
    assert "next: run `pytest`, then edit message_specs" in init("pings").stderr
    assert f"next: run `{next}; pytest`, then edit message_specs" in init("pings", folder_).stderr


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [[], ["--no-headers"]], ids=["headers", "no headers"])
def test_new_project_passes_its_checks(folder: Path, flags: list[str]) -> None:
    init("pings", *flags)
    files = set(read_tree(folder))
    written = {name for name in files if not name.startswith(("src/", ".tagwire_cache/"))}
    assert written == FILES | (set() if flags else HEADERS)
    tested = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder)
    assert f"{3 if flags else 4} passed" in tested
    for line in (["validate"], ["generate", "--check"], ["breaking"]):
        tagwire_result(*line, code=0)
    # A new project has no settings for black, so its tests must be formatted by black's defaults.
    run(sys.executable, "-m", "black", "--check", "tests", cwd=folder)
    with (folder / "pyproject.toml").open("a") as file:
        file.write('[[tool.tagwire.sets]]\nspecs = "message_specs"\npackage = "acme.pings"\noutput = "src"\n')
    tagwire_result("generate", code=0)
    if importlib.util.find_spec("mypy"):
        assert "no issues found" in run(sys.executable, "-m", "mypy", cwd=folder)


@pytest.mark.thorough
def test_golden_byte_tests_of_a_new_project_can_fail(folder: Path) -> None:
    init("pings")
    spec = folder / "message_specs/HelloRequest.json"
    spec.write_text(spec.read_text(encoding="utf-8").replace('"string"', '"bytes"'), encoding="utf-8")
    tagwire_result("generate", code=0)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "test_golden_bytes" in done.stdout


def test_hooks_and_workflow_run_existing_commands(folder: Path) -> None:
    init("pings")
    [repo] = yaml.safe_load((folder / ".pre-commit-config.yaml").read_text())["repos"]
    steps = yaml.safe_load((folder / ".github/workflows/protocol.yml").read_text())["jobs"]["protocol"]["steps"]
    lines = [hook["entry"] for hook in repo["hooks"]] + [step["run"] for step in steps if "run" in step]
    ours = [line.split()[1:] for line in lines if line.startswith("tagwire ")]
    assert len(ours) == 6
    for arguments in ours:
        tagwire_result(*arguments, code=0)


HEADERS_OF_ONES_OWN = """
from pings import HelloRequest, registry
data = registry.encode_request(HelloRequest(name="Ada"), 0, correlation_id=7)
assert data.hex() == "00010000" "00000007" "00" "0441646100", data.hex()
try:
    registry.encode_request(HelloRequest(), 0, client_id="me")
except registry_errors.EncodeError as error:
    assert "client_id is given, but the RequestHeader of this package has no such field" in str(error), error
else:
    raise AssertionError
"""


def test_header_may_omit_fields_of_kafkas_headers(folder: Path) -> None:
    init("pings")
    spec = folder / "message_specs/RequestHeader.json"
    before, comma, _ = spec.read_text(encoding="utf-8").partition(',\n    { "name": "ClientId"')
    assert comma
    spec.write_text(f"{before}\n  ]\n}}\n", encoding="utf-8")
    tagwire_result("generate", code=0)
    code = "import sys; sys.path.append('src'); import tagwire.errors as registry_errors" + HEADERS_OF_ONES_OWN
    run(sys.executable, "-c", code, cwd=folder)


SETTINGS = """\
# mine
[project]
name = "mine"

[tool.pytest.ini_options]
pythonpath = ["src"]
"""


def test_existing_project_is_extended(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(SETTINGS)
    (folder / ".pre-commit-config.yaml").write_text("repos: []\n")
    result = init("pings")
    text = (folder / "pyproject.toml").read_text()
    assert text.startswith(SETTINGS)
    tool: dict[str, Any] = tomllib.loads(text)["tool"]
    assert set(tool) == {"pytest", "tagwire", "mypy"} and tool["pytest"] == {"ini_options": {"pythonpath": ["src"]}}
    assert "added to pyproject.toml" in result.output
    assert (folder / ".pre-commit-config.yaml").read_text() == "repos: []\n"
    assert "already exists; add the hooks that you need:" in result.output and "id: tagwire-breaking" in result.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my-pings", "call it 'my_pings'"),
        ("Pings", "call it 'pings'"),
        ("日本", "got '日本'\n"),
        ("class", "is a Python keyword"),
        ("../x", "call it 'x', and give the folder after it: tagwire init x ../x"),
        ("__init__", "has a special meaning for Windows or Python"),
        ("tagwire_pings", "is a tagwire module"),
    ],
)
def test_names_that_no_package_can_have(folder: Path, name: str, message: str) -> None:
    assert message in init(name, code=2).output
    assert not read_tree(folder)


def test_nothing_is_written_if_a_file_can_not_be_written(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[build-system]\nrequires = []\n")
    (folder / "tests").write_text("a file in place of a folder")
    code, _, err = tagwire_outcome("init", "pings")
    assert code == 1 and "can't be written" in err
    assert read_tree(folder) == {
        "pyproject.toml": b"[build-system]\nrequires = []\n",
        "tests": b"a file in place of a folder",
    }
    assert {path.name for path in folder.iterdir()} == {"pyproject.toml", "tests"}


@pytest.mark.parametrize(
    "taken", ["tests/test_golden_bytes.py", "src/pings/mine.py", "message_specs/HelloRequest.json"]
)
def test_existing_files_are_not_replaced(folder: Path, taken: str) -> None:
    path = folder / taken
    path.parent.mkdir(parents=True)
    path.write_text("mine\n")
    assert "already exists, and tagwire does not replace it" in init("pings", code=2).output
    assert read_tree(folder) == {taken: b"mine\n"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[tool.tagwire.sets]]\nspecs = "s"\npackage = "p"\n', "[tool.tagwire] already exists"),
        ("tool = {}\n", "is not valid TOML"),
        ("[project\n", "is not valid TOML"),
        ("# caf\xe9\n", "pyproject.toml is not UTF-8, so tagwire can't add the project to this file; save it as UTF-8"),
    ],
)
def test_settings_that_can_not_be_added_to(folder: Path, text: str, message: str) -> None:
    (folder / "pyproject.toml").write_bytes(text.encode("latin-1"))
    assert message in init("pings", code=2).output
    assert read_tree(folder) == {"pyproject.toml": text.encode("latin-1")}


def test_byte_order_mark_and_line_ends_of_windows_are_kept(folder: Path) -> None:
    before = SETTINGS.replace("\n", "\r\n").encode("utf-8-sig")
    (folder / "pyproject.toml").write_bytes(before)
    init("pings")
    after = (folder / "pyproject.toml").read_bytes()
    assert after.startswith(before) and after.count(b"\r\n") == after.count(b"\n")
