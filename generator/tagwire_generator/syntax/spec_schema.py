"""Check that a spec has only known keys, with values of the right kinds.

`spec.schema.json`, which editors also use, defines the keys and kinds. jsonschema checks them, and this module adds a
position in the text, a rule ID and a sentence to each error. Keys with `"dialect": "tagwire"` in the schema are
extensions. In a spec that did not enable extensions, they are errors.

Because jsonschema is slow, `_test_of` converts the schema to fast functions that accept most valid specs. jsonschema
checks only the other specs.
"""

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final, NamedTuple, Protocol

from tagwire.text_format import suggestion
from tagwire_generator.problems import quoted
from tagwire_generator.syntax.parse import Items, JsonNode, Object, Scalar

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
KINDS: Final = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
"""The JSON types in words, for error messages."""


class ShapeError(NamedTuple):
    """A schema error at `node`. The reader must ignore the node `unusable`, if given."""

    rule: str
    node: JsonNode
    message: str
    unusable: JsonNode | None = None


class _Error(Protocol):
    """The attributes of a jsonschema error that this module uses, with narrower types than the library declares."""

    message: str
    validator: str
    validator_value: Any
    instance: Any
    schema: Any
    absolute_path: Sequence[str | int]


class _Validator(Protocol):
    def iter_errors(self, instance: object) -> Iterable[_Error]: ...


@functools.lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """Return the JSON Schema of specs, for both the released and the draft dialect."""
    text = resources.files("tagwire_generator.syntax").joinpath("spec.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@functools.cache
def key_kinds(definition: str) -> Mapping[str, str]:
    """Return the keys of an object in canonical order, each with the kind of its value.

    `definition` and the kinds are names of definitions (`$defs`) in the schema. A value that the schema defines at its
    key has the kind "text".
    """
    properties: dict[str, dict[str, Any]] = schema()["$defs"][definition]["properties"]
    return {key: value.get("$ref", "text").rpartition("/")[2] for key, value in properties.items()}


@functools.lru_cache(maxsize=1)
def _validator() -> _Validator:
    from jsonschema import Draft202012Validator, ValidationError, validators

    base: Any = Draft202012Validator
    extend: Any = validators.extend
    checker = base.TYPE_CHECKER.redefine("integer", _is_integer)
    keywords: Any = {
        "dialect": lambda validator, dialect, value, schema: [ValidationError(dialect)],
        # Unlike in JSON Schema, a key whose value is null is missing.
        "required": lambda validator, keys, value, schema: [
            ValidationError(key) for key in keys if isinstance(value, dict) and value.get(key) is None
        ],
    }
    strict = extend(base, keywords, type_checker=checker)
    validator: _Validator = strict(schema())
    return validator


def _is_integer(checker: object, value: object) -> bool:
    """Return whether a value is an integer. Unlike in JSON Schema, 7.0 is not an integer."""
    return isinstance(value, int) and not isinstance(value, bool)


_Test = Callable[[Any], bool]

_TYPES: Final[Mapping[str, frozenset[type]]] = {
    "string": frozenset({str}),
    "number": frozenset({int, float}),
    "integer": frozenset({int}),
    "boolean": frozenset({bool}),
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "null": frozenset({type(None)}),
}
_UNTESTED: Final = frozenset(
    {"$schema", "$defs", "title", "description", "kafka", "pattern", "propertyNames", "minLength", "then", "else"}
)
"""Keywords that need no test of their own: `if` tests "then" and "else", and `shape_errors` ignores the others."""


@functools.cache
def _accepts(allow_extensions: bool) -> _Test:
    """Return a function that quickly tests a whole spec. If it returns True, the spec has no schema errors."""
    return _test_of(schema(), allow_extensions, {})


def _test_of(part: Mapping[str, Any], allow_extensions: bool, known: dict[str, _Test]) -> _Test:
    """Convert a part of the schema to a function that tests a value. `known` maps each `$ref` to its function."""
    tests = [
        _keyword_test(keyword, part, lambda other: _test_of(other, allow_extensions, known), known)
        for keyword in part
        if keyword not in _UNTESTED and not (keyword == "dialect" and allow_extensions)
    ]
    return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)


def _keyword_test(
    keyword: str, part: Mapping[str, Any], test_of: Callable[[Mapping[str, Any]], _Test], known: dict[str, _Test]
) -> _Test:
    operand = part[keyword]
    match keyword:
        case "$ref":
            if operand not in known:
                # Add an entry before the definition is converted, because a definition may refer to itself.
                known[operand] = lambda value: known[operand](value)
                known[operand] = test_of(schema()["$defs"][operand.rpartition("/")[2]])
            return lambda value: known[operand](value)
        case "type":
            types = frozenset[type]().union(
                *(_TYPES[name] for name in ([operand] if isinstance(operand, str) else operand))
            )
            return lambda value: type(value) in types
        case "enum" | "const":
            allowed = {(type(value), value) for value in (operand if keyword == "enum" else [operand])}
            return lambda value: not isinstance(value, dict | list) and (type(value), value) in allowed
        case "required":
            return lambda value: type(value) is not dict or all(value.get(key) is not None for key in operand)
        case "items":
            item = test_of(operand)
            return lambda value: type(value) is not list or all(item(each) for each in value)
        case "properties":
            members = {key: test_of(value) for key, value in operand.items()}
            return lambda value: type(value) is not dict or all(
                members[key](value[key]) for key in value if key in members and value[key] is not None
            )
        case "additionalProperties":
            known_keys = part.get("properties", {}).keys()
            other = test_of(operand) if operand else _rejects
            return lambda value: type(value) is not dict or all(key in known_keys or other(value[key]) for key in value)
        case "if":
            condition, yes, no = (test_of(part.get(key, {})) for key in ("if", "then", "else"))
            return lambda value: yes(value) if condition(value) else no(value)
        case _:  # jsonschema checks `dialect` and unknown keywords
            return _rejects


