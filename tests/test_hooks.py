"""Run the commit hooks through pre-commit in a separate git repository.

To avoid network access, the tests run the hooks as `language: system` with this environment's `tagwire`.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from spec_projects import PACKAGE, edit_spec, make_project, read_tree, write_spec

ROOT = Path(__file__).parents[1]
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
SCRIPTS = Path(sys.executable).parent
PRE_COMMIT = (sys.executable, "-m", "pre_commit", "run")

slow = [pytest.mark.slow, pytest.mark.skipif(shutil.which("git") is None, reason="needs git")]


class Repository:
    def __init__(self, root: Path) -> None:
        self.root = root

    def make(self) -> None:
        make_project(self.root)
        self.run("git", "init", "--quiet")
        local = [
            {key: value for key, value in hook.items() if key != "additional_dependencies"}
            | {"language": "system", "entry": str(SCRIPTS / hook["entry"])}
            for hook in HOOKS.values()
        ]
        config = {"repos": [{"repo": "local", "hooks": local}]}
        (self.root / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        settings = self.root / "pyproject.toml"
        settings.write_text(settings.read_text(encoding="utf-8") + 'lock = "pings.lock.json"\n', encoding="utf-8")
        for command in ("fmt", "generate", "lock"):
            self.run(SCRIPTS / "tagwire", command)
        self.commit()

    def run(self, *command: object, fails: bool = False) -> str:
        identity = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        for who in ("AUTHOR", "COMMITTER"):
            identity |= {f"GIT_{who}_NAME": "a test", f"GIT_{who}_EMAIL": "test@example.invalid"}
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "SKIP", "PRE_COMMIT"))}
        environment = clean | identity | {"PRE_COMMIT_HOME": str(self.root.parent / "pre-commit")}
        line = [str(part) for part in command]
        done = subprocess.run(line, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commit(self) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--no-verify", "--message", "state")

    def hook(self, name: str, *, fails: bool = False) -> str:
        self.run("git", "add", "--all")
        return self.run(*PRE_COMMIT, name, fails=fails)

    def git_hook(self, command: str) -> None:
        hook = self.root / ".git/hooks/pre-commit"
        hook.write_text(f"#!/bin/sh\nexec {SCRIPTS / 'tagwire'} {command}\n")
        hook.chmod(0o755)

    def add_pongs(self) -> None:
        for name in ("PongRequest", "PongResponse"):
            write_spec(self.root, name, apiKey=8)

    def generated(self) -> dict[str, bytes]:
        return read_tree(self.root / PACKAGE)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a repository for tests to copy."""
    repository = Repository(tmp_path_factory.mktemp("untouched"))
    repository.make()
    return repository.root


@pytest.fixture
def repository(untouched: Path, tmp_path: Path) -> Repository:
    return Repository(Path(shutil.copytree(untouched, tmp_path / "project")))


