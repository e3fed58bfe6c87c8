"""The importer: specs out of Kafka's release jars, written as canonical specs.

`read_release` is a pure function from one source to spec trees that know where
they come from; `import_release` reads all sources, and writes only when all of
them could be read. Facts alone are taken: no `about`, no comments. What the
releases say in a lenient form is taken and noted; what they do not say but
Kafka does (headers) is added by `kafka_protocol`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagwire.errors import SpecError, TagwireError
from tagwire_generator.canonical import canonical_text, normal_form, plain_tree
from tagwire_generator.kafka_protocol import with_protocol_rules
from tagwire_generator.parse import parse
from tagwire_generator.problems import Problem, render
from tagwire_generator.reader import read_spec
from tagwire_generator.release_source import SpecText, spec_texts

__all__ = ["ImportNote", "ImportReport", "ImportedSpec", "Release", "import_release", "read_release"]


@dataclass(frozen=True, slots=True)
class ImportNote:
    """Something of a source that was taken although it is not as it should be."""

    origin: str
    text: str


@dataclass(frozen=True, slots=True)
class ImportedSpec:
    """The facts of one message and where they come from."""

    name: str
    component: str
    spec: dict[str, Any]
    """The spec in normal form."""
    origin: str
    """The file, in a jar `jar!entry`."""
    notes: tuple[ImportNote, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """All specs of one source, a jar or a directory."""

    source: Path
    specs: tuple[ImportedSpec, ...]

    @property
    def components(self) -> dict[str, int]:
        """How many specs each detected component has here."""
        names = [spec.component for spec in self.specs]
        return {name: names.count(name) for name in sorted(set(names))}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import read and wrote; `str()` is the report to print."""

    releases: tuple[Release, ...]
    written: tuple[Path, ...]
    unchanged: tuple[Path, ...]
    stale: tuple[Path, ...]
    """Specs in the folders written to that these sources do not have; they are left alone."""

    @property
    def notes(self) -> tuple[ImportNote, ...]:
        """The notes of all specs, in the order of the sources."""
        return tuple(note for release in self.releases for spec in release.specs for note in spec.notes)

    def __str__(self) -> str:
        lines: list[str] = []
        for release in self.releases:
            found = ", ".join(f"{component}: {count}" for component, count in release.components.items())
            lines.append(f"{release.source}: {_specs(len(release.specs))} ({found})")
        lines += [f"{note.origin}: {note.text}" for note in self.notes]
        lines += [f"{path}: not in these sources, left as it is" for path in self.stale]
        lines.append(f"{_specs(len(self.written))} written, {len(self.unchanged)} unchanged")
        return "\n".join(lines)


def import_release(
    sources: Sequence[Path],
    out: Path,
    *,
    component: str | None = None,
    progress: Callable[[Path], None] = lambda source: None,
) -> ImportReport:
    """Write the specs of jars and directories to `out/<component>/<MessageName>.json`.

    Nothing is written unless all sources could be read, and nothing is ever
    removed. `progress` is told of each source before it is read; `component` is
    as in `read_release`.

    Raises SpecError for a source that can't be read, for specs that break a rule
    (`problems` has them all), and for two specs of one name that differ;
    TagwireError for a file that can't be written.
    """
    releases: list[Release] = []
    for source in sources:
        progress(source)
        releases.append(read_release(source, component=component))
    specs = _one_of_each(spec for release in releases for spec in release.specs)
    texts = {out / spec.component / f"{spec.name}.json": canonical_text(spec.spec) for spec in specs}
    written, unchanged = _write(texts)
    folders = sorted({path.parent for path in texts})
    present = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    return ImportReport(tuple(releases), written, unchanged, stale=tuple(path for path in present if path not in texts))


def read_release(source: Path, *, component: str | None = None) -> Release:
    """The specs of a jar or a directory, sorted by path; nothing is written.

    The component of each spec follows from the name of the jar or from its
    path; `component` is for sources that tell none, and wins over what they tell.

    Raises SpecError, for specs that break rules with all problems of the source.
    """
    specs: list[ImportedSpec] = []
    problems: list[Problem] = []
    for text in spec_texts(source, component):
        result = read_spec(text.text, file=text.origin, component=text.component)
        errors = [problem for problem in result.problems if problem.severity == "error"]
        problems += errors
        if not errors:
            specs.append(_imported(text))
    if problems:
        raise _spec_error(problems)
    return Release(source, tuple(specs))


def _imported(text: SpecText) -> ImportedSpec:
    """The facts of a spec that the reader accepts."""
    notes: list[ImportNote] = []
    root = parse(text.text, file=text.origin).root
    assert root is not None, "the reader accepted it"
    facts = normal_form(_facts(plain_tree(root)), lambda note: notes.append(ImportNote(text.origin, note)))
    if facts["validVersions"] == "none":
        # The API is gone and its key stays reserved: whatever else the spec says has no meaning any more.
        facts = {key: facts[key] for key in ("apiKey", "type", "name", "validVersions") if key in facts}
    name = facts["name"]
    if text.name != name:
        notes.append(ImportNote(text.origin, f"holds {name}, and is written as {name}.json"))
    return ImportedSpec(name, text.component, normal_form(with_protocol_rules(facts)), text.origin, tuple(notes))


def _specs(number: int) -> str:
    return f"{number} spec{'' if number == 1 else 's'}"


def _facts(value: Any) -> Any:
    """The tree without its prose."""
    if isinstance(value, dict):
        members: dict[str, Any] = value
        return {key: _facts(member) for key, member in members.items() if key != "about"}
    if isinstance(value, list):
        items: list[Any] = value
        return [_facts(item) for item in items]
    return value


def _one_of_each(specs: Iterable[ImportedSpec]) -> list[ImportedSpec]:
    """The specs, each name once. Two sources may have the same spec, not two different ones of a name."""
    chosen: dict[str, ImportedSpec] = {}
    for spec in specs:
        other = chosen.setdefault(spec.name, spec)
        if (other.component, other.spec) != (spec.component, spec.spec):
            what = "components" if other.component != spec.component else "content"
            raise SpecError(
                f"{spec.origin}: {spec.name} differs in {what} from that of {other.origin}; "
                "import sources of one release only",
                file=spec.origin,
            )
    return list(chosen.values())


def _spec_error(problems: Sequence[Problem]) -> SpecError:
    first = problems[0]
    return SpecError(
        "\n".join(render(problem) for problem in problems),
        file=first.file,
        line=first.line,
        column=first.column,
        rule=first.rule,
        problems=problems,
    )


def _write(texts: dict[Path, str]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Write the files whose text changes; gives the written and the unchanged paths."""
    written: list[Path] = []
    unchanged: list[Path] = []
    for path, text in texts.items():
        data = text.encode()
        try:
            if path.is_file() and path.read_bytes() == data:
                unchanged.append(path)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            raise TagwireError(f"{path}: can't be written: {error.strerror}") from None
        written.append(path)
    return tuple(written), tuple(unchanged)
