"""Read registers (tables of named numbers), and find the registers that specs name."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, TypeAlias

from tagwire_generator.model.register_spec import KeyRangeSpec, RegisterEntry, RegisterSpec
from tagwire_generator.problems import InvalidSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import SpecData, may_be_register
from tagwire_generator.reading.context import Reading
from tagwire_generator.reading.keys import BadValue, Convert, boolean, items, read_object, strings, tag_number, text
from tagwire_generator.syntax.parse import Object, parse
from tagwire_generator.syntax.spec_schema import spec_type

_RANGE_KEYS: Final[Mapping[str, Convert]] = {
    "name": text,
    "first": tag_number,
    "last": tag_number,
    "reserved": boolean,
}
_ENTRY_KEYS: Final[Mapping[str, Convert]] = {
    **dict.fromkeys(("name", "constant", "range", "description", "by", "url", "notes", "codec", "deprecated"), text),
    "key": tag_number,
    "retriable": boolean,
}
_KEYS: Final[Mapping[str, Convert]] = {
    **dict.fromkeys(("name", "keys", "suffix", "about"), text),
    "closed": boolean,
    "names": strings,
    "ranges": lambda node: tuple(read_object(item, _RANGE_KEYS, KeyRangeSpec) for item in items(node)),
    "entries": lambda node: tuple(read_object(item, _ENTRY_KEYS, RegisterEntry) for item in items(node)),
}
"""The keys of a register, each with its converter."""


def read_register(reading: Reading, root: Object, *, file: str) -> RegisterSpec | None:
    """Return the register in the parsed tree of a spec, or None if the tree has errors."""
    if reading.has_errors:
        return None  # a tree that violates the schema can't be read
    try:
        positions = tuple((item.line, item.column) for item in items(root.get("names")))
        return read_object(root, _KEYS, partial(RegisterSpec, file=file, positions=positions))
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
        if document.root is not None and spec_type(document.root) == "register":
            name = document.root.get("name")
            register = read_register(Reading(document, document.root, SpecOptions()), document.root, file=file)
            found[str(getattr(name, "value", ""))] = register
    return found
