"""Parse the text of a spec into a tree with the line and column of every key and value.

A spec is JSON with comments (`//` and `/* */`). The parser is lark's LALR parser with callbacks, so deep nesting needs
no recursion in Python. Mistakes that some JSON parsers tolerate (repeated keys, trailing commas, lone surrogates) are
reported as problems. Parsing never raises an error; the result is a tree, problems, or both.
"""

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import lark

from tagwire_generator.diagnostics.problems import CheckedText, Problem, quoted

MAX_DEPTH: Final = 40
"""Maximum nesting of objects and lists in a spec. It allows eighteen nested inline structs."""

DRAFT_KEYS: Final = ("versionsWithOptional", "optionalFields")

_GRAMMAR: Final = r"""
start: value
?value: object | array | STRING -> string | NUMBER -> number | WORD -> word
object: LBRACE "}" | LBRACE members "}" | LBRACE members COMMA "}"
members: member | members COMMA member
member: STRING ":" value
array: LBRACKET "]" | LBRACKET items "]" | LBRACKET items COMMA "]"
items: value | items COMMA value

LBRACE: "{"
LBRACKET: "["
COMMA: ","
STRING: /"(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
NUMBER: /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/
WORD: /true|false|null/
LINE_COMMENT: /\/\/[^\r\n]*/
BLOCK_COMMENT: /\/\*[^*]*\*+(?:[^\/*][^*]*\*+)*\//
BLANKS: /[ \t\r\n]+/
%ignore LINE_COMMENT
%ignore BLOCK_COMMENT
%ignore BLANKS
"""

_TERMINALS: Final = {
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LBRACKET": "'['",
    "RSQB": "']'",
    "COMMA": "','",
    "COLON": "':'",
    "STRING": "a string",
    "NUMBER": "a number",
    "WORD": "true, false or null",
    "$END": "the end of the file",
}

_HINTS: Final = {
    "#": "a comment is // to the end of the line, or /* ... */",
    "'": "strings are written in double quotes",
    '"': 'a string ends on its own line, and its escapes are \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four digits',
    "/": "a comment is // to the end of the line, or /* ... */",
    "-": "a number is written as in JSON",
    "+": "a number is written as in JSON, without a plus",
    ".": "a number is written as in JSON, and nothing can be abbreviated with dots",
}


@dataclass(frozen=True, slots=True, eq=False)
class JsonNode:
    """A value and the position of its first character."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, eq=False)
class Scalar(JsonNode):
    """A string, number, boolean or null. `raw` is the content of a string, or a number as it is written."""

    value: str | int | float | bool | None
    raw: str


@dataclass(frozen=True, slots=True, eq=False)
class Items(JsonNode):
    """A JSON array."""

    items: tuple[JsonNode, ...]
    trailing_comma: JsonNode | None


@dataclass(frozen=True, slots=True, eq=False)
class Member(JsonNode):
    """A key and its value. The node's position is the key's position."""

    key: str
    value: JsonNode


@dataclass(frozen=True, slots=True, eq=False)
class Object(JsonNode):
    """A JSON object. `all_members` includes repeated keys; `members` has only the first occurrence of each key."""

    all_members: tuple[Member, ...]
    members: dict[str, Member]
    trailing_comma: JsonNode | None

    def get(self, key: str) -> JsonNode | None:
        """Return the value of a key. Return None for an absent key and for null, which mean the same in specs."""
        member = self.members.get(key)
        if member is None or (isinstance(member.value, Scalar) and member.value.value is None):
            return None
        return member.value


@dataclass(frozen=True, slots=True)
class ParsedSpec:
    """A parsed spec. `root` is None if no tree could be built."""

    source: CheckedText
    root: Object | None
    is_draft: bool
    problems: tuple[Problem, ...]


class _TreeBuilder(lark.Transformer[Any, JsonNode]):
    """The parser's callbacks, which build the tree. lark calls them while it parses, one for each grammar rule."""

    def start(self, children: list[JsonNode]) -> JsonNode:
        return children[0]

    def object(self, children: list[Any]) -> Object:
        brace, *rest = children
        found: tuple[Member, ...] = tuple(rest[0]) if rest else ()
        first = {member.key: member for member in reversed(found)}
        return Object(brace.line, brace.column, found, first, _trailing_node(rest[1:]))

    def array(self, children: list[Any]) -> Items:
        bracket, *rest = children
        return Items(bracket.line, bracket.column, tuple(rest[0]) if rest else (), _trailing_node(rest[1:]))

    def members(self, children: list[Any]) -> list[JsonNode]:
        if len(children) == 1:
            return children
        children[0].append(children[2])
        return children[0]  # type: ignore[no-any-return]

    items = members

    def member(self, children: list[Any]) -> Member:
        key, value = children
        return Member(key.line, key.column, _unquoted(key), value)

    def string(self, children: list[Any]) -> Scalar:
        (token,) = children
        text = _unquoted(token)
        return Scalar(token.line, token.column, text, text)

    def number(self, children: list[Any]) -> Scalar:
        (token,) = children
        is_whole = token.lstrip("-").isdigit() and len(token) < 40
        return Scalar(token.line, token.column, int(token) if is_whole else float(token), str(token))

    def word(self, children: list[Any]) -> Scalar:
        (token,) = children
        return Scalar(token.line, token.column, {"true": True, "false": False, "null": None}[token], str(token))


