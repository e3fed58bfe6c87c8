"""Read sets of specs from files, folders or git revisions, and collect their problems.

A spec that is identical in two sets is read only once, and both sets share the resulting object. This saves time when
two versions of a set are compared.
"""

import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import Problem
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import (
    SpecData,
    check_path,
    may_be_shared,
    needed_by,
    uses_registers,
)
from tagwire_generator.project.work_tree import GitError, run_git
from tagwire_generator.reading.imports import SharedStructs
from tagwire_generator.reading.register import Registers, registers_among
from tagwire_generator.reading.spec import ReadResult

__all__ = [
    "GitError",
    "NotAtRevisionError",
    "SpecData",
    "SpecReader",
    "SpecSources",
    "specs_at",
]


@dataclass(slots=True)
class SpecSources:
    """The result of reading a set of specs: the valid messages, and the problems found in the files."""

    specs: dict[str, MessageSpec] = field(default_factory=dict)
    shared: dict[str, MessageSpec] = field(default_factory=dict)
    """The valid shared structs by name."""
    texts: dict[str, str] = field(default_factory=dict)
    """The text of each spec, by file."""
    invalid: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    """The errors of invalid specs, by file name."""


class SpecReader:
    """Reads sets of specs. Reading the same text with the same options again returns the same object."""

    def __init__(self) -> None:
        self._known: dict[Hashable, ReadResult] = {}

    def read(self, files: Iterable[SpecData], options: SpecOptions, others: Iterable[SpecData] = ()) -> SpecSources:
        """Read the specs of a set. Problems are part of the result; no error is raised.

        `others` are other files of the set. They are not read as specs, but provide shared structs and registers
        (tables of named numbers).
        """
        found, files, others = SpecSources(), list(files), list(others)
        importable = {each.file: each for each in (*files, *others) if may_be_shared(each.data)}
        registers = registers_among((*others, *files))
        shared = SharedStructs(importable.values(), options, registers)
        for each in files:
            result = self._result(each, options, registers, importable.values(), shared)
            if result.register is not None:
                continue  # a register (a table of named numbers) has no wire format
            if result.message is None:
                found.invalid[each.name] = tuple(p for p in result.problems if p.severity == "error")
            else:
                kept = found.shared if result.message.kind == "struct" else found.specs
                kept[result.message.name] = result.message
                found.texts[each.file] = each.data.decode()
                for name in (imported.name for imported in result.message.imports):
                    struct, known = shared.read(name).message, shared.get(name)
                    if struct is not None and known is not None:
                        found.shared.setdefault(struct.name, struct)
                        found.texts.setdefault(struct.file, known.spec.data.decode())
        return found

    def _result(
        self,
        each: SpecData,
        options: SpecOptions,
        registers: Registers,
        importable: Iterable[SpecData],
        shared: SharedStructs,
    ) -> ReadResult:
        imported = tuple(needed_by(each.data, importable))
        uses_enums = any(uses_registers(spec.data) for spec in (each, *imported))
        key = each.component, each.data, options, imported, tuple(registers.items()) if uses_enums else ()
        result = self._known.get(key)
        # Errors contain the file name, but the cache key doesn't. So don't reuse the result of an invalid spec.
        if result is None or result.message is None:
            result = self._known[key] = shared.read_spec(each)
        return result


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
    found = []
    for (name, _), data in zip(entries, contents, strict=True):
        parts = name.relative_to(inside).parts
        found.append(SpecData(f"{revision}:{name}", parts[0] if len(parts) == 2 else "", data))
    return found


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
        parts = name.relative_to(inside).parts
        is_hidden = any(part.startswith(".") for part in parts)
        if mode in ("100644", "100755") and name.suffix == ".json" and not is_hidden:
            check_path(name, depth=len(parts) - 1)
            found.append((name, blob))
    return found


def _contents(top: Path, blobs: Sequence[str]) -> list[bytes]:
    """Return the contents of files. One `git cat-file` process reads all files."""
    answer = run_git(top, "cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blobs).encode("ascii"))
    contents: list[bytes] = []
    start = 0
    for _ in blobs:
        end = answer.index(b"\n", start)
        size = int(answer[start:end].split(b" ")[2])
        contents.append(answer[end + 1 : end + 1 + size])
        start = end + size + 2  # a line break follows the content
    return contents
