"""Defaults: the text in a spec to a Python value, and which values a type may have.

`implicit_default` is what a field without `default` has. A default that a type
can't have is refused with the rule that says so, whether it came from a spec
or was built by hand.
"""

import base64
import enum
import re
from typing import Final, Union, cast
from uuid import UUID

from tagwire.wire_types import STRING_MAX, WireType
from tagwire_generator.field_type import FieldType
from tagwire_generator.invariants import InvalidSpec, Violation
from tagwire_generator.problems import quoted

__all__ = ["IMPLICIT", "STRUCT_DEFAULT", "Default", "StructDefault", "default_violation", "implicit_default", "parse_default"]


class StructDefault(enum.Enum):
    """The type of `STRUCT_DEFAULT`."""

    STRUCT_DEFAULT = "a struct of its own defaults"


class _Implicit(enum.Enum):
    IMPLICIT = "the default of the type"


Default = Union[int, bool, float, str, UUID, bytes, tuple[()], StructDefault, None]
"""A field's default; None is null, () the empty array."""

STRUCT_DEFAULT: Final = StructDefault.STRUCT_DEFAULT
"""The default of a struct: one of its own defaults."""

IMPLICIT: Final = cast(Default, _Implicit.IMPLICIT)
"""Given to `FieldSpec`, stands for the default of its type."""

_IMPLICIT: Final[dict[str, Default]] = {
    "integer": 0,
    "boolean": False,
    "floating": 0.0,
    "uuid": UUID(int=0),
    "text": "",
    "binary": b"",
}
_INTEGER: Final = re.compile("[+-]?(0|[1-9][0-9]*)")
_HEXADECIMAL: Final = re.compile("0x[0-9A-Fa-f]+")
_LONGEST_INTEGER: Final = 40
"""Characters; longer ones are out of any range, and slow to convert."""
_FLOATING: Final = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|Infinity)")
_UUID: Final = re.compile("[A-Za-z0-9_-]{22}(==)?")


def implicit_default(type: FieldType) -> Default:
    """The default of a field that gives none. Records are null, whether they may be or not."""
    if type.is_array:
        return ()
    if type.primitive is None:
        return STRUCT_DEFAULT
    return None if type.name == "records" else _IMPLICIT[type.primitive.family]


def parse_default(type: FieldType, text: str) -> Default:
    """The value that a spec's text means for a type. The empty text means the implicit default.

    Raises InvalidSpec if the text is no value of the type; whether the value
    is in range, and whether null is allowed, is the field's to check.
    """
    if not text or type.name == "records":
        return implicit_default(type)
    if text == "null":
        return None
    if type.scalar is None or type.scalar.family == "binary":
        raise InvalidSpec([_no_content(type, text)])
    return _PARSERS[type.scalar.family](type.scalar, text)


def default_violation(type: FieldType, value: Default) -> Violation | None:
    """The rule that a value breaks as a default of a type, if it breaks one."""
    if value is None:
        return None if type.can_be_null else _violation("TW507", f"{type} has no null", "leave the default out or give a value")
    if type.scalar is None or type.scalar.family == "binary":
        is_empty = value == implicit_default(type)
        return None if is_empty else _no_content(type, value)
    return _scalar_violation(type.scalar, value)


def _scalar_violation(wire: WireType, value: Default) -> Violation | None:
    rule, kind, what = _KINDS[wire.family]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return _refused(rule, wire, value, what)
    if wire.family == "integer" and not wire.low <= cast(int, value) <= wire.high:
        return _refused("TW503", wire, value, f"a number from {wire.low} to {wire.high}")
    if wire.family == "text" and len(cast(str, value).encode("utf-8", "surrogatepass")) > STRING_MAX:
        return _refused("TW508", wire, value, f"a text of at most {STRING_MAX} bytes in UTF-8")
    return None


def _parse_integer(wire: WireType, text: str) -> Default:
    is_hexadecimal = _HEXADECIMAL.fullmatch(text)
    if not is_hexadecimal and not _INTEGER.fullmatch(text):
        raise InvalidSpec([_refused("TW502", wire, text, _KINDS["integer"][2])])
    if len(text) > _LONGEST_INTEGER:
        raise InvalidSpec([_refused("TW503", wire, text, f"a number from {wire.low} to {wire.high}")])
    return int(text, 16 if is_hexadecimal else 10)


def _parse_boolean(wire: WireType, text: str) -> Default:
    if text.lower() not in ("true", "false"):
        raise InvalidSpec([_refused("TW501", wire, text, _KINDS["boolean"][2])])
    return text.lower() == "true"


def _parse_floating(wire: WireType, text: str) -> Default:
    if not _FLOATING.fullmatch(text):
        raise InvalidSpec([_refused("TW504", wire, text, _KINDS["floating"][2])])
    return float(text)


def _parse_uuid(wire: WireType, text: str) -> Default:
    if not _UUID.fullmatch(text):
        raise InvalidSpec([_refused("TW505", wire, text, _KINDS["uuid"][2])])
    return UUID(bytes=base64.urlsafe_b64decode(text[:22] + "=="))


def _parse_text(wire: WireType, text: str) -> Default:
    return text


_PARSERS: Final = {
    "integer": _parse_integer,
    "boolean": _parse_boolean,
    "floating": _parse_floating,
    "uuid": _parse_uuid,
    "text": _parse_text,
}
_KINDS: Final[dict[str, tuple[str, type, str]]] = {
    "integer": ("TW502", int, "a decimal number without leading zeros and blanks, or 0x with hexadecimal digits"),
    "boolean": ("TW501", bool, "true or false"),
    "floating": ("TW504", float, "a decimal number, NaN, Infinity or -Infinity"),
    "uuid": ("TW505", UUID, "22 characters of URL-safe base64, without dashes between groups"),
    "text": ("TW508", str, "a text"),
}


def _violation(rule: str, what: str, remedy: str) -> Violation:
    return Violation(rule, "default", f"{what}; {remedy}", ("type",))


def _refused(rule: str, wire: WireType, value: object, expected: str) -> Violation:
    return _violation(rule, f"{quoted(value)} can't be the default of {wire.name}", f"it must be {expected}")


def _no_content(type: FieldType, value: object) -> Violation:
    what = f"{quoted(value)} can't be the default of {type}"
    return _violation("TW506", what, "leave it out for an empty one, or write null where null is allowed")
