"""The keys that only fields of record formats have, to a `FormSpec`."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tagwire_generator.model.framing_spec import BitsSpec, FormSpec, When
from tagwire_generator.reading.values import BadValue, boolean, items, text, whole_number
from tagwire_generator.syntax.parse import Node, Object

__all__ = ["FORM_KEYS", "form_of"]

_BITS: Final = re.compile("([0-9]{1,2})(?:-([0-9]{1,2}))?")


def _bits(node: Node) -> tuple[BitsSpec, ...]:
    return tuple(_group(item) for item in items(node))


def _group(node: Node) -> BitsSpec:
    assert isinstance(node, Object)
    place = node.members["bits"].value
    found = _BITS.fullmatch(text(place).strip())
    if found is None:
        message = f"{text(place)!r} are no bits; write one, as in 4, or the first and last, as in 0-2"
        raise BadValue("TW005", place, message)
    low = int(found[1])
    about = node.get("about")
    return BitsSpec(
        name=text(node.members["name"].value),
        low=low,
        high=low if found[2] is None else int(found[2]),
        values=tuple(text(value) for value in items(node.get("values"))),
        about="" if about is None else text(about),
    )


def _when(node: Node) -> When:
    assert isinstance(node, Object)
    field, _, bits = text(node.members["field"].value).partition(".")
    equals = node.get("equals")
    return When(field, bits, 1 if equals is None else whole_number(equals))


FORM_KEYS: Final[Mapping[str, tuple[str, Callable[[Node], Any]]]] = {
    "length": ("length", text),
    "count": ("count", text),
    "lengthOf": ("length_of", text),
    "includesItself": ("includes_itself", boolean),
    "countOf": ("count_of", text),
    "covers": ("covers", text),
    "bits": ("bits", _bits),
    "when": ("when", _when),
    "deltaOf": ("delta_of", text),
    "compression": ("compression", text),
    "equals": ("equals", whole_number),
    "rewritten": ("rewritten", boolean),
    "ascending": ("ascending", text),
    "notEmpty": ("not_empty", boolean),
    "signed": ("signed", boolean),
}
"""The attribute of each key and how it is read."""


def form_of(values: Mapping[str, Any]) -> FormSpec:
    """The form that these keys, among others, describe."""
    return FormSpec(**{FORM_KEYS[key][0]: value for key, value in values.items() if key in FORM_KEYS})
