"""The keys that `spec.schema.json` defines, and functions that convert their values to Python values.

There is a converter for each kind of value in the schema. A few keys have a converter of their own. The value of a key
becomes the model attribute with the same name.

Because existing specs depend on it, the converters also accept values of other JSON types:

- numbers where a string is expected
- decimal strings where a number is expected
- "true", "false", 0 or 1 where a boolean is expected
- a single item where a list is expected
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final, TypeAlias, TypeVar

from tagwire.errors import VersionsError
from tagwire.versions import HIGHEST, Versions
from tagwire_generator.model.spec_names import snake_case
from tagwire_generator.problems import quoted
from tagwire_generator.syntax.parse import Items, JsonNode, Object, Scalar
from tagwire_generator.syntax.spec_schema import key_kinds

T = TypeVar("T")

_WHOLE: Final = re.compile("[+-]?[0-9]{1,40}")
_HEXADECIMAL: Final = re.compile("0x[0-9A-Fa-f]{1,16}")


class BadValue(Exception):
    """Raised for an invalid value. The reader reports the error at the position of `node`."""

    def __init__(self, rule: str, node: JsonNode, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.node = node
        self.message = message


def text(node: JsonNode) -> str:
    """Return the text of a scalar, without quotes."""
    if not isinstance(node, Scalar):
        raise BadValue("TW111", node, "expected a string, got an object or a list")
    return node.raw


def whole_number(node: JsonNode) -> int:
    """Read an integer from a JSON number or a decimal string."""
    if isinstance(node, Scalar) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, Scalar) and isinstance(node.value, str) and _WHOLE.fullmatch(node.value):
        return int(node.value)
    raise BadValue("TW114", node, f"expected a decimal integer of at most 40 digits, got {quoted(text(node))}")


def tag_number(node: JsonNode) -> int:
    """Return a tag, written as a number or as a decimal or hexadecimal string."""
    if is_hexadecimal(node):
        return int(text(node), 16)
    return whole_number(node)


def is_hexadecimal(node: JsonNode) -> bool:
    """Return whether the node is a string such as 0x00ff."""
    return isinstance(node, Scalar) and _HEXADECIMAL.fullmatch(node.raw) is not None


def boolean(node: JsonNode) -> bool:
    """Return a boolean, which may also be written as 1, 0, "true" or "false"."""
    words = {"true": True, "false": False, "1": True, "0": False}
    found = words.get(text(node))
    if found is None:
        raise BadValue("TW111", node, f"found {quoted(text(node))}, expected true or false")
    return found


def version_range(node: JsonNode) -> Versions | None:
    """Return a version range, or None for a blank string, which counts as a missing key."""
    return version_text(text(node), node) if text(node).strip() else None


def version_text(text: str, node: JsonNode) -> Versions:
    """Parse a version range. Errors are reported at `node`."""
    try:
        return Versions.parse(text)
    except VersionsError as error:
        message = f"{quoted(text)} is not a version range; write none, N, N+ or N-M, from 0 to {HIGHEST}"
        raise BadValue("TW201", node, message) from error


def by_version(node: JsonNode, convert: Callable[[JsonNode], T]) -> tuple[tuple[Versions, T], ...]:
    """Return an object's entries, whose keys are version ranges, sorted by version."""
    assert isinstance(node, Object), "the schema has rejected anything else"
    rows = [(version_text(key, member), convert(member.value)) for key, member in node.members.items()]
    return tuple(sorted(rows, key=lambda row: row[0].lowest))


def is_reversed(node: JsonNode, versions: Versions | None) -> bool:
    """Return whether a range such as 3-1 is empty because its ends are reversed."""
    return versions is not None and not versions and text(node).strip() != "none"


def items(node: JsonNode | None) -> tuple[JsonNode, ...]:
    """Return the items of a list. A node that is not a list counts as a list of one, and None as an empty list."""
    if node is None:
        return ()
    return node.items if isinstance(node, Items) else (node,)


Convert: TypeAlias = Callable[[JsonNode], Any]
_MEMBERS: Final = ("fields", "formatFields", "imports", "optionalFields", "reservedTags", "structs")
"""Kinds of values that need no converter here, because `reading.struct` and `reading.imports` read them."""
_FOR_EDITORS: Final = "schemaReference"
"""The kind of value of `$schema`, a key that only editors use."""


def strings(node: JsonNode) -> tuple[str, ...]:
    """Return the strings in a list, which may also be a single string."""
    return tuple(text(item) for item in items(node))


_TEXTS: Final = (
    "entityType",
    "keysType",
    "lengthForm",
    "messageType",
    "name",
    "registerName",
    "structName",
    "text",
    "word",
)
_BY_KIND: Final[Mapping[str, Convert]] = {
    **dict.fromkeys(_TEXTS, text),
    "flag": boolean,
    "listeners": strings,
    "range": version_range,
    "tag": tag_number,
    "texts": strings,
    "whole": whole_number,
}
_NOT_IN_MODEL: Final = ("$schema", "type")
"""The keys of a register that are not attributes of the model."""


def read_object(
    node: JsonNode, kind_of_object: str, make: Callable[..., T], own: Mapping[str, Convert] | None = None
) -> T:
    """Call `make` with the values of the keys that an object has. `own` has special converters for some keys."""
    assert isinstance(node, Object), "the schema has rejected anything else"
    kinds = ((key, kind) for key, kind in key_kinds(kind_of_object).items() if key not in _NOT_IN_MODEL)
    given = ((key, (own or {}).get(key) or _BY_KIND[kind], node.get(key)) for key, kind in kinds)
    return make(**{snake_case(key): convert(value) for key, convert, value in given if value is not None})


def keys_of(
    kind_of_object: str, models: Iterable[type], own: Mapping[str, Convert], renamed: Mapping[str, str] | None = None
) -> dict[str, tuple[str, Convert]]:
    """Return an object's keys in schema order, each with its model attribute and converter.

    Child elements, and keys only meant for editors (such as `$schema`), are left out. `own` has special converters for
    some keys. `renamed` maps keys to attributes with other names, or to "" if the reader handles the key itself. Raises
    TypeError for a key without an attribute.
    """
    known = {"", *(name for model in models for name in attributes_of(model))}
    found: dict[str, tuple[str, Convert]] = {}
    for key, kind in key_kinds(kind_of_object).items():
        if kind in _MEMBERS or kind == _FOR_EDITORS:
            continue
        attribute = (renamed or {}).get(key, snake_case(key))
        if attribute not in known:
            raise TypeError(
                f"spec.schema.json defines the key {key} for a {kind_of_object}, "
                f"but no model class has an attribute {attribute}"
            )
        found[key] = attribute, own.get(key) or _BY_KIND[kind]
    return found


def attributes_of(model: type) -> list[str]:
    """Return the names of a model class's attributes."""
    return [field.name for field in fields(model)]
