"""Spec sets as texts, from a file, a folder, or anything that has files; read into specs, with their problems.

Specs with the same text in both sets are read once and become one object, because a change usually touches one
file of hundreds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from tagwire.errors import SpecError
from tagwire_generator.diagnostics.problems import Problem
from tagwire_generator.model import MessageSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import find_specs, uses_registers
from tagwire_generator.reading.registers import Registers, registers_among
from tagwire_generator.reading.spec import ReadResult, read_data

__all__ = ["SpecData", "SpecReader", "SpecTexts", "from_file", "from_folder"]


@dataclass(frozen=True, slots=True)
class SpecData:
    """The bytes of one spec, wherever they come from."""

    file: str
    """How it is called in reports."""
    component: str
    data: bytes

    @property
    def name(self) -> str:
        """The message that the file is named after."""
        return PurePath(self.file).stem


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
    try:
        return SpecData(file or str(path), "", path.read_bytes())
    except OSError as error:
        raise SpecError(f"{path}: can't be read: {error.strerror}", file=str(path)) from error


def from_folder(folder: Path) -> list[SpecData]:
    """The specs of a folder, as `find_specs` finds them; raises SpecError as that does."""
    made: list[SpecData] = []
    for spec in find_specs(folder):
        data = from_file(spec.path)
        made.append(SpecData(data.file, spec.component, data.data))
    return made


class SpecReader:
    """Reads spec sets; a text that it has read before, with the same options, is the same object again."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], ReadResult] = {}

    def read(self, files: Iterable[SpecData], options: SpecOptions, beside: Iterable[SpecData] = ()) -> SpecTexts:
        """The specs of a set. Raises no error: the problems of a spec are beside the other specs.

        `beside` are other files of the set, whose registers the specs may have as enums.
        """
        found = SpecTexts()
        files = list(files)
        registers = registers_among(each.data for each in (*beside, *files))
        for each in files:
            result = self._result(each, options, registers)
            if result.register is not None:
                continue  # it has no bytes of its own that a change could break
            if result.message is None:
                found.invalid[each.name] = tuple(p for p in result.problems if p.severity == "error")
            else:
                found.specs[result.message.name] = result.message
                found.texts[each.file] = each.data.decode()
        return found

    def _result(self, each: SpecData, options: SpecOptions, registers: Registers) -> ReadResult:
        enums = tuple(registers.items()) if uses_registers(each.data) else ()
        key = each.component, each.data, options, enums
        result = self._known.get(key)
        if result is None or result.message is None:  # what is wrong is told under the file's own name
            result = read_data(
                each.data, file=each.file, component=each.component, options=options, registers=registers
            )
            self._known[key] = result
        return result
