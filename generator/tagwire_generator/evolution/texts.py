"""Spec sets as texts: from a file, a folder, or anything that has files; read into specs, with what is wrong with them.

Specs that stand in both sets with the same text are read once, and then are
one object: the usual case of a change that touches one file of hundreds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tagwire_generator.diagnostics.problems import Problem
from tagwire_generator.model import MessageSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import SpecData, SpecFile, find_specs, spec_data
from tagwire_generator.reading.spec import ReadResult, read_data

__all__ = ["SpecData", "SpecReader", "SpecTexts", "from_file", "from_folder"]


@dataclass(slots=True)
class SpecTexts:
    """A spec set that was read: messages that are valid, the others by what is wrong with them."""

    specs: dict[str, MessageSpec] = field(default_factory=dict)
    """By name."""
    texts: dict[str, str] = field(default_factory=dict)
    """By file."""
    invalid: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    """The errors of specs that can't be compared, by the names of their files."""


def from_file(path: Path, *, file: str | None = None) -> SpecData:
    """A spec of its own. Raises SpecError if it can't be read."""
    return spec_data(SpecFile("", path), file=file)


def from_folder(folder: Path) -> list[SpecData]:
    """The specs of a folder, as `find_specs` finds them; raises SpecError as that does."""
    return [spec_data(each) for each in find_specs(folder)]


class SpecReader:
    """Reads spec sets; a text that it has read before, with the same options, is the same object again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes, SpecOptions], ReadResult] = {}

    def read(self, files: Iterable[SpecData], options: SpecOptions) -> SpecTexts:
        """The specs of a set. Raises nothing: what is wrong with a spec stands beside the others."""
        found = SpecTexts()
        for each in files:
            result = self._result(each, options)
            if result.register is not None:
                continue  # it has no bytes that a change could break
            if result.message is None:
                found.invalid[each.name] = tuple(p for p in result.problems if p.severity == "error")
            else:
                found.specs[result.message.name] = result.message
                found.texts[each.file] = each.data.decode()
        return found

    def _result(self, each: SpecData, options: SpecOptions) -> ReadResult:
        key = each.component, each.data, options
        result = self._known.get(key)
        if result is None or result.message is None:  # what is wrong is told under the file's own name
            result = read_data(each.data, file=each.file, component=each.component, options=options)
            self._known[key] = result
        return result
