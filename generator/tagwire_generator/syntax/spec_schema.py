"""Check that a spec has only known keys, with values of the right kinds.

`spec.schema.json`, which editors also use, defines the keys and kinds. `_Checker` applies the schema to a parsed spec,
so each error has a position in the text, a rule ID and a sentence. Keys with `"dialect": "tagwire"` in the schema are
extensions. In a spec that did not enable extensions, they are errors.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Final, NamedTuple

from tagwire.text_format import suggestion
from tagwire_generator.problems import quoted
from tagwire_generator.syntax.parse import Items, JsonNode, Member, Object, Scalar

_NOT_IN_DRAFT: Final = {
    "versions": "versionsWithOptional gives its versions",
    "nullableVersions": 'write "nullable": true for all versions',
    "taggedVersions": "versionsWithOptional gives its versions",
    "flexibleVersions": "the draft has no flexible versions",
    "mapKey": "every element must have its map key",
}
_NOT_IN_SHARED_STRUCTS: Final = {
    "flexibleVersions": "its lengths are compact if the lengths of the message that uses it are",
    "versions": "its versions are its validVersions",
}
_KINDS: Final = {
    "string": "text",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
}
"""The words for kinds of values in the schema."""
_KIND_OF: Final[Mapping[type, str]] = {
    str: "string",
    float: "number",
    int: "integer",
    bool: "boolean",
    Object: "object",
    Items: "array",
    type(None): "null",
}
"""The kind of each type of value. Unlike in JSON Schema, 7.0 is not an integer."""


class ShapeError(NamedTuple):
    """A schema error at `node`. The reader must ignore the node `unusable`, if given."""

    rule: str
    node: JsonNode
    message: str
    unusable: JsonNode | None = None


@functools.lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """Return the JSON Schema of specs, for both the released and the draft dialect."""
    text = resources.files("tagwire_generator.syntax").joinpath("spec.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@functools.cache
def key_kinds(definition: str) -> Mapping[str, str]:
    """Return the keys of an object in canonical order, each with the kind of its value.

    `definition` and the kinds are names of definitions (`$defs`) in the schema.
    """
    return {key: value["$ref"].rpartition("/")[2] for key, value in schema()["$defs"][definition]["properties"].items()}


def shape_errors(root: Object, *, allow_extensions: bool) -> list[ShapeError]:
    """Return the schema errors in a parsed spec. `allow_extensions` allows keys of the tagwire dialect."""
    checker = _Checker(root, allow_extensions)
    checker.check(root, schema())
    return checker.errors


class _Checker:
    """Collects the schema errors in a spec. Patterns are not checked: the code that parses a value reports more."""

    def __init__(self, root: Object, allow_extensions: bool) -> None:
        self.errors: list[ShapeError] = []
        self._root = root
        self._allow_extensions = allow_extensions

    def check(self, node: JsonNode, part: Mapping[str, Any]) -> None:
        """Check a value against a part of the schema."""
        if "$ref" in part:
            part = _definition(part["$ref"])
        if "if" in part:
            condition = _Checker(self._root, self._allow_extensions)
            condition.check(node, part["if"])
            self.check(node, part["else" if condition.errors else "then"])
        value = _value(node)
        if "type" in part:
            kinds = [part["type"]] if isinstance(part["type"], str) else part["type"]
            kind = _KIND_OF[type(value)]
            if kind not in kinds and not (kind == "integer" and "number" in kinds):
                self.errors.append(_type_error(node, kinds))
        if "enum" in part and value not in part["enum"]:
            self.errors.append(_enum_error(node, part["enum"]))
        if "const" in part and value != part["const"]:
            self.errors.append(ShapeError("TW112", node, f"expected {part['const']!r}", node))
        if isinstance(node, Object) and ("properties" in part or "additionalProperties" in part):
            self._check_object(node, part)
        if isinstance(node, Items) and "items" in part:
            for item in node.items:
                self.check(item, part["items"])

    def _check_object(self, node: Object, part: Mapping[str, Any]) -> None:
        """Check the members of an object. A key whose value is null counts as missing."""
        known, others = part.get("properties", {}), part.get("additionalProperties", True)
        members = {key: member for key, member in node.members.items() if _value(member.value) is not None}
        for key, member in members.items():
            if key in known:
                if "dialect" in known[key] and not self._allow_extensions:
                    self.errors.append(self._extension_error(key, member.value))
                self.check(member.value, known[key])
            elif isinstance(others, Mapping):
                self.check(member.value, others)
            elif not others:
                self.errors.append(_unknown_key_error(key, member, part))
        for key in part.get("required", ()):
            if key not in members:
                message = f"the key {key!r} is missing"
                self.errors.append(ShapeError("TW113", node.members.get(key, node), message, node))

    def _extension_error(self, key: str, node: JsonNode) -> ShapeError:
        what = f"type {_value(node)}" if key == "type" else f"key {key!r}"
        remedy = (
            'change "dialect" to "tagwire"' if self._root.get("dialect") else 'add "dialect": "tagwire" to the spec'
        )
        message = f"the {what} is an extension, but the spec is plain Kafka; {remedy}, or remove the key"
        return ShapeError("TW709", node, message, node)


def _type_error(node: JsonNode, kinds: Sequence[str]) -> ShapeError:
    expected = [_KINDS[kind] for kind in kinds if kind != "null"]
    return ShapeError("TW111", node, f"found {_in_words(node)}, expected {' or '.join(expected)}", node)


def _enum_error(node: JsonNode, allowed: Sequence[Any]) -> ShapeError:
    words = [word for word in allowed if isinstance(word, str)]
    if isinstance(node, Object | Items) or set(words) == {"true", "false"}:
        return ShapeError("TW111", node, f"found {_in_words(node)}, expected {' or '.join(words)}", node)
    message = f"{_in_words(node)} is not a value of this key; {suggestion(_value(node), words)}"
    return ShapeError("TW112", node, message, node)


@functools.cache
def _definition(reference: str) -> Mapping[str, Any]:
    definition: Mapping[str, Any] = schema()["$defs"][reference.rpartition("/")[2]]
    return definition


def _unknown_key_error(key: str, member: Member, part: Mapping[str, Any]) -> ShapeError:
    known = part["properties"]
    if "nullable" in known and "tag" in known and key in _NOT_IN_DRAFT:
        return ShapeError("TW704", member, f"an optional field has no {key}; {_NOT_IN_DRAFT[key]}")
    if part is schema()["$defs"]["sharedStruct"] and key in _NOT_IN_SHARED_STRUCTS:
        return ShapeError("TW110", member, f"a shared struct has no {key}; {_NOT_IN_SHARED_STRUCTS[key]}")
    return ShapeError("TW110", member, f"unknown key {quoted(key)}; {suggestion(key, known)}")


def _value(node: JsonNode) -> Any:
    """Return the value of a scalar. An object or list is returned unchanged."""
    return node.value if isinstance(node, Scalar) else node


def _in_words(node: JsonNode) -> str:
    value = _value(node)
    if isinstance(value, JsonNode):
        return "an object" if isinstance(value, Object) else "a list"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float) and abs(value) >= 1e39:  # the parser converts integers of 40 or more digits to floats
        return "a number of 40 digits or more"
    return quoted(value)


def is_extended(root: Object, *, by_default: bool) -> bool:
    """Return whether a spec may use the tagwire dialect. Without a `dialect` key, return `by_default`."""
    dialect = root.get("dialect")
    return dialect.value == "tagwire" if isinstance(dialect, Scalar) else by_default


def is_format(root: Object) -> bool:
    """Return whether a parsed spec is a record format, which has its own schema."""
    return _is_type(root, "format")


def is_register(root: Object) -> bool:
    """Return whether a parsed spec is a register (a table of named numbers) rather than a message."""
    return _is_type(root, "register")


def is_shared_struct(root: Object) -> bool:
    """Return whether a parsed spec is a shared struct."""
    return _is_type(root, "struct")


def _is_type(root: Object, word: str) -> bool:
    kind = root.get("type")
    return isinstance(kind, Scalar) and kind.value == word
