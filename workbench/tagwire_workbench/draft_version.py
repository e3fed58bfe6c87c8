"""Draft a protocol as in KIP-482's first draft: with optional fields in a new version of each request and response.

All specs are checked before any file is written. Otherwise, running the command again after a failure would add another
version to the specs that are already written.

Most drafts lack released versions, so they are written to a separate folder. A draft that overwrites its spec may only
add a version.

A request and its response must have the same versions. Header specs lose their flexible versions. APIs that Kafka has
removed, and messages that are not RPCs, stay unchanged.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire.versions import HIGHEST, Versions
from tagwire_generator.editing.spec_edit import with_comments
from tagwire_generator.evolution.check import Baseline
from tagwire_generator.evolution.lock import reject_lost
from tagwire_generator.evolution.spec_sources import SpecData, SpecReader
from tagwire_generator.model.message_spec import MessageSummary
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.problems import Problem, spec_error
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.output import contents_of, has_text, write_all
from tagwire_generator.project.spec_files import find_specs, spec_data
from tagwire_generator.reading.imports import SharedStructs
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.canonical import canonical_text, normal_form, parsed_form
from tagwire_workbench.draft_spec import (
    cut_to_plain,
    field_paths,
    first_flexible,
    is_draft,
    only_version,
    restated,
    with_new_version,
)

Spec = dict[str, Any]

_DEFAULT_OPTIONS: Final = SpecOptions()


@dataclass(frozen=True, slots=True)
class _Source:
    path: Path
    spec: Spec
    summary: MessageSummary

    @property
    def versions(self) -> Versions:
        return Versions.parse(self.summary.valid_versions)


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft of one spec."""

    source: _Source
    spec: Spec
    notes: tuple[str, ...]
    """Remarks about the changes, for the report."""
    new: int | None = None
    """The number of the new version with optional fields, or None if no version was added to the spec."""
    is_same: bool = False
    """Whether the draft is the unchanged spec."""

    @property
    def removed(self) -> tuple[str, ...]:
        """The spec's fields that the draft no longer has, such as `Topics.Partitions.Leader`."""
        left = set(field_paths(self.spec))
        removed = {field: None for field in field_paths(self.source.spec) if field not in left}
        # Don't list the fields of a removed struct.
        return tuple(field for field in removed if field.rpartition(".")[0] not in removed)

    def __str__(self) -> str:
        before, after = self.source.versions, _versions(self.spec)
        facts = [str(before) if before == after else f"{before} -> {after}"]
        facts += [f"new {self.new}"] if self.new is not None else []
        facts += self.notes
        facts += [f"without {', '.join(self.removed)}"] if self.removed else []
        return f"{self.source.summary.name}: {'; '.join(facts)}"


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """The planned changes to a folder; `str()` is the report to print."""

    drafts: tuple[Draft, ...]
    changed: dict[Path, str]
    """The new content of each file that changes."""
    before: dict[Path, bytes | None]
    """The content of the files to write before the specs were read, or None for new files."""
    stale: tuple[Path, ...]
    """Specs in the output folders that aren't part of the plan. They are left unchanged."""

    def apply(self) -> None:
        """Write the files. Raises OutputError if a file can't be written, or was changed in the meantime."""
        write_all(self.changed, self.before)

    def __str__(self) -> str:
        lines = [str(draft) for draft in self.drafts]
        lines += [f"{path}: not one of these specs; unchanged" for path in self.stale]
        return "\n".join(lines)


