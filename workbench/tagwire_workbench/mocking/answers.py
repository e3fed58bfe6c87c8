"""Check the answers in a mock peer's script when the script is read, and complete them when a request arrives."""

from collections.abc import Callable
from typing import Any, Final

from tagwire.errors import EncodeError
from tagwire.frames.registry import Registry
from tagwire.message import Message
from tagwire.message.json import UNKNOWN_TAGS, field_from_json, partial_from_json
from tagwire.testing.peer import Reply
from tagwire.text_format import near
from tagwire_workbench.mocking.values import Later, Scene, ValueReader, as_bytes, evaluated
from tagwire_workbench.mocking.yaml_tree import Steps

_AS_THEY_ARE: Final = ("version", "delay", "after", "split_at", "cut_at", "close")
"""Keys of an answer that are passed to `Reply` unchanged."""


class AnswerMaker:
    """Checks one answer of a script, and creates replies from it. Errors are added to the parsed script."""

    def __init__(
        self, answer: dict[str, Any], response: type[Message], registry: Registry, values: ValueReader, steps: Steps
    ) -> None:
        self.response = response
        self.response_header: type[Message] = registry.response_header
        self.tree = values.tree
        self.body = values.read(answer.get("body"), (*steps, "body"))
        self.raw = values.read(answer.get("raw"), (*steps, "raw"))
        self.header, self.fields, self.unknown_tags = (
            {name: values.read(value, (*steps, key, name)) for name, value in answer.get(key, {}).items()}
            for key in ("header", "fields", "unknown_tags")
        )
        self.as_they_are = {key: answer[key] for key in _AS_THEY_ARE if key in answer}
        self.indexes: dict[Steps, list[int]] = {}
        """Maps a list's path to the original indexes of its checked elements: those that don't depend on a request."""
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
                Reply(**{key: fault})
        if self.raw is not None:
            self._check_bytes(self.raw, (*steps, "raw"))
        for tag, value in self.unknown_tags.items():
            self._check_bytes(value, (*steps, "unknown_tags", tag))
        for name, value in self.header.items():
            self._check_header(name, value, (*steps, "header", name))
        for path, value in self.fields.items():
            self._check_field(path, value, registry, (*steps, "fields", path))
        if self.body is not None:
            body = (*steps, "body")
            self._check_json(self.body, self.response, body, lambda known: partial_from_json(self.response, known))

    def _check_bytes(self, value: Any, steps: Steps) -> None:
        if not isinstance(value, Later):
            with self.tree.errors_of(steps):
                as_bytes(value)

    def _check_header(self, name: str, value: Any, steps: Steps) -> None:
        cls = self.response_header
        names = _header_names(cls)
        if name in names:
            struct = next((row.struct for row in cls.FIELDS if row.name == name), None)
            self._check_json(value, struct, steps, lambda known: self._header_fields({name: known}), name)
        else:
            self.tree.add_error(steps, f"{cls.NAME} has no field {name!r}{near(name, names)}", of_key=True)

    def _check_field(self, path: str, value: Any, registry: Registry, steps: Steps) -> None:
        with self.tree.errors_of(steps):
            (row,) = registry.select_response(self.response, path).fields
            self.rows[path] = row
            self._check_json(value, row.struct, steps, lambda known: self._field(path, known), path)

    def _check_json(self, value: Any, cls: Any, steps: Steps, read: Callable[[Any], object], path: str = "") -> None:
        """Check a scripted value with `read`. Parts that depend on a request can't be checked yet, and are left out."""
        known = self._known(value, cls, steps)
        if isinstance(known, Later):
            return
        try:
            read(known)
        except EncodeError as error:
            reached = steps
            for step in _json_steps(cls, error.path.removeprefix(path)):
                indexes = self.indexes.get(reached)
                reached = (*reached, indexes[step] if indexes is not None and isinstance(step, int) else step)
            self.tree.add_error(reached, error.reason)

    def _known(self, value: Any, cls: Any, steps: Steps) -> Any:
        """Return the parts of a scripted value that don't depend on a request. Report unknown field names."""
        if isinstance(value, list):
            elements = [self._known(each, cls, (*steps, index)) for index, each in enumerate(value)]
            self.indexes[steps] = [index for index, each in enumerate(elements) if not isinstance(each, Later)]
            return [elements[index] for index in self.indexes[steps]]
        if not isinstance(value, dict):
            return value
        rows = {row.json_name: row for row in cls.FIELDS} if cls is not None else {}
        result = {}
        for key, each in value.items():
            inner = self._known(each, rows[key].struct if key in rows else None, (*steps, key))
            if not isinstance(inner, Later):
                result[key] = inner
            elif cls is not None and key not in (*rows, UNKNOWN_TAGS):
                text = f"{cls.__name__} has no field {key!r}{near(key, rows)}"
                self.tree.add_error((*steps, key), text, of_key=True)
        return result


def _header_names(cls: type[Message]) -> dict[str, str]:
    """Map the attribute names of header fields, which scripts use, to their JSON names."""
    return {row.name: row.json_name for row in cls.FIELDS} | {"unknown_tags": UNKNOWN_TAGS}


def _json_steps(cls: Any, path: str) -> Steps:
    """Convert a path such as `topics[3].error_code` to the JSON keys and indexes that lead to the value."""
    steps: list[str | int] = []
    for part in path.split("."):
        name, *indexes = part.replace("]", "").split("[")
        if name:
            row = next((row for row in cls.FIELDS if row.name == name), None) if cls is not None else None
            steps.append(row.json_name if row is not None else UNKNOWN_TAGS if name == "unknown_tags" else name)
            cls = row.struct if row is not None else None
        steps += map(int, indexes)
    return tuple(steps)
