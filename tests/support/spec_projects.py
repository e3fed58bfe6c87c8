"""Create a small project with its own specs, as a user of the generator would."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

PACKAGE = Path("src/pings")
"""The folder of the generated package in the project."""

SETTINGS = """\
[[tool.tagwire.sets]]
specs = "message_specs"
package = "pings"
output = "src"
"""


def spec(name: str, **changes: Any) -> dict[str, Any]:
    """Return a valid spec: a response if `name` ends with "Response", otherwise a request."""
    fields = [{"name": "Nonce", "type": "int64", "versions": "0+"}]
    kind = "response" if name.endswith("Response") else "request"
    head = {"apiKey": 7, "type": kind, "name": name, "validVersions": "0-1", "flexibleVersions": "1+"}
    return head | {"fields": fields} | changes


def write_spec(root: Path, name: str, **changes: Any) -> Path:
    path = root / "message_specs" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(spec(name, **changes), indent=2) + "\n", encoding="utf-8")
    return path


def edit_spec(root: Path, name: str, before: str, after: str) -> None:
    path = root / "message_specs" / f"{name}.json"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def make_project(root: Path) -> Path:
    """Create a project with pyproject.toml and two specs, but without generated code."""
    (root / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    write_spec(root, "PingRequest")
    write_spec(root, "PingResponse")
    return root


def change_before_write(path: Path, monkeypatch: Any) -> None:
    """Write "changed" to a file when a command begins to write its output, as another process could."""

    def name() -> Any:
        path.write_text("changed", encoding="utf-8")
        return uuid4()

    monkeypatch.setattr("tagwire_generator.project.output.uuid4", name)


def git(folder: Path, *words: str) -> None:
    names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-c", "commit.gpgsign=false", *words]
    subprocess.run(command, cwd=folder, env=os.environ | names, check=True, capture_output=True)


def commit(folder: Path) -> None:
    """Create a git repository in a folder, and commit all of the folder's files."""
    git(folder, "init")
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "one")


def read_tree(folder: Path) -> dict[str, bytes]:
    """Return a dict from path to content of all files in a folder, except Python's caches."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
