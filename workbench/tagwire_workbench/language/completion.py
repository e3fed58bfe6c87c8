"""Completions at the cursor: keys of the object, enumerated values, types, and field names.

Completions depend only on the tokens before the cursor.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from tagwire.errors import VersionsError
from tagwire.versions import Versions
from tagwire.wire.types import KAFKA_TYPES, RECORD_TYPES, WIRE_TYPES, WireType
from tagwire_workbench.language.schema_nodes import SchemaNode, may_extend, offered_keys, schema_node_of
from tagwire_workbench.language.spec_names import Name, SpecNames, is_field
from tagwire_workbench.language.text_positions import Span
from tagwire_workbench.language.text_tree import Slot, TextTree, Value

OfferKind = Literal["key", "word", "type", "struct", "field", "versions", "register"]


@dataclass(frozen=True, slots=True)
class Offer:
    """A completion: its label, and the text that replaces `span`."""

    label: str
    kind: OfferKind
    text: str
    span: Span
    detail: str = ""
    description: str = ""
    after_cursor: int = 0
    """Number of inserted characters after the cursor, such as 1 for a closing quote."""


def completions(
    text: str,
    offset: int,
    *,
    is_extended: bool = False,
    registers: Collection[str] = (),
    shared: Collection[str] = (),
) -> list[Offer]:
    """Return the completions at an offset, the likeliest first. Invalid source does not raise an error.

    `is_extended` allows the tagwire dialect. `registers` and `shared` are names of registers and shared structs.
    """
    tree = TextTree(text)
    slot = tree.slot(offset)
    if slot.owner is None:
        return []
    if slot.role == "key" and slot.owner.kind == "object":
        return list(_keys(tree, slot, slot.owner, is_extended))
    if slot.role != "value":
        return []
    around = node = schema_node_of(slot.owner)
    if slot.owner.kind == "object":
        key = node.key(slot.entry.key) if node is not None and slot.entry is not None else None
        node = key.node if key else None
    elif node is not None:
        node = node.items()
    if node is not None and node.kind == "registerName":
        return [Offer(name, "register", json.dumps(name), slot.written) for name in registers]
    if around is not None and around.kind == "import" and node is not None and node.kind == "structName":
        return [Offer(name, "struct", json.dumps(name), slot.written) for name in shared]
    return [] if node is None else list(_values(tree, slot, slot.owner, node, is_extended))


def _keys(tree: TextTree, slot: Slot, owner: Value, is_extended: bool) -> Iterator[Offer]:
    written = slot.written
    is_followed = tree.text[written.end :].lstrip().startswith(":")
    present = {entry.key for entry in owner.entries if entry.span != written}
    for key in offered_keys(owner, tree.root, present, is_extended=is_extended):
        before, after = ("", "") if is_followed else _skeleton(key.node)
        text = f"{json.dumps(key.name)}{'' if is_followed else ': '}{before}{after}"
        detail = "required" if key.is_required else ""
        yield Offer(key.name, "key", text, written, detail, key.description, len(after))


def _skeleton(node: SchemaNode) -> tuple[str, str]:
    """Return the text of a new value, as (text before the cursor, text after it), such as ("[", "]") for an array."""
    values = node.values()
    if values and all(isinstance(value, bool) for value in values):
        return "true", ""
    brackets = {"array": ("[", "]"), "object": ("{", "}"), "integer": ("", "")}
    return brackets.get(next(iter(node.types()), ""), ('"', '"'))


def _values(tree: TextTree, slot: Slot, owner: Value, node: SchemaNode, is_extended: bool) -> Iterator[Offer]:
    span = slot.written
    for value in node.values():
        yield Offer(str(value), "word", json.dumps(value), span, description=node.description)
    if node.kind == "fieldType":
        yield from _types(tree, owner, span, is_extended)
    elif node.kind in ("range", "versions"):
        yield from (Offer(range, "versions", json.dumps(range), span) for range in _ranges(tree.root))
    elif node.kind == "word" or (slot.entry is not None and slot.entry.key == "field"):
        others = (name for name in SpecNames(tree).near(owner) if name != owner.string("name"))
        yield from (Offer(name, "field", json.dumps(name), span) for name in others)


def _types(tree: TextTree, owner: Value, span: Span, is_extended: bool) -> Iterator[Offer]:
    is_format = tree.root.string("type") == "format"
    has_all = may_extend(tree.root, is_extended)
    rows = [row for row in WIRE_TYPES.values() if has_all or row.name in KAFKA_TYPES]
    rows += RECORD_TYPES.values() if is_format else ()
    structs = SpecNames(tree).structs
    common = [name for name, declared in structs.items() if declared.value.entry and _may_use(declared, owner)]
    for row in rows:
        yield Offer(row.name, "type", json.dumps(row.name), span, wire_form(row))
    parents = ((name, structs[name].value.parent) for name in common)
    about = {name: parent.string("about") for name, parent in parents if parent}
    for name in common:
        yield Offer(name, "struct", json.dumps(name), span, "struct", about.get(name, ""))
    for name in [*(row.name for row in rows if row.name != "records"), *common]:
        kind: Literal["struct", "type"] = "struct" if name in common else "type"
        yield Offer(f"[]{name}", kind, json.dumps(f"[]{name}"), span, "array", about.get(name, ""))


def _may_use(declared: Name, owner: Value) -> bool:
    """Return whether a field can have this struct as its type. It can't if another field declares the struct."""
    parent = declared.value.parent
    return parent is None or parent is owner or not is_field(parent)


def wire_form(row: WireType) -> str:
    """Return a short description of a primitive's encoding."""
    if row.width:
        return "1 byte" if row.width == 1 else f"{row.width} bytes"
    return f"a length, {row.length} or compact, then bytes" if row.length else "variable width"


def _ranges(root: Value) -> Iterator[str]:
    """Yield likely version ranges: mostly open-ended ranges, from the newest version to the oldest."""
    yield "0+"
    try:
        valid = Versions.parse(root.string("validVersions"))
    except VersionsError:
        valid = Versions(0, 0)
    if valid and valid.highest < 100:
        yield from (f"{version}+" for version in range(valid.highest, max(valid.lowest, 1) - 1, -1))
    yield "none"