class TestThroughPreCommit:
    pytestmark = slow

    @pytest.mark.parametrize("name", ["tagwire-generate", "tagwire-check"])
    def test_clean(self, repository: Repository, name: str) -> None:
        before = repository.generated()
        assert "Passed" in repository.hook(name)
        assert repository.generated() == before

    def test_spec_edited(self, repository: Repository) -> None:
        edit_spec(repository.root, "PingRequest", "Nonce", "Number")
        before = repository.generated()
        assert "would rewrite src/pings/ping_request.py" in repository.hook("tagwire-check", fails=True)
        assert repository.generated() == before
        assert "rewrote src/pings/ping_request.py" in repository.hook("tagwire-generate", fails=True)
        assert b"number" in repository.generated()["ping_request.py"]
        repository.hook("tagwire-generate")
        repository.hook("tagwire-check")
        assert "Passed" in repository.hook("tagwire-validate")

    @pytest.mark.parametrize("name", HOOKS)
    def test_spec_broken(self, repository: Repository, name: str) -> None:
        edit_spec(repository.root, "PingRequest", "int64", "int65")
        before = repository.generated()
        shown = repository.hook(name, fails=True)
        assert "message_specs/PingRequest.json:8:" in shown
        assert "TW402" in shown
        assert repository.generated() == before

    def test_modules_that_are_not_staged(self, repository: Repository) -> None:
        repository.add_pongs()
        repository.run(SCRIPTS / "tagwire", "generate")
        repository.run("git", "add", "--update", "src")
        repository.run("git", "add", "message_specs/PongRequest.json")
        shown = repository.run(*PRE_COMMIT, "tagwire-generate", fails=True)
        unknown = [line.removeprefix("not tracked by git: ") for line in shown.splitlines() if "not tracked" in line]
        assert unknown == [
            "message_specs/PongResponse.json",
            *(
                f"src/pings/{folder}pong_{kind}.py"
                for kind in ("request", "response")
                for folder in ("", "serializers/")
            ),
        ]
        assert "5 files would be missing from the commit" in shown
        repository.run("git", "add", "--all")
        assert "Passed" in repository.run(*PRE_COMMIT, "tagwire-generate")

    def test_a_hook_of_git_itself(self, repository: Repository) -> None:
        repository.git_hook("generate --check")
        write_spec(repository.root, "PlainData", type="data", apiKey=None)
        repository.run(SCRIPTS / "tagwire", "generate")
        repository.run("git", "add", "message_specs", "src/pings/__init__.py", "src/pings/__init__.pyi")
        commit = ["git", "commit", "--message", "more"]
        assert "not tracked by git: src/pings/plain_data.py" in repository.run(*commit, fails=True)
        # Outside a commit, `--check` reads unstaged files.
        repository.run(SCRIPTS / "tagwire", "generate", "--check")
        repository.run("git", "add", "src")
        assert "1 package up to date" in repository.run(*commit)
        edit_spec(repository.root, "PlainData", "Nonce", "Number")
        repository.run("git", "add", "message_specs")
        edit_spec(repository.root, "PlainData", "Number", "Nonce")
        assert "staged with different content: message_specs/PlainData.json" in repository.run(*commit, fails=True)

    def test_half_of_a_change_is_staged(self, repository: Repository) -> None:
        repository.git_hook("generate --check --staged")
        commit = ["git", "commit", "--message", "more"]
        edit_spec(repository.root, "PingRequest", "Nonce", "Number")
        repository.run(SCRIPTS / "tagwire", "generate")
        repository.run("git", "add", "message_specs")
        assert "would rewrite src/pings/ping_request.py" in repository.run(*commit, fails=True)
        assert "Failed" in repository.run(*PRE_COMMIT, "tagwire-check", fails=True)
        repository.run("git", "add", "src")
        # The hook must ignore this unstaged change.
        edit_spec(repository.root, "PingRequest", "Number", "Other")
        assert "1 package up to date" in repository.run(*commit)
        repository.run("git", "commit", "--message", "half", "message_specs", fails=True)
        assert "--staged needs" in repository.run(SCRIPTS / "tagwire", "generate", "--staged", fails=True)

    def test_modules_ignored_by_git(self, repository: Repository) -> None:
        repository.run("git", "rm", "-r", "--cached", "--quiet", "src")
        (repository.root / ".gitignore").write_text("src/\n")
        assert "Passed" in repository.hook("tagwire-check")

    def test_message_deleted_and_nothing_else(self, repository: Repository) -> None:
        # pre-commit doesn't pass the names of deleted files to the hooks.
        repository.add_pongs()
        repository.hook("tagwire-generate", fails=True)
        repository.commit()
        for name in ("PongRequest", "PongResponse"):
            (repository.root / "message_specs" / f"{name}.json").unlink()
        assert "would delete src/pings/pong_request.py" in repository.hook("tagwire-check", fails=True)
        assert "pong_request.py" in repository.generated()
        assert "deleted src/pings/pong_request.py" in repository.hook("tagwire-generate", fails=True)
        assert not [name for name in repository.generated() if "pong" in name]
        assert "Passed" in repository.hook("tagwire-check")

    def test_breaking_changes_are_reported(self, repository: Repository) -> None:
        assert "Passed" in repository.hook("tagwire-breaking")
        edit_spec(repository.root, "PingRequest", "int64", "int32")
        repository.hook("tagwire-generate", fails=True)
        repository.hook("tagwire-generate")
        for _ in range(2):
            assert "wire TW903: PingRequest 0-1: nonce" in repository.hook("tagwire-breaking", fails=True)

    def test_a_spec_is_formatted(self, repository: Repository) -> None:
        spec = repository.root / "message_specs/PingRequest.json"
        formatted = spec.read_text(encoding="utf-8")
        write_spec(repository.root, "PingRequest")
        assert "files were modified by this hook" in repository.hook("tagwire-fmt", fails=True)
        assert spec.read_text(encoding="utf-8") == formatted

    def test_unstaged_changes_are_ignored(self, repository: Repository) -> None:
        edit_spec(repository.root, "PingRequest", '"Nonce", "type": "int64", "versions": "0+"', "NEW")
        edit_spec(repository.root, "PingRequest", "NEW", '"Nonce", "about": "x", "type": "int64", "versions": "0+"')
        repository.run(SCRIPTS / "tagwire", "generate")
        repository.run("git", "add", "--all")
        edit_spec(repository.root, "PingResponse", '"int64"', '"int32"')
        unstaged = (repository.root / "message_specs/PingResponse.json").read_bytes()
        for name in ("tagwire-validate", "tagwire-check", "tagwire-generate", "tagwire-breaking"):
            assert "Passed" in repository.run(*PRE_COMMIT, name)
        assert (repository.root / "message_specs/PingResponse.json").read_bytes() == unstaged
        repository.run("git", "add", "message_specs/PingResponse.json")
        for name in ("tagwire-check", "tagwire-breaking"):
            repository.run(*PRE_COMMIT, name, fails=True)

    def test_all_files(self, repository: Repository) -> None:
        shown = repository.run(*PRE_COMMIT, "--all-files")
        assert shown.count("Passed") == len(HOOKS)

    def test_validate_looks_at_specs_only(self, repository: Repository) -> None:
        (repository.root / "package.json").write_text("{}\n")
        assert "Skipped" in repository.hook("tagwire-validate")


