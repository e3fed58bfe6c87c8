"""What the schema of specs says about a place in a tree: keys, words, descriptions.

Everything comes from `spec.schema.json`, so a new key of specs is known here
as soon as it is there. Only what a schema can't say without making its errors
unreadable is a table: which keys belong to one dialect, or to one kind of
message.
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
"""The kinds of messages that may have a key; it is not offered to others."""
_RELEASED_KEYS: Final = ("flexibleVersions", "taggedVersions")
"""Keys that no spec of the draft dialect has."""

Shape = str
"""The kind of a `Value`; "" for one that is not written yet."""


class Key(NamedTuple):
    """A key that an object may have."""

    name: str
    description: str
    is_required: bool
    is_extension: bool
    """Whether only the tagwire dialect has it."""
    place: "SchemaPlace"
    """What the schema says about its value."""


class SchemaPlace:
    """What the schema says about one value; `kind` is the name of its `$defs`, "" if it has none."""

    def __init__(self, node: Mapping[str, Any]) -> None:
        self.kind = ""
        self.description = str(node.get("description", ""))
        while "$ref" in node:
            self.kind = str(node["$ref"]).rpartition("/")[2]
            node = schema()["$defs"][self.kind]
            self.description = self.description or str(node.get("description", ""))
        self._node = node

    def shaped(self, shape: Shape) -> "SchemaPlace":
        """The same place for a value of this shape: a single item may stand for a list, and has keys of its own."""
        condition = self._node.get("if", {}).get("type")
        if condition is None:
            return self
        branch = "then" if shape == {"object": "object", "array": "list"}[condition] else "else"
        return SchemaPlace(self._node[branch])

    def all_keys(self) -> Iterator[Key]:
        """The keys of an object here."""
        required = self._node.get("required", ())
        for name, node in self._node.get("properties", {}).items():
            place = SchemaPlace(node)
            yield Key(name, place.description, name in required, node.get("dialect") == "tagwire", place)

    def key(self, name: str) -> Key | None:
        """One of them; of an object with keys of any name, that name."""
        found = next((key for key in self.all_keys() if key.name == name), None)
        others = self._node.get("additionalProperties")
        return Key(name, "", False, False, SchemaPlace(others)) if found is None and others else found

    def items(self) -> "SchemaPlace | None":
        """What an item of a list here is."""
        node = self.shaped("list")._node
        return SchemaPlace(node["items"]) if "items" in node else None

    def words(self) -> tuple[Any, ...]:
        """The values that are listed, without null and without other spellings of true and false."""
        node = self.shaped("")._node
        words = [word for word in node.get("enum", ()) if word is not None]
        if True in words and "true" in words:
            return (True, False)
        return tuple(words)

    def types(self) -> tuple[str, ...]:
        """The JSON types that a value may have, the usual one first."""
        if self.items() is not None:
            return ("array",)
        if "properties" in self._node:
            return ("object",)
        types = self.shaped("")._node.get("type", ())
        return (types,) if isinstance(types, str) else tuple(types)


def place_of(value: Value) -> SchemaPlace | None:
    """What the schema says about a value of a tree; None where it knows nothing of the place."""
    path: list[Value] = []
    at: Value | None = value
    while at is not None:
        path.append(at)
        at = at.parent
    root = path.pop()
    place: SchemaPlace | None = _root(root)
    for step in reversed(path):
        if place is None:
            return None
        if step.entry is not None:
            key = place.key(step.entry.key)
            place = key.place.shaped(step.kind) if key else None
        elif step.parent is not None and step.parent.kind == "list":
            place = place.items()
        else:
            return None
    return place


def _root(root: Value) -> SchemaPlace:
    """The type of a spec decides which keys it has."""
    node = schema()
    while "if" in node:
        is_it = node["if"]["properties"]["type"]["const"] == root.word("type")
        node = node["then" if is_it else "else"]
    return SchemaPlace(node)


def offered_keys(owner: Value, root: Value, present: Collection[str], *, is_extended: bool) -> list[Key]:
    """The keys that an object may have beside these: required ones first, then in their usual order.

    `is_extended` says whether the spec may use the tagwire dialect where it does not say so itself.
    """
    place = place_of(owner)
    if place is None:
        return []
    is_extended = may_extend(root, is_extended)
    allowed = (key for key in place.all_keys() if is_extended or not key.is_extension)
    keys = [key for key in allowed if key.name not in present and _fits(key.name, place.kind, root)]
    return sorted(keys, key=lambda key: not key.is_required)


def _fits(key: str, kind: str, root: Value) -> bool:
    if is_draft(root) and (key in _RELEASED_KEYS or (key == "tag" and kind == "field")):
        return False
    if key in DRAFT_KEYS and (root.get("flexibleVersions") is not None or (kind == "field" and not is_draft(root))):
        return False
    return root.word("type") in _ONLY_FOR.get(key, (root.word("type"),))


def may_extend(root: Value, by_default: bool) -> bool:
    """Whether a spec may use the tagwire dialect: what it says itself comes before what its set says."""
    return root.word("dialect") == "tagwire" if root.word("dialect") else by_default


def is_draft(root: Value) -> bool:
    """Whether a spec is in the draft dialect."""
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if any(entry.key in DRAFT_KEYS for entry in value.entries):
            return True
        waiting += [*value.items, *(entry.value for entry in value.entries if entry.value)]
    return False
