"""Read sets of specs from files, folders or other sources, and collect their problems.

A spec that is identical in two sets is read only once, and both sets share the resulting object. This saves time when
two versions of a set are compared.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import Problem
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import (
    SpecData,
    SpecFile,
    find_specs,
    may_be_shared,
    needed_by,
    spec_data,
    uses_registers,
)
from tagwire_generator.reading.imports import SharedStructs
from tagwire_generator.reading.register import Registers, registers_among
from tagwire_generator.reading.spec import ReadResult, read_data

__all__ = ["SpecData", "SpecReader", "SpecSources", "from_file", "from_folder"]


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


def from_file(path: Path, *, file: str | None = None) -> SpecData:
    """Read a single spec. Raises SpecError if the spec can't be read."""
    return spec_data(SpecFile("", path), file=file)


def from_folder(folder: Path) -> list[SpecData]:
    """Read the specs of a folder. Raises SpecError in the same cases as `find_specs`."""
    return [spec_data(each) for each in find_specs(folder)]


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
        registers = registers_among(each.data for each in (*others, *files))
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
                self._add_imported(found, result.message, shared)
        return found

    def _add_imported(self, found: SpecSources, spec: MessageSpec, shared: SharedStructs) -> None:
        for each in spec.imports:
            struct, known = shared.read(each.name).message, shared.get(each.name)
            if struct is not None and known is not None:
                found.shared.setdefault(struct.name, struct)
                found.texts.setdefault(struct.file, known.spec.data.decode())

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
            known: dict[str, Any] = {"file": each.file, "component": each.component, "options": options}
            result = read_data(each.data, **known, registers=registers, shared=shared)
            self._known[key] = result
        return result
