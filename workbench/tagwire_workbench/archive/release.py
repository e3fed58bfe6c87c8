"""Read the specs of one release from its jars or folders.

Mistakes are corrected, `about` strings are removed, and each spec is assigned to a component, so that specs of
different releases can be compared.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire.message.field_table import layout_of
from tagwire_generator.message_classes import message_class
from tagwire_generator.model import MessageSpec
from tagwire_generator.model.field_spec import ENTITY_TYPES
from tagwire_generator.problems import Problem, spec_error
from tagwire_generator.project.history import release_order
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.canonical import canonical_text, normal_form, plain_tree
from tagwire_generator.syntax.parse import parse
from tagwire_workbench.archive.release_source import SpecText, release_name, spec_texts
from tagwire_workbench.archive.wire_facts import wire_text

# Correct and report three kinds of mistakes in released specs. Kafka's own reader accepts them.
#
# - Text after the end of the spec object is removed. For example, a spec of Kafka 2.8.2 has a second closing bracket.
# - If an object has a key twice (in Kafka 3.8.1), the last value counts, as in Kafka's reader.
# - If `flexibleVersions` is missing, its value is "none", the default up to Kafka 2.8 (52 files).

_FOLLOWED: Final = "TW104"
_REPEATED: Final = "TW106"
_NOT_FLEXIBLE: Final = "TW204"
_MENDED: Final = (_FOLLOWED, _REPEATED, _NOT_FLEXIBLE)


def mended(source: SpecText) -> tuple[dict[str, Any] | None, tuple[str, ...], list[Problem]]:
    """Return a spec's corrected tree of plain Python objects, notes about the corrections, and the remaining errors.

    The tree is None if errors remain. Callers must not change the tree, because it is cached.
    """
    tree, notes, errors = _mended(source.text)
    return tree, notes, [replace(problem, file=source.origin) for problem in errors]


@lru_cache(maxsize=4096)
def _mended(text: str) -> tuple[dict[str, Any] | None, tuple[str, ...], tuple[Problem, ...]]:
    """Implement `mended`. Results are cached, because most specs are the same in many releases."""
    text, notes = _without_rest(text)
    errors = _errors(text)
    if any(problem.rule not in _MENDED for problem in errors):
        return None, (), errors
    root = parse(text, file="").root
    assert root is not None, "a spec without a tree has an error that can't be corrected"
    tree: dict[str, Any] = plain_tree(root)
    notes += [f"line {each.line}: {each.message}; the last one is used" for each in errors if each.rule == _REPEATED]
    if any(problem.rule == _NOT_FLEXIBLE for problem in errors):
        tree["flexibleVersions"] = "none"
        notes.append("has no flexibleVersions; assuming none")
    if errors:  # read the corrected spec again, because these errors may have hidden others
        errors = _errors(json.dumps(tree))
    return (None, (), errors) if errors else (tree, tuple(notes), ())


def _errors(text: str) -> tuple[Problem, ...]:
    options = SpecOptions(entity_types=own_entity_types(text))
    return tuple(problem for problem in read_spec(text, options=options).problems if problem.severity == "error")


def own_entity_types(text: str) -> tuple[tuple[str, str], ...]:
    """Return the spec's entity types that Kafka doesn't define. Forks of Kafka have such types.

    The result is a value for the option `entity_types`.
    """
    names = set(re.findall(r'"entityType"\s*:\s*"(\w+)"', text)) - {"unknown", *ENTITY_TYPES}
    return tuple((name, "") for name in sorted(names))


def _without_rest(text: str) -> tuple[str, list[str]]:
    """Remove any text that follows the spec object. Return the shorter source, and a note if text was removed."""
    for problem in parse(text, file="").problems:
        if problem.rule == _FOLLOWED:
            lines = text.split("\n")[: problem.line]
            lines[-1] = lines[-1][: problem.column - 1]
            return "\n".join(lines), [f"line {problem.line}: {problem.message}; it is ignored"]
    return text, []


@dataclass(frozen=True, slots=True)
class ImportNote:
    """A flaw in a source. The import reports it and continues."""

    origin: str
    text: str


@dataclass(frozen=True, slots=True)
class ImportedSpec:
    """A message's spec without documentation, and the file from which it was imported."""

    name: str
    component: str
    spec: dict[str, Any]
    """The spec in normal form (see `canonical.normal_form`)."""
    origin: str
    """The file's path. It has the form `jar!entry` for a file in a jar."""
    notes: tuple[ImportNote, ...] = ()


@dataclass(frozen=True, slots=True)
class SpecSource:
    """All specs of a jar or directory, sorted by path."""

    path: Path
    specs: tuple[ImportedSpec, ...]

    @property
    def components(self) -> dict[str, int]:
        names = [spec.component for spec in self.specs]
        return {name: names.count(name) for name in sorted(set(names))}


