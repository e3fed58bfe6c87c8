"""Read registers (tables of named numbers), and find the registers that specs name."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, TypeAlias

from tagwire_generator.model.register_spec import KeyRangeSpec, RegisterEntry, RegisterSpec
from tagwire_generator.problems import InvalidSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import SpecData, may_be_register
from tagwire_generator.reading.context import Reading
from tagwire_generator.reading.keys import BadValue, Convert, items, read_object
from tagwire_generator.syntax.parse import Object, parse

_LISTS: Final[Mapping[str, Convert]] = {
    "ranges": lambda node: tuple(read_object(item, "keyRange", KeyRangeSpec) for item in items(node)),
    "entries": lambda node: tuple(read_object(item, "entry", RegisterEntry) for item in items(node)),
}
"""Converters of the keys whose values are lists of objects."""


def read_register(reading: Reading, root: Object, *, file: str) -> RegisterSpec | None:
    """Return the register in the parsed tree of a spec, or None if the tree has errors."""
    if reading.has_errors:
        return None  # a tree that violates the schema can't be read
    try:
        positions = tuple((item.line, item.column) for item in items(root.get("names")))
        return read_object(root, "register", partial(RegisterSpec, file=file, positions=positions), _LISTS)
    except BadValue as bad:
        reading.report(bad.rule, bad.node, bad.message)
    except InvalidSpec as invalid:
        for violation in invalid.violations:
            owner = root.get(violation.key) or root
            node = owner if violation.field is None else items(owner)[violation.field]
            reading.report(violation.rule, node, violation.message)
    return None


Registers: TypeAlias = Mapping[str, RegisterSpec | None]
"""Maps names to registers. None stands for an invalid register."""


def registers_among(specs: Iterable[bytes | SpecData]) -> Registers:
    """Return the registers in a list of specs or their contents. Errors in the specs are not reported."""
    found: dict[str, RegisterSpec | None] = {}
    for spec in specs:
        file, data = ("", spec) if isinstance(spec, bytes) else (spec.file, spec.data)
        if not may_be_register(data):
            continue
        document = parse(data.decode("utf-8", "replace"), file=file)
        if document.root is not None and document.root.text_of("type") == "register":
            register = read_register(Reading(document, document.root, SpecOptions()), document.root, file=file)
            found[document.root.text_of("name")] = register
    return found