def _rejects(value: object) -> bool:
    return False


def shape_errors(root: Object, *, allow_extensions: bool) -> Iterator[ShapeError]:
    """Yield the schema errors in a parsed spec. `allow_extensions` allows keys of the tagwire dialect."""
    plain = _plain(root)
    if _accepts(allow_extensions)(plain):
        return
    for error in _validator().iter_errors(plain):
        if error.instance is None and isinstance(error.absolute_path[-1], str):
            continue  # a known key whose value is null is ignored
        node = _node_at(root, error.absolute_path)
        match error.validator:
            case "additionalProperties":
                yield from _unknown_keys(node, error)
            case "required":
                yield _missing_key(node, error.message)
            case "enum":
                yield _unknown_key(node, error)
            case "dialect" if not allow_extensions:
                yield _extension_key(root, node, error)
            case "type":
                yield _wrong_kind(node, error)
            case _:  # the code that parses the value reports a better message
                pass


def is_extended(root: Object, *, by_default: bool) -> bool:
    """Return whether a spec may use the tagwire dialect. Without a `dialect` key, return `by_default`."""
    dialect = root.get("dialect")
    return dialect.value == "tagwire" if isinstance(dialect, Scalar) else by_default


def _plain(node: JsonNode) -> Any:
    """Convert a tree to Python data."""
    if isinstance(node, Object):
        return {key: _plain(member.value) for key, member in node.members.items()}
    if isinstance(node, Items):
        return [_plain(item) for item in node.items]
    return node.value if isinstance(node, Scalar) else None


def _node_at(root: Object, path: Iterable[str | int]) -> JsonNode:
    node: JsonNode = root
    for step in path:
        if isinstance(node, Object):
            node = node.members[str(step)].value
        elif isinstance(node, Items):
            node = node.items[int(step)]
    return node


def _unknown_keys(node: JsonNode, error: _Error) -> Iterator[ShapeError]:
    assert isinstance(node, Object)
    known = error.schema["properties"]
    is_optional_field = "nullable" in known and "tag" in known
    for key in error.instance:
        if key in known:
            continue
        member = node.members[key]
        if is_optional_field and key in _NOT_IN_DRAFT:
            message = f"an optional field has no {key}; {_NOT_IN_DRAFT[key]}"
            yield ShapeError("TW704", member, message)
        elif error.schema is schema()["$defs"]["sharedStruct"] and key in _NOT_IN_SHARED_STRUCTS:
            message = f"a shared struct has no {key}; {_NOT_IN_SHARED_STRUCTS[key]}"
            yield ShapeError("TW110", member, message)
        else:
            yield ShapeError("TW110", member, f"unknown key {quoted(key)}; {suggestion(key, known)}")


def _missing_key(node: JsonNode, key: str) -> ShapeError:
    """Report a missing key at its null, if there is one."""
    assert isinstance(node, Object)
    return ShapeError("TW113", node.members.get(key, node), f"the key {key!r} is missing", node)


def _unknown_key(node: JsonNode, error: _Error) -> ShapeError:
    words = [word for word in error.validator_value if isinstance(word, str)]
    if isinstance(node, Object | Items) or set(words) == {"true", "false"}:
        message = f"found {_value_in_words(error.instance)}, expected {' or '.join(words)}"
        return ShapeError("TW111", node, message, node)
    message = f"{_value_in_words(error.instance)} is not a value of this key; {suggestion(error.instance, words)}"
    return ShapeError("TW112", node, message, node)


def _extension_key(root: Object, node: JsonNode, error: _Error) -> ShapeError:
    *_, key = error.absolute_path
    what = f"type {error.instance}" if key == "type" else f"key {key!r}"
    remedy = 'change "dialect" to "tagwire"' if root.get("dialect") else 'add "dialect": "tagwire" to the spec'
    message = f"the {what} is an extension, but the spec is plain Kafka; {remedy}, or remove the key"
    return ShapeError("TW709", node, message, node)


def _wrong_kind(node: JsonNode, error: _Error) -> ShapeError:
    kinds: Iterable[str] = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
    expected = [KINDS[kind] for kind in kinds if kind != "null"]
    message = f"found {_value_in_words(error.instance)}, expected {' or '.join(expected)}"
    return ShapeError("TW111", node, message, node)


def _value_in_words(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float) and abs(value) >= 1e39:  # the parser converts integers of 40 or more digits to floats
        return "a number of 40 digits or more"
    return quoted(value)
