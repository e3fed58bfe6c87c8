"""Describe the wire format of each version of a spec as a string, and compute the string's digest.

Two versions have the same bytes if and only if their strings are equal. A string lists types, nullability, length
encodings, order and tags, but not names or defaults, because these don't affect the bytes. For example:

    int16, compact string?, compact []{uuid, int32, <0 int64>}, <>

`?` means nullable, `{}` encloses a struct, `<>` its tagged fields, and `<<>>` the optional buffer of KIP-482's first
draft. Strings and bytes without "compact" have fixed-width lengths.
"""

import re
from functools import lru_cache
from hashlib import sha256
from typing import Any

from tagwire.layout import (
    INT16,
    INT32,
    Array,
    Item,
    Layout,
    LengthCode,
    Nested,
    OptionalBuffer,
    Sized,
    StructLayout,
    Type,
)
from tagwire.message.field_table import layout_of
from tagwire_generator.message_classes import message_class
from tagwire_generator.model import MessageSpec
from tagwire_generator.model.field_spec import ENTITY_TYPES
from tagwire_generator.problems import spec_error
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.canonical import canonical_text


def message_of(spec: dict[str, Any]) -> MessageSpec:
    """Parse a spec in normal form. Raises SpecError if it breaks a rule."""
    return _message(canonical_text(spec))


@lru_cache(maxsize=4096)
def _message(text: str) -> MessageSpec:
    """Parse a spec. Results are cached, because most specs are the same in many releases."""
    result = read_spec(text, options=SpecOptions(entity_types=own_entity_types(text)))
    if result.message is None:
        raise spec_error([problem for problem in result.problems if problem.severity == "error"])
    return result.message


def wire_forms(spec: dict[str, Any], *, names: bool = False) -> dict[int, str]:
    """Describe the wire format of each version as a string. The spec must be in normal form."""
    return _wire_forms(canonical_text(spec), names)


@lru_cache(maxsize=8192)
def _wire_forms(text: str, names: bool) -> dict[int, str]:
    message = _message(text)
    cls = message_class(message)
    return {version: wire_text(layout_of(cls, version), names=names) for version in message.valid_versions}


def own_entity_types(text: str) -> tuple[tuple[str, str], ...]:
    """Return the spec's entity types that Kafka doesn't define. Forks of Kafka have such types.

    The result is a value for the option `entity_types`.
    """
    names = set(re.findall(r'"entityType"\s*:\s*"(\w+)"', text)) - {"unknown", *ENTITY_TYPES}
    return tuple((name, "") for name in sorted(names))


def wire_text(layout: Layout, *, names: bool = False) -> str:
    """Return the string that describes a layout's wire format, optionally with field names."""
    return _members(layout.root, names=names)


def digest_of(text: str) -> str:
    """Return the digest of a wire format string, as 16 hexadecimal digits. The string must have no field names."""
    return sha256(text.encode()).hexdigest()[:16]


def _members(struct: StructLayout, *, names: bool) -> str:
    parts = [_item(item, names=names) for item in struct.items]
    if struct.section is not None:
        tagged = ", ".join(f"{item.tag} {_item(item, names=names)}" for item in struct.section.fields)
        if isinstance(struct.section, OptionalBuffer):
            counted = "+tag" if struct.section.counts_tag else ""
            parts.insert(0, f"<<{struct.section.length.name}{counted}: {tagged}>>")
        else:
            parts.append(f"<{tagged}>")
    return ", ".join(parts)


def _item(item: Item, *, names: bool) -> str:
    return f"{item.name} {_type(item.type, names=names)}" if names else _type(item.type, names=names)


def _type(type: Type, *, names: bool) -> str:
    if isinstance(type, Nested):
        return f"{'' if not type.marker else f'{type.marker}? '}{{{_members(type.struct, names=names)}}}"
    if isinstance(type, Array):
        return f"{_code(type.length)}[]{_type(type.element, names=names)}{'?' if type.nullable else ''}"
    if isinstance(type, Sized):
        # The types `bytes` and `records` have the same wire format, so give them the same name.
        name = "bytes" if type.wire.family == "binary" else type.wire.name
        return f"{_code(type.length)}{name}{'?' if type.nullable else ''}"
    return str(type)


def _code(length: LengthCode | None) -> str:
    if length is None:
        return "unbounded "
    return "" if length in (INT16, INT32) else f"{length.name} "
