"""The bytes of one field, in a message made up for it: what a person who hovers over the field sees of the wire.

The value is the first of those that show a difference where releases are
compared (`evolution.samples`): not the default. A trace of the whole message
says which bytes are the field's.
"""

from dataclasses import dataclass
from typing import Any

from tagwire.errors import EncodeError
from tagwire.explain.nodes import Node
from tagwire.explain.trace import trace
from tagwire.interpreter.writer import encode
from tagwire.layout import Array, Layout, Nested
from tagwire.message.field_table import layout_of
from tagwire_generator.evolution.samples import as_json, field_at, samples, without_classes
from tagwire_generator.expansion.message_classes import message_class
from tagwire_generator.model import MessageSpec, StructSpec
from tagwire_generator.model.python_names import attribute_name


@dataclass(frozen=True, slots=True)
class WireExample:
    """A value of a field, and its bytes in one version; those of a tagged field with its tag and size."""

    version: int
    value: Any
    """As JSON."""
    data: bytes


def field_example(message: MessageSpec, struct: str, field: str) -> WireExample | None:
    """An example in the latest version that has the field; None where there is none, as in record formats.

    `struct` is the name of the struct that has the field, the message's for its own.
    """
    names = field_path(message, struct, field)
    if names is None or message.format is not None:
        return None
    made = message_class(message, message.options)
    for version in range(message.valid_versions.highest, message.valid_versions.lowest - 1, -1):
        layout = without_classes(layout_of(made, version))
        if _is_there(layout, names):
            return _example(layout, names, version)
    return None


def field_path(message: MessageSpec, struct: str, field: str) -> list[str] | None:
    """The attributes that lead to a field from the message, the shortest way; None if none does."""
    structs = {each.name: each for each in message.structs}
    waiting: list[tuple[StructSpec, list[str]]] = [(message.root, [])]
    seen = {message.root.name}
    for here, path in waiting:  # grows while it is gone through
        for spec in here.fields:
            if here.name == struct and spec.name == field:
                return [*path, attribute_name(spec.name)]
            if spec.struct in structs and spec.struct not in seen:
                seen.add(spec.struct)
                waiting.append((structs[spec.struct], [*path, attribute_name(spec.name)]))
    return None


def _is_there(layout: Layout, names: list[str]) -> bool:
    struct = layout.root
    for name in names:
        item = next((each for each in struct.fields if each.name == name), None)
        if item is None:
            return False
        type = item.type.element if isinstance(item.type, Array) else item.type
        if isinstance(type, Nested):
            struct = type.struct
    return True


def _example(layout: Layout, names: list[str], version: int) -> WireExample | None:
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
            value = value[0] if isinstance(value, tuple) else value
            value = value[name]
        shown = as_json(value, field_at(layout, names).type)
        return WireExample(version, shown, data[found.offset : found.offset + found.length])
    return None


def _node(root: Node, names: list[str]) -> Node | None:
    """The node of a field; of a tagged one, that of its entry among the tags."""
    waiting = [root]
    wanted = ".".join(names)
    while waiting:
        node = waiting.pop(0)
        if node.path.replace("[0]", "") == wanted and not node.path.endswith("[0]"):
            return node
        waiting += node.children
    return None
