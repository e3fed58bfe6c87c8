"""Parse the text of a spec into a tree with the line and column of every key and value.

A spec is JSON with comments (`//` and `/* */`). The parser uses a stack instead of recursion. Mistakes that some JSON
parsers tolerate (repeated keys, trailing commas, lone surrogates) are reported as problems. Parsing never raises an
error; the result is a tree, problems, or both.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tagwire_generator.problems import CheckedText, Problem, quoted

MAX_DEPTH: Final = 40
"""Maximum nesting of objects and lists in a spec, enough for 18 nested inline structs."""

DRAFT_KEYS: Final = ("versionsWithOptional", "optionalFields")

_TOKEN: Final = re.compile(
    r"""(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?s:.*?)\*/)*
    (?:(?P<STRING>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*")
    |(?P<NUMBER>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    |(?P<WORD>true|false|null)
    |(?P<LBRACE>\{)|(?P<RBRACE>\})|(?P<LBRACKET>\[)|(?P<RBRACKET>\])|(?P<COMMA>,)|(?P<COLON>:)
    |(?P<END>\Z)|(?P<OTHER>))""",
    re.VERBOSE,
)
"""Matches the next token and any white space and comments before it. OTHER matches if the token is invalid.

Possessive groups (`*+` after a parenthesis) are not used, because Python 3.11.2 matches them incorrectly.
"""

_NAMES: Final = {
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LBRACKET": "'['",
    "RBRACKET": "']'",
    "COMMA": "','",
    "COLON": "':'",
    "STRING": "a string",
    "NUMBER": "a number",
    "WORD": "true, false or null",
    "END": "the end of the file",
}
_VALUE: Final = frozenset({"LBRACE", "LBRACKET", "STRING", "NUMBER", "WORD"})
_ITEM: Final = _VALUE | {"RBRACKET"}
_KEY: Final = frozenset({"STRING", "RBRACE"})
_COLON: Final = frozenset({"COLON"})
_AFTER_MEMBER: Final = frozenset({"COMMA", "RBRACE"})
_AFTER_ITEM: Final = frozenset({"COMMA", "RBRACKET"})
_END: Final = frozenset({"END"})

_WORDS: Final = {"true": True, "false": False, "null": None}

_HINTS: Final = {
    "#": "a comment is // to the end of the line, or /* ... */",
    "'": "strings are written in double quotes",
    '"': 'a string ends on its own line, and its escapes are \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four digits',
    "/": "a comment is // to the end of the line, or /* ... */",
    "-": "a number is written as in JSON",
    "+": "a number is written as in JSON, without a plus",
    ".": "a number is written as in JSON, and nothing can be abbreviated with dots",
}


@dataclass(slots=True, eq=False)
class JsonNode:
    """A value and the position of its first character.

    Only `SpecEdit` changes nodes, and creating frozen objects would take more than twice as long.
    """

    line: int
    column: int


@dataclass(slots=True, eq=False)
class Scalar(JsonNode):
    """A string, number, boolean or null. `raw` is the value as text."""

    value: str | int | float | bool | None
    raw: str


@dataclass(slots=True, eq=False)
class Items(JsonNode):
    """A JSON array."""

    items: tuple[JsonNode, ...]
    trailing_comma: JsonNode | None


@dataclass(slots=True, eq=False)
class Member(JsonNode):
    """A key and its value. The node's position is the key's position."""

    key: str
    value: JsonNode


@dataclass(slots=True, eq=False)
class Object(JsonNode):
    """A JSON object. `all_members` includes repeated keys, but `members` has only the first member with each key."""

    all_members: tuple[Member, ...]
    members: dict[str, Member]
    trailing_comma: JsonNode | None

    def get(self, key: str) -> JsonNode | None:
        """Return the value of a key, or None if the key is absent or null. In specs, these mean the same."""
        member = self.members.get(key)
        if member is None or (isinstance(member.value, Scalar) and member.value.value is None):
            return None
        return member.value

    def text_of(self, key: str) -> str:
        """Return the text of a key's value, or "" if the key is absent, or its value is null, an object or a list."""
        value = self.get(key)
        return value.raw if isinstance(value, Scalar) else ""


@dataclass(frozen=True, slots=True)
class ParsedSpec:
    """A parsed spec. `root` is None if no tree could be built."""

    source: CheckedText
    root: Object | None
    problems: tuple[Problem, ...]
    is_draft: bool = False


class _SyntaxError(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class _Open:
    """An object or list whose end has not been read yet."""

    __slots__ = ("column", "comma", "is_object", "items", "key", "line")

    def __init__(self, line: int, column: int, is_object: bool) -> None:
        self.line = line
        self.column = column
        self.is_object = is_object
        self.items: list[JsonNode] = []
        self.key: tuple[int, int, str] = (0, 0, "")
        """The line, column and text of the last key."""
        self.comma: JsonNode | None = None
        """The comma after the last item."""

    def add(self, value: JsonNode) -> None:
        self.items.append(Member(*self.key, value) if self.is_object else value)
        self.comma = None

    def finished(self) -> JsonNode:
        items: tuple[Any, ...] = tuple(self.items)
        if not self.is_object:
            return Items(self.line, self.column, items, self.comma)
        first: dict[str, Member] = {member.key: member for member in reversed(items)}
        return Object(self.line, self.column, items, first, self.comma)


def _scalar(kind: str, token: str, line: int, column: int) -> Scalar:
    if kind == "STRING":
        text = _unquoted(token)
        return Scalar(line, column, text, text)
    if kind == "WORD":
        return Scalar(line, column, _WORDS[token], token)
    is_whole = token.lstrip("-").isdigit() and len(token) < 40
    return Scalar(line, column, int(token) if is_whole else float(token), token)


def _unquoted(token: str) -> str:
    return token[1:-1] if "\\" not in token else str(json.loads(token))


def _parse_tree(source: CheckedText) -> JsonNode:
    """Parse a text. Raises _SyntaxError at the first token that JSON does not allow."""
    text, line, line_start, end = source.text, 1, 0, 0
    expected = _VALUE
    opened: list[_Open] = []
    value: JsonNode | None = None
    for found in _TOKEN.finditer(text):
        kind = str(found.lastgroup)
        last_end = end
        begin, end = found.span(kind)
        if newlines := text.count("\n", last_end, begin):
            line += newlines
            line_start = text.rfind("\n", last_end, begin) + 1
        column = begin - line_start + 1
        if kind not in expected:
            raise _SyntaxError(_syntax_problem(source, kind, found[kind], begin, line, column, expected))
        if kind == "STRING" and expected is _KEY:
            opened[-1].key = line, column, _unquoted(found[kind])
            expected = _COLON
        elif kind == "COLON":
            expected = _VALUE
        elif kind == "COMMA":
            opened[-1].comma = JsonNode(line, column)
            expected = _KEY if opened[-1].is_object else _ITEM
        elif kind in ("LBRACE", "LBRACKET"):
            opened.append(_Open(line, column, kind == "LBRACE"))
            expected = _KEY if kind == "LBRACE" else _ITEM
        elif kind != "END":
            is_end = kind in ("RBRACE", "RBRACKET")
            value = opened.pop().finished() if is_end else _scalar(kind, found[kind], line, column)
            expected = _END
            if opened:
                opened[-1].add(value)
                expected = _AFTER_MEMBER if opened[-1].is_object else _AFTER_ITEM
    assert value is not None, "the text ends after a value"
    return value


def parse(text: str, *, file: str) -> ParsedSpec:
    """Parse the text of a spec. Never raises an error: for invalid JSON, the result has problems and no root."""
    source = CheckedText(file, text)
    if text.startswith("\N{ZERO WIDTH NO-BREAK SPACE}"):
        message = "the file begins with a byte order mark; save it as UTF-8 without one"
        return ParsedSpec(source, None, (source.problem("TW102", 1, 1, message),))
    try:
        root = _parse_tree(source)
    except _SyntaxError as error:
        return ParsedSpec(source, None, (error.problem,))
    deep = _too_deep(root)
    if deep is not None:
        message = f"objects and lists are nested more than {MAX_DEPTH} deep here; share structs through commonStructs"
        return ParsedSpec(source, None, (source.problem("TW107", deep.line, deep.column, message),))
    if not isinstance(root, Object):
        message = "a spec is one JSON object, { ... }; this is another kind of value"
        return ParsedSpec(source, None, (source.problem("TW109", root.line, root.column, message),))
    nodes = [*walk(root)]
    is_draft = any(key in node.members for node in nodes if isinstance(node, Object) for key in DRAFT_KEYS)
    return ParsedSpec(source, root, tuple(_text_problems(source, nodes, is_draft)), is_draft)


def _syntax_problem(
    source: CheckedText, kind: str, token: str, begin: int, line: int, column: int, expected: Collection[str]
) -> Problem:
    """Describe a token that is not one of the expected kinds. `begin` is its offset in the text."""
    if kind == "OTHER":
        found = source.text[begin]
        hint = _HINTS.get(
            found, "keys and strings are written in double quotes" if found.isalpha() else "this is not JSON"
        )
        return source.problem("TW103", line, column, f"unexpected {quoted(found)}; {hint}")
    if kind == "END":
        message = f"the file ends here; expected {_expected(expected)}"
        if not source.text.strip():
            message = "the file is empty; a spec is one JSON object, { ... }"
        return source.problem("TW103", *source.end, message)
    shown = quoted(_unquoted(token) if kind == "STRING" else token)
    if expected is _END:
        message = f"unexpected {shown} after the end of the spec; a file contains one JSON object"
        return source.problem("TW104", line, column, message)
    return source.problem("TW103", line, column, f"unexpected {shown}; expected {_expected(expected)}")


def _expected(kinds: Collection[str]) -> str:
    names = [name for kind, name in _NAMES.items() if kind in kinds]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _children(node: JsonNode) -> tuple[JsonNode, ...]:
    if isinstance(node, Object):
        return tuple(member.value for member in node.all_members)
    return node.items if isinstance(node, Items) else ()


def _too_deep(root: JsonNode) -> JsonNode | None:
    level: list[JsonNode] = [root]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _children(node) if not isinstance(child, Scalar)]
    return level[0] if level else None


def walk(root: JsonNode) -> Iterator[JsonNode]:
    """Yield a node and all values inside it, including the values of repeated keys."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(_children(node))


def _text_problems(source: CheckedText, nodes: Iterable[JsonNode], is_draft: bool) -> Iterator[Problem]:
    for node in nodes:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            if not node.value.isascii():
                yield from _half_characters(source, node, node.value)
        elif isinstance(node, Object):
            for member in node.all_members:
                first = node.members[member.key]
                if first is not member:
                    message = f"duplicate key {quoted(member.key)}; it is first set on line {first.line}"
                    yield source.problem("TW106", member.line, member.column, message)
                if not member.key.isascii():
                    yield from _half_characters(source, member, member.key)
        if isinstance(node, Object | Items) and node.trailing_comma is not None and not is_draft:
            comma = node.trailing_comma
            message = "trailing comma; only specs in the draft dialect may have one"
            yield source.problem("TW105", comma.line, comma.column, message)


def _half_characters(source: CheckedText, node: JsonNode, text: str) -> Iterator[Problem]:
    if any("\ud800" <= character <= "\udfff" for character in text):
        message = f"{quoted(text)} contains half of a surrogate pair, which UTF-8 can't encode"
        yield source.problem("TW108", node.line, node.column, message)
