"""The registers that the specs of a set may use as enums: found by name, wherever in the set they are."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from tagwire.errors import SpecError
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import find_specs, may_be_register
from tagwire_generator.reading.context import Reading
from tagwire_generator.reading.register import read_register
from tagwire_generator.syntax.parse import parse
from tagwire_generator.syntax.spec_schema import is_register

__all__ = ["Registers", "registers_among", "registers_in"]

Registers: TypeAlias = Mapping[str, RegisterSpec | None]
"""By name; None for one that is not valid, which its own file says."""


def registers_among(texts: Iterable[bytes]) -> Registers:
    """The registers among the texts of specs. Raises nothing: what is wrong with one is told where it is read."""
    found: dict[str, RegisterSpec | None] = {}
    for data in filter(may_be_register, texts):
        document = parse(data.decode("utf-8", "replace"), file="")
        if document.root is not None and is_register(document.root):
            name = document.root.get("name")
            register = read_register(Reading(document, document.root, SpecOptions()), document.root, file="")
            found[str(getattr(name, "value", ""))] = register
    return found


def registers_in(folders: Iterable[Path]) -> Registers:
    """The registers of folders of specs; a folder that is no such has none."""
    texts: list[bytes] = []
    for folder in folders:
        try:
            texts += [spec.path.read_bytes() for spec in find_specs(folder)]
        except (OSError, SpecError):
            continue
    return registers_among(texts)
