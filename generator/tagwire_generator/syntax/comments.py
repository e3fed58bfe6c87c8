"""Which comment of a spec belongs to what: the parser drops them, and `tagwire fmt` must not.

The text is known to be a spec, so this only counts brackets. A comment belongs
to what follows it, or, behind something on its line, to that; one between the
keys of a field belongs to the field.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from tagwire_generator.syntax.spec_text import BLOCKS, Comments, Path

TOKEN: Final = re.compile(
    r"""(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\],:])|(?P<word>[^\s{}\[\],:"/]+)""",
    re.DOTALL,
)


@dataclass
class _Open:
    """An object or list that has begun: the path of what is in it now."""

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
    """Comments that belong to what comes next."""
    last: Path = ()
    """What ended last."""
    expects_key: bool = False

    def give(self, path: Path) -> None:
        """The pending comments belong to this, or to what holds it."""
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

    def behind(self, comment: str) -> bool:
        """Whether a comment, on the line of what ended last, belongs to that."""
        path = self.last
        if not path or _owner(path) != path or path in self.comments.behind or "\n" in comment:
            return False
        self.comments.behind[path] = comment
        return True


def read_comments(text: str) -> Comments:
    """The comments of the text of a spec that can be parsed."""
    scan = _Scan()
    end, before = 0, ""
    for found in TOKEN.finditer(text):
        kind = str(found.lastgroup)
        if kind == "comment":
            comment = "\n".join(line.rstrip() for line in found[0].splitlines())
            ends_line = found[0].startswith("//") or not text[found.end() :].partition("\n")[0].strip()
            is_behind = "\n" not in text[end : found.start()] and ends_line and before not in ("", "{", "[", ":")
            if not (is_behind and scan.stack and scan.behind(comment)):
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
    """The innermost key of the message, field or struct that has its own lines: what holds the path, or is it."""
    for index in range(1, len(path), 2):
        if path[index - 1] not in BLOCKS or (path[index] == "end" and index < len(path) - 1):
            return path[: index - 1] if index > 1 else path[:1]
    if len(path) % 2 and len(path) > 1:  # a key of a field
        return path[:-1]
    return path
