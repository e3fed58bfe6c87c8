"""The registers that the specs of a set may use as enums: found by name, wherever in the set they are."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
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

Registers: TypeAlias = Mapping[str, RegisterSpec | None]
"""By name; None for one that is not valid, which its own file says."""


def registers_among(texts: Iterable[bytes]) -> Registers:
    """Find the registers among the texts of specs. Raises nothing: their own files report what is wrong with them."""
    return _found(("", data) for data in texts)


def registers_in(folders: Iterable[Path]) -> Registers:
    """Find the registers in folders of specs, with their files as paths from here."""
    specs: list[tuple[str, bytes]] = []
    for folder in folders:
        with suppress(OSError, SpecError):
            specs += [(os.path.relpath(spec.path), spec.path.read_bytes()) for spec in find_specs(folder)]
    return _found(specs)


def _found(specs: Iterable[tuple[str, bytes]]) -> Registers:
    found: dict[str, RegisterSpec | None] = {}
    for file, data in specs:
        if not may_be_register(data):
            continue
        document = parse(data.decode("utf-8", "replace"), file=file)
        if document.root is not None and is_register(document.root):
            name = document.root.get("name")
            register = read_register(Reading(document, document.root, SpecOptions()), document.root, file=file)
            found[str(getattr(name, "value", ""))] = register
    return found