def plan_drafts(
    folder: Path,
    target: Path,
    *,
    only_new: bool = False,
    options: SpecOptions = _DEFAULT_OPTIONS,
    released: Iterable[Baseline] = (),
) -> DraftPlan:
    """Plan a version with optional fields for each request and response in a folder of specs.

    `target` is the folder for the drafts. If it is the same as `folder`, specs keep all their versions and comments.
    With `only_new`, drafts contain only the new version, and only drafts and headers are written. `released` contains
    the specs whose versions must not change. Nothing is written until `DraftPlan.apply` is called.

    Raises SpecError if the folder can't be read, if specs break a rule before or after drafting (`problems` lists all
    violations), or if a request and its response have different versions. Also raises SpecError if a draft would
    overwrite a file in another folder, remove fields in place, or change a released version.
    """
    is_in_place = _is_in_place(folder, target)
    if only_new and is_in_place:
        raise SpecError(f"{folder}: the drafts would replace all existing versions; choose another output folder")
    before = contents_of(target / each.component / each.path.name for each in find_specs(folder))
    sources = _sources(folder, options)
    cuts = _cuts(sources)
    drafts = [_draft(source, cuts.get(source.summary.name), only_new=only_new) for source in sources]
    files: dict[Path, str] = {}
    components: dict[Path, str] = {}
    problems: list[Problem] = []
    for draft in drafts:
        if draft.is_same and (is_in_place or (only_new and draft.source.summary.kind != "header")):
            continue
        component = draft.source.summary.component
        path = target / component / draft.source.path.name
        files[path], components[path] = _draft_text(draft, is_in_place=is_in_place), component
        # Check the draft, because its new version may break rules that didn't apply to the old versions.
        file = f"draft of {draft.source.path}"
        problems += read_spec(files[path], file=file, component=component, options=options).problems
    _reject(problems)
    plan = _plan(drafts, files, before)
    _reject_losses(plan, components, is_in_place=is_in_place, options=options, released=released)
    return plan


def _is_in_place(folder: Path, output: Path) -> bool:
    source, target = (Path(os.path.realpath(each)) for each in (folder, output))  # Path.resolve fails for link loops
    if source != target and (source.is_relative_to(target) or target.is_relative_to(source)):
        raise SpecError(f"{output} overlaps {folder}; choose a folder that is neither inside nor above {folder}")
    return source == target


def _reject_losses(
    plan: DraftPlan,
    components: dict[Path, str],
    *,
    is_in_place: bool,
    options: SpecOptions,
    released: Iterable[Baseline],
) -> None:
    """Raise SpecError if the drafts would overwrite files, drop parts of them, or change released versions."""
    there = [path for path in plan.changed if path.exists() or path.is_symlink()]
    if there and not is_in_place:
        text = f"{there[0]} already exists with other content; remove the file, or choose another output folder"
        raise SpecError(text, file=str(there[0]))
    reader = SpecReader()
    before = reader.read((SpecData(str(path), components[path], path.read_bytes()) for path in there), options)
    written = [SpecData(str(path), components[path], text.encode()) for path, text in plan.changed.items()]
    after = reader.read(written, options)
    remedy = "nothing was written; write the drafts to a separate folder with --output"
    reject_lost(released, before, after, "the draft", [remedy])
    removed = [draft for draft in plan.drafts if draft.removed and is_in_place]
    if removed:
        raise SpecError(
            f"{removed[0].source.path}: writing the draft here would remove {', '.join(removed[0].removed)}; choose "
            "another folder with --output"
        )


def _sources(folder: Path, options: SpecOptions) -> list[_Source]:
    """Read the specs of the folder. Raises SpecError if a spec breaks a rule, or if the specs contradict each other."""
    sources: list[_Source] = []
    problems: list[Problem] = []
    specs = [(file.path, spec_data(file)) for file in find_specs(folder)]
    shared = SharedStructs([data for _, data in specs], options)
    for path, data in specs:
        result = shared.read_spec(data)
        problems += result.problems
        if result.message is not None:
            if result.message.imports or result.message.kind == "struct":
                raise SpecError(
                    f"{path}: the draft dialect does not support structs shared between files; "
                    "define them in commonStructs",
                    file=data.file,
                )
            sources.append(_Source(path, parsed_form(data.data.decode()), result.message.summary()))
    _reject(problems)
    _reject(check_set([source.summary for source in sources], options))
    return sources


