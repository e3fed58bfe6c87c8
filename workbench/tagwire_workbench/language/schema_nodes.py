"""Look up what the spec schema defines for a value: its keys, enumerated values, and descriptions.

Keys and values come from `spec.schema.json`. Some keys belong to only one dialect or one kind of message. The tables in
this module define them, because such rules in the schema would make error messages unreadable.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tagwire_generator.syntax.parse import DRAFT_KEYS
from tagwire_generator.syntax.spec_schema import schema
from tagwire_workbench.language.text_tree import Value

_ONLY_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    "listeners": ("request",),
    "latestVersionUnstable": ("request",),
    "headerVersions": ("request", "response"),
    "fallback": ("response",),
}
"""Maps keys to the kinds of messages that may have them. Completions don't offer the keys in other messages."""
_RELEASED_KEYS: Final = ("flexibleVersions", "taggedVersions")
"""Keys that the draft dialect does not have."""

Shape = str
"""The kind of a `Value`, such as "list", or "" for a value that is not written yet."""


class Key(NamedTuple):
    """A key that the schema allows in an object."""

    name: str
    description: str
    is_required: bool
    is_extension: bool
    """Whether the key exists only in the tagwire dialect."""
    node: "SchemaNode"
    """The schema of the key's value."""


class SchemaNode:
    """The schema of one value. `kind` is the name of the schema in `$defs`, or "" if it is not listed there."""

    def __init__(self, node: Mapping[str, Any]) -> None:
        self.kind = ""
        self.description = str(node.get("description", ""))
        while "$ref" in node:
            self.kind = str(node["$ref"]).rpartition("/")[2]
            node = schema()["$defs"][self.kind]
            self.description = self.description or str(node.get("description", ""))
        self._node = node

    def shaped(self, shape: Shape) -> "SchemaNode":
        """Return the part of the schema that applies to values of the given shape.

        Some schemas have two alternatives: one for a list or an object, and another for any other value.
        """
        condition = self._node.get("if", {}).get("type")
        if condition is None:
            return self
        branch = "then" if shape == {"object": "object", "array": "list"}[condition] else "else"
        return SchemaNode(self._node[branch])

    def all_keys(self) -> Iterator[Key]:
        required = self._node.get("required", ())
        for name, node in self._node.get("properties", {}).items():
            inner = SchemaNode(node)
            yield Key(name, inner.description, name in required, node.get("dialect") == "tagwire", inner)

    def key(self, name: str) -> Key | None:
        found = next((key for key in self.all_keys() if key.name == name), None)
        others = self._node.get("additionalProperties")
        return Key(name, "", False, False, SchemaNode(others)) if found is None and others else found

    def items(self) -> "SchemaNode | None":
        """Return the schema of a list's items, or None if the value is not a list."""
        node = self.shaped("list")._node
        return SchemaNode(node["items"]) if "items" in node else None

    def values(self) -> tuple[Any, ...]:
        """Return the `enum` values that an editor should suggest.

        Null is left out, and so are the strings "true" and "false" if there are booleans.
        """
        node = self.shaped("")._node
        values = [value for value in node.get("enum", ()) if value is not None]
        if True in values and "true" in values:
            return (True, False)
        return tuple(values)

    def types(self) -> tuple[str, ...]:
        """Return the JSON types that the value may have, the most common first."""
        if self.items() is not None:
            return ("array",)
        if "properties" in self._node:
            return ("object",)
        types = self.shaped("")._node.get("type", ())
        return (types,) if isinstance(types, str) else tuple(types)


def schema_node_of(value: Value) -> SchemaNode | None:
    """Return the schema of a value in a spec, or None if the schema doesn't define the value."""
    path = [value]
    while (parent := path[-1].parent) is not None:
        path.append(parent)
    node: SchemaNode | None = _root(path.pop())
    while path and node is not None:
        step = path.pop()
        if step.entry is not None:
            key = node.key(step.entry.key)
            node = key.node.shaped(step.kind) if key else None
        else:
            node = node.items() if step.parent is not None and step.parent.kind == "list" else None
    return node


def _root(root: Value) -> SchemaNode:
    node = schema()
    while "if" in node:
        is_it = node["if"]["properties"]["type"]["const"] == root.string("type")
        node = node["then" if is_it else "else"]
    return SchemaNode(node)


def offered_keys(owner: Value, root: Value, present: Collection[str], *, is_extended: bool) -> list[Key]:
    """Return the keys that an object may have in addition to `present`.

    Required keys come first, then the other keys in schema order. `is_extended` allows the tagwire dialect in specs
    that don't name a dialect.
    """
    node = schema_node_of(owner)
    if node is None:
        return []
    is_extended = may_extend(root, is_extended)
    allowed = (key for key in node.all_keys() if is_extended or not key.is_extension)
    keys = [key for key in allowed if key.name not in present and _fits(key.name, node.kind, root)]
    return sorted(keys, key=lambda key: not key.is_required)


def _fits(key: str, kind: str, root: Value) -> bool:
    if is_draft(root) and (key in _RELEASED_KEYS or (key == "tag" and kind == "field")):
        return False
    if key in DRAFT_KEYS and (root.get("flexibleVersions") is not None or (kind == "field" and not is_draft(root))):
        return False
    return root.string("type") in _ONLY_FOR.get(key, (root.string("type"),))


def may_extend(root: Value, by_default: bool) -> bool:
    """Return whether a spec may use the tagwire dialect. If it has no key `dialect`, return `by_default`."""
    return root.string("dialect") == "tagwire" if root.string("dialect") else by_default


def is_draft(root: Value) -> bool:
    """Return whether a spec is in the draft dialect."""
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if any(entry.key in DRAFT_KEYS for entry in value.entries):
            return True
        waiting += [*value.items, *(entry.value for entry in value.entries if entry.value)]
    return False