def test_the_hooks_install_an_extra_that_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "generate" in project["optional-dependencies"]  # pip only warns about an unknown extra


def test_the_hooks_are_those_that_the_documentation_names() -> None:
    assert list(HOOKS) == ["tagwire-generate", "tagwire-check", "tagwire-validate", "tagwire-breaking", "tagwire-fmt"]
    for hook in HOOKS.values():
        assert hook["language"] == "python"
        assert hook["additional_dependencies"] == [".[generate]"]
        assert hook["require_serial"] is True


def test_own_configuration_uses_the_hooks() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    ours = {hook["id"]: hook for repo in config["repos"] for hook in repo["hooks"] if hook["id"] in HOOKS}
    assert set(ours) == set(HOOKS) - {"tagwire-check"}
    breaking = ours.pop("tagwire-breaking")
    assert breaking["entry"] == ".venv/bin/tagwire breaking --against HEAD", "we have no lock files"
    assert (breaking["files"], breaking["pass_filenames"]) == (HOOKS["tagwire-validate"]["files"], False)
    for name, hook in ours.items():
        offered = HOOKS[name]
        assert hook["entry"] == f".venv/bin/{offered['entry']}"
        assert hook["language"] == "system"
        for key in ("name", "files", "always_run", "pass_filenames", "require_serial"):
            assert hook.get(key) == offered.get(key)
