import os
from pathlib import Path

import pytest
from spec_projects import git

from tagwire_generator.project.work_tree import GitError, is_hook, run_git, unknown_files


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "PRE_COMMIT"):
        monkeypatch.delenv(name, raising=False)
    top = tmp_path / "tree"
    for name in ("known", "unknown", "ignored", "sub/unknown"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (top / ".gitignore").write_text("ignored\n")
    git(top, "init")
    git(top, "add", "known", ".gitignore")
    return top


def test_files_unknown_to_git(tree: Path) -> None:
    names = ["known", "unknown", "ignored", "sub/unknown", "not-there"]
    assert unknown_files(tree / name for name in names) == [tree / "unknown", tree / "sub/unknown"]


def test_outside_a_work_tree_nothing_is_unknown(tree: Path) -> None:
    (tree.parent / "beside").touch()
    assert unknown_files([tree.parent / "beside"]) == []


def test_names_are_taken_literally(tree: Path) -> None:
    odd = [tree / name for name in (":(top)x", "a*", "-z", "n\nl", "\udcff")]
    for path in odd:
        path.touch()
    assert unknown_files(odd) == odd


def test_nested_work_trees_are_queried_separately(tree: Path) -> None:
    git(tree / "sub", "init")
    assert unknown_files([tree / "sub/unknown"]) == [tree / "sub/unknown"]
    git(tree / "sub", "add", "unknown")
    assert unknown_files([tree / "sub/unknown"]) == []


def test_linked_folder_is_its_target(tree: Path) -> None:
    link = tree.parent / "link"
    link.symlink_to(tree)
    assert unknown_files([link / "known", link / "unknown"]) == [link / "unknown"]


def test_a_hook_has_the_index_of_its_commit(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tree, "add", "unknown")
    index = tree / ".git/partial"
    index.write_bytes((tree / ".git/index").read_bytes())
    git(tree, "reset", "--", "unknown")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/partial")
    monkeypatch.chdir(tree / "sub")  # git's path is relative to the top of the tree
    assert unknown_files([tree / "unknown"]) == []
    monkeypatch.chdir(tree.parent)
    assert unknown_files([tree / "unknown"]) == [tree / "unknown"], "that is the index of another tree"


@pytest.mark.parametrize(
    ("environment", "expected"), [({}, False), ({"GIT_INDEX_FILE": "x"}, True), ({"PRE_COMMIT": "1"}, True)]
)
def test_variables_that_identify_a_hook(environment: dict[str, str], expected: bool) -> None:
    assert is_hook(environment) is expected


def test_git_that_fails_is_reported(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GitError, match="is not a git command"):
        run_git(tree, "frobnicate")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    with pytest.raises(GitError, match=r"dubious ownership .*run `git config --global --add safe\.directory .*`"):
        run_git(tree, "status")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitError, match="git is not installed, or not on PATH"):
        unknown_files([tree / "unknown"])
