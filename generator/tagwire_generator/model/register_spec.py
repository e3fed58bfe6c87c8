"""Registers: tables of named numbers, such as error codes, and who assigns each range of numbers.

A register is never encoded. It becomes Python constants, and a mapping from the numbers to their names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tagwire.wire.types import WIRE_TYPES, IntegerType
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.message_rules import name_violation
from tagwire_generator.model.spec_names import STRUCT_NAME_RULE, is_struct_name
from tagwire_generator.problems import Violation, enforce, named, quoted

_CONSTANT: Final = re.compile("[A-Z][A-Z0-9_]{0,99}")
_FIELD_PATH: Final = re.compile(r"(\*|[A-Z][A-Za-z0-9]{0,99})(\.[a-z][a-z0-9_]{0,99})+")
_TAKEN: Final = frozenset({"RANGES"})
"""Names that a register's module uses itself. Constants can't have them."""


@dataclass(frozen=True, slots=True)
class KeyRangeSpec:
    """A named range of keys, from `first` to `last`, inclusive."""

    name: str
    first: int
    last: int
    reserved: bool = False

    def __str__(self) -> str:
        return f"{self.name} (0x{self.first:08X} to 0x{self.last:08X})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterEntry:
    """An assigned number (the key) and its name. An optional string is "" if the spec omits it."""

    key: int
    name: str
    constant: str = ""
    """The constant's name before the register's `suffix` is appended, or "" if it is derived from `name`."""
    range: str = ""
    description: str = ""
    by: str = ""
    url: str = ""
    notes: str = ""
    deprecated: str | None = None
    """Why the entry is deprecated, and what to use instead, or None if it is not."""
    codec: str = ""
    retriable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterSpec:
    """A register: a table of named numbers.

    Raises InvalidSpec for an invalid register. The error's attributes `key` and `field` locate the invalid item.
    """

    name: str
    keys: str
    """The wire type of the numbers: int8, int16, int32, int64, uint8, uint16 or uint32."""
    suffix: str = ""
    closed: bool = False
    """Whether fields that use this register as an enum reject numbers that it does not list."""
    names: tuple[str, ...] = ()
    """Fields whose numbers are shown with this register's names, although the register is not their enum.

    Each entry is the path of a field in a message, or `*.field` for all messages.
    """
    about: str = ""
    ranges: tuple[KeyRangeSpec, ...] = ()
    entries: tuple[RegisterEntry, ...] = ()
    file: str = field(default="", compare=False)
    positions: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """The line and column of each item in `names`, at which errors are reported."""

    def __post_init__(self) -> None:
        enforce([*self._name(), *self._named_fields(), *self._ranges(), *self._keys(), *self._docs()])

    def constant(self, entry: RegisterEntry) -> str:
        return (entry.constant or constant_name(entry.name)) + self.suffix

    def entry(self, name: str) -> RegisterEntry | None:
        return next((entry for entry in self.entries if entry.name == name), None)

    def summary(self) -> dict[str, Any]:
        """Return the register's properties as a JSON object, for the package index and for rules about spec sets."""
        named = [[path, *position] for path, position in zip(self.names, self.positions, strict=True)]
        return {"kind": "register", "name": self.name, "file": self.file, "named": named}

    def _name(self) -> Iterator[Violation]:
        found = name_violation(self.name)
        if not is_struct_name(self.name):
            yield Violation("TW206", "name", f"{quoted(self.name)} can't be a register's name; {STRUCT_NAME_RULE}")
        elif found is not None:
            yield found

    def _named_fields(self) -> Iterator[Violation]:
        for index, path in enumerate(self.names):
            if not _FIELD_PATH.fullmatch(path):
                text = f"{quoted(path)} is not a field; write message and field, as in FetchRequest.isolation_level"
                yield Violation("TW016", "names", f"{text}, or *.error_code for a field of any message", field=index)

    def _ranges(self) -> Iterator[Violation]:
        kind = WIRE_TYPES[self.keys]
        for index, one in enumerate(self.ranges):
            if not kind.low <= one.first <= one.last <= kind.high:
                text = f"{one} is not a range of {self.keys} keys, which are {kind.low} to {kind.high}"
                yield Violation("TW014", "ranges", text, field=index)
            for other in self.ranges[:index]:
                if one.name == other.name:
                    yield Violation("TW014", "ranges", f"duplicate range {quoted(one.name)}", field=index)
                elif one.first <= other.last and other.first <= one.last:
                    yield Violation("TW014", "ranges", f"the ranges {other} and {one} overlap", field=index)

    def _keys(self) -> Iterator[Violation]:
        kind = WIRE_TYPES[self.keys]
        ranges = {each.name: each for each in self.ranges}
        for index, entry in enumerate(self.entries):
            if not kind.low <= entry.key <= kind.high:
                text = (
                    f"the key {entry.key} of {quoted(entry.name)} does not fit {self.keys}, {kind.low} to {kind.high}"
                )
                yield Violation("TW013", "entries", text, field=index)
            if not self.ranges and not entry.range:
                continue
            found = ranges.get(entry.range)
            if found is None or found.reserved:
                what = f"names the range {quoted(entry.range)}" if entry.range else "names no range"
                why = ", which is reserved" if found else f"; known ranges: {', '.join(ranges) or 'none'}"
                yield Violation("TW014", "entries", f"{quoted(entry.name)} {what}{why}", field=index)
            elif not found.first <= entry.key <= found.last:
                text = f"the key {entry.key} (0x{entry.key:08X}) of {quoted(entry.name)} is outside its range {found}"
                yield Violation("TW013", "entries", text, field=index)

    def _docs(self) -> Iterator[Violation]:
        keys: dict[int, str] = {}
        constants: dict[str, str] = {}
        for index, entry in enumerate(self.entries):
            constant = self.constant(entry)
            if not _CONSTANT.fullmatch(constant) or constant in _TAKEN:
                text = f"{quoted(entry.name)} would be the constant {quoted(constant)}, which is not a valid name"
                text += '; give a constant, as in "constant": "SECOND_APP"'
                yield Violation("TW015", "entries", text, field=index)
            if (other := keys.setdefault(entry.key, entry.name)) != entry.name:
                text = f"{quoted(other)} and {quoted(entry.name)} have the same key {entry.key}"
                yield Violation("TW012", "entries", text, field=index)
            elif (known := constants.get(constant)) is not None:
                rule = "TW012" if known == entry.name else "TW015"
                text = f"{quoted(entry.name)} and {quoted(known)} have the same constant {constant}"
                yield Violation(rule, "entries", text, field=index)
            constants.setdefault(constant, entry.name)


