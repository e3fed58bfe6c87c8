"""Read the specs of Kafka's releases from their jars or folders.

Mistakes are corrected, `about` strings are removed, and each spec is assigned to a component, so that specs of
different releases can be compared. The artifact's name (such as `kafka-clients`) determines a spec's component.

A jar is a download, so its contents are not trusted. Entry names are never used as paths, and a jar with an entry such
as `../x` is rejected. The number of bytes read is limited, whatever sizes the jar's directory claims.
"""

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire_generator.problems import Problem, spec_error
from tagwire_generator.project.history import release_order
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import decoded, read_spec
from tagwire_generator.syntax.canonical import normal_form, plain_tree, without_keys
from tagwire_generator.syntax.parse import parse
from tagwire_workbench.archive.wire_facts import own_entity_types

COMPONENTS: Final = {
    "kafka-clients": "clients",
    "kafka-group-coordinator": "group",
    "kafka-metadata": "cluster",
    "kafka-raft": "raft",
    "kafka-share-coordinator": "share",
    "kafka-storage": "remote-log",
    "kafka-streams": "streams",
    "kafka-transaction-coordinator": "transaction",
    "kafka_2.13": "core",
}
"""The component of the specs in each org.apache.kafka artifact. Newer releases have no specs in `core`."""

SPEC_BYTES: Final = 1 << 20
"""Maximum size of a spec. The largest spec of Kafka 4.4.0 is 13 kB long."""
TOTAL_BYTES: Final = 64 << 20

_IN_JAR: Final = re.compile(r"(?:common/(?:message|metadata)|message)/[^/]+\.json")
_COMPONENT: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_RELEASED: Final = re.compile(r"(?P<artifact>[a-z][a-z-]*?(?:_\d+\.\d+)?)-(?P<release>\d[\w.-]*)")

_ZIP_ERRORS: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError)
"""The errors that zipfile raises for damaged or encrypted archives."""


@dataclass(frozen=True, slots=True)
class ImportedSpec:
    """A message's spec without documentation, and the file from which it was imported."""

    name: str
    component: str
    spec: dict[str, Any]
    """The spec in normal form (see `canonical.normal_form`)."""
    origin: str
    """The file's path. It has the form `jar!entry` for a file in a jar."""
    notes: tuple[str, ...] = ()
    """Flaws in the source that the import reports, but accepts."""


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
        found.setdefault(_release_name(path), []).append(source)
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
    for file, origin, own_component, text in _spec_texts(path, component):
        tree, slips, errors = mended(text)
        problems += [replace(problem, file=origin) for problem in errors]
        if tree is None:
            continue
        notes = list(slips)
        facts = normal_form(without_keys(tree, ("about",)), notes.append)
        if facts["validVersions"] == "none":
            # A removed API has no versions. Its spec only serves to reserve the API key, so drop its fields.
            facts = {key: facts[key] for key in ("apiKey", "type", "name", "validVersions") if key in facts}
        name = facts["name"]
        if file.stem != name:
            notes.append(f"holds {name}, and is written as {name}.json")
        specs.append(ImportedSpec(name, own_component, facts, origin, tuple(notes)))
    return SpecSource(path, tuple(specs)), problems


# ---------------------------------------------------------------- jars and folders


def _spec_texts(source: Path, component: str | None) -> Iterator[tuple[Path, str, str, str]]:
    """Yield (path, origin, component, JSON text) for each spec of a jar or directory, sorted by path.

    The origin is the path or, in a jar, `jar!entry`. `component` overrides the component in the source's path. Raises
    SpecError for an unreadable or hostile source, and for a path without a component.
    """
    if component is not None and not _COMPONENT.fullmatch(component):
        raise SpecError(
            f"component {component!r} must consist of lower-case letters and digits, with hyphens between words"
        )
    total = 0
    for path, origin, data in _files(source) if source.is_dir() else _entries(source):
        total += len(data)
        if total > TOTAL_BYTES:
            raise SpecError(f"{source}: the specs have more than {TOTAL_BYTES} bytes in total", file=str(source))
        yield path, origin, component or _component_of(path, source), decoded(data, origin)


def _release_name(source: Path) -> str:
    """Return the release in the name of a jar or folder, as in `kafka-clients-4.4.0.jar`, or "" if there is none."""
    for part in reversed(source.parts):
        released = _RELEASED.fullmatch(part.removesuffix(".jar"))
        if released and "." in released["release"]:
            return released["release"]
    return ""


