"""The specs of a git revision: what was released, where releases are commits.

git is asked by its own command, as hooks and CI have it. Paths go to it
literally and come back with zero bytes between them, contents come from one
`cat-file`, so that no file name can be taken for anything else.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from tagwire.errors import SpecError, TagwireError
from tagwire_generator.evolution.texts import SpecData

__all__ = ["GitError", "NotAtRevisionError", "specs_at"]

_PLACES: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""What git tells its hooks of a repository: specs are looked for in the one that their folder is in."""


class GitError(TagwireError):
    """What git can't do: no git, no repository, no such revision."""


class NotAtRevisionError(GitError):
    """A path that a revision does not have."""


def specs_at(revision: str, path: Path) -> list[SpecData]:
    """The spec at `path`, or the specs of the folder `path`, as they were in a revision.

    Their files are called `REVISION:path from the top of the repository`.
    Raises GitError, and SpecError for a spec in a folder below a component's.
    """
    place = path.resolve()
    here = place if place.is_dir() else place.parent
    top = Path(os.fsdecode(_git(here, "rev-parse", "--show-toplevel").rstrip(b"\n"))).resolve()
    commit = _commit(here, revision)
    inside = PurePosixPath(place.relative_to(top).as_posix())
    entries = _entries(top, commit, inside)
    if not entries:
        raise NotAtRevisionError(f"{path}: revision {revision} has no such file or folder, or no *.json in it")
    contents = _contents(top, [blob for _, blob in entries])
    return [
        SpecData(f"{revision}:{name}", _component(name, inside), data)
        for (name, _), data in zip(entries, contents, strict=True)
    ]


def _commit(here: Path, revision: str) -> str:
    try:
        found = _git(here, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError:
        hint = "is it fetched? A shallow clone, as CI often has it, lacks other branches and older commits"
        raise GitError(f"git knows no revision {revision!r} in {here}; {hint}") from None
    return found.decode("ascii").strip()


def _entries(top: Path, commit: str, inside: PurePosixPath) -> list[tuple[PurePosixPath, str]]:
    """The path and blob of each spec: of the file itself, or of the folder and its components."""
    listing = _git(
        top, "ls-tree", "-r", "-z", "--full-tree", commit, *([] if str(inside) == "." else ["--", str(inside)])
    )
    found: list[tuple[PurePosixPath, str]] = []
    for entry in listing.split(b"\0")[:-1]:
        head, _, raw = entry.partition(b"\t")
        mode, _, blob = head.decode("ascii").split(" ")
        name = PurePosixPath(raw.decode("utf-8", "surrogateescape"))
        is_hidden = any(part.startswith(".") for part in name.relative_to(inside).parts)
        if mode in ("100644", "100755") and name.suffix == ".json" and not is_hidden:
            found.append((_checked(name, inside), blob))
    return found


def _checked(name: PurePosixPath, inside: PurePosixPath) -> PurePosixPath:
    if not str(name).isprintable():
        raise SpecError(f"{str(name)!r}: the name of a spec's file has a character that can't be printed; rename it")
    if len(name.relative_to(inside).parts) > 2:
        raise SpecError(
            f"{name}: a spec lies in the folder of specs or in one of its subfolders, which names its component; "
            "this one is deeper"
        )
    return name


def _component(name: PurePosixPath, inside: PurePosixPath) -> str:
    parts = name.relative_to(inside).parts
    return parts[0] if len(parts) == 2 else ""


def _contents(top: Path, blobs: Sequence[str]) -> list[bytes]:
    answer = _git(top, "cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blobs).encode("ascii"))
    made: list[bytes] = []
    start = 0
    for _ in blobs:
        end = answer.index(b"\n", start)
        size = int(answer[start:end].split(b" ")[2])
        made.append(answer[end + 1 : end + 1 + size])
        start = end + size + 2  # a line break follows the content
    return made


def _git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """What git prints, run in a folder. Raises GitError with what it says."""
    command = ["git", "--literal-pathspecs", *arguments]
    environment = {key: value for key, value in os.environ.items() if key not in _PLACES}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        raise GitError("git is not installed, or not on PATH; it is asked for the old specs") from None
    except OSError as error:
        raise GitError(f"git can't be run in {folder}: {error.strerror}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(f"{folder}: {said[0].removeprefix('fatal: ') if said else 'git failed'}")
    return done.stdout
