"""A tree of a spec's source that tolerates errors, for completion, hovers and renaming during typing.

`syntax.parse` returns no tree for a source with an error, such as a missing comma. The parser in this module accepts
any source, and adds missing closing brackets. Each value has its start and end.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from tagwire_workbench.language.text_positions import Span

_TOKEN: Final = re.compile(
    r"""(?P<comment>//[^\r\n]*|/\*.*?(?:\*/|\Z))|(?P<string>"(?:[^"\\\r\n]|\\[^\r\n])*"?)"""
    r"""|(?P<mark>[{}\[\],:])|(?P<word>[^\s{}\[\],:"/]+|/)""",
    re.DOTALL,
)

_CLOSED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_FOLLOWING: Final = ',:{}[]"/'
"""Characters that may follow a closing quote."""
_WORD: Final = re.compile(r"\w*")

Kind = Literal["object", "list", "string", "word"]
Role = Literal["key", "value", "comma", "nothing"]
"""What may come next in the source: a key, a value, a separator or closing bracket, or nothing (in a comment)."""


@dataclass(slots=True, eq=False)
class Value:
    """A JSON value. An object or array without a closing bracket extends to the end of the source."""

    kind: Kind
    start: int
    end: int
    text: str = ""
    """The content of a string, or the characters of another value such as `true`."""
    is_closed: bool = True
    """Whether a string has its closing quote."""
    parent: "Value | None" = None
    """The object or list that contains the value."""
    entry: "KeyEntry | None" = None
    """The parent object's entry that contains the value, or None in a list."""
    entries: "list[KeyEntry]" = field(default_factory=list)
    items: "list[Value]" = field(default_factory=list)

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def content(self) -> Span:
        """The span of a value; for a string, only the part between the quotes."""
        if self.kind != "string":
            return self.span
        return Span(self.start + 1, self.end - self.is_closed)

    def get(self, key: str) -> "Value | None":
        return next((entry.value for entry in self.entries if entry.key == key and entry.value), None)

    def string(self, key: str) -> str:
        """Return the value of a key if it is a string, or "" if it isn't."""
        value = self.get(key)
        return value.text if value is not None and value.kind == "string" else ""


@dataclass(slots=True, eq=False)
class KeyEntry:
    """A key of an object, and its value, which may be missing during typing."""

    key: str
    start: int
    end: int
    value: Value | None = None

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


class Slot(NamedTuple):
    """Describes what may be written at the cursor, such as a key or a value, and where it belongs."""

    role: Role
    owner: Value | None
    """The object or list around the cursor, or None if there is none."""
    entry: KeyEntry | None
    """The entry whose value may be written at the cursor, or None if there is none."""
    written: Span
    """The token at the cursor, which a completion replaces. Between tokens, this span is empty."""


