"""What only fields of record formats have, to the parts of a `FramingSpec`."""

import re
from collections.abc import Mapping
from typing import Final

from tagwire_generator.model.framing_spec import BitsSpec, When
from tagwire_generator.reading.keys import Convert
from tagwire_generator.reading.values import BadValue, items, text, whole_number
from tagwire_generator.syntax.parse import Node, Object

_BITS: Final = re.compile("([0-9]{1,2})(?:-([0-9]{1,2}))?")


def _bits(node: Node) -> tuple[BitsSpec, ...]:
    return tuple(_group(item) for item in items(node))


def _group(node: Node) -> BitsSpec:
    assert isinstance(node, Object)
    place = node.members["bits"].value
    found = _BITS.fullmatch(text(place).strip())
    if found is None:
        message = (
            f"{text(place)!r} is not a range of bits; write one bit, such as 4, or the first and the last, such as 0-2"
        )
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


FRAMING: Final[Mapping[str, Convert]] = {"bits": _bits, "when": _when}
"""How the keys are read that only fields of record formats have, where their kind does not say."""
