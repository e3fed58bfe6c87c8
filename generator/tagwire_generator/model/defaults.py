"""Defaults: the text in a spec to a Python value, and which values a type may have.

`implicit_default` is what a field without `default` has. A default that a type
can't have is refused with the rule that says so, whether it came from a spec
or was built by hand.
"""

import base64
import enum
import re
from typing import Final, cast
from uuid import UUID

from tagwire.wire.types import STRING_MAX
from tagwire_generator.diagnostics.problems import named, quoted
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.violations import InvalidSpec, Violation

__all__ = [
    "IMPLICIT",
    "STRUCT_DEFAULT",
    "Default",
    "StructDefault",
    "default_violation",
    "implicit_default",
    "parse_default",
]


class StructDefault(enum.Enum):
    """The type of `STRUCT_DEFAULT`."""

    STRUCT_DEFAULT = "a struct of its own defaults"


class _Implicit(enum.Enum):
    IMPLICIT = "the default of the type"
    UNREADABLE = "no value of the type"


Default = int | bool | float | str | UUID | bytes | tuple[()] | StructDefault | None
"""A field's default; None is null, () the empty array."""

STRUCT_DEFAULT: Final = StructDefault.STRUCT_DEFAULT
"""The default of a struct: one of its own defaults."""

IMPLICIT: Final = cast(Default, _Implicit.IMPLICIT)
"""Given to `FieldSpec`, stands for the default of its type."""

_UNREADABLE: Final = cast(Default, _Implicit.UNREADABLE)
_IMPLICIT: Final[dict[str, Default]] = {
    "integer": 0,
    "boolean": False,
    "floating": 0.0,
    "uuid": UUID(int=0),
    "text": "",
    "binary": b"",
}
# Bounded, since Python refuses to convert thousands of digits.
_INTEGER: Final = re.compile("[+-]?(0|[1-9][0-9]{0,39})")
_HEXADECIMAL: Final = re.compile("0x[0-9A-Fa-f]{1,40}")
_FLOATING: Final = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|Infinity)")
_UUID: Final = re.compile("[A-Za-z0-9_-]{22}(==)?")


def implicit_default(type: FieldType) -> Default:
    """The default of a field that gives none. Records are null, whether they may be or not."""
    if type.is_array:
        return ()
    if type.primitive is None:
        return STRUCT_DEFAULT
    return None if type.name == "records" else _IMPLICIT[type.primitive.family]


def parse_default(name: str, type: FieldType, text: str) -> Default:
    """The value that a spec's text means as the default of a field. The empty text means the implicit one.

    Raises InvalidSpec if the text is no value of the type; whether the value
    is in range, and whether null is allowed, is the field's to check.
    """
    if not text or type.name == "records":
        return implicit_default(type)
    if text == "null":
        return None
    if type.scalar is None or type.scalar.family == "binary":
        raise InvalidSpec([_content(name, type, text)])
    rule, _, expected = _KINDS[type.scalar.family]
    value = _PARSERS[type.scalar.family](text)
    if value is _UNREADABLE:
        raise InvalidSpec([_refused(rule, name, type, text, expected)])
    return value


def default_violation(name: str, type: FieldType, value: Default) -> Violation | None:
    """The rule that a value breaks as the default of a field, if it breaks one."""
    if value is None:
        expected = "a value, or left out"
        return None if type.can_be_null else _refused("TW507", name, type, "null", expected)
    if type.scalar is None or type.scalar.family == "binary":
        return None if value == implicit_default(type) else _content(name, type, value)
    wire = type.scalar
    rule, kind, expected = _KINDS[wire.family]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return _refused(rule, name, type, value, expected)
    if isinstance(value, int) and kind is int and not wire.low <= value <= wire.high:
        return _refused("TW503", name, type, value, f"a number from {wire.low} to {wire.high}")
    if isinstance(value, str) and len(value.encode("utf-8", "surrogatepass")) > STRING_MAX:
        return _refused("TW508", name, type, value, f"a text of at most {STRING_MAX} bytes in UTF-8")
    return None


def _parse_integer(text: str) -> Default:
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    return int(text) if _INTEGER.fullmatch(text) else _UNREADABLE


def _parse_boolean(text: str) -> Default:
    return {"true": True, "false": False}.get(text.lower(), _UNREADABLE)


def _parse_floating(text: str) -> Default:
    return float(text) if _FLOATING.fullmatch(text) else _UNREADABLE


def _parse_uuid(text: str) -> Default:
    if not _UUID.fullmatch(text):
        return _UNREADABLE
    return UUID(bytes=base64.urlsafe_b64decode(text[:22] + "=="))


def _parse_text(text: str) -> Default:
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
    "uuid": ("TW505", UUID, "22 characters of URL-safe base64"),
    "text": ("TW508", str, "a text"),
}


def _refused(rule: str, name: str, type: FieldType, value: object, expected: str) -> Violation:
    shown = quoted(value) if value != "null" else "null"
    message = f"field {named(name)} is {type}, so {shown} can't be its default; it must be {expected}"
    return Violation(rule, "default", message, ("type",))


def _content(name: str, type: FieldType, value: object) -> Violation:
    return _refused("TW506", name, type, value, "left out for an empty one, or null where null is allowed")
