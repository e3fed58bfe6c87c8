"""What a spec can use of the other specs of its set: registers, and where they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tagwire_generator.language.text_tree import TextTree
from tagwire_generator.project.spec_files import may_be_register, uses_registers
from tagwire_generator.reading.registers import Registers, registers_among

__all__ = ["ALONE", "SetContext", "asks_for_others", "context_of", "may_be_used"]


@dataclass(frozen=True, slots=True, eq=False)
class SetContext:
    """The other specs as one spec sees them; `registers` are None where nobody knows the set."""

    registers: Registers | None = None
    places: Mapping[str, Path] = field(default_factory=dict)
    """By the name of a register, its file."""


ALONE: Final = SetContext()
"""Of a spec that is in no set."""


def may_be_used(data: bytes) -> bool:
    """Whether other specs may use something of this text; without parsing it."""
    return may_be_register(data)


def asks_for_others(data: bytes) -> bool:
    """Whether a text may use something of other specs; without parsing it."""
    return uses_registers(data)


def context_of(texts: Mapping[Path, bytes]) -> SetContext:
    """What these texts offer to the others of their set."""
    registers = registers_among(texts.values())
    names = {path: TextTree(data.decode("utf-8", "replace")).root.word("name") for path, data in texts.items()}
    return SetContext(registers, {name: path for path, name in names.items() if name in registers})
