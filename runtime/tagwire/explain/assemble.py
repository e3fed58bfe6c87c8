"""Turn edited annotations back into bytes: the reverse of `annotate` and `tagwire explain`.

Only the column of bytes is read. Offsets, paths, types and values are ignored, so you can change, remove, move,
duplicate or add lines. In contrast, `parse_annotated` (for golden files) checks the offsets.

A line has, from the left:

    an offset       digits left of the column `bytes`; may be wrong or missing
    bytes           00 0c, 000c, or "text" in UTF-8, separated by single spaces, each optionally with *N (N times)
    anything        after two spaces: path, type and value

Empty lines and lines that begin with # (comments), ! (errors) or + (decompressed bytes) are ignored. The title line
determines the column of the bytes.
"""

import json
import re
from typing import Final

from tagwire.explain.fix_lengths import Line, fix_lengths
from tagwire.explain.text import TITLES, AnnotationError

_BYTES_AT: Final = 8
"""The column at which the bytes begin, unless a title line shows another column."""
_NO_PATH: Final = 1 << 30
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_MOST: Final = 1 << 30
"""The maximum number of bytes to assemble. Without it, a mistyped repeat count could use up the memory."""
_OFFSET: Final = re.compile(r"\s*(\d+|[-._])(?=\s|$)")
_TOKEN: Final = re.compile(
    r"(?P<odd>[0-9a-fA-F](?:[0-9a-fA-F]{2})*)(?=[\s*#]|$)|"
    r'(?P<hex>(?:[0-9a-fA-F]{2})+(?: (?:[0-9a-fA-F]{2})+(?=\s|$))*)|(?P<text>"(?:[^"\\]|\\.)*")',
    re.DOTALL,
)
"""Matches bytes in hex (`hex`), a string (`text`), or an incomplete byte (`odd`), which is an error.

`hex` matches many groups of hex digits at once, but stops before a group with a repeat count (`00*3`).
"""
_JSON: Final = json.JSONDecoder(strict=False)
_TIMES: Final = re.compile(r"\*(\d+)(?=\s|#|$)")
_NO_MORE: Final = re.compile(r"\s*(#|$)")
_PART: Final = re.compile(r"# \w+ v\d+")
"""Matches the title line of a frame's header or body.

The lengths of header and body are corrected separately, because both may have a field with the same path.
"""
_CELLS: Final = re.compile(r"\s{2,}")
_Gathered = tuple[list[bytes], str, str]
"""A line's bytes (those of the line and of its continuation lines), its path, and its type."""
_SKIPPED: Final = ("#", "!", "+")


class AssembleError(AnnotationError):
    """Raised if a line can't be parsed as annotated bytes. `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, found: str, expected: str) -> None:
        super().__init__(f"line {line}, column {column}: found {found}, expected {expected}")
        self.line = line
        self.column = column


def assemble(text: str, *, fix: bool = False) -> list[bytes]:
    """Parse annotated bytes, such as the output of `tagwire explain`. Return the bytes of each message.

    Each title line starts a new message. Bytes before the first title line are a separate message. With `fix`, lengths,
    counts and checksums are corrected (`tagwire.explain.fix_lengths`). Raises AssembleError, with line and column.
    """
    messages: list[list[list[_Gathered]]] = []
    begin, end = _BYTES_AT, _NO_PATH
    size = 0
    for number, line in enumerate(_COLOUR.sub("", text).splitlines(), 1):
        if tuple(line.split()) == TITLES:
            begin, end = line.index("bytes"), line.index("path")
            messages.append([[]])
        elif _PART.fullmatch(line):
            if messages:
                messages[-1].append([])
        elif line.strip() and not line.lstrip().startswith(_SKIPPED):
            data, rest = _line(line, number, begin, end, _MOST - size)
            size += len(data)
            if not messages:
                messages.append([[]])
            _add(messages[-1][-1], data, rest)
    parsed = [[[Line(b"".join(data), path, type) for data, path, type in part] for part in parts] for parts in messages]
    if fix:
        for message in parsed:
            for part in message:
                fix_lengths(part)
    return [b"".join(line.data for part in message for line in part) for message in parsed]


def _add(lines: list[_Gathered], data: bytes, rest: str) -> None:
    path, type, *_ = [*_CELLS.split(rest.strip(), maxsplit=2), "", ""]
    if type or not lines:
        lines.append(([data], path, type))
    else:
        lines[-1][0].append(data)


def _line(line: str, number: int, begin: int, end: int, most: int) -> tuple[bytes, str]:
    position = _start(line, number, begin)
    data = bytearray()
    if position >= end:
        return b"", line[position:]
    while position < len(line):
        match = _TOKEN.match(line, position)
        if match is None or match["odd"]:
            digits = match["odd"][:40] if match else ""
            found = (
                f"{digits!r}, an odd number of digits" if digits else repr(line[position : position + 12].split()[0])
            )
            if line.startswith("**", position):
                expected = "the bytes themselves; run `tagwire explain` with --show-sensitive"
                raise AssembleError(number, position + 1, "hidden bytes (**)", expected)
            raise AssembleError(number, position + 1, found, 'bytes in hex or a "string", followed by two spaces')
        part = bytes.fromhex(match["hex"]) if match["hex"] else _string_bytes(match["text"], number, position)
        position = match.end()
        times = 1
        if repeated := _TIMES.match(line, position):
            times = int(repeated[1]) if len(repeated[1]) < 12 else _MOST + 1
            position = repeated.end()
        if len(data) + len(part) * times > most:
            raise AssembleError(
                number, match.start() + 1, f"{times} x {len(part)} bytes", f"at most {_MOST} bytes in total"
            )
        data += part * times
        if line.startswith(("  ", "\t"), position) or _NO_MORE.match(line, position):
            break
        if not line.startswith(" ", position):
            found = repr(line[position : position + 12].split()[0])
            raise AssembleError(number, position + 1, found, "a space after the bytes")
        position += 1
    return bytes(data), line[position:]


def _start(line: str, number: int, begin: int) -> int:
    """Return the column at which a line's bytes begin, after the indent and the offset, if any."""
    indent = len(line) - len(line.lstrip())
    if indent >= begin:
        return indent
    offset = _OFFSET.match(line)
    if offset is None:
        return indent
    rest = line[offset.end() :]
    if not rest.strip():
        raise AssembleError(
            number,
            indent + 1,
            f"only the offset {offset[1][:40]!r}",
            f"bytes after the offset; bytes without an offset must begin at column {begin + 1} or later",
        )
    if len(rest) - len(rest.lstrip()) < 2 and not rest.startswith("\t"):
        # An offset is followed by two spaces or a tab. In `00 01 02`, only one space follows, so `00` is a byte.
        return indent
    return len(line) - len(rest.lstrip())


def _string_bytes(literal: str, number: int, position: int) -> bytes:
    try:
        text: str = _JSON.decode(literal)
        return text.encode()
    except ValueError:
        raise AssembleError(number, position + 1, literal[:40], "a JSON string in UTF-8") from None
