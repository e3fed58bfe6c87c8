"""Read the specs in a git revision, such as the tag of a release. One `git cat-file` process reads all files."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from tagwire.errors import SpecError
from tagwire_generator.evolution.spec_sources import SpecData
from tagwire_generator.project.work_tree import GitError, run_git

__all__ = ["GitError", "NotAtRevisionError", "specs_at"]


class NotAtRevisionError(GitError):
    """Raised for a path that does not exist in a revision."""


def specs_at(revision: str, path: Path) -> list[SpecData]:
    """Return the spec at `path`, or the specs in the folder `path`, as they were in a revision.

    The file name of each spec is `REVISION:PATH`, with PATH relative to the top of the repository. Raises GitError if
    git fails, and SpecError for a spec more than one folder below `path`.
    """
    resolved = path.resolve()
    here = resolved if resolved.is_dir() else resolved.parent
    top = Path(os.fsdecode(run_git(here, "rev-parse", "--show-toplevel").rstrip(b"\n"))).resolve()
    commit = _commit(here, revision)
    inside = PurePosixPath(resolved.relative_to(top).as_posix())
    entries = _entries(top, commit, inside)
    if not entries:
        raise NotAtRevisionError(f"{path} is neither a file nor a folder with *.json files at revision {revision}")
    contents = _contents(top, [blob for _, blob in entries])
    return [
        SpecData(f"{revision}:{name}", _component(name, inside), data)
        for (name, _), data in zip(entries, contents, strict=True)
    ]


def _commit(here: Path, revision: str) -> str:
    try:
        found = run_git(here, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError:
        hint = "fetch it first (CI often has a shallow clone, without other branches and older commits)"
        raise GitError(f"git has no revision {revision!r} in {here}; {hint}") from None
    return found.decode("ascii").strip()


def _entries(top: Path, commit: str, inside: PurePosixPath) -> list[tuple[PurePosixPath, str]]:
    """Return the path and blob ID of each spec in a commit. `inside` is the path of a spec or a folder of specs."""
    listing = run_git(
        top, "ls-tree", "-r", "-z", "--full-tree", commit, *([] if str(inside) == "." else ["--", str(inside)])
    )
    found: list[tuple[PurePosixPath, str]] = []
    for entry in listing.split(b"\0")[:-1]:
        details, _, raw = entry.partition(b"\t")
        mode, _, blob = details.decode("ascii").split(" ")
        name = PurePosixPath(raw.decode("utf-8", "surrogateescape"))
        is_hidden = any(part.startswith(".") for part in name.relative_to(inside).parts)
        if mode in ("100644", "100755") and name.suffix == ".json" and not is_hidden:
            found.append((_checked(name, inside), blob))
    return found


def _checked(name: PurePosixPath, inside: PurePosixPath) -> PurePosixPath:
    if not str(name).isprintable():
        raise SpecError(f"{str(name)!r}: the file name contains a non-printable character; rename the file")
    if len(name.relative_to(inside).parts) > 2:
        raise SpecError(
            f"{name} is nested too deeply; move the spec to the folder of specs, or to a component's folder "
            "directly below it"
        )
    return name


def _component(name: PurePosixPath, inside: PurePosixPath) -> str:
    parts = name.relative_to(inside).parts
    return parts[0] if len(parts) == 2 else ""


def _contents(top: Path, blobs: Sequence[str]) -> list[bytes]:
    answer = run_git(top, "cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blobs).encode("ascii"))
    contents: list[bytes] = []
    start = 0
    for _ in blobs:
        end = answer.index(b"\n", start)
        size = int(answer[start:end].split(b" ")[2])
        contents.append(answer[end + 1 : end + 1 + size])
        start = end + size + 2  # a line break follows the content
    return contents
