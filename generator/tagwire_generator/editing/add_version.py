"""A new version for each request and response of a folder of specs.

A plan first, then the writing: all specs are read and held against the rules,
all new texts are made and held against them again, and only then files are
touched. A folder must never be left half way, since running the command again
would add one version more.

A request and its response have the same versions afterwards, as they must have
before. Headers go back to the plain ones, which the draft leaves as they are.
Other messages are no RPCs and stay as they are, and so do APIs that are gone.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tagwire.errors import SpecError, TagwireError
from tagwire.versions import HIGHEST, Versions
from tagwire_generator.diagnostics.problems import Problem, render
from tagwire_generator.editing.new_version import (
    cut_to_plain,
    field_paths,
    first_flexible,
    is_draft,
    only_version,
    restated,
    with_new_version,
)
from tagwire_generator.model.message_spec import MessageSummary
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import find_specs
from tagwire_generator.reading.spec import read_data, read_spec
from tagwire_generator.syntax.canonical import canonical_text, normal_form, plain_tree
from tagwire_generator.syntax.parse import parse

__all__ = ["Addition", "AdditionPlan", "plan_versions"]

Spec = dict[str, Any]

_DEFAULT_OPTIONS: Final = SpecOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What becomes of one spec."""

    name: str
    source: Path
    before: Versions
    after: Versions
    new: int | None
    """The version with optional fields that it gained; None for what gains none."""
    notes: tuple[str, ...]
    """What is special about it, in words."""
    gone: tuple[str, ...]
    """Fields that no version has any more, as `Topics.Partitions.Leader`."""
    path: Path | None
    """The file to write; None if there is nothing to write."""
    text: str

    def __str__(self) -> str:
        facts = [str(self.before) if self.before == self.after else f"{self.before} -> {self.after}"]
        facts += [f"new {self.new}"] if self.new is not None else []
        facts += self.notes
        facts += [f"without {', '.join(self.gone)}"] if self.gone else []
        return f"{self.name}: {'; '.join(facts)}"


@dataclass(frozen=True, slots=True)
class AdditionPlan:
    """What must happen in a folder; `str()` is the report to print."""

    additions: tuple[Addition, ...]
    """One a spec, in the order of component and file."""
    changed: dict[Path, str]
    """The new content of each file that is not as it should be yet."""
    stale: tuple[Path, ...]
    """Specs in the folders written to that are not of this plan; they are left alone."""

    def apply(self) -> None:
        """Write the files. All content is on the disk before the first file is replaced.

        Raises TagwireError if the system refuses.
        """
        ready: dict[Path, Path] = {}
        try:
            for path, text in self.changed.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                ready[path] = path.with_name(f".{path.name}.{os.getpid()}.tmp")
                ready[path].write_text(text, encoding="utf-8", newline="")
            for path, temporary in ready.items():
                temporary.replace(path)
        except OSError as error:
            raise TagwireError(f"{error.filename or 'the specs'}: can't be written: {error.strerror}") from None
        finally:
            for temporary in ready.values():
                temporary.unlink(missing_ok=True)

    def __str__(self) -> str:
        lines = [str(addition) for addition in self.additions]
        lines += [f"{path}: not one of these specs, left as it is" for path in self.stale]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Source:
    """A spec that keeps the rules, in normal form."""

    path: Path
    spec: Spec
    summary: MessageSummary

    @property
    def versions(self) -> Versions:
        return Versions.parse(self.summary.valid_versions)

    @property
    def is_rpc(self) -> bool:
        return self.summary.kind in ("request", "response")


@dataclass(frozen=True, slots=True)
class _Result:
    """A spec as it becomes, and what is to be said about it."""

    spec: Spec
    notes: tuple[str, ...]
    new: int | None = None
    is_same: bool = False
    """Nothing happens to it."""


def plan_versions(
    folder: Path, out: Path | None = None, *, only_new: bool = False, options: SpecOptions = _DEFAULT_OPTIONS
) -> AdditionPlan:
    """How each request and response of a folder of specs gains a version with optional fields.

    The results go to `out`, by default into the folder itself. With `only_new`,
    which needs another folder, they have the new version alone, and of the rest
    only headers are written. Nothing is written yet: see `AdditionPlan.apply`.

    Raises SpecError for a folder that can't be read, for specs that break a rule
    (`problems` has them all) before or afterwards, and for a request and a
    response that are not in step.
    """
    place = folder if out is None else out
    is_in_place = place.resolve() == folder.resolve()
    if only_new and is_in_place:
        raise SpecError(f"{folder}: the new versions alone would replace all others; name another folder for them")
    sources = _sources(folder, options)
    cuts = _cuts(sources)
    additions: list[Addition] = []
    problems: list[Problem] = []
    for source in sources:
        result = _result(source, cuts.get(source.summary.name), only_new=only_new)
        is_unwanted = is_in_place or (only_new and source.summary.kind != "header")
        path = None if result.is_same and is_unwanted else place / source.summary.component / source.path.name
        additions.append(_addition(source, result, path))
        # What the old versions may say, the new one perhaps may not.
        problems += _problems(additions[-1], source.summary.component, options)
    _refuse(problems)
    return _plan(additions)


