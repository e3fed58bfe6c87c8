"""The outline of a spec, which lists the message, its fields, its structs and their fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tagwire_workbench.language.spec_names import MEMBERS
from tagwire_workbench.language.text_positions import Span
from tagwire_workbench.language.text_tree import TextTree, Value

SymbolKind = Literal["message", "struct", "field", "entry"]


_LISTS: Final[Mapping[str, SymbolKind]] = {
    **dict.fromkeys(MEMBERS, "field"),
    "commonStructs": "struct",
    "entries": "entry",
}
"""The keys whose list items appear in the outline."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """An entry in the outline that an editor shows: the message, a struct or a field."""

    name: str
    detail: str
    kind: SymbolKind
    span: Span
    """The span of the whole definition, not only of its name."""
    name_span: Span
    children: "tuple[Symbol, ...]"


def outline(text: str) -> list[Symbol]:
    """Return the outline of a spec, or empty if the spec has no name. Invalid source does not raise an error."""
    return _symbols([TextTree(text).root], "message")


def _symbols(owners: list[Value], kind: SymbolKind) -> list[Symbol]:
    return [_symbol(owner, kind) for owner in owners if owner.kind == "object" and owner.string("name")]


def _symbol(owner: Value, kind: SymbolKind) -> Symbol:
    name = owner.get("name")
    assert name is not None
    children = [each for key, of in _LISTS.items() for each in _symbols(_objects(owner.get(key)), of)]
    key = owner.get("key")
    versions = owner.string("versions") or owner.string("taggedVersions") or owner.string("validVersions")
    detail = " ".join(filter(None, [owner.string("type"), versions, key.text if key is not None else ""]))
    return Symbol(name.text, detail, kind, owner.span, name.span, tuple(children))


def _objects(value: Value | None) -> list[Value]:
    """Return the items of a list. A value that isn't a list counts as its only item, and None as no items."""
    if value is None:
        return []
    return value.items if value.kind == "list" else [value]
