"""Create hovers in Markdown for a key, a field, a struct, a type, or a broken rule.

Descriptions of keys come from the schema. A field's hover lists its keys and, if the spec is valid, example bytes. They
are created by encoding the field in a sample message, with the first sample from `evolution.proofs` as its value. This
value differs from the default.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tagwire.errors import EncodeError
from tagwire.explain.nodes import Node
from tagwire.explain.trace import trace
from tagwire.interpreter.writer import encode
from tagwire.layout import Layout
from tagwire.message.field_table import layout_of
from tagwire.wire.types import RECORD_TYPES, WIRE_TYPES
from tagwire_generator.evolution.proofs import as_json, field_at, samples, without_classes
from tagwire_generator.message_classes import message_class
from tagwire_generator.model import MessageSpec, StructSpec
from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.problems import ALL_RULES
from tagwire_generator.rule_examples import EXAMPLES, example_lines
from tagwire_workbench.language.completion import wire_form
from tagwire_workbench.language.schema_nodes import schema_node_of
from tagwire_workbench.language.spec_names import MEMBERS, SpecNames, is_field, type_name
from tagwire_workbench.language.text_positions import Span
from tagwire_workbench.language.text_tree import TextTree, Value

_MOST: Final = 48
"""Maximum number of example bytes to show."""
_ENTRIES: Final = 40
_OMITTED_KEYS: Final = ("name", "type", "about", "$schema")
"""Keys that don't appear in a hover's list of facts. Most are shown above the list."""


class Hover(NamedTuple):
    """Markdown text, and the span of the source that the text describes."""

    span: Span
    text: str


def hover(text: str, offset: int, message: MessageSpec | None = None, rules: Sequence[str] = ()) -> Hover | None:
    """Return the hover at an offset, or None if there is none. Invalid source does not raise an error.

    `message` is the parsed spec, or None if it has errors. `rules` lists the IDs of rules broken at the offset.
    """
    tree = TextTree(text)
    found = _of_key(tree, offset) or _of_value(tree, offset, message)
    broken = "\n\n---\n\n".join(filter(None, map(rule_text, dict.fromkeys(rules))))
    if not broken:
        return found
    if found is None:
        return Hover(tree.token_at(offset), broken)
    return Hover(found.span, f"{broken}\n\n---\n\n{found.text}")


def rule_text(rule_id: str) -> str:
    """Return a rule and its example in Markdown, as printed by `tagwire rule`, or "" for an unknown rule."""
    rule = ALL_RULES.get(rule_id)
    if rule is None:
        return ""
    parts = [f"**{rule.id}** ({rule.severity}): {rule.title}", rule.explanation]
    example = EXAMPLES.get(rule.id)
    if example is not None and not example.file:
        titles = (("bad", example.bad), ("good", example.good))
        shown = [f"// {title}\n" + "\n".join(example_lines(text)) for title, text in titles]
        parts.append("```jsonc\n" + "\n".join(shown) + "\n```")
    return "\n\n".join(parts)


def _entry(entry: Value) -> str:
    reason, key = entry.get("deprecated"), entry.get("key")
    parts = [entry.string("description"), "" if reason is None else f"(deprecated: {entry.string('deprecated')})"]
    return " ".join([f"- {key.text if key is not None else '?'} `{_code(entry.string('name'))}`", *filter(None, parts)])


def register_hover(text: str, offset: int, register: str) -> Hover | None:
    """Return the hover for the name of a register. The hover lists the numbers of the register and their meanings.

    `register` is the source text of the register's file.
    """
    name = SpecNames(TextTree(text)).register_at(offset)
    root = TextTree(register).root
    if name is None or root.string("name") != name.text:
        return None
    entries = root.get("entries")
    rows = [each for each in (entries.items if entries is not None else ()) if each.kind == "object"]
    lines = [_entry(each) for each in rows]
    more = [f"- ... {len(lines) - _ENTRIES} more"] if len(lines) > _ENTRIES else []
    return Hover(name.span, "\n".join([_about(root), "", *lines[:_ENTRIES], *more]))


def _of_key(tree: TextTree, offset: int) -> Hover | None:
    found = tree.entry_at(offset)
    if found is None:
        return None
    owner, entry = found
    node = schema_node_of(owner)
    key = node.key(entry.key) if node is not None else None
    if key is None or not key.description:
        return None
    values = [f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`" for value in key.node.values()]
    parts = [f"**{entry.key}**: {key.description}", f"One of {', '.join(values)}" if values else ""]
    return Hover(entry.span, "\n\n".join(filter(None, [*parts, "Required" if key.is_required else ""])))


def _of_value(tree: TextTree, offset: int, message: MessageSpec | None) -> Hover | None:
    value = tree.value_at(offset)
    if value is None or value.kind in ("object", "list"):
        return None
    names = SpecNames(tree)
    owner = value.parent
    struct = names.struct_at(offset)
    if struct is not None:
        return Hover(struct.span, _struct(names, struct.text))
    key = value.entry.key if value.entry else ""
    field = names.field_at(offset)
    if field is not None:
        declared = names.declared(field)
        holder = declared.value.parent if declared is not None else None
        return None if holder is None else Hover(field.span, _field(names, holder, message))
    if key == "name" and owner is tree.root:
        return Hover(value.span, _about(tree.root))
    name = type_name(value).text
    row = WIRE_TYPES.get(name) or RECORD_TYPES.get(name)
    if row is not None and key == "type" and owner is not None and is_field(owner):
        limits = f", from {row.low} to {row.high}" if row.high else ""
        return Hover(value.span, f"**{name}**: {wire_form(row)}{limits}")
    # Show the schema's description of the key, if there is one.
    node = schema_node_of(owner) if owner is not None else None
    found = node.key(key) if node is not None and key else None
    return Hover(value.span, f"**{key}**: {found.description}") if found is not None and found.description else None


def _field(names: SpecNames, field: Value, message: MessageSpec | None) -> str:
    struct = _struct_around(names, field)
    parts = [_about(field, f"field of {struct}")]
    example = field_example(message, struct, field.string("name")) if message is not None else None
    if example is not None:
        shown = " ".join(f"{byte:02x}" for byte in example.data[:_MOST])
        more = f" ... ({len(example.data)} bytes)" if len(example.data) > _MOST else ""
        value = json.dumps(example.value, ensure_ascii=False)
        parts.append(f"Version {example.version} writes `{_code(value)}` as `{shown or 'no bytes'}`{more}")
    return "\n\n".join(parts)


def _struct_around(names: SpecNames, field: Value) -> str:
    """Return the name of the innermost struct, or of the message, in which a field is declared."""
    at = field.parent
    while at is not None and at.kind != "object":
        at = at.parent
    if at is None:
        return names.tree.root.string("name")
    type = at.get("type")
    return type_name(type).text if is_field(at) and type is not None else at.string("name")


def _struct(names: SpecNames, text: str) -> str:
    declared = names.structs.get(text)
    owner = declared.value.parent if declared is not None else None
    if owner is None:
        return f"**{text}**: a struct that is declared elsewhere, or nowhere"
    lines = [_about(owner, "struct", text)]
    for key in MEMBERS:
        members = owner.get(key)
        for item in members.items if members is not None else ():
            lines.append(f"- {item.string('name')}: `{item.string('type')}` {item.string('versions')}".rstrip())
    return "\n".join([lines[0], "", *lines[1:]])


def _about(owner: Value, what: str = "", name: str = "") -> str:
    """Describe an object of a spec in Markdown: its name, type, `about`, and all other keys that have scalar values."""
    type = owner.string("type")
    kind = ", ".join(filter(None, [f"`{type}`" if type and not name else "", what]))
    title = f"**{name or owner.string('name')}**" + (f": {kind}" if kind else "")
    facts = [
        f"- {entry.key}: `{_code(entry.value.text)}`"
        for entry in owner.entries
        if entry.value is not None and entry.key not in _OMITTED_KEYS and entry.value.kind in ("string", "word")
    ]
    return "\n\n".join(filter(None, [title, owner.string("about"), "\n".join(facts)]))


def _code(text: str) -> str:
    """Replace each backtick with an apostrophe, so that the text can be put between backticks in Markdown."""
    return text.replace("`", "'")


@dataclass(frozen=True, slots=True)
class _WireExample:
    """A field's value and its bytes in one version. The bytes of a tagged field include its tag and size."""

    version: int
    value: Any
    """The value in its JSON form."""
    data: bytes