def constant_name(name: str) -> str:
    """Convert a name to a constant's name. All characters except ASCII letters and digits become underscores.

    >>> constant_name("client.id")
    'CLIENT_ID'
    """
    return "".join(char if char.isascii() and char.isalnum() else "_" for char in name).upper()


def enum_violations(name: str, type: FieldType, enum: RegisterSpec | None, default: object) -> Iterator[Violation]:
    """Yield violations if a field's enum breaks a rule."""
    if enum is None:
        return
    wire = type.primitive
    if not isinstance(wire, IntegerType) or type.name not in WIRE_TYPES:
        text = f"field {named(name)} is {type}, but only integers and arrays of them have an enum; remove the key"
        yield Violation("TW418", "enum", text, ("type",))
        return
    for entry in enum.entries:
        if not wire.low <= entry.key <= wire.high:
            text = f"field {named(name)} is {type}, {wire.low} to {wire.high}, but {enum.name} has {entry.key}"
            yield Violation("TW419", "enum", f"{text} ({quoted(entry.name)}); use {enum.keys}", ("type",))
            return
    if enum.closed and not type.is_array and default not in [None, *(entry.key for entry in enum.entries)]:
        names = ", ".join(entry.name for entry in enum.entries[:8]) or "none"
        text = f"field {named(name)} has the default {default}, but the closed register {enum.name} has no entry for it"
        yield Violation("TW509", "enum", f'{text}; write "default" with one of {names}', ("type", "default"))
