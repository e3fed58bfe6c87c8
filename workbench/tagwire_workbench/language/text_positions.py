"""Convert between offsets, the lines and columns of problems, and editor positions.

In problems, lines and columns start at 1, only a line feed ends a line, and each character is a column. In editor
positions, lines and columns start at 0, a lone carriage return also ends a line, and each UTF-16 code unit is a column,
unless editor and server agree on another encoding.
"""

import re
from bisect import bisect_right
from typing import Final, Literal, NamedTuple

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class Position(NamedTuple):
    """A line and a column in the editor's units. Both count from 0."""

    line: int
    character: int


class Span(NamedTuple):
    """A range of characters from the offset `start` up to, but not including, `end`."""

    start: int
    end: int

    def has(self, offset: int) -> bool:
        """Return whether an offset is within the span or just after its end."""
        return self.start <= offset <= self.end


class TextPositions:
    """Converts positions in one document. Invalid positions are moved to the nearest valid position."""

    def __init__(self, text: str, encoding: Encoding = "utf-16") -> None:
        self.text = text
        self.encoding = encoding
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
        self._problem_starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def of_problem(self, line: int, column: int) -> int:
        """Return the offset of a problem's line and column, which count from 1."""
        start = self._problem_starts[min(max(line, 1), len(self._problem_starts)) - 1]
        return min(start + max(column, 1) - 1, len(self.text))

    def position(self, offset: int) -> Position:
        line = bisect_right(self._starts, offset) - 1
        return Position(line, sum(map(self._units, self.text[self._starts[line] : offset])))

    def offset(self, position: Position) -> int:
        """Return the offset of an editor position. A position within a character counts as the character's start."""
        if position.line >= len(self._starts):
            return len(self.text)
        offset, left = self._starts[position.line], position.character
        end = self._line_end(position.line)
        while offset < end and left >= self._units(self.text[offset]):
            left -= self._units(self.text[offset])
            offset += 1
        return offset

    def _line_end(self, line: int) -> int:
        if line + 1 == len(self._starts):
            return len(self.text)
        end = self._starts[line + 1]
        return end - (2 if self.text[end - 2 : end] == "\r\n" else 1)

    def _units(self, character: str) -> int:
        if self.encoding == "utf-16":
            return 2 if character > "\uffff" else 1
        return len(character.encode("utf-8", "surrogatepass")) if self.encoding == "utf-8" else 1
