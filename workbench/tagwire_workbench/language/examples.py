"""Create example bytes of a field, for hovers, by encoding the field in a sample message.

The field's value is the first sample from `evolution.samples`, which differs from the default.
"""

from dataclasses import dataclass
from typing import Any

from tagwire.errors import EncodeError
from tagwire.explain.nodes import Node
from tagwire.explain.trace import trace
from tagwire.interpreter.writer import encode
from tagwire.layout import Array, Layout, Nested
from tagwire.message.field_table import layout_of
from tagwire_generator.evolution.proofs import as_json, field_at, samples, without_classes
from tagwire_generator.message_classes import message_class
from tagwire_generator.model import MessageSpec, StructSpec
from tagwire_generator.model.spec_names import attribute_name


@dataclass(frozen=True, slots=True)
class WireExample:
    """A field's value and its bytes in one version. The bytes of a tagged field include its tag and size."""

    version: int
    value: Any
    """The value in its JSON form."""
    data: bytes


def field_example(message: MessageSpec, struct: str, field: str) -> WireExample | None:
    """Return an example in the latest version that has the field. `struct` is the field's struct or message.

    Returns None for a record format, and for a field that no version has.
    """
    names = field_path(message, struct, field)
    if names is None or message.format is not None:
        return None
    cls = message_class(message, message.options)
    for version in range(message.valid_versions.highest, message.valid_versions.lowest - 1, -1):
        layout = without_classes(layout_of(cls, version))
        if _is_there(layout, names):
            return _example(layout, names, version)
    return None


def field_path(message: MessageSpec, struct: str, field: str) -> list[str] | None:
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
    """Return the trace node of a field. The node of a tagged field includes tag, size and value."""
    waiting = [root]
    path = ".".join(names)
    while waiting:
        node = waiting.pop(0)
        if node.path.replace("[0]", "") == path and not node.path.endswith("[0]"):
            return node
        waiting += node.children
    return None
