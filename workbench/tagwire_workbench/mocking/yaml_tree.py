"""Read YAML as plain data, with the position of each value.

Scalars follow YAML 1.2's core schema, which has the same types as JSON. PyYAML alone would follow YAML 1.1, in which
`no` means false, and dates become objects that a message can't contain.
"""

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from tagwire.errors import TagwireError
from tagwire.text_format import count, shown

_MOST_NODES: Final = 100_000
"""Maximum number of nodes. Aliases can multiply the nodes of a short file."""
_MOST_CHARACTERS: Final = 100_000_000
"""Maximum number of characters in all strings. Aliases can multiply a long string, too."""
_DEEPEST: Final = 100
"""Maximum number of nested levels, because Python's stack is limited. Messages have about ten."""
_LONGEST: Final = 1000
"""Maximum number of characters in a number. Python rejects integers of more than 4300 digits."""
_PREFIX: Final = "tag:yaml.org,2002:"


class _Scalar(NamedTuple):
    """A type of YAML scalar, and the pattern of its values. A scalar that matches no pattern is a string."""

    name: str
    pattern: str
    first: Sequence[str]
    """Characters with which the scalar may begin. "" is one of them if the scalar may be empty."""
    make: Callable[[str], Any]


_SCALARS: Final = {
    "null": _Scalar("null", "~|null|Null|NULL|", ("~", "n", "N", ""), lambda _: None),
    "bool": _Scalar("true or false", "true|True|TRUE|false|False|FALSE", "tTfF", lambda text: text.lower() == "true"),
    "int": _Scalar(
        "integer",
        "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
        "-+0123456789",
        lambda text: int(text, 0 if text[:2] in ("0x", "0o") else 10),
    ),
    "float": _Scalar("number", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789", float),
}

_TOO_MANY: Final = (
    f"the script has more than {count(_MOST_NODES, 'value')}; the values of an alias count each time the alias is used"
)
_TOO_LONG: Final = (
    f"the strings of the script have more than {count(_MOST_CHARACTERS, 'character')}; the characters of an alias "
    "count each time the alias is used"
)
_TOO_DEEP: Final = f"the script has more than {_DEEPEST} levels of nesting"

Steps = tuple[str | int, ...]


def found(value: object) -> str:
    """Describe a value of a script in a few words, for error messages."""
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else shown(value)


class ScriptError(TagwireError):
    """Raised for a script with errors. Each line of the message has one error and its position."""


class YamlPosition(NamedTuple):
    """A line and a column. Both count from 1."""

    line: int
    column: int


class Tree:
    """The data of a YAML file, and the positions of its values and keys, by path (a tuple of keys and indexes)."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.data: Any = None
        self.values: dict[Steps, YamlPosition] = {}
        self.keys: dict[Steps, YamlPosition] = {}
        self.errors: list[tuple[YamlPosition, str]] = []
        self._around: list[Any] = []
        """The nodes around the node that is read, outermost first."""
        self._seen = 0
        self._characters = 0

    def add_error(self, steps: Steps, text: str, *, of_key: bool = False) -> None:
        """Add an error at a value or, with `of_key`, at its key. If the value is missing, use its parent's position."""
        position = self.keys.get(steps) if of_key else None
        while position is None:
            position = self.values.get(steps)
            steps = steps[:-1]
        self.errors.append((position, text))

    @contextmanager
    def errors_of(self, steps: Steps) -> Generator[None]:
        """Catch a TagwireError in the `with` block, and add it as an error at the position of a value."""
        try:
            yield
        except TagwireError as error:
            self.add_error(steps, str(error))

    def raise_errors(self) -> None:
        lines = [f"{self.file}:{position.line}:{position.column}: {text}" for position, text in sorted({*self.errors})]
        if lines:
            raise ScriptError("\n".join(lines))

    def read(self, node: Any, steps: Steps) -> Any:
        """Return the data of a node, and note its position.

        Raises ScriptError for too many or recursive nodes, and for too long strings.
        """
        self.values[steps] = _position(node)
        self._seen += 1
        problem = _TOO_MANY if self._seen > _MOST_NODES else ""
        if node in self._around:
            problem = problem or "this alias refers to a value that contains it"
        if len(self._around) >= _DEEPEST:  # aliases evade the loader's limit
            problem = problem or _TOO_DEEP
        if problem:
            raise self._error(node, problem)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, steps)
        if node.tag not in (f"{_PREFIX}map", f"{_PREFIX}seq"):
            self.add_error(steps, f"the tag {node.tag} is not supported")
        self._around.append(node)
        data = self._mapping(node, steps) if isinstance(node, yaml.MappingNode) else self._sequence(node, steps)
        self._around.pop()
        return data

    def _mapping(self, node: Any, steps: Steps) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, value in node.value:
            name = self._text(key) if isinstance(key, yaml.ScalarNode) else None
            if name is None:
                self.errors.append((_position(key), f"expected a string as the key, got {shown(key.value)}"))
                continue
            inner = (*steps, name)
            if name in members:
                self.errors.append((_position(key), f"the key {name!r} is duplicated"))
            self.keys[inner] = _position(key)
            members[name] = self.read(value, inner)
        return members

    def _sequence(self, node: Any, steps: Steps) -> list[Any]:
        return [self.read(each, (*steps, index)) for index, each in enumerate(node.value)]

    def _scalar(self, node: Any, steps: Steps) -> Any:
        name = node.tag.removeprefix(_PREFIX)
        if name == "str":
            text = self._text(node)
            if text is None:
                self.add_error(steps, f"{shown(node.value)} contains half of a surrogate pair")
            return text
        kind = _SCALARS.get(name)
        if kind is None:
            self.add_error(steps, f"the tag {node.tag} is not supported")
        elif len(node.value) > _LONGEST:
            self.add_error(steps, f"{shown(node.value)} is longer than {_LONGEST} characters")
        elif not re.fullmatch(kind.pattern, node.value):
            self.add_error(steps, f"expected {kind.name}, got {shown(node.value)}")
        else:
            return kind.make(node.value)
        return None

    def _text(self, node: Any) -> str | None:
        """Return the text of a scalar with each surrogate pair replaced by its character.

        Return None if a surrogate is unpaired. JSON's `\\u` escapes result in surrogates.
        """
        self._characters += len(node.value)
        if self._characters > _MOST_CHARACTERS:
            raise self._error(node, _TOO_LONG)
        try:
            text: str = node.value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            return None
        return text

    def _error(self, node: Any, problem: str) -> ScriptError:
        position = _position(node)
        return ScriptError(f"{self.file}:{position.line}:{position.column}: {problem}")


