"""Check scripts against `script.schema.json`, and report each error as a sentence with its position."""

import functools
import json
from importlib.resources import files
from typing import Any, Final

from jsonschema import Draft202012Validator, validators

from tagwire.text_format import near
from tagwire_workbench.mocking.yaml_tree import Tree, found

_KINDS: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


def schema_text() -> bytes:
    """Return the JSON Schema of scripts, for editors."""
    return (files("tagwire_workbench.mocking") / "script.schema.json").read_bytes()


@functools.cache
def _validator() -> Any:
    """Return a validator in which 3.0 is not an integer, unlike in JSON Schema but as in Python and messages."""
    kinds = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    extend: Any = validators.extend  # has no types
    return extend(Draft202012Validator, type_checker=kinds)(json.loads(schema_text()))


def check_shape(tree: Tree) -> None:
    """Raise ScriptError, with the position of each error, for a file that is not a script."""
    for error in _validator().iter_errors(tree.data):
        _add(tree, error)
    tree.raise_errors()


def _add(tree: Tree, error: Any) -> None:
    steps = tuple(error.absolute_path)
    match error.validator:
        case "additionalProperties":
            known = list(error.schema["properties"])
            for key in error.instance:
                if key not in known:
                    tree.add_error((*steps, key), f"there is no key {key!r} here{near(key, known)}", of_key=True)
        case "required":
            for key in error.validator_value:  # each missing key is a separate error, which does not name the key
                if key not in error.instance:
                    tree.add_error(steps, f"the key {key!r} is missing")
        case "type":
            kinds = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
            expected = " or ".join(_KINDS[kind] for kind in kinds)
            tree.add_error(steps, f"expected {expected}, got {found(error.instance)}")
        case "minimum":
            tree.add_error(steps, f"expected {error.validator_value} or more, got {found(error.instance)}")
        case "minItems":
            tree.add_error(steps, "expected an answer, got an empty list")
        case _:  # the pattern of tags
            tree.add_error(steps, f"expected the number of a tag, got {found(error.instance)}")
