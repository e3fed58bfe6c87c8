"""Hypothesis strategies for messages.

A strategy generates only the fields of one version. So each message can be encoded in this version, and decodes to an
equal message.
"""

from collections import ChainMap
from collections.abc import Callable
from operator import attrgetter, mul
from typing import Any, Final, TypeVar

from tagwire.errors import MissingExtraError
from tagwire.layout import Array, Fixed, Item, Nested, NullableFixed, Sized, StructLayout, TaggedSection, Type, Union
from tagwire.message.base import Message
from tagwire.message.field_table import layout_of
from tagwire.message.register import EnumType
from tagwire.wire.extensions import DecimalType
from tagwire.wire.wire_type import WireType

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise MissingExtraError("hypothesis") from error

M = TypeVar("M", bound=Message)
Strategy = st.SearchStrategy[Any]

_LONGEST: Final = 3
"""The maximum length of arrays. Longer arrays would make messages huge, because arrays nest."""
_REPEATS: Final = st.sampled_from((1, 1, 1, 1, 1, 1, 1, 127))
"""Strategy for how often strings and bytes are repeated. From 127 bytes on, a compact length takes two bytes."""
_UNKNOWN: Final = (st.integers(0, 0x7FFFFFFF), st.integers(0, 0xFFFF))
"""Strategies for the tags of tagged fields, and for the tags of optional fields (first draft of KIP-482)."""


def messages(cls: type[M], version: int, *, unknown_tags: bool = True) -> "st.SearchStrategy[M]":
    """Return a Hypothesis strategy for messages that this version can represent without loss.

    With `unknown_tags`, some messages have tagged fields that are not in the spec, if the version allows them. Raises
    UnsupportedVersionError if the message does not have this version.
    """
    return _struct(layout_of(cls, version).root, unknown_tags)


def _struct(struct: StructLayout, unknown_tags: bool) -> Strategy:
    alternatives = {name for union in struct.unions for name in union.alternatives}
    fields = {item.name: _field(item, unknown_tags) for item in struct.fields if item.name not in alternatives}
    if unknown_tags and struct.section is not None:
        known = {item.tag for item in struct.section.fields}
        fields["unknown_tags"] = _tags(known, is_draft=not isinstance(struct.section, TaggedSection))
    cls: Any = struct.cls
    assert cls is not None  # only structs of a Schema may lack a class
    fields |= {row.name: st.builds(row.fresh_value) for row in cls.FIELDS if row.required and row.name not in fields}
    if not alternatives:
        return st.builds(cls, **fields)
    chosen = [_one_of(struct, union, unknown_tags) for union in struct.unions]
    parts = st.tuples(st.fixed_dictionaries(fields), *chosen)
    valid = parts.filter(lambda found: all(found[1:]) or found[0].get("unknown_tags"))
    return valid.map(lambda found: cls(**ChainMap(*found)))


def _field(item: Item, unknown_tags: bool) -> Strategy:
    """Return a strategy for a field. Tagged fields often have their default, because they are then left out."""
    some = _value(item.type, unknown_tags)
    return some if item.tag is None or item.default is None else st.builds(item.default_value) | some


def _one_of(struct: StructLayout, union: Union, unknown_tags: bool) -> Strategy:
    """Return a strategy for one alternative or, with `unknown_tags`, none: an unknown field may be an alternative."""
    types = {item.name: item.type for item in struct.fields}
    some = [st.fixed_dictionaries({name: _present(types[name], unknown_tags)}) for name in union.alternatives]
    return st.one_of(some + [st.just({})] * unknown_tags)


def _tags(known: "set[int | None]", *, is_draft: bool) -> Strategy:
    tags = _UNKNOWN[is_draft].filter(lambda tag: tag not in known)
    # In the KIP-482 draft, an optional field can't be empty, because a length of zero ends the list of these fields.
    some = st.dictionaries(tags, st.binary(min_size=int(is_draft), max_size=8), min_size=1, max_size=2)
    return st.one_of(st.just({}), st.just({}), st.just({}), some)


def _value(type: Type, unknown_tags: bool) -> Strategy:
    some = _present(type, unknown_tags)
    return st.none() | some if getattr(type, "nullable", False) else some


def _present(type: Type, unknown_tags: bool) -> Strategy:
    if isinstance(type, Fixed | Sized | NullableFixed):
        return _primitive(type.wire)
    if isinstance(type, Array):
        key = attrgetter(*type.unique) if type.unique else None
        return st.lists(_value(type.element, unknown_tags), max_size=_LONGEST, unique_by=key).map(tuple)
    assert isinstance(type, Nested)  # other types occur only in record formats
    return _struct(type.struct, unknown_tags)


BY_FAMILY: Final[dict[str, Callable[[WireType], Strategy]]] = {
    "binary": lambda wire: st.builds(mul, st.binary(max_size=24), _REPEATS),
    "boolean": lambda wire: st.booleans(),
    "fixed bytes": lambda wire: st.binary(min_size=wire.width, max_size=wire.width),
    "floating": lambda wire: st.floats(width=64 if wire.width == 8 else 32),
    "integer": lambda wire: st.integers(wire.low, wire.high),
    "text": lambda wire: st.builds(mul, st.text(st.characters(codec="utf-8"), max_size=24), _REPEATS),  # no surrogates
    "uuid": lambda wire: st.uuids(),
}
"""Maps each family of wire types to a function that makes the strategy of a type."""


def _primitive(wire: WireType) -> Strategy:
    if isinstance(wire, DecimalType):
        most = 10**wire.precision - 1
        limit = 1 << 8 * wire.width - 1 if wire.width else most + 1
        return st.integers(max(-most, -limit), min(most, limit - 1)).map(wire.bytes_of)
    some = BY_FAMILY[wire.family](wire)
    if not isinstance(wire, EnumType):
        return some
    members = st.sampled_from(list(wire.enum))
    return members if wire.is_closed else members | some.map(wire.value_of)
