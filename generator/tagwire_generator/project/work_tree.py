"""Run git to find out which files of a work tree are tracked, and what is staged.

File names are passed literally and separated by NUL, so that no name can be misread.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tagwire.errors import TagwireError

_GIT_VARIABLES: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Environment variables that git sets for hooks. `run_git` removes them so that git uses the repository of `folder`."""


class GitError(TagwireError):
    """Raised if git fails, for example because it isn't installed, or because a revision doesn't exist."""


def run_git(folder: Path, *arguments: str, stdin: bytes | None = None, index: Path | None = None) -> bytes:
    """Run git in a folder, and return its output. If `index` is given, git uses this index file (GIT_INDEX_FILE).

    Raises GitError with git's message.
    """
    command = ["git", "--literal-pathspecs", *arguments]
    environment = {key: value for key, value in os.environ.items() if key not in _GIT_VARIABLES}
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    try:
        done = subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        raise GitError("git is not installed, or not on PATH") from None
    except OSError as error:
        raise GitError(f"git can't be run in {folder}: {error.strerror}") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        remedy = "".join(f"; if you trust it, run `{line.strip()}`" for line in lines if "safe.directory" in line)
        raise GitError(f"git failed in {folder}: {lines[0].removeprefix('fatal: ')}{remedy}")
    return done.stdout


def is_hook(environment: Mapping[str, str]) -> bool:
    """Return whether this process runs in a commit hook. Both git and pre-commit set a variable for hooks."""
    return "PRE_COMMIT" in environment or "GIT_INDEX_FILE" in environment


def unknown_files(files: Iterable[Path]) -> list[Path]:
    """Return the files that are in a work tree, but neither in its index nor ignored.

    Files outside any work tree are left out. In a commit hook, the index of the pending commit is used. Raises GitError
    if git fails.
    """
    return _listed(files, "ls-files", "--others", "--exclude-standard")


def staged_differently(files: Iterable[Path]) -> list[Path]:
    """Return the files whose staged content differs from the content on disk. Raises GitError if git fails."""
    return _listed(files, "diff", "--name-only", "--no-ext-diff")


def _listed(files: Iterable[Path], *command: str) -> list[Path]:
    """Return the files that a git command lists. Files outside any work tree are left out."""
    trees: dict[Path, list[Path]] = {}
    for file in files:
        top = _top(file)
        if top is not None:
            trees.setdefault(top, []).append(file)
    found: list[Path] = []
    for top, members in trees.items():
        folders = sorted({str(file.parent.resolve().relative_to(top)) for file in members})
        listing = run_git(top, *command, "-z", "--", *folders, index=_index(top))
        listed = {top / os.fsdecode(name) for name in listing.split(b"\0")[:-1]}
        found += [file for file in members if file.parent.resolve() / file.name in listed]
    return found


def copy_staged(folder: Path, target: Path) -> Path:
    """Write a folder's staged files to `target`. Return the copied folder. Raises GitError outside a work tree."""
    top = _top(folder)
    if top is None:
        raise GitError(f"{folder} is not in a git work tree, so it has no staged files")
    relative = folder.resolve().relative_to(top)
    index = _index(top)
    names = run_git(top, "ls-files", "-z", "--", str(relative), index=index)
    run_git(top, "checkout-index", "-z", "--stdin", f"--prefix={target.resolve()}/", stdin=names, index=index)
    return target.resolve() / relative


def copy_ignored(folder: Path, target: Path) -> None:
    """Copy the ignored files of a folder to `target`."""
    top = _top(folder)
    if top is None or not folder.is_dir():
        return
    relative = folder.resolve().relative_to(top)
    listing = run_git(top, "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", str(relative))
    for name in map(os.fsdecode, listing.split(b"\0")[:-1]):
        copy = target / Path(name).relative_to(relative)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(top / name, copy)


def _top(path: Path) -> Path | None:
    """Return the work tree that contains a path, or None if there is none. A submodule is a separate work tree."""
    resolved = path.parent.resolve() / path.name
    return next((folder for folder in (resolved, *resolved.parents) if (folder / ".git").exists()), None)


def _index(top: Path) -> Path | None:
    """Return the index file that git passes to a hook, such as a separate file for `git commit FILE`.

    The path may be relative to `top`. None means git's default index.
    """
    given = os.environ.get("GIT_INDEX_FILE")
    return top / given if given and _top(Path.cwd()) == top else None