@dataclass(frozen=True, slots=True)
class Release:
    """The sources of one release. `name` is the release, such as "4.4.0"; "" if no source's name contains a release."""

    name: str
    sources: tuple[SpecSource, ...]

    @property
    def specs(self) -> list[ImportedSpec]:
        """The specs of all sources. If two jars contain identical specs, the list contains only one of them.

        Raises SpecError for different specs with the same name.
        """
        chosen: dict[str, ImportedSpec] = {}
        for spec in (spec for source in self.sources for spec in source.specs):
            other = chosen.setdefault(spec.name, spec)
            if (other.component, other.spec) != (spec.component, spec.spec):
                what = "components" if other.component != spec.component else "content"
                raise SpecError(
                    f"{spec.origin}: {spec.name} differs in {what} from {other.origin}, "
                    "but both are from the same release; name folders after their releases, as in kafka-clients-4.4.0",
                    file=spec.origin,
                )
        return list(chosen.values())


def read_releases(
    paths: Sequence[Path], *, component: str | None = None, progress: Callable[[Path], None] = lambda path: None
) -> list[Release]:
    """Read the specs in jars and directories, and return their releases, newest first.

    A source's release and component are taken from its name (`kafka-clients-4.4.0.jar`). `component` overrides the
    component of all sources. A jar may have no specs. Raises SpecError for a source that can't be read, and for specs
    that break rules (`problems` lists the violations in all sources).
    """
    found: dict[str, list[SpecSource]] = {}
    problems: list[Problem] = []
    for path in paths:
        progress(path)
        source, errors = _read_source(path, component)
        found.setdefault(release_name(path), []).append(source)
        problems += errors
    if problems:
        raise spec_error(problems)
    _reject_empty([source for sources in found.values() for source in sources])
    if "" in found and len(found) > 1:
        raise SpecError(
            f"{found[''][0].path}: the name contains no release number; rename the file or folder, as in "
            "kafka-clients-4.4.0",
            file=str(found[""][0].path),
        )
    newest_first = sorted(found, key=release_order, reverse=True)
    return [Release(name, tuple(found[name])) for name in newest_first]


def _reject_empty(sources: Sequence[SpecSource]) -> None:
    """Raise SpecError if a folder has no specs, or if no source has any. It is fine if only some jars have none."""
    is_any = any(source.specs for source in sources)
    for source in sources:
        if not source.specs and (source.path.is_dir() or not is_any):
            where = "*.json" if source.path.is_dir() else "common/message, common/metadata or message"
            raise SpecError(f"{source.path}: no message specs found in {where}", file=str(source.path))


def _read_source(path: Path, component: str | None) -> tuple[SpecSource, list[Problem]]:
    specs: list[ImportedSpec] = []
    problems: list[Problem] = []
    for text in spec_texts(path, component):
        tree, slips, errors = mended(text)
        problems += errors
        if tree is not None:
            specs.append(_imported(text, tree, slips))
    return SpecSource(path, tuple(specs)), problems


def _imported(text: SpecText, tree: dict[str, Any], mended: Sequence[str]) -> ImportedSpec:
    notes = list(mended)
    facts = normal_form(_facts(tree), notes.append)
    if facts["validVersions"] == "none":
        # A removed API has no versions. Its spec only serves to reserve the API key, so drop its fields.
        facts = {key: facts[key] for key in ("apiKey", "type", "name", "validVersions") if key in facts}
    name = facts["name"]
    if text.name != name:
        notes.append(f"holds {name}, and is written as {name}.json")
    return ImportedSpec(
        name, text.component, normal_form(facts), text.origin, tuple(ImportNote(text.origin, note) for note in notes)
    )


def _facts(value: Any) -> Any:
    if isinstance(value, dict):
        members: dict[str, Any] = value
        return {key: _facts(member) for key, member in members.items() if key != "about"}
    if isinstance(value, list):
        items: list[Any] = value
        return [_facts(item) for item in items]
    return value


def message_of(spec: dict[str, Any]) -> MessageSpec:
    """Parse a spec in normal form. Raises SpecError if it breaks a rule."""
    return _message(canonical_text(spec))


@lru_cache(maxsize=4096)
def _message(text: str) -> MessageSpec:
    """Parse a spec. Results are cached, because most specs are the same in many releases."""
    result = read_spec(text, options=SpecOptions(entity_types=own_entity_types(text)))
    if result.message is None:
        raise spec_error([problem for problem in result.problems if problem.severity == "error"])
    return result.message


def wire_forms(spec: dict[str, Any], *, names: bool = False) -> dict[int, str]:
    """Describe the wire format of each version as a string (see `wire_facts`). The spec must be in normal form."""
    return _wire_forms(canonical_text(spec), names)


@lru_cache(maxsize=8192)
def _wire_forms(text: str, names: bool) -> dict[int, str]:
    message = _message(text)
    cls = message_class(message, SpecOptions())
    return {version: wire_text(layout_of(cls, version), names=names) for version in message.valid_versions}