def _files(folder: Path) -> Iterator[tuple[Path, str, bytes]]:
    for path in sorted(folder.rglob("*.json")):
        if not path.is_file():  # reading a pipe would wait forever
            raise SpecError(f"{path} is not a file; remove it, or import another folder", file=str(path))
        try:
            with path.open("rb") as file:
                data = file.read(SPEC_BYTES + 1)
        except OSError as error:
            raise SpecError(f"{path} can't be read: {error.strerror}", file=str(path)) from None
        yield path, str(path), _bounded(data, str(path))


def _entries(jar: Path) -> Iterator[tuple[Path, str, bytes]]:
    try:
        with zipfile.ZipFile(jar) as archive:
            for entry in sorted(archive.infolist(), key=lambda info: info.filename):
                name = entry.orig_filename
                parts = name.split("/")
                if ".." in parts or parts[0] == "" or "\\" in name or ":" in parts[0] or "\0" in name:
                    raise SpecError(f"{jar}: the entry {name!r} points outside the archive", file=str(jar))
                if _IN_JAR.fullmatch(entry.filename):
                    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                        text = f"{entry.filename} has compression method {entry.compress_type}; jars use only 0 and 8"
                        raise zipfile.BadZipFile(text)
                    with archive.open(entry) as file:
                        data = file.read(SPEC_BYTES + 1)
                    origin = f"{jar}!{entry.filename}"
                    yield jar / entry.filename, origin, _bounded(data, origin)
    except _ZIP_ERRORS as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SpecError(f"{jar} is neither a folder nor a readable jar: {reason}", file=str(jar)) from None


def _bounded(data: bytes, origin: str) -> bytes:
    if len(data) > SPEC_BYTES:
        raise SpecError(f"{origin} has more than {SPEC_BYTES} bytes; a message spec can't be that long", file=origin)
    return data


def _component_of(path: Path, source: Path) -> str:
    """Return the component of a spec. The innermost folder in its path that names a component determines it.

    A folder's name can be an artifact (`kafka-clients-4.4.0`), a source module (`clients/src`), or a component.
    """
    folders = path.resolve().parent.parts
    if folders[-1] in COMPONENTS.values():
        return folders[-1]
    for folder, inner in reversed(list(zip(folders, (*folders[1:], ""), strict=True))):
        name = folder.removesuffix(".jar")
        released = _RELEASED.fullmatch(name)
        artifact = released["artifact"] if released else name
        if inner == "src":
            artifact = f"kafka-{name}"
        if artifact in COMPONENTS:
            return COMPONENTS[artifact]
    raise SpecError(
        f"{source}: the path contains no component name ({', '.join(COMPONENTS)}); specify one with --component",
        file=str(source),
    )


# ---------------------------------------------------------------- mistakes in specs
#
# Correct and report three kinds of mistakes in released specs. Kafka's own reader accepts them.
#
# - Text after the end of the spec object is removed. For example, a spec of Kafka 2.8.2 has a second closing bracket.
# - If an object has a key twice (in Kafka 3.8.1), the last value counts, as in Kafka's reader.
# - If `flexibleVersions` is missing, its value is "none", the default up to Kafka 2.8 (52 files).

_FOLLOWED: Final = "TW104"
_REPEATED: Final = "TW106"
_NOT_FLEXIBLE: Final = "TW204"
_MENDED: Final = (_FOLLOWED, _REPEATED, _NOT_FLEXIBLE)


@lru_cache(maxsize=4096)
def mended(text: str) -> tuple[dict[str, Any] | None, tuple[str, ...], tuple[Problem, ...]]:
    """Return a spec's corrected tree of plain Python objects, notes about the corrections, and the remaining errors.

    The tree is None if errors remain. Results are cached, because most specs are the same in many releases, so callers
    must not change the tree.
    """
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


def _without_rest(text: str) -> tuple[str, list[str]]:
    """Remove any text that follows the spec object. Return the shorter source, and a note if text was removed."""
    for problem in parse(text, file="").problems:
        if problem.rule == _FOLLOWED:
            lines = text.split("\n")[: problem.line]
            lines[-1] = lines[-1][: problem.column - 1]
            return "\n".join(lines), [f"line {problem.line}: {problem.message}; it is ignored"]
    return text, []
