"""Import specs from Kafka's release jars and write them as canonical specs.

All sources are read before anything is written, and sources of several releases are merged. `about` strings and
comments are not imported. Flaws that Kafka's own reader accepts are reported. `kafka_protocol` adds facts that only
Kafka's code contains, such as header versions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tagwire.errors import SpecError
from tagwire.log.whole_folder import reject_inside
from tagwire.text_format import count
from tagwire_generator.problems import spec_error
from tagwire_generator.project.history import HISTORY_FILE, History
from tagwire_generator.project.output import contents_of, has_text, reject_unwritable, write_all
from tagwire_generator.syntax.canonical import canonical_text, plain_tree
from tagwire_generator.syntax.parse import parse
from tagwire_workbench.archive.collect import collected
from tagwire_workbench.archive.kafka_protocol import with_protocol_rules
from tagwire_workbench.archive.release import ImportedSpec, Release, SpecSource, read_releases

Spec = Mapping[str, Any]


def documented(spec: Spec, folder: Path) -> dict[str, Any]:
    """Return `spec` with the `about` strings of the existing spec in `folder`, if there is one.

    The existing spec may have an older name of the message. Fields and common structs are matched by name, so a renamed
    field loses its `about`. Raises SpecError if the existing spec can't be read: its `about` strings would be lost.
    """
    result = deepcopy(dict(spec))
    names = [spec["name"], *spec.get("aliases", ())]
    present = next((path for name in names if (path := folder / f"{name}.json").is_file()), None)
    if present is not None:
        descriptions = {name: part["about"] for name, part in _parts(_read(present)) if part.get("about")}
        for name, part in _parts(result):
            if name in descriptions:
                part["about"] = descriptions[name]
    return result


def undocumented(spec: Spec) -> list[str]:
    """Return the paths of fields and common structs that have no `about`. The message itself has an empty path."""
    return [path for path, part in _parts(spec) if not part.get("about")]


def _parts(spec: Spec) -> Iterator[tuple[str, Any]]:
    yield "", spec
    yield from _fields(spec, "")
    for struct in spec.get("commonStructs", ()):
        yield f"{struct['name']}:", struct
        yield from _fields(struct, f"{struct['name']}:")


def _fields(struct: Spec, around: str) -> Iterator[tuple[str, Any]]:
    fields: Sequence[Any] = [*struct.get("fields", ()), *struct.get("optionalFields", ())]
    for each in fields:
        yield f"{around}{each['name']}", each
        yield from _fields(each, f"{around}{each['name']}.")


def _read(path: Path) -> Any:
    try:
        document = parse(path.read_text(encoding="utf-8"), file=str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"byte {error.start} is not valid UTF-8"
        raise SpecError(
            f"{path} can't be read: {reason}; correct the file, because the import keeps its descriptions (`about`)",
            file=str(path),
        ) from None
    if document.root is None or any(problem.severity == "error" for problem in document.problems):
        raise spec_error(document.problems)
    return plain_tree(document.root)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import. `str()` returns the report to print."""

    releases: tuple[Release, ...]
    written: tuple[Path, ...]
    unchanged: tuple[Path, ...]
    stale: tuple[Path, ...]
    """Existing files that were not updated: specs that no source contains, or a history file of an earlier import."""
    history: History | None = None
    """The origin of each version, or None if only one release was imported."""
    undocumented: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Maps each message to the paths of its undocumented fields and structs. Empty if no spec has any `about`."""

    @property
    def sources(self) -> tuple[SpecSource, ...]:
        return tuple(source for release in self.releases for source in release.sources)

    @property
    def notes(self) -> tuple[str, ...]:
        """Flaws in the sources that were accepted, each after the file that has it."""
        specs = (spec for source in self.sources for spec in source.specs)
        return tuple(f"{spec.origin}: {note}" for spec in specs for note in spec.notes)

    def __str__(self) -> str:
        lines: list[str] = []
        for source in self.sources:
            found = ", ".join(f"{component}: {count}" for component, count in source.components.items())
            lines.append(f"{source.path}: {count(len(source.specs), 'spec')}{f' ({found})' if found else ''}")
        lines += self.notes
        lines += self._merge_lines()
        lines += [f"{path}: not in these sources; unchanged" for path in self.stale]
        for name, paths in self.undocumented.items():
            lines += [f"{name}{f'.{path}' if path else ''}: no about" for path in paths]
        written, unchanged = (sum(path.suffix == ".json" for path in paths) for paths in (self.written, self.unchanged))
        lines.append(f"{count(written, 'spec')} written, {unchanged} unchanged")
        return "\n".join(lines)

    def _merge_lines(self) -> list[str]:
        if self.history is None:
            return []
        lines: list[str] = []
        for (component, name), message in self.history.messages.items():
            for version in message.redefined:
                spans = message.versions[version]
                lines.append(f"{component}/{name} version {version}: redefined in place; using {spans[-1].last}")
                lines += [f"  {span.first} to {span.last}: {span.layout}" for span in spans]
        pairs = sum(len(message.versions) for message in self.history.messages.values())
        lines.append(
            f"{count(len(self.releases), 'release')}: {count(len(self.history.messages), 'message')}"
            f" with {count(pairs, 'version')}"
        )
        return lines


def import_release(
    sources: Sequence[Path],
    out: Path,
    *,
    component: str | None = None,
    progress: Callable[[Path], None] = lambda source: None,
) -> ImportReport:
    """Write the specs of jars and directories to `out/<component>/<MessageName>.json`.

    If there are several releases, they are merged, and `out/history.toml` lists the origin of each version. Nothing is
    written unless all sources can be read and merged. No file is removed, and `about` strings in `out` are kept.
    `component` replaces the component in each source's name. `progress` is called with each source before it is read.

    Raises SpecError if a source can't be read, if specs break a rule (`problems` lists all violations), if a release
    has different specs with the same name, or if releases can't be merged. Raises TagwireError if `out` is inside a
    source, or if a file can't be written.
    """
    reject_inside([out], sources)
    reject_unwritable(out / HISTORY_FILE)
    releases = read_releases(sources, component=component, progress=progress)
    history = None
    if len(releases) == 1:
        specs: Sequence[ImportedSpec] = releases[0].specs
    else:
        merged = collected(releases)
        specs, history = merged.specs, merged.history
    before = contents_of(out / spec.component / f"{spec.name}.json" for spec in specs)
    documented_specs = {
        out / spec.component / f"{spec.name}.json": documented(with_protocol_rules(spec.spec), out / spec.component)
        for spec in specs
    }
    contents = {path: canonical_text(spec) for path, spec in documented_specs.items()}
    folders = sorted({path.parent for path in contents})
    present = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    stale = [path for path in present if path not in contents]
    if history is not None:
        contents[out / HISTORY_FILE] = str(history)
    elif (out / HISTORY_FILE).exists():
        stale.append(out / HISTORY_FILE)
    unchanged = tuple(path for path, text in contents.items() if has_text(path, text))
    written = {path: text for path, text in contents.items() if path not in unchanged}
    write_all(written, before)
    missing = {spec["name"]: paths for spec in documented_specs.values() if (paths := undocumented(spec))}
    is_documented = any('"about"' in text for text in contents.values())
    documentation = missing if is_documented else {}
    return ImportReport(tuple(releases), tuple(written), unchanged, tuple(stale), history, documentation)
