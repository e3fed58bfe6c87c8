"""Format a spec as text with comments, and read the comments in a spec's text."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

BLOCKS: Final = ("optionalFields", "fields", "commonStructs")
"""The keys whose value is written as a list with one entry per line."""

Path = tuple[str | int, ...]
"""The path from the message to an item: its keys and indexes, such as `("fields", 0, "fields", 2)`.

If the last part is "end", the path leads to the end of a list or of the message.
"""

WIDTH: Final = 120
_MARK: Final = "\0"
"""Encloses a comment that belongs at the end of a line, until `_finished` moves the comment there."""


class Comments:
    """The comments of a spec. Each belongs to an item, which is identified by its path."""

    def __init__(self) -> None:
        self.above: dict[Path, list[str]] = {}
        self.line_ends: dict[Path, str] = {}

    def lines_above(self, path: Path, indent: str) -> list[str]:
        """Return the comments that precede the item at a path, as indented lines."""
        return [f"{indent}{comment}" for comment in self.above.get(path, ())]

    def add_line_ends(self, path: Path, lines: list[str]) -> list[str]:
        """Append an item's trailing comment to the item's last line."""
        comment = self.line_ends.get(path)
        return lines if comment is None else [*lines[:-1], f"{lines[-1]}{_MARK} {comment}{_MARK}"]


def spec_text(form: Mapping[str, Any], comments: Comments | None = None) -> str:
    """Return a spec as text with a final newline. `form` is the spec in normal form (see `canonical.py`)."""
    comments = comments or Comments()
    parts: list[list[str]] = []
    for key, value in form.items():
        if key in BLOCKS and value:
            lines = [f'  "{key}": [', *_block_lines(value, (key,), "    ", comments), "  ]"]
        else:
            lines = [f'  "{key}": {inline(value)}']
        parts.append([*comments.lines_above((key,), "  "), *comments.add_line_ends((key,), lines)])
    last = comments.lines_above(("end",), "  ")
    head, tail = comments.lines_above((), ""), comments.lines_above(("tail",), "")
    return "\n".join(map(_finished, [*head, "{", *_with_commas(parts), *last, "}", *tail])) + "\n"


def _with_commas(parts: Sequence[list[str]]) -> list[str]:
    return [
        line + ("," if index == len(part) - 1 and part is not parts[-1] else "")
        for part in parts
        for index, line in enumerate(part)
    ]


def _finished(line: str) -> str:
    """Move the comment marked by `add_line_ends` to the end of its line, after any commas and brackets."""
    text, mark, rest = line.partition(_MARK)
    if not mark:
        return line
    comment, _, after = rest.partition(_MARK)
    return f"{text}{after}{comment}"


def _block_lines(entries: Sequence[Mapping[str, Any]], path: Path, indent: str, comments: Comments) -> list[str]:
    parts: list[list[str]] = []
    for index, entry in enumerate(entries):
        item_path = (*path, index)
        lines = comments.add_line_ends(item_path, _entry_lines(entry, item_path, indent, comments))
        parts.append([*comments.lines_above(item_path, indent), *lines])
    return [*_with_commas(parts), *comments.lines_above((*path, "end"), indent)]


def _entry_lines(entry: Mapping[str, Any], path: Path, indent: str, comments: Comments) -> list[str]:
    blocks = [(key, entry[key]) for key in BLOCKS if entry.get(key)]
    parts = [f'"{key}": {inline(value)}' for key, value in entry.items() if not (key in BLOCKS and value)]
    parts += [f'"{key}": [' for key, _ in blocks[:1]]

    lines = [indent + "{ " + "".join(parts[:1])]  # `parts` is empty for an empty object
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + len(",  },") <= WIDTH:
            lines[-1] += ", " + part
        else:
            lines[-1] += ","
            lines.append(indent + "  " + part)

    for number, (key, members) in enumerate(blocks):
        if number:
            lines[-1] += f', "{key}": ['
        lines += _block_lines(members, (*path, key), indent + "  ", comments)
        lines.append(indent + "]")
    lines[-1] += " }"
    return lines


def inline(value: Any) -> str:
    """Return a value as text on one line."""
    if isinstance(value, dict):
        members: dict[str, Any] = value
        return "{ " + ", ".join(f"{inline(key)}: {inline(member)}" for key, member in members.items()) + " }"
    if isinstance(value, list):
        items: list[Any] = value
        return "[" + ", ".join(inline(item) for item in items) + "]"
    # Escape unprintable characters. Lone surrogates, for example, can't be encoded as UTF-8.
    return json.dumps(value, ensure_ascii=not str(value).isprintable())


TOKEN: Final = re.compile(
    r"""(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\],:])|(?P<word>[^\s{}\[\],:"/]+)""",
    re.DOTALL,
)


@dataclass
class _Open:
    """An object or list that is being scanned, and its current item."""

    path: Path
    is_list: bool
    index: int = 0
    key: str = ""

    @property
    def inside(self) -> Path:
        return (*self.path, self.index if self.is_list else self.key)


@dataclass
class _Scan:
    comments: Comments = field(default_factory=Comments)
    stack: list[_Open] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    """Comments that are not attached to an item yet."""
    last: Path = ()
    """The path of the last finished item."""
    expects_key: bool = False

    def give(self, path: Path) -> None:
        """Attach the pending comments to the item at `path`, or to the enclosing item that begins the line."""
        if self.pending:
            self.comments.above.setdefault(_owner(path), []).extend(self.pending)
            self.pending = []

    def token(self, kind: str, text: str) -> None:
        if text in ("}", "]"):
            closed = self.stack.pop()
            self.give((*closed.path, "end") if _is_block_end(closed) else closed.path)
            self.last, self.expects_key = closed.path, False
        elif text == ",":
            top = self.stack[-1]
            top.index += 1
            self.expects_key = not top.is_list
        elif text == ":":
            self.expects_key = False
        elif kind == "string" and self.expects_key:
            self.stack[-1].key = text[1:-1]
            self.give(self.stack[-1].inside)
        else:
            self.value(text)

    def value(self, text: str) -> None:
        path = self.stack[-1].inside if self.stack else ()
        if not self.stack or self.stack[-1].is_list:
            self.give(path)
        if text in ("{", "["):
            self.stack.append(_Open(path, text == "["))
            self.expects_key = text == "{"
        else:
            self.last = path

    def attach_to_item(self, comment: str) -> bool:
        """Attach a comment to the item that precedes it on the same line. Return False if there is no such item."""
        path = self.last
        if not path or _owner(path) != path or path in self.comments.line_ends or "\n" in comment:
            return False
        self.comments.line_ends[path] = comment
        return True


def read_comments(text: str) -> Comments:
    """Return the comments in the text of a spec. The text must be free of syntax errors."""
    scan = _Scan()
    end, before = 0, ""
    for found in TOKEN.finditer(text):
        kind = str(found.lastgroup)
        if kind == "comment":
            comment = "\n".join(line.rstrip() for line in re.split(r"\r\n|[\r\n]", found[0]))
            ends_line = found[0].startswith("//") or not text[found.end() :].partition("\n")[0].strip()
            is_at_line_end = "\n" not in text[end : found.start()] and ends_line and before not in ("", "{", "[", ":")
            if not (is_at_line_end and scan.stack and scan.attach_to_item(comment)):
                scan.pending.append(comment)
        else:
            scan.token(kind, found[0])
            end, before = found.end(), found[0]
    scan.comments.above.setdefault(("tail",), []).extend(scan.pending)
    return scan.comments


def _is_block_end(closed: _Open) -> bool:
    if not closed.is_list:
        return not closed.path
    return _owner((*closed.path, 0)) == (*closed.path, 0)


def _owner(path: Path) -> Path:
    """Return the item to which a comment at `path` belongs: the innermost item that has a line of its own."""
    for index in range(1, len(path), 2):
        if path[index - 1] not in BLOCKS or (path[index] == "end" and index < len(path) - 1):
            return path[: index - 1] if index > 1 else path[:1]
    # A comment at a key of a field belongs to the whole field.
    if len(path) % 2 and len(path) > 1:
        return path[:-1]
    return path
