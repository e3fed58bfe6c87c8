"""The specs of a project that is open in an editor. Unsaved content takes precedence over the files on disk.

A workspace finds the same problems as `tagwire validate` and `tagwire lint` on a folder. Results are cached until a
file changes, so each keystroke only reads one spec.
"""

import datetime
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.errors import SpecError
from tagwire_generator.editing.spec_edit import format_spec
from tagwire_generator.model import KINDS, MessageSpec
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.problems import Finding, Problem
from tagwire_generator.project.exemptions import judge
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.root import SETTINGS_FILE, find_root
from tagwire_generator.project.settings import Settings, SpecSet, load
from tagwire_generator.project.spec_files import (
    SpecData,
    SpecFile,
    find_specs,
    may_be_register,
    may_be_shared,
    uses_registers,
)
from tagwire_generator.reading.imports import SharedStructs
from tagwire_generator.reading.positions import placed
from tagwire_generator.reading.register import Registers, registers_among
from tagwire_generator.reading.spec import ReadResult, read_file, read_spec
from tagwire_workbench.designs.findings import text_of
from tagwire_workbench.designs.lint import chosen, lint, lint_pairs
from tagwire_workbench.language.text_tree import TextTree


@dataclass(frozen=True, slots=True, eq=False)
class SetContext:
    """The registers (named numbers) and shared structs of a spec set. `registers` is None if there is no set."""

    registers: Registers | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    """Maps the name of each register or shared struct to the file that declares it."""
    specs: tuple[SpecData, ...] = ()
    """The specs that may declare shared structs."""

    def known(self, options: SpecOptions) -> dict[str, Any]:
        """Return the arguments `registers` and `shared`, which the functions that read specs accept."""
        return {"registers": self.registers, "shared": SharedStructs(self.specs, options, self.registers)}


ALONE: Final = SetContext()


def _needs_other_specs(data: bytes) -> bool:
    """Return whether a spec may use registers or structs of other specs. This is fast, as the spec isn't parsed."""
    return uses_registers(data) or b'"imports"' in data


def _context_of(files: Mapping[Path, bytes]) -> SetContext:
    """Return the registers (named numbers) and shared structs that these specs declare."""
    registers = registers_among(files.values())
    names = {path: TextTree(data.decode("utf-8", "replace")).root.string("name") for path, data in files.items()}
    specs = tuple(SpecData(str(path), "", data) for path, data in files.items() if may_be_shared(data))
    found = {*registers, *SharedStructs(specs).names()}
    return SetContext(registers, {name: path for path, name in names.items() if name in found}, specs)


_SPEC_KEYS: Final = ("validVersions", "flexibleVersions", "versionsWithOptional")
"""Keys that only specs have. Outside of spec sets, a JSON file with such a key is taken for a spec."""


_MOST_CHARACTERS: Final = 1 << 17
"""Maximum document length. Longer ones would block the editor. Kafka's longest spec has about 20,000 characters."""


class SetProblems(NamedTuple):
    """The problems in a spec set, by file. Only files with problems are listed."""

    of_files: dict[Path, list[Problem]]
    """Violations of rules about a single file."""
    of_set: dict[Path, list[Problem]]
    """Violations of rules about the whole set, which is only checked if all of its files are valid."""


@dataclass(slots=True)
class _Read:
    """A cached result of reading a spec. It is used until `stamp`, the state of all files that affect it, changes."""

    stamp: tuple[object, ...]
    result: ReadResult
    linted: tuple[Settings, list[Problem]] | None = None
    """The lint settings and the problems found with them, or None if the spec hasn't been linted yet."""


