"""The keys that `spec.schema.json` defines, and functions that convert their values to Python values.

There is a converter for each kind of value in the schema. A few keys have a converter of their own. The value of a key
becomes the model attribute with the same name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final, TypeAlias

from tagwire_generator.model.spec_names import snake_case
from tagwire_generator.reading.values import boolean, items, tag_number, text, version_range, whole_number
from tagwire_generator.syntax.parse import JsonNode
from tagwire_generator.syntax.spec_schema import key_kinds

Convert: TypeAlias = Callable[[JsonNode], Any]
_MEMBERS: Final = ("fields", "formatFields", "imports", "optionalFields", "reservedTags", "structs")
"""Kinds of values that need no converter here, because `reading.struct` and `reading.imports` read them."""
_FOR_EDITORS: Final = "schemaReference"
"""The kind of value of `$schema`, a key that only editors use."""


def _strings(node: JsonNode) -> tuple[str, ...]:
    return tuple(text(item) for item in items(node))


_BY_KIND: Final[Mapping[str, Convert]] = {
    "entityType": text,
    "flag": boolean,
    "lengthForm": text,
    "listeners": _strings,
    "messageType": text,
    "name": text,
    "range": version_range,
    "registerName": text,
    "structName": text,
    "tag": tag_number,
    "text": text,
    "texts": _strings,
    "whole": whole_number,
    "word": text,
}


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
