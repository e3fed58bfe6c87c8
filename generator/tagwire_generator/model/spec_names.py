"""Rules for the names in specs. The names in generated Python code are derived from these names."""

import keyword
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tagwire.message import Message
from tagwire.text_format import suggestion
from tagwire.wire.extensions import DECIMAL_MAX, TIMES
from tagwire.wire.types import wire_type
from tagwire_generator.problems import Violation, named, quoted

if TYPE_CHECKING:
    from tagwire_generator.model.field_spec import FieldSpec

MAX_NAME: Final = 100
"""Maximum length of a name. A module's file name can be twice as long, and file systems limit its length."""

NAME_RULE: Final = f"use an ASCII letter, then ASCII letters and digits, at most {MAX_NAME}"
STRUCT_NAME_RULE: Final = (
    f"use an upper-case ASCII letter, then ASCII letters and digits, at most {MAX_NAME}; not False, None or True"
)

_NAME: Final = re.compile("[A-Za-z][A-Za-z0-9]*")
_FORMAT_NAME: Final = re.compile("[a-z][a-z0-9+-]*")


def is_name(text: str) -> bool:
    """Return whether a message or a field may have this name."""
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None


def is_struct_name(text: str) -> bool:
    """Return whether this name is valid for a struct and its class."""
    return is_name(text) and text[0].isupper() and not keyword.iskeyword(text)


def is_format_name(text: str) -> bool:
    """Return whether a record format may have this name. Unlike other names, it never becomes a name in Python code."""
    return len(text) <= MAX_NAME and _FORMAT_NAME.fullmatch(text) is not None


SEMANTICS: Final = (*TIMES, "decimal")


def semantic_violations(spec: "FieldSpec") -> Iterator[Violation]:
    """Yield violations in the keys `semantic`, `precision` and `scale` of a field."""
    where = f"field {named(spec.name)}"
    if spec.semantic != "decimal":
        for key, value in (("precision", spec.precision), ("scale", spec.scale)):
            if value is not None:
                yield _violation(
                    key, f'{where} has a {key}, but only a decimal has one; write "semantic": "decimal"', "semantic"
                )
    if not spec.semantic:
        return
    if spec.semantic not in SEMANTICS:
        hint = suggestion(spec.semantic, list(SEMANTICS), f"semantics are {', '.join(SEMANTICS)}")
        yield _violation("semantic", f"{where} has the unknown semantic {quoted(spec.semantic)}; {hint}")
    elif spec.semantic == "decimal" and not _is_decimal(spec.precision, spec.scale):
        given = (
            f"precision {spec.precision} and scale {spec.scale or 0}" if spec.precision is not None else "no precision"
        )
        text = f"{where} is a decimal with {given}; write a precision from 1 to {DECIMAL_MAX}"
        yield _violation("semantic", f"{text}, and a scale from 0 to the precision", "precision", "scale")
    elif spec.type.struct is not None or wire_type(spec.type.name, spec.meaning) is None:
        fitting = "bytes or bytes[N]" if spec.semantic == "decimal" else "int64"
        text = f"{where} is {spec.type}, but a {spec.semantic} is {fitting}"
        yield _violation("semantic", f"{text}; change one of them", "type")


def _is_decimal(precision: int | None, scale: int | None) -> bool:
    return precision is not None and 1 <= precision <= DECIMAL_MAX and 0 <= (scale or 0) <= precision


def _violation(key: str, text: str, *needs: str) -> Violation:
    return Violation("TW510", key, text, needs)


# The functions below convert spec names to Python names. Spec names consist of ASCII letters and digits.

_WORD_STARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_WRITTEN: Final = frozenset({"bool", "bytes", "float", "int", "property", "self", "str", "tuple"})
"""Names that the code of data classes uses. Parameters and attributes must not shadow them."""

_TAKEN: Final = frozenset(name for name in dir(Message) if not name.startswith("__")) | _WRITTEN | {"unknown_tags"}
"""Attributes that every data class already has."""


def snake_case(name: str) -> str:
    """Return a spec name in snake_case.

    >>> [snake_case(name) for name in ("TopicId", "ISR", "IsrNodes", "V3AndBelowTopics", "groupId", "ISRReplicas")]
    ['topic_id', 'isr', 'isr_nodes', 'v3_and_below_topics', 'group_id', 'isr_replicas']
    """
    return _WORD_STARTS.sub("_", name).lower()


def attribute_name(name: str) -> str:
    """Return a field's attribute name: snake_case, with an underscore after names that Python or the class uses.

    >>> [attribute_name(name) for name in ("Class", "Encode", "Bytes", "ErrorCode", "UnknownTags")]
    ['class_', 'encode_', 'bytes_', 'error_code', 'unknown_tags_']
    """
    snake = snake_case(name)
    return f"{snake}_" if keyword.iskeyword(snake) or snake in _TAKEN else snake