_REMEDIES: Final = {
    r"'\t'": "; indent with spaces, not with tabs",
    "<document start>": "; a script is one YAML document",
    "another document": "; a script is one YAML document",
    "mapping values": "; if the value contains ': ', put it in quotes",
    "cannot start any token": "; if this is a string, put it in quotes",
}
"""What to do about syntax errors, by a part of PyYAML's error text. The first match counts."""


class _CoreLoader(yaml.SafeLoader):
    """A PyYAML loader with the scalars of YAML 1.2, and limits on nesting and on the number of nodes."""

    depth = seen = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        self.seen += index is not None  # None for a key
        if self.depth > _DEEPEST or self.seen > _MOST_NODES:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            problem = _TOO_DEEP if self.depth > _DEEPEST else _TOO_MANY
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


_CoreLoader.yaml_implicit_resolvers = {}
for _name, _scalar in _SCALARS.items():
    _CoreLoader.add_implicit_resolver(_PREFIX + _name, re.compile(rf"(?:{_scalar.pattern})\Z"), [*_scalar.first])


def read_tree(path: Path) -> Tree:
    """Read a YAML file. Raises ScriptError if it is not valid YAML, and OSError if it can't be read."""
    tree = Tree(str(path))
    try:
        node = _nodes(_text(path.read_bytes()))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        text = ", ".join(filter(None, (error.context, error.problem)))  # "while scanning ..., found ..."
        remedy = next((remedy for part, remedy in _REMEDIES.items() if part in text), "")
        raise ScriptError(f"{path}{position}: {text}{remedy}") from None
    if node is None:
        raise ScriptError(f"{path}: the file is empty")
    tree.data = tree.read(node, ())
    tree.raise_errors()
    return tree


def _text(data: bytes) -> str:
    """Decode a file in UTF-8, or in UTF-16 if it begins with a byte order mark."""
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        before, problem = data[: error.start].decode(encoding), f"{error.reason}; save the file as UTF-8"
    raise _error_after(before, problem)


def _nodes(text: str) -> Any:
    try:
        loader: Any = _CoreLoader(text)
    except yaml.reader.ReaderError as error:
        problem = f"the character U+{error.character:04X} is not allowed; write it as an escape in double quotes"
        raise _error_after(text[: error.position], problem) from None
    try:
        return loader.get_single_node()
    except (ValueError, OverflowError):  # raised for invalid escapes and %YAML version numbers
        problem = "an invalid number"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=loader.get_mark()) from None


def _error_after(text: str, problem: str) -> yaml.MarkedYAMLError:
    """Return an error at the position after the text, with which the file begins."""
    line, column = text.count("\n"), len(text) - text.rfind("\n") - 1
    return yaml.MarkedYAMLError(problem=problem, problem_mark=yaml.Mark("", len(text), line, column, None, 0))


def _position(node: Any) -> YamlPosition:
    return YamlPosition(node.start_mark.line + 1, node.start_mark.column + 1)