def _sources(folder: Path, options: SpecOptions) -> list[_Source]:
    """The specs of the folder, which keep all rules, those about the set as well."""
    sources: list[_Source] = []
    problems: list[Problem] = []
    for file in find_specs(folder):
        try:
            data = file.path.read_bytes()
        except OSError as error:
            raise SpecError(f"{file.path}: can't be read: {error.strerror}", file=str(file.path)) from None
        result = read_data(data, file=str(file.path), component=file.component, options=options)
        problems += result.problems
        if result.message is not None:
            root = parse(data.decode(), file=str(file.path)).root
            assert root is not None, "the reader accepted it"
            sources.append(_Source(file.path, normal_form(plain_tree(root)), result.message.summary()))
    _refuse(problems)
    _refuse(check_set([source.summary for source in sources], options))
    return sources


def _cuts(sources: Sequence[_Source]) -> dict[str, int]:
    """For each request and response the version to cut at: that of the one of both that became flexible first.

    Raises SpecError where the two can't stay in step.
    """
    requests = {_key(source): source for source in sources if source.summary.kind == "request"}
    cuts: dict[str, int] = {}
    for response in sources:
        if response.summary.kind != "response":
            continue
        request = requests[_key(response)]
        names = f"{request.path}: {request.summary.name} and {response.summary.name}"
        if request.versions != response.versions:
            text = f"have versions {request.versions} and {response.versions}; give them the same ones first"
            raise SpecError(f"{names} {text}", file=str(request.path))
        end = min(first_flexible(request.spec), first_flexible(response.spec))
        if end <= HIGHEST and is_draft(request.spec) != is_draft(response.spec):
            text = "are in two dialects, and one is flexible; write both in the same dialect first"
            raise SpecError(f"{names} {text}", file=str(request.path))
        cuts[request.summary.name] = cuts[response.summary.name] = end
    return cuts


def _key(source: _Source) -> tuple[str, int | None]:
    return source.summary.component, source.summary.api_key


def _result(source: _Source, end: int | None, *, only_new: bool) -> _Result:
    """What becomes of a spec. `end` is the version to cut a request or response at."""
    kind, valid = source.summary.kind, source.versions
    if not valid:
        return _Result(source.spec, ("its API is gone, left as it is",), is_same=True)
    if source.is_rpc:
        return _new_version(source, end, only_new=only_new)
    plain = cut_to_plain(source.spec) if kind == "header" and first_flexible(source.spec) <= valid.highest else None
    if plain is None:
        return _Result(source.spec, (f"of type {kind}, left as it is",), is_same=True)
    return _Result(plain, _cut_notes(valid, plain))


def _new_version(source: _Source, end: int | None, *, only_new: bool) -> _Result:
    plain = cut_to_plain(source.spec, end)
    if plain is None:
        draft = restated(source.spec)
        notes = ("flexible from the start, the first version is said again", *_cut_notes(source.versions, draft))
    else:
        draft, notes = with_new_version(plain), _cut_notes(source.versions, plain)
    if draft.get("latestVersionUnstable"):
        notes += ("the new version is the unstable one now",)
    return _Result(only_version(draft) if only_new else draft, notes, new=_versions(draft).highest)


def _versions(spec: Spec) -> Versions:
    return Versions.parse(spec["validVersions"])


def _cut_notes(valid: Versions, rest: Spec) -> tuple[str, ...]:
    cut = valid - _versions(rest)
    return (f"{cut} cut",) if cut else ()


def _addition(source: _Source, result: _Result, path: Path | None) -> Addition:
    left = set(field_paths(result.spec))
    gone = {field: None for field in field_paths(source.spec) if field not in left}
    return Addition(
        name=source.summary.name,
        source=source.path,
        before=source.versions,
        after=_versions(result.spec),
        new=result.new,
        notes=result.notes,
        gone=tuple(field for field in gone if field.rpartition(".")[0] not in gone),  # it takes its members along
        path=path,
        text="" if path is None else canonical_text(result.spec),
    )


def _problems(addition: Addition, component: str, options: SpecOptions) -> Sequence[Problem]:
    if addition.path is None:
        return ()
    return read_spec(addition.text, file=str(addition.path), component=component, options=options).problems


def _refuse(problems: Iterable[Problem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        first = errors[0]
        raise SpecError(
            "\n".join(render(problem) for problem in errors),
            file=first.file,
            line=first.line,
            column=first.column,
            rule=first.rule,
            problems=errors,
        )


def _plan(additions: Sequence[Addition]) -> AdditionPlan:
    texts = {addition.path: addition.text for addition in additions if addition.path is not None}
    try:
        old = {path: path.read_bytes() for path in texts if path.is_file()}
        present = [path for folder in sorted({path.parent for path in texts}) for path in sorted(folder.glob("*.json"))]
    except OSError as error:
        raise SpecError(f"{error.filename}: can't be read: {error.strerror}", file=str(error.filename)) from None
    known = {*texts, *(addition.source for addition in additions)}
    changed = {path: text for path, text in texts.items() if old.get(path) != text.encode()}
    return AdditionPlan(tuple(additions), changed, tuple(path for path in present if path not in known))