def field_example(message: MessageSpec, struct: str, field: str) -> _WireExample | None:
    """Return an example in the latest version that has the field. `struct` is the field's struct or message.

    Returns None for a record format, and for a field that no version has.
    """
    names = _field_path(message, struct, field)
    if names is None or message.format is not None:
        return None
    cls = message_class(message)
    for version in reversed([*message.valid_versions]):
        layout = without_classes(layout_of(cls, version))
        with suppress(KeyError):  # this version doesn't have the field
            return _example(layout, names, version)
    return None


def _field_path(message: MessageSpec, struct: str, field: str) -> list[str] | None:
    """Return the attribute names on the shortest path from the message to a field, or None if there is no path."""
    structs = {each.name: each for each in message.structs}
    waiting: list[tuple[StructSpec, list[str]]] = [(message.root, [])]
    seen = {message.root.name}
    for here, path in waiting:  # `waiting` grows during this loop
        for spec in here.fields:
            if here.name == struct and spec.name == field:
                return [*path, attribute_name(spec.name)]
            if spec.struct in structs and spec.struct not in seen:
                seen.add(spec.struct)
                waiting.append((structs[spec.struct], [*path, attribute_name(spec.name)]))
    return None


def _example(layout: Layout, names: list[str], version: int) -> _WireExample | None:
    for message in samples(layout, names, ()):
        try:
            data = encode(layout, message)
        except EncodeError:
            continue
        found = _node(trace(layout, data).root, names)
        if found is None:
            continue
        value: Any = message
        for name in names:
            while isinstance(value, tuple):  # arrays, or arrays of arrays
                value = value[0]
            value = value[name]
        shown = as_json(value, field_at(layout, names).type)
        return _WireExample(version, shown, data[found.offset : found.offset + found.length])
    return None


def _node(root: Node, names: list[str]) -> Node | None:
    """Return the trace node of a field. The node of a tagged field includes tag, size and value."""
    path = ".".join(names)
    nodes = (node for node in root.walk() if not node.path.endswith("[0]"))
    return next((node for node in nodes if node.path.replace("[0]", "") == path), None)
