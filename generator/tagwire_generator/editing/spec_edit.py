"""Edit parts of a spec's text without changing the rest, and format specs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire_generator.problems import render
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.canonical import parsed_form, plain_tree
from tagwire_generator.syntax.parse import Items, JsonNode, Member, Object, parse
from tagwire_generator.syntax.spec_text import BLOCKS, TOKEN, Comments, Path, inline, read_comments, spec_text

_STEP: Final = "  "
"""The indentation of list entries relative to the line that opens the list."""


class SpecEdit:
    """Collects edits to the text of a valid spec. `result` applies all edits at once.

    The edits also change `root`, the parsed spec, so that `result` can compare it with the edited text.
    """

    def __init__(self, text: str, *, file: str) -> None:
        root = parse(text, file=file).root
        assert root is not None, "the text is a valid spec"
        self.root: Object = root
        self._file = file
        self._text = text
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        self._edits: list[tuple[int, int, str]] = []
        self._line_end = "\r\n" if "\r\n" in text else "\n"

    def result(self) -> str:
        """Return the edited text. Raises SpecError if its formatting is too unusual to be preserved."""
        text = self._text
        ordered = sorted((start, number, end, new) for number, (start, end, new) in enumerate(self._edits))
        for start, _, end, new in ordered[::-1]:
            text = text[:start] + new + text[end:]
        edited = parse(text, file=self._file).root
        if edited is None or plain_tree(edited) != plain_tree(self.root):
            reason = "the spec's formatting can't be preserved; run `tagwire fmt` first"
            raise SpecError(f"{self._file}: {reason}", file=self._file)
        return text

    def replace(self, parent: Object, key: str, value: Any) -> None:
        member = parent.members[key]
        start = self._start(member.value)
        self._edits.append((start, self._end(start), inline(value)))
        member.value = _node_of(value)

    def insert(self, items: Items, index: int, entry: Mapping[str, Any]) -> None:
        """Insert an entry into a list of objects at `index`, or at the end if the list is shorter."""
        if items.items:
            self._insert_beside(items, index, entry)
        else:
            self._insert_only(items, entry)
        items.items = (*items.items[:index], _node_of(entry), *items.items[index:])

    def add_list(self, parent: Object, key: str, entry: Mapping[str, Any]) -> None:
        """Add a key to an object. The key's value is a list that contains only `entry`."""
        last = self._end(self._start(parent.all_members[-1].value))
        indent = self._indent(self._start(parent.all_members[-1]))
        lines = ["", f"{indent}{json.dumps(key)}: [", f"{indent}{_STEP}{inline(entry)}", f"{indent}]"]
        position = self._after_comments(last)
        self._edits.append((last, last, ","))
        self._edits.append((position, position, self._line_end.join(lines)))
        parent.all_members += (Member(0, 0, key, _node_of([entry])),)

    def _insert_only(self, items: Items, entry: Mapping[str, Any]) -> None:
        start = self._start(items)
        end = self._end(start) - 1
        content = start + len(self._text[start:end].rstrip())  # after any comments in the list
        indent = self._indent(start)
        new = f"{self._line_end}{indent}{_STEP}{inline(entry)}{self._line_end}{indent}"
        self._edits.append((content, end, new))

    def _insert_beside(self, items: Items, index: int, entry: Mapping[str, Any]) -> None:
        """Insert an entry after the entry that precedes it, or before the first entry, in the same style."""
        neighbor = items.items[max(index - 1, 0)]
        start, opening = self._start(neighbor), self._start(items) + 1
        end = self._end(start)
        before = self._end(self._start(items.items[index - 2])) if index > 1 else opening
        is_lined = "\n" in self._text[before:start]
        indent = self._indent(start) if is_lined else ""
        new = self._set(entry, neighbor, indent)
        gap = f"{self._line_end}{indent}" if is_lined else " "
        comma = self._comma(end) if index else opening
        if not index and not is_lined:
            self._edits.append((start, start, f"{new}, "))
        elif comma is None:
            position = self._after_comments(end) if is_lined else end
            self._edits.append((end, end, ","))
            self._edits.append((position, position, f"{gap}{new}"))
        else:
            position = self._after_comments(comma) if is_lined else comma
            self._edits.append((position, position, f"{gap}{new},"))

    def _set(self, entry: Mapping[str, Any], like: JsonNode, indent: str) -> str:
        """Return the text of a new list entry, with the line breaks and spacing of `like`, an existing entry.

        The first line is not indented.
        """
        members = like.all_members if isinstance(like, Object) else ()
        if not members:
            return inline(entry)
        brace, first = self._start(like) + 1, self._start(members[0])
        key_end = self._end(first)
        colon = ": " if self._text[key_end : self._start(members[0].value)].endswith(" ") else ":"
        parts = [f"{json.dumps(key)}{colon}{inline(value)}" for key, value in entry.items()]
        if "\n" in self._text[brace:first]:
            inner = self._line_end + self._indent(first)
            return "{" + inner + f",{inner}".join(parts) + self._line_end + indent + "}"
        pad = " " if self._text[brace:first].startswith(" ") else ""
        return "{" + pad + f",{' ' if len(colon) > 1 else ''}".join(parts) + pad + "}"

    def _start(self, node: JsonNode) -> int:
        return self._lines[node.line - 1] + node.column - 1

    def _end(self, start: int) -> int:
        depth = 0
        for found in TOKEN.finditer(self._text, start):
            if found.lastgroup == "mark":
                depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
            if not depth and found.lastgroup != "comment":
                return found.end()
        raise AssertionError("the end of a parsed value is unknown")

    def _comma(self, position: int) -> int | None:
        """Skip comments, and return the position after the comma that follows, or None if no comma follows."""
        for found in TOKEN.finditer(self._text, position):
            if found.lastgroup != "comment":
                return found.end() if found[0] == "," else None
        return None

    def _after_comments(self, position: int) -> int:
        """Return the end of the comments that follow `position` on the same line.

        If anything else follows on this line, return `position`.
        """
        end = position
        while True:
            rest = self._text[end:]
            blank = len(rest) - len(rest.lstrip(" \t\r"))
            if rest[blank:].startswith("\n") or not rest[blank:]:
                return end
            found = TOKEN.match(self._text, end + blank)
            if found is None or found.lastgroup != "comment":
                return position
            end = found.end()

    def _indent(self, position: int) -> str:
        line = self._text[self._text.rfind("\n", 0, position) + 1 : position]
        return line[: len(line) - len(line.lstrip(" \t"))]


