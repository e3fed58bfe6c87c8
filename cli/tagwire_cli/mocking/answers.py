"""One answer of a script: checked against the classes when the script is read, made when a request comes."""

from typing import Any, Final

from tagwire.errors import EncodeError
from tagwire.frames.registry import Registry
from tagwire.message import Message
from tagwire.message.json import field_from_json, partial_from_json
from tagwire.testing.peer import Reply
from tagwire.text_format import near
from tagwire_cli.mocking.values import Scene, as_bytes, evaluated, form_of
from tagwire_cli.mocking.yaml_tree import Steps, Tree

__all__ = ["AnswerMaker"]

_AS_THEY_ARE: Final = ("version", "delay", "behind", "split_at", "cut_at", "close")
"""Keys of an answer that `Reply` takes as they are."""
_MADE_LATER: Final = object()


class AnswerMaker:
    """An answer of a script. Its faults are added to the tree."""

    def __init__(
        self, answer: dict[str, Any], response: type[Message], registry: Registry, tree: Tree, steps: Steps
    ) -> None:
        self.answer = answer
        self.response = response
        self.registry = registry
        self.tree = tree
        self._check_header((*steps, "header"))
        self._check_body((*steps, "body"))
        for path in answer.get("fields", {}):
            with tree.faults_of((*steps, "fields", path)):
                registry.select_response(response, path)
        tags = [(("unknown_tags", tag), value) for tag, value in answer.get("unknown_tags", {}).items()]
        for inner, value in [(("raw",), answer.get("raw")), *tags]:
            if isinstance(value, str):
                with tree.faults_of((*steps, *inner)):
                    as_bytes(value)

    def reply(self, scene: Scene) -> Reply:
        """The answer to a request. Raises TagwireError for values that do not fit."""
        answer = self.answer
        body, raw = answer.get("body"), answer.get("raw")
        tags = answer.get("unknown_tags", {})
        return Reply(
            None if body is None else partial_from_json(self.response, evaluated(body, scene)),
            header=evaluated(answer.get("header", {}), scene),
            fields={path: self._field(path, value, scene) for path, value in answer.get("fields", {}).items()},
            unknown_tags={int(tag): as_bytes(evaluated(value, scene)) for tag, value in tags.items()},
            raw=None if raw is None else as_bytes(evaluated(raw, scene)),
            **{key: answer[key] for key in _AS_THEY_ARE if key in answer},
        )

    def _field(self, path: str, value: Any, scene: Scene) -> Any:
        """The value of a field, from its JSON."""
        version = self.answer.get("version", scene.request.version)
        selection = self.registry.select_response(self.response, path)
        (row,), (holder,) = selection.fields, selection.holder_versions(version)
        return field_from_json(self.response, path, row, evaluated(value, scene), version, holder=holder)

    # ------------------------------------------------------------ checks

    def _check_header(self, steps: Steps) -> None:
        cls = self.registry.response_header
        names = [row.name for row in cls.FIELDS]
        for name in self.answer.get("header", {}):
            if name not in names:
                self.tree.add_fault((*steps, name), f"{cls.NAME} has no field {name!r}{near(name, names)}", of_key=True)

    def _check_body(self, steps: Steps) -> None:
        """Refuse a body that is no JSON of the response, as far as its values are known yet."""
        body = self.answer.get("body")
        if body is None:
            return
        known = self._known(body, self.response, steps)
        try:
            partial_from_json(self.response, known)
        except EncodeError as error:
            self.tree.add_fault((*steps, *_json_steps(self.response, error.path)), error.reason)

    def _known(self, value: Any, cls: Any, steps: Steps) -> Any:
        """The JSON of a value without what is made later, whose keys are checked here; `cls` is that of its structs."""
        if form_of(value) is not None:
            return _MADE_LATER
        if isinstance(value, list):
            elements = [self._known(each, cls, (*steps, index)) for index, each in enumerate(value)]
            return [each for each in elements if each is not _MADE_LATER]
        if not isinstance(value, dict):
            return value
        rows = {row.json_name: row for row in cls.FIELDS} if cls is not None else {}
        made = {}
        for key, each in value.items():
            inner = self._known(each, rows[key].struct if key in rows else None, (*steps, key))
            if inner is not _MADE_LATER:
                made[key] = inner
            elif key not in rows:
                text = f"{cls.__name__ if cls else 'a value'} has no field {key!r}{near(key, rows)}"
                self.tree.add_fault((*steps, key), text, of_key=True)
        return made


def _json_steps(cls: Any, path: str) -> Steps:
    """The steps in JSON to a field, from the path of an error such as `topics[3].error_code`."""
    steps: list[str | int] = []
    for part in path.split(".") if path else ():
        name, *indexes = part.replace("]", "").split("[")
        row = next((row for row in cls.FIELDS if row.name == name), None) if cls is not None else None
        steps += [row.json_name if row is not None else name, *map(int, indexes)]
        cls = row.struct if row is not None else None
    return tuple(steps)
