"""Create a mock peer from a script. The whole script is checked, and each error is reported with its position.

Answers are checked when the script is read, and completed when a request arrives.
"""

import functools
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import click

from tagwire.frames.registry import Registry
from tagwire.lazy import required
from tagwire.message import Message
from tagwire.message.json import UNKNOWN_TAGS, field_from_json, partial_from_json
from tagwire.testing.peer import MockPeer, Received, Reply
from tagwire.testing.peer.replies import check_reply
from tagwire.text_format import near
from tagwire_cli.arguments.packages import find_registry
from tagwire_generator.syntax.spec_schema import KINDS
from tagwire_workbench.mocking.values import Later, RequestPath, Scene, Setting, ValueReader, as_bytes, evaluated
from tagwire_workbench.mocking.yaml_tree import Steps, Tree, found, read_tree

_AS_THEY_ARE: Final = ("version", "delay", "after", "split_at", "cut_at", "close")
"""Keys of an answer that are passed to `Reply` unchanged."""


def read_script(path: Path) -> "Script":
    """Read a script. Raises ScriptError, with all errors, for a file that doesn't match the schema, and OSError."""
    tree = read_tree(path)
    for error in _validator().iter_errors(tree.data):
        _add_error(tree, error)
    tree.raise_errors()
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
        conditions = [self.condition(path, value, values) for path, value in rule.get("when", {}).items()]
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

    def condition(self, text: str, expected: Any, values: ValueReader) -> tuple[RequestPath | None, Any]:
        steps = (*self.steps, "when", text)
        path, value = self.path(text, "when", text), values.read(expected, steps)
        if path is not None:
            values.check(value, path.rows[-1].struct, steps, path.read, path.json_path)
        return path, value

    def holds(self, path: RequestPath | None, expected: Any, request: Received) -> bool:
        assert path is not None, "a script with errors is not served"
        # A new object equals no expected value, so a request without the value doesn't match.
        return bool(path.json(request, object()) == evaluated(expected, Scene(request, self.kept)))

    def answers(self, reply: Any, values: ValueReader) -> "list[_AnswerMaker]":
        steps = (*self.steps, "reply")
        is_list = isinstance(reply, list)
        parts = [((*steps, index), each) for index, each in enumerate(reply)] if is_list else [(steps, reply)]
        return [_AnswerMaker(each or {}, self.response, self.registry, values, at) for at, each in parts]

    def keeping(
        self, answer: "_AnswerMaker", keeping: list[tuple[str, RequestPath | None]]
    ) -> Callable[[Received], Reply]:
        """Return a function that stores the request values listed in `keeping`, and then makes the reply."""

        def reply(request: Received) -> Reply:
            for name, path in keeping:
                assert path is not None, "a script with errors is not served"
                self.kept[name] = path.json(request)
            return answer.reply(Scene(request, self.kept))

        return reply


class _AnswerMaker:
    """Checks one answer of a script, and creates replies from it. Errors are added to the parsed script."""

    def __init__(
        self, answer: dict[str, Any], response: type[Message], registry: Registry, values: ValueReader, steps: Steps
    ) -> None:
        self.response = response
        self.response_header: type[Message] = registry.response_header
        self.values = values
        self.tree = values.tree
        self.body = values.read(answer.get("body"), (*steps, "body"))
        self.raw = values.read(answer.get("raw"), (*steps, "raw"))
        self.header, self.fields, self.unknown_tags = (
            {name: values.read(value, (*steps, key, name)) for name, value in answer.get(key, {}).items()}
            for key in ("header", "fields", "unknown_tags")
        )
        self.as_they_are = {key: answer[key] for key in _AS_THEY_ARE if key in answer}
        self.rows: dict[str, Any] = {}
        """The message field to which each path in `fields` leads."""
        self._check(registry, steps)

    def reply(self, scene: Scene) -> Reply:
        """Return the reply to a request. Raises TagwireError if a value doesn't fit the response."""
        return Reply(
            None if self.body is None else partial_from_json(self.response, evaluated(self.body, scene)),
            header=self._header_fields(evaluated(self.header, scene)),
            fields={path: self._field(path, evaluated(value, scene)) for path, value in self.fields.items()},
            unknown_tags={int(tag): as_bytes(evaluated(value, scene)) for tag, value in self.unknown_tags.items()},
            raw=None if self.raw is None else as_bytes(evaluated(self.raw, scene)),
            **self.as_they_are,
        )

    def _header_fields(self, header: dict[str, Any]) -> dict[str, Any]:
        names = _header_names(self.response_header)
        header_object = partial_from_json(self.response_header, {names[name]: value for name, value in header.items()})
        return {name: getattr(header_object, name) for name in header}

    def _field(self, path: str, value: Any) -> Any:
        return field_from_json(self.response, path, self.rows[path], value, None, holder=None)

    def _check(self, registry: Registry, steps: Steps) -> None:
        """Check all values that don't depend on a request."""
        for key, fault in self.as_they_are.items():
            with self.tree.errors_of((*steps, key)):
                check_reply(Reply(**{key: fault}), self.response, registry)
        if self.raw is not None:
            self._check_bytes(self.raw, (*steps, "raw"))
        for tag, value in self.unknown_tags.items():
            self._check_bytes(value, (*steps, "unknown_tags", tag))
        for name, value in self.header.items():
            self._check_header(name, value, (*steps, "header", name))
        for path, value in self.fields.items():
            inner = (*steps, "fields", path)
            with self.tree.errors_of(inner):
                (self.rows[path],) = registry.select_response(self.response, path).fields
                self.values.check(value, self.rows[path].struct, inner, functools.partial(self._field, path), path)
        if self.body is not None:
            body = (*steps, "body")
            self.values.check(self.body, self.response, body, lambda known: partial_from_json(self.response, known))

    def _check_bytes(self, value: Any, steps: Steps) -> None:
        if not isinstance(value, Later):
            with self.tree.errors_of(steps):
                as_bytes(value)

    def _check_header(self, name: str, value: Any, steps: Steps) -> None:
        cls = self.response_header
        names = _header_names(cls)
        if name in names:
            struct = next((row.struct for row in cls.FIELDS if row.name == name), None)
            self.values.check(value, struct, steps, lambda known: self._header_fields({name: known}), name)
        else:
            self.tree.add_error(steps, f"{cls.NAME} has no field {name!r}{near(name, names)}", of_key=True)


def _header_names(cls: type[Message]) -> dict[str, str]:
    """Map the attribute names of header fields, which scripts use, to their JSON names."""
    return {row.name: row.json_name for row in cls.FIELDS} | {"unknown_tags": UNKNOWN_TAGS}


@functools.cache
def _validator() -> Any:
    """Return a validator that rejects 3.0 as an integer, which JSON Schema accepts."""
    jsonschema = required("jsonschema", "mock")
    draft = jsonschema.Draft202012Validator
    kinds = draft.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    schema = files("tagwire_workbench.mocking") / "script.schema.json"
    return jsonschema.validators.extend(draft, type_checker=kinds)(json.loads(schema.read_bytes()))


def _add_error(tree: Tree, error: Any) -> None:
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
            expected = " or ".join(KINDS[kind] for kind in kinds)
            tree.add_error(steps, f"expected {expected}, got {found(error.instance)}")
        case "minimum":
            tree.add_error(steps, f"expected {error.validator_value} or more, got {found(error.instance)}")
        case "minItems":
            tree.add_error(steps, "expected an answer, got an empty list")
        case _:  # tags must be numbers
            tree.add_error(steps, f"expected a tag number, got {found(error.instance)}")
