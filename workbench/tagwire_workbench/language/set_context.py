"""Registers (named numbers) and shared structs that a spec can use from the other specs of its set."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import SpecData, may_be_register, may_be_shared, uses_registers
from tagwire_generator.reading.imports import SharedStructs
from tagwire_generator.reading.register import Registers, registers_among
from tagwire_workbench.language.text_tree import TextTree


@dataclass(frozen=True, slots=True, eq=False)
class SetContext:
    """The registers (named numbers) and shared structs of a spec set. `registers` is None for a spec in no set."""

    registers: Registers | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    """The file of each register or shared struct, by name."""
    specs: tuple[SpecData, ...] = ()
    """The specs that may declare shared structs."""

    def known(self, options: SpecOptions) -> dict[str, Any]:
        """Return the registers and shared structs as keyword arguments for the functions that read specs."""
        return {"registers": self.registers, "shared": SharedStructs(self.specs, options, self.registers)}


ALONE: Final = SetContext()


def may_be_used(data: bytes) -> bool:
    """Return whether a spec may define a register (named numbers) or a shared struct. Doesn't parse the spec."""
    return may_be_register(data) or may_be_shared(data)


def needs_other_specs(data: bytes) -> bool:
    """Return whether a spec may use registers or shared structs of other specs. Doesn't parse the spec."""
    return uses_registers(data) or b'"imports"' in data


def context_of(files: Mapping[Path, bytes]) -> SetContext:
    """Return the registers (named numbers) and shared structs that these specs declare."""
    registers = registers_among(files.values())
    names = {path: TextTree(data.decode("utf-8", "replace")).root.string("name") for path, data in files.items()}
    specs = tuple(SpecData(str(path), "", data) for path, data in files.items() if may_be_shared(data))
    found = {*registers, *SharedStructs(specs).names()}
    return SetContext(registers, {name: path for path, name in names.items() if name in found}, specs)
