"""Create a mock peer from a script. The whole script is checked, and each error is reported with its position."""

import functools
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import click
from jsonschema import Draft202012Validator, validators

from tagwire.frames.registry import Registry
from tagwire.testing.peer import MockPeer, Received, Reply
from tagwire.text_format import near
from tagwire_cli.arguments.packages import find_registry
from tagwire_workbench.mocking.answers import AnswerMaker
from tagwire_workbench.mocking.request_path import RequestPath
from tagwire_workbench.mocking.values import Scene, Setting, ValueReader, evaluated
from tagwire_workbench.mocking.yaml_tree import Steps, Tree, found, read_tree

_KINDS: Final = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


def schema_text() -> bytes:
    """Return the JSON Schema of scripts. Editors can use it to check a script."""
    return (files("tagwire_workbench.mocking") / "script.schema.json").read_bytes()


@functools.cache
def _validator() -> Any:
    """Return a validator that rejects 3.0 as an integer, which JSON Schema accepts."""
    kinds = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    extend: Any = validators.extend  # jsonschema has no type annotations
    return extend(Draft202012Validator, type_checker=kinds)(json.loads(schema_text()))


def check_shape(tree: Tree) -> None:
    """Check a file against the schema. Raises ScriptError, which lists all errors with their positions."""
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
                    tree.add_error((*steps, key), f"unknown key {key!r}{near(key, known)}", of_key=True)
        case "required":
            for key in error.validator_value:
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
        case _:  # tags must be numbers
            tree.add_error(steps, f"expected a tag number, got {found(error.instance)}")


def read_script(path: Path) -> "Script":
    """Read a script. Raises ScriptError if the file does not match the schema, and OSError if it can't be read."""
    tree = read_tree(path)
    check_shape(tree)
    return Script(tree)


class Script:
    """A script that satisfies the JSON Schema. `peer` checks its messages."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.package: str | None = tree.data.get("package")

    def registry(self) -> Registry:
        """Return the registry of the script's package. Raises ScriptError or SettingsError if it can't be found."""
        try:
            return find_registry(self.package)
        except click.BadParameter as error:
            self.tree.add_error(("package",), error.message)
            self.tree.raise_errors()
            raise

    def peer(self, registry: Registry) -> MockPeer:
        """Return a mock peer that plays the script. Raises ScriptError, which lists all errors."""
        peer = MockPeer(registry)
        rules: list[dict[str, Any]] = self.tree.data["rules"]
        names = {name for rule in rules for name in rule.get("keep", {})}
        kept: dict[str, Any] = {}
        for index, rule in enumerate(rules):
            _RuleReader(self.tree, ("rules", index), peer, kept, names).read(rule)
        for request, versions in self.tree.data.get("offer", {}).items():
            with self.tree.errors_of(("offer", request)):
                peer.offer(request, str(versions))
        self.tree.raise_errors()
        return peer


class _RuleReader:
    """Reads a rule of the script and adds it to the peer. Errors are added to the parsed script.

    Rules can store values under names. `kept` contains the values stored so far, and `names` all the names.
    """

    def __init__(self, tree: Tree, steps: Steps, peer: MockPeer, kept: dict[str, Any], names: set[str]) -> None:
        self.tree = tree
        self.steps = steps
        self.peer = peer
        self.registry = peer.registry
        self.kept = kept
        self.names = names

    def read(self, rule: dict[str, Any]) -> None:
        classes = None
        with self.tree.errors_of((*self.steps, "request")):
            classes = self.peer.api(rule["request"])
        if classes is None:
            return
        self.request, self.response = classes
        values = ValueReader(self.tree, Setting(self.request, self.registry.request_header, self.names))
        conditions = [
            (self.path(path, "when", path), values.read(value, (*self.steps, "when", path)))
            for path, value in rule.get("when", {}).items()
        ]
        keeping = [(name, self.path(path, "keep", name)) for name, path in rule.get("keep", {}).items()]
        answers = self.answers(rule["reply"], values)
        with self.tree.errors_of((*self.steps, "versions")):
            versions = rule.get("versions")
            self.peer.on(
                rule["request"],
                versions=None if versions is None else str(versions),
                when=lambda request: all(self.holds(path, value, request) for path, value in conditions),
                times=rule.get("times"),
            ).reply([self.keeping(answer, keeping) for answer in answers])

    def path(self, text: str, *steps: str) -> RequestPath | None:
        """Parse a path in a request. Add an error and return None if the path is invalid."""
        with self.tree.errors_of((*self.steps, *steps)):
            return RequestPath(text, self.request, self.registry.request_header)
        return None

    def holds(self, path: RequestPath | None, expected: Any, request: Received) -> bool:
        assert path is not None, "a script with errors is not played"
        return bool(path.value(request) == evaluated(expected, Scene(request, self.kept)))

    def answers(self, reply: Any, values: ValueReader) -> list[AnswerMaker]:
        steps = (*self.steps, "reply")
        if not isinstance(reply, list):
            return [AnswerMaker(reply or {}, self.response, self.registry, values, steps)]
        return [
            AnswerMaker(each or {}, self.response, self.registry, values, (*steps, index))
            for index, each in enumerate(reply)
        ]

    def keeping(
        self, answer: AnswerMaker, keeping: list[tuple[str, RequestPath | None]]
    ) -> Callable[[Received], Reply]:
        """Return a function that stores the request values listed in `keeping`, and then makes the reply."""

        def reply(request: Received) -> Reply:
            for name, path in keeping:
                assert path is not None, "a script with errors is not played"
                self.kept[name] = path.json(request)
            return answer.reply(Scene(request, self.kept))

        return reply
