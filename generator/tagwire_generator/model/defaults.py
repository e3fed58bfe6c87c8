"""Defaults: the text in a spec to a Python value, and which values a type may have.

`implicit_default` is what a field without `default` has. A default that a type
can't have is refused with the rule that says so, whether it came from a spec
or was built by hand.
"""

import enum
from typing import Final, cast
from uuid import UUID

from tagwire.text_format import suggestion
from tagwire.wire.types import IntegerType, WireType, wire_type
from tagwire_generator.diagnostics.problems import named, quoted
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.model.violations import InvalidSpec, Violation


class StructDefault(enum.Enum):
    """The type of `STRUCT_DEFAULT`."""

    STRUCT_DEFAULT = "a struct of its own defaults"


class _Implicit(enum.Enum):
    IMPLICIT = "the default of the type"


Default = int | bool | float | str | UUID | bytes | tuple[()] | StructDefault | None
"""A field's default; None is null, () the empty array."""

STRUCT_DEFAULT: Final = StructDefault.STRUCT_DEFAULT
"""The default of a struct: one of its own defaults."""

IMPLICIT: Final = cast(Default, _Implicit.IMPLICIT)
"""Given to `FieldSpec`, stands for the default of its type."""

_RULES: Final = {"integer": "TW502", "boolean": "TW501", "floating": "TW504", "uuid": "TW505", "text": "TW508"}
"""The rule that a default of a family breaks which is no value of the type; of other families it is TW506."""


def implicit_default(type: FieldType, semantic: str = "") -> Default:
    """The default of a field that gives none. Records are null, whether they may be or not."""
    meant = _wire(type, semantic)
    if meant is not None and semantic:
        return cast(Default, meant.default)
    if type.is_array:
        return ()
    if type.primitive is None:
        return STRUCT_DEFAULT
    return None if type.name == "records" else type.primitive.default


def _wire(type: FieldType, semantic: str) -> WireType | None:
    """The wire type of a field that is no array; without a semantic that does not fit, which has a rule of its own."""
    return type.scalar and (wire_type(type.name, semantic) or type.scalar)


def parse_default(
    name: str, type: FieldType, text: str, enum: RegisterSpec | None = None, semantic: str = ""
) -> Default:
    """The value that a spec's text means as the default of a field. The empty text means the implicit one.

    The default of an `enum` may be the name of one of its entries; it means that number.

    Raises InvalidSpec if the text is no value of the type; whether the value
    is in range, and whether null is allowed, is the field's to check.
    """
    if not text or type.name == "records":
        return implicit_default(type, semantic)
    if text == "null":
        return None
    wire = _wire(type, semantic)
    if wire is None or not wire.text_form:
        raise InvalidSpec([_content(name, type, text)])
    if enum is not None and (entry := enum.entry(text)) is not None:
        return entry.key
    try:
        value: Default = wire.from_text(text)
    except ValueError:
        if enum is not None:
            names = suggestion(text, [entry.name for entry in enum.entries])
            message = f"field {named(name)}: {quoted(text)} is neither a number nor a name of {enum.name}; {names}"
            raise InvalidSpec([Violation("TW502", "default", message, ("type", "enum"))]) from None
        raise InvalidSpec([_unlike(name, type, wire, text)]) from None
    return value


def default_violation(
    name: str, type: FieldType, value: Default, semantic: str = "", *, is_nullable: bool = False
) -> Violation | None:
    """The rule that a value breaks as the default of a field, if it breaks one."""
    if value is None:
        expected = "a value, or left out"
        return None if type.can_be_null or is_nullable else _refused("TW507", name, type, "null", expected)
    wire = _wire(type, semantic)
    if wire is None or not wire.text_form:
        return None if value == implicit_default(type) else _content(name, type, value)
    if not wire.holds(value):
        return _unlike(name, type, wire, value)
    if isinstance(wire, IntegerType) and isinstance(value, int) and not wire.low <= value <= wire.high:
        return _refused("TW503", name, type, value, f"a number from {wire.low} to {wire.high}")
    if isinstance(value, str) and len(value.encode("utf-8", "surrogatepass")) > wire.longest:
        return _refused("TW508", name, type, value, f"a string of at most {wire.longest} bytes in UTF-8")
    return None


def _refused(rule: str, name: str, type: FieldType, value: object, expected: str) -> Violation:
    shown = quoted(value) if value != "null" else "null"
    message = f"field {named(name)} is {type}, so {shown} can't be its default; it must be {expected}"
    return Violation(rule, "default", message, ("type",))


def _unlike(name: str, type: FieldType, wire: WireType, value: object) -> Violation:
    return _refused(_RULES.get(wire.family, "TW506"), name, type, value, wire.text_form)


def _content(name: str, type: FieldType, value: object) -> Violation:
    empty = "an empty one" if type.can_be_null else f"{implicit_default(type)!r}"
    null = ", or null where null is allowed" if type.can_be_null else ""
    return _refused("TW506", name, type, value, f"left out for {empty}{null}")
