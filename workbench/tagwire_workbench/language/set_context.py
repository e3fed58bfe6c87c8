"""What a spec can use of the other specs of its set: registers and shared structs, and where they are."""

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
    """The other specs as one spec sees them; `registers` are None where nobody knows the set."""

    registers: Registers | None = None
    places: Mapping[str, Path] = field(default_factory=dict)
    """By the name of a register or shared struct, its file."""
    specs: tuple[SpecData, ...] = ()
    """Those that may be shared structs."""

    def known(self, options: SpecOptions) -> dict[str, Any]:
        """The arguments by which the readers take it."""
        return {"registers": self.registers, "shared": SharedStructs(self.specs, options, self.registers)}


ALONE: Final = SetContext()
"""Of a spec that is in no set."""


def may_be_used(data: bytes) -> bool:
    """Whether other specs may use something of this text; without parsing it."""
    return may_be_register(data) or may_be_shared(data)


def asks_for_others(data: bytes) -> bool:
    """Whether a text may use something of other specs; without parsing it."""
    return uses_registers(data) or b'"imports"' in data


def context_of(texts: Mapping[Path, bytes]) -> SetContext:
    """What these texts offer to the others of their set."""
    registers = registers_among(texts.values())
    names = {path: TextTree(data.decode("utf-8", "replace")).root.word("name") for path, data in texts.items()}
    specs = tuple(SpecData(str(path), "", data) for path, data in texts.items() if may_be_shared(data))
    found = {*registers, *SharedStructs(specs).names()}
    return SetContext(registers, {name: path for path, name in names.items() if name in found}, specs)
