"""The rules about fields with an enum: which types can have one, and which numbers."""

from collections.abc import Iterator

from tagwire.wire.types import WIRE_TYPES, IntegerType
from tagwire_generator.diagnostics.problems import named, quoted
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.model.violations import Violation


def enum_violations(name: str, type: FieldType, enum: RegisterSpec | None, default: object) -> Iterator[Violation]:
    """The rules that an enum of a field breaks."""
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
        text = f"field {named(name)} has the default {default}, which is not a number of {enum.name}, a closed register"
        yield Violation("TW509", "enum", f'{text}; write "default" with one of {names}', ("type", "default"))