class TextTree:
    """The tree of a spec's source. `root` is the first object in the source, or an empty object."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._slots: list[tuple[int, int, str, Slot]] = []
        """Start, end and kind of each token, with the slot before the token."""
        self._open: list[Value] = []
        self._open_kinds: Counter[str] = Counter()
        self._role: Role = "value"
        self._roots: list[Value] = []
        for found in _TOKEN.finditer(text):
            self._add(str(found.lastgroup), found[0], found.start(), found.end())
        self._starts = [start for start, *_ in self._slots]
        self._last = self._slot(Span(len(text), len(text)))
        for value in self._open:
            value.end = len(text)
        objects = (value for value in self._roots if value.kind == "object")
        self.root = next(objects, Value("object", 0, 0))

    def slot(self, offset: int) -> Slot:
        """Describe what may be written at a cursor offset, for completions."""
        for start, end, kind, slot in self._slots:
            if start >= offset:
                return slot._replace(written=Span(offset, offset))
            if kind == "comment" and (offset < end or self.text.startswith("//", start)) and offset <= end:
                return Slot("nothing", slot.owner, None, Span(start, end))
            if kind == "string" and (offset < end or (offset == end and not _is_closed(self.text[start:end]))):
                return _as_key(slot)._replace(written=self._written(start, end, offset))
            if kind == "word" and offset <= end:
                return _as_key(slot)._replace(written=Span(start, end))
        return self._last._replace(written=Span(offset, offset))

    def values(self) -> Iterator[Value]:
        """Yield the root and all values in it, in source order."""
        waiting = [self.root]
        while waiting:
            value = waiting.pop()
            yield value
            inner = value.items or [entry.value for entry in value.entries if entry.value]
            waiting += reversed(inner)

    def value_at(self, offset: int) -> Value | None:
        """Return the innermost value that contains an offset or ends there."""
        found = None
        for value in self.values():
            if value.span.has(offset) and (found is None or value.kind in ("string", "word") or value.start < offset):
                found = value
        return found

    def entry_at(self, offset: int) -> tuple[Value, KeyEntry] | None:
        """Return the object and entry whose key is at an offset, or None if there is no key."""
        for value in self.values():
            for entry in value.entries:
                if entry.span.has(offset):
                    return value, entry
        return None

    def token_at(self, offset: int) -> Span:
        """Return the span of the token at an offset. Between tokens, the span is empty."""
        at = bisect_right(self._starts, offset) - 1
        start, end = self._slots[at][:2] if at >= 0 else (0, 0)
        return Span(start, end) if start <= offset < end else Span(offset, offset)

    def _written(self, start: int, end: int, offset: int) -> Span:
        """Return the span that a completion replaces in a string token.

        If the closing quote is missing, the span ends with the word at the cursor.
        """
        follows = self.text[end:].lstrip()[:1]
        if _is_closed(self.text[start:end]) and (not follows or follows in _FOLLOWING):
            return Span(start, end)
        rest = _WORD.match(self.text, offset)
        return Span(start, min(rest.end() if rest else offset, end))

    def _slot(self, written: Span) -> Slot:
        owner = self._open[-1] if self._open else None
        has_entry = owner is not None and owner.kind == "object" and self._role == "value"
        entry = owner.entries[-1] if owner is not None and has_entry and owner.entries else None
        return Slot(self._role, owner, entry, written)

    def _add(self, kind: str, text: str, start: int, end: int) -> None:
        self._slots.append((start, end, kind, self._slot(Span(start, end))))
        if kind == "comment":
            return
        if kind == "mark" and text not in "{[":
            self._mark(text, end)
            return
        top = self._open[-1] if self._open else None
        if top is not None and top.kind == "object" and self._role != "value" and text not in "{[":
            top.entries.append(KeyEntry(_content(text), start, end))
            self._role = "comma"
            return
        self._value(kind, text, start, end)

    def _value(self, kind: str, text: str, start: int, end: int) -> None:
        value_kind: Kind = {"{": "object", "[": "list"}.get(text, kind)  # type: ignore[assignment]
        content = _content(text) if kind == "string" else text if kind == "word" else ""
        value = Value(value_kind, start, end, content, kind != "string" or _is_closed(text))
        top = self._open[-1] if self._open else None
        if top is None:
            self._roots.append(value)
        elif top.kind == "list":
            value.parent = top
            top.items.append(value)
        else:
            value.parent = top
            value.entry = top.entries[-1] if top.entries and self._role == "value" else None
            if value.entry is not None and value.entry.value is None:
                value.entry.value = value
        if text in "{[":
            self._open.append(value)
            self._open_kinds[value_kind] += 1
            self._role = "key" if text == "{" else "value"
        else:
            self._role = "comma"

    def _mark(self, text: str, end: int) -> None:
        if text in "}]":
            kind = "object" if text == "}" else "list"
            if self._open_kinds[kind]:
                while self._open:
                    closed = self._open.pop()
                    self._open_kinds[closed.kind] -= 1
                    closed.end = end
                    if closed.kind == kind:
                        break
            self._role = "comma"
        elif text == ":":
            self._role = "value"
        elif self._open:
            self._role = "key" if self._open[-1].kind == "object" else "value"


def _as_key(slot: Slot) -> Slot:
    """Return the slot unchanged, unless a comma is expected in an object. Then return a slot for a key instead."""
    is_key = slot.role == "comma" and slot.owner is not None and slot.owner.kind == "object"
    return slot._replace(role="key") if is_key else slot


def _is_closed(token: str) -> bool:
    return _CLOSED.fullmatch(token) is not None


def _content(token: str) -> str:
    if not token.startswith('"'):
        return token
    bare = token[1:-1] if _is_closed(token) else token[1:]
    if "\\" not in bare:
        return bare
    try:
        return str(json.loads(f'"{bare}"'))
    except ValueError:
        return bare