def _node_of(value: Any) -> JsonNode:
    """Return a value as it is in a parsed spec, but without its position in the text."""
    root = parse(json.dumps({"value": value}), file="").root
    assert root is not None
    return root.members["value"].value


def format_spec(text: str, *, file: str, options: SpecOptions) -> str:
    """Return the canonical text of a spec, with all its comments.

    Record formats and registers (tables of named numbers) have no canonical text and are returned unchanged. Raises
    SpecError for a spec with errors; `problems` lists all of them.
    """
    result = read_spec(text, file=file, options=options, shared=None)
    if result.register is not None:
        return text
    if result.has_errors:
        problems = result.problems
        raise SpecError("\n".join(map(render, problems)), file=file, problems=problems)
    if result.message is not None and result.message.format is not None:
        return text
    return with_comments(parsed_form(text), text, file=file)


def with_comments(form: Mapping[str, Any], text: str, *, file: str) -> str:
    """Return the canonical text of `form`, a spec in normal form, with the comments of `text`.

    Raises SpecError if a comment would be lost.
    """
    comments = read_comments(text)
    _move_homeless(comments, form)
    formatted = spec_text(form, comments)
    if parsed_form(formatted) != form or _comment_lines(read_comments(formatted)) != _comment_lines(comments):
        raise SpecError(f"{file}: formatting would lose a comment; move the comment to a line of its own", file=file)
    return formatted


def _comment_lines(comments: Comments) -> list[str]:
    lines = [line.strip() for above in comments.above.values() for comment in above for line in comment.split("\n")]
    return sorted([*lines, *comments.line_ends.values()])


def _move_homeless(comments: Comments, form: Mapping[str, Any]) -> None:
    """Move comments to the top of the spec if they belong to keys that canonical text omits."""
    paths = {(), ("end",), ("tail",), *((key,) for key in form), *_item_paths(form, ())}
    for path in [path for path in comments.above if path not in paths]:
        comments.above.setdefault((), []).extend(comments.above.pop(path))
    for path in [path for path in comments.line_ends if path not in paths]:
        comments.above.setdefault((), []).append(comments.line_ends.pop(path))


def _item_paths(entry: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for key in BLOCKS:
        members: Sequence[Mapping[str, Any]] = entry.get(key) or ()
        if members:
            yield (*path, key, "end")
        for index, member in enumerate(members):
            yield (*path, key, index)
            yield from _item_paths(member, (*path, key, index))