def _trailing_node(trailing: list[Any]) -> JsonNode | None:
    return JsonNode(trailing[0].line, trailing[0].column) if trailing else None


def _unquoted(token: str) -> str:
    return token[1:-1] if "\\" not in token else str(json.loads(token))


@functools.lru_cache(maxsize=1)
def _parser() -> lark.Lark:
    return lark.Lark(_GRAMMAR, parser="lalr", lexer="basic", transformer=_TreeBuilder())


def _parse_tree(text: str) -> JsonNode:
    """Parse a text. This function exists to declare the tree's type, which lark doesn't know."""
    parser: Any = _parser()
    root: JsonNode = parser.parse(text)
    return root


def parse(text: str, *, file: str) -> ParsedSpec:
    """Parse the text of a spec. Never raises an error: for invalid JSON, the result has problems and no root."""
    source = CheckedText(file, text)
    if text.startswith("\N{ZERO WIDTH NO-BREAK SPACE}"):
        message = "the file begins with a byte order mark; save it as UTF-8 without one"
        return ParsedSpec(source, None, False, (source.problem("TW102", 1, 1, message),))
    try:
        root = _parse_tree(text)
    except lark.UnexpectedInput as error:
        return ParsedSpec(source, None, False, (_syntax_problem(source, error),))
    deep = _too_deep(root)
    if deep is not None:
        message = f"objects and lists are nested more than {MAX_DEPTH} deep here; share structs through commonStructs"
        return ParsedSpec(source, None, False, (source.problem("TW107", deep.line, deep.column, message),))
    if not isinstance(root, Object):
        message = "a spec is one JSON object, { ... }; this is another kind of value"
        return ParsedSpec(source, None, False, (source.problem("TW109", root.line, root.column, message),))
    is_draft = any(key in node.members for node in walk(root) if isinstance(node, Object) for key in DRAFT_KEYS)
    return ParsedSpec(source, root, is_draft, tuple(_text_problems(source, root, is_draft)))


def _syntax_problem(source: CheckedText, error: lark.UnexpectedInput) -> Problem:
    if isinstance(error, lark.UnexpectedCharacters):
        found = source.text[error.pos_in_stream]  # type: ignore[index]
        hint = _HINTS.get(
            found, "keys and strings are written in double quotes" if found.isalpha() else "this is not JSON"
        )
        return source.problem("TW103", error.line, error.column, f"unexpected {quoted(found)}; {hint}")
    assert isinstance(error, lark.UnexpectedToken)
    token: lark.Token = error.token
    accepted: set[str] = error.accepts
    if token.type == "$END":
        line, column = source.end
        if not source.text.strip():
            return source.problem("TW103", line, column, "the file is empty; a spec is one JSON object, { ... }")
        message = f"the file ends here; expected {_expected(accepted)}"
        return source.problem("TW103", line, column, message)
    if accepted == {"$END"}:
        message = f"unexpected {_quoted_token(token)} after the end of the spec; a file contains one JSON object"
        return source.problem("TW104", error.line, error.column, message)
    message = f"unexpected {_quoted_token(token)}; expected {_expected(accepted)}"
    return source.problem("TW103", error.line, error.column, message)


def _quoted_token(token: lark.Token) -> str:
    return quoted(_unquoted(token) if token.type == "STRING" else str(token))


def _expected(accepted: set[str]) -> str:
    names = [shown for terminal, shown in _TERMINALS.items() if terminal in accepted]
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
    yield root
    for child in _children(root):
        yield from walk(child)


def _text_problems(source: CheckedText, root: Object, is_draft: bool) -> Iterator[Problem]:
    for node in walk(root):
        if isinstance(node, Scalar) and isinstance(node.value, str):
            yield from _half_characters(source, node, node.value)
        elif isinstance(node, Object):
            for member in node.all_members:
                first = node.members[member.key]
                if first is not member:
                    message = f"duplicate key {quoted(member.key)}; it is first set on line {first.line}"
                    yield source.problem("TW106", member.line, member.column, message)
                yield from _half_characters(source, member, member.key)
        if isinstance(node, Object | Items) and node.trailing_comma is not None and not is_draft:
            comma = node.trailing_comma
            message = "trailing comma; only specs in the draft dialect may have one"
            yield source.problem("TW105", comma.line, comma.column, message)


def _half_characters(source: CheckedText, node: JsonNode, text: str) -> Iterator[Problem]:
    if any("\ud800" <= character <= "\udfff" for character in text):
        message = f"{quoted(text)} contains half of a surrogate pair, which UTF-8 can't encode"
        yield source.problem("TW108", node.line, node.column, message)