def _cuts(sources: Sequence[_Source]) -> dict[str, int]:
    """Map the name of each request and response to the first version in which it or its counterpart is flexible.

    Messages without a counterpart, for which the rules have only a warning, are left out.
    Raises SpecError if a request and its response have different versions.
    """
    requests = {_key(source): source for source in sources if source.summary.kind == "request"}
    cuts: dict[str, int] = {}
    for response in sources:
        if response.summary.kind != "response" or _key(response) not in requests:
            continue
        request = requests[_key(response)]
        names = f"{request.path}: {request.summary.name} and {response.summary.name}"
        if request.versions != response.versions:
            text = (
                f"{names} have versions {request.versions} and {response.versions}; give both the same versions first"
            )
            raise SpecError(text, file=str(request.path))
        end = min(first_flexible(request.spec), first_flexible(response.spec))
        if end <= HIGHEST and is_draft(request.spec) != is_draft(response.spec):
            text = f"{names} are in different dialects, and one has flexible versions; first write both in one dialect"
            raise SpecError(text, file=str(request.path))
        cuts[request.summary.name] = cuts[response.summary.name] = end
    return cuts


def _key(source: _Source) -> tuple[str, int | None]:
    return source.summary.component, source.summary.api_key


def _draft(source: _Source, end: int | None, *, only_new: bool) -> Draft:
    """Draft a spec. The draft of a request or response drops all versions from `end` on, and gets a new version."""
    kind, valid = source.summary.kind, source.versions
    if not valid:
        return Draft(source, source.spec, ("its API was removed; unchanged",), is_same=True)
    if kind in ("request", "response"):
        return _new_version(source, end, only_new=only_new)
    plain = cut_to_plain(source.spec) if kind == "header" and first_flexible(source.spec) <= valid.highest else None
    if plain is None:
        return Draft(source, source.spec, (f"of type {kind}; unchanged",), is_same=True)
    return Draft(source, plain, _cut_notes(valid, plain))


def _new_version(source: _Source, end: int | None, *, only_new: bool) -> Draft:
    plain = cut_to_plain(source.spec, end)
    if plain is None:
        draft = restated(source.spec)
        notes = ("flexible from the start; the first version is rewritten", *_cut_notes(source.versions, draft))
    else:
        draft, notes = with_new_version(plain), _cut_notes(source.versions, plain)
    if draft.get("latestVersionUnstable"):
        notes += ("the new version is now the unstable one",)
    return Draft(source, only_version(draft) if only_new else draft, notes, new=_versions(draft).highest)


def _versions(spec: Spec) -> Versions:
    return Versions.parse(spec["validVersions"])


def _cut_notes(valid: Versions, rest: Spec) -> tuple[str, ...]:
    cut = valid - _versions(rest)
    return (f"old {cut} removed",) if cut else ()


def _draft_text(draft: Draft, *, is_in_place: bool) -> str:
    """Return a drafted spec's text. It keeps the comments of a spec that it overwrites if the fields are the same."""
    source, spec = draft.source, draft.spec
    if is_in_place and list(field_paths(spec)) == list(field_paths(source.spec)):
        return with_comments(normal_form(spec), source.path.read_text("utf-8"), file=str(source.path))
    return canonical_text(spec)


def _reject(problems: Iterable[Problem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise spec_error(errors)


def _plan(drafts: Sequence[Draft], files: dict[Path, str], before: dict[Path, bytes | None]) -> DraftPlan:
    try:
        present = [path for folder in sorted({path.parent for path in files}) for path in sorted(folder.glob("*.json"))]
    except OSError as error:
        raise SpecError(f"{error.filename} can't be read: {error.strerror}", file=str(error.filename)) from None
    known = {*files, *(draft.source.path for draft in drafts)}
    changed = {path: text for path, text in files.items() if not has_text(path, text)}
    return DraftPlan(tuple(drafts), changed, before, tuple(path for path in present if path not in known))