class Workspace:
    """The specs of a project by path. All paths are absolute."""

    def __init__(self) -> None:
        self._texts: dict[Path, str] = {}
        self._known: dict[Path, _Read] = {}
        self._settings: dict[Path, tuple[object, Settings]] = {}
        self._contexts: dict[str, tuple[dict[Path, bytes], SetContext]] = {}
        """Maps a set's package to the bytes of its specs, and the registers and shared structs that they declare."""
        self._data: dict[Path, tuple[object, bytes]] = {}

    def write(self, path: Path, text: str) -> None:
        """Use the editor's content of a file, which may be unsaved, instead of the content on disk."""
        self._texts[path] = text

    def forget(self, path: Path) -> None:
        """Drop the editor's content of a file, so that the file on disk is used again."""
        self._texts.pop(path, None)

    def with_texts(self, texts: Mapping[Path, str]) -> "Workspace":
        """Return a copy of the workspace with other content for some files."""
        other = Workspace()
        other._texts = {**self._texts, **texts}
        other._known = dict(self._known)
        other._settings = self._settings
        other._data = self._data
        return other

    def text(self, path: Path) -> str:
        """Return a file's content, from the editor or from disk, or "" if it can't be read."""
        text = self._texts.get(path)
        if text is not None:
            return text
        try:
            return path.read_text("utf-8")
        except (OSError, ValueError):
            return ""

    def is_too_long(self, path: Path) -> bool:
        """Return whether a document is too long to be analyzed while the user types."""
        return len(self.text(path)) > _MOST_CHARACTERS

    def settings(self, path: Path) -> Settings:
        """Return the settings of a file's project. Raises SettingsError if they can't be read."""
        root = find_root(path.parent)
        stamp = _stamp(root / SETTINGS_FILE)
        known = self._settings.get(root)
        if known is None or known[0] != stamp:
            known = self._settings[root] = stamp, load(root)
        return known[1]

    def spec_set(self, path: Path) -> SpecSet | None:
        """Return the spec set that contains a file, or None. Raises SettingsError if the settings can't be read."""
        return self.settings(path).set_of(path)

    def options(self, path: Path) -> SpecOptions:
        """Return the options for reading a file. Raises SettingsError if the project's settings can't be read."""
        spec_set = self.spec_set(path)
        return spec_set.options if spec_set else SpecOptions()

    def is_spec(self, path: Path) -> bool:
        """Return whether a file belongs to a spec set, or looks like a spec."""
        if self.spec_set(path) is not None:
            return True
        root = TextTree(self.text(path)).root
        return root.string("type") in (*KINDS, "register") or any(root.get(key) for key in _SPEC_KEYS)

    def read(self, path: Path) -> ReadResult:
        """Read the spec in a file. Raises SettingsError if the project's settings can't be read."""
        context = self.context(path) if _needs_other_specs(self._bytes(path)) else ALONE
        return self._read(SpecFile(self._component(path), path), self.options(path), context)

    def read_as(self, path: Path, text: str) -> ReadResult:
        options = self.options(path)
        known = self.context(path).known(options)
        return read_spec(text, file=str(path), component=self._component(path), options=options, **known)

    def context(self, path: Path) -> SetContext:
        """Return the registers and shared structs that a file may use. Raises SpecError if its set can't be read."""
        spec_set = self.spec_set(path)
        return self._context(spec_set) if spec_set is not None else ALONE

    def _context(self, spec_set: SpecSet) -> SetContext:
        data = {spec.path: self._bytes(spec.path) for spec in self._files(spec_set)}
        offered = {path: each for path, each in data.items() if may_be_register(each) or may_be_shared(each)}
        known = self._contexts.get(spec_set.package)
        if known is None or known[0] != offered:
            known = self._contexts[spec_set.package] = offered, _context_of(offered)
        return known[1]

    def files(self, path: Path) -> list[Path]:
        """Return the paths of all specs in the sets that contain a file, including unsaved specs.

        Raises SpecError if a spec folder or the settings can't be read.
        """
        return [spec.path for spec_set in self.settings(path).sets_of(path) for spec in self._files(spec_set)]

    def formatted(self, path: Path) -> str:
        """Return the file's content as `tagwire fmt` would format it.

        Raises SpecError if the spec has errors, or if a comment would be lost by formatting.
        """
        return format_spec(self.text(path), file=str(path), options=self.options(path))

    def message(self, path: Path) -> MessageSpec | None:
        return self.read(path).message

    def problems(self, path: Path) -> tuple[Problem, ...]:
        """Return the problems in a file and, if none of them is an error, the file's lint findings."""
        if self.is_too_long(path):
            return self._note_on_length(path) if self.spec_set(path) is not None else ()
        if not self.is_spec(path):
            return ()
        result = self.read(path)
        return (*result.problems, *self._linted(path, result.message)) if result.message else result.problems

    def set_problems(self, path: Path) -> SetProblems:
        """Return the problems in a file's spec set, or in the file alone if it is in no set.

        Raises SpecError if the spec folder or the settings can't be read.
        """
        spec_set = self.spec_set(path)
        if spec_set is None:
            return SetProblems({path: list(found)} if (found := self.problems(path)) else {}, {})
        return self.problems_of(spec_set)

    def problems_of(self, spec_set: SpecSet) -> SetProblems:
        """Return the problems in a spec set. Raises SpecError if a spec folder or the settings can't be read."""
        of_set: defaultdict[Path, list[Problem]] = defaultdict(list)
        of_files: dict[Path, list[Problem]] = {}
        messages: list[MessageSpec] = []
        are_all_read = True
        context = self._context(spec_set)
        for spec in self._files(spec_set):
            result = self._read(spec, spec_set.options, context)
            if result.problems:
                of_files[spec.path] = list(result.problems)
            are_all_read = are_all_read and not result.has_errors
            messages += [result.message] if result.message else []
        if are_all_read:
            linted = self._lint_problems(lint_pairs(messages), messages, self.settings(spec_set.root / SETTINGS_FILE))
            for problem in (*check_set([each.summary() for each in messages], spec_set.options), *linted):
                of_set[Path(problem.file)].append(problem)
        return SetProblems(of_files, dict(of_set))

    def counterpart(self, path: Path) -> MessageSpec | None:
        """Return the other message with the same API key: the response of a request, or the request of a response."""
        mine, spec_set = self.message(path), self.spec_set(path)
        kind = {"request": "response", "response": "request"}.get(mine.kind) if mine is not None else None
        if mine is None or spec_set is None or kind is None:
            return None
        context = self.context(path)
        read = (self._read(spec, spec_set.options, context).message for spec in self._files(spec_set))
        return next((each for each in read if each and each.kind == kind and each.api_key == mine.api_key), None)

    def _note_on_length(self, path: Path) -> tuple[Problem]:
        message = (
            f"the spec has {len(self.text(path))} characters, but editors show problems only up to {_MOST_CHARACTERS}; "
            "check it with `tagwire validate`"
        )
        return (Problem(rule="TW101", severity="warning", file=str(path), line=1, column=1, message=message),)

    def _linted(self, path: Path, message: MessageSpec) -> list[Problem]:
        known, settings = self._known[path], self.settings(path)
        if known.linted is None or known.linted[0] is not settings:
            known.linted = settings, self._lint_problems(lint(message), [message], settings)
        return known.linted[1]

    def _lint_problems(
        self, findings: Iterable[Finding], specs: Sequence[MessageSpec], settings: Settings
    ) -> list[Problem]:
        """Convert findings to problems, leaving out findings that the settings disable or list as exceptions."""
        enabled = chosen(findings, specs, settings.lint)
        left = judge(enabled, settings.exemptions_for("TL"), datetime.date.today(), ()).findings
        texts = {file: self.text(Path(file)) for file in {finding.file for finding in left}}
        return [replace(finding, message=text_of(finding)) for finding in placed(left, texts)]

    def _files(self, spec_set: SpecSet) -> list[SpecFile]:
        folders = _folders(spec_set)
        found = {spec.path: spec for folder in folders for spec in _specs(folder)}
        for path in [*self._texts]:
            if path not in found and path.suffix == ".json" and any(map(path.is_relative_to, folders)):
                found[path] = SpecFile(self._component(path), path)
        return sorted(found.values())

    def _component(self, path: Path) -> str:
        """Return the component of a file: the name of its top-level folder in the set, or "" if it has no component."""
        spec_set = self.spec_set(path)
        folder = next((each for each in _folders(spec_set) if path.is_relative_to(each)), None) if spec_set else None
        parts = path.relative_to(folder).parts[:-1] if folder else ()
        return parts[0] if parts else ""

    def _bytes(self, path: Path) -> bytes:
        text = self._texts.get(path)
        if text is not None:
            return text.encode("utf-8", "replace")
        stamp, known = _stamp(path), self._data.get(path)
        if known is None or known[0] != stamp:
            known = self._data[path] = stamp, path.read_bytes() if stamp and path.is_file() else b""
        return known[1]

    def _read(self, spec: SpecFile, options: SpecOptions, context: SetContext) -> ReadResult:
        text = self._texts.get(spec.path)
        used = context if _needs_other_specs(self._bytes(spec.path)) else ALONE
        stamp = (text if text is not None else _stamp(spec.path), spec.component, options, used)
        known = self._known.get(spec.path)
        if known is None or known.stamp != stamp:
            arguments: dict[str, Any] = {"component": spec.component, "options": options, **used.known(options)}
            if text is not None:
                result = read_spec(text, file=str(spec.path), **arguments)
            else:
                result = read_file(spec.path, **arguments)
            known = self._known[spec.path] = _Read(stamp, result)
        return known.result


def _folders(spec_set: SpecSet) -> list[Path]:
    """Return the folders of a set without links, because the paths of a workspace contain none."""
    return [Path(os.path.realpath(folder)) for folder in spec_set.sources]


def _specs(folder: Path) -> list[SpecFile]:
    try:
        return find_specs(folder)
    except SpecError:
        if any(folder.rglob("*.json")):
            raise
        return []


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
