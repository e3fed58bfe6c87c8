"""Turn edited annotations back into bytes: the reverse of `annotate` and `tagwire explain`.

Only the column of bytes is read. Offsets, paths, types and values are ignored, so you can change, remove, move,
duplicate or add lines. In contrast, `parse_annotated` (for golden files) checks the offsets.

A line has, from the left:

    an offset       digits left of the column `bytes`; may be wrong or missing
    bytes           00 0c, 000c, or "text" in UTF-8, separated by single spaces, each optionally with *N (N times)
    anything        after two spaces: path, type and value

Empty lines and lines that begin with # (comments), ! (errors) or + (decompressed bytes) are ignored. The title line
determines the column of the bytes.

`fix_lengths` corrects lengths, counts and checksums. The type and path of a line show which other bytes it describes,
if any. Lines are corrected from last to first, so that inner values are correct before outer ones.
"""

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from tagwire.explain.text import TITLES, AnnotationError
from tagwire.text_format import whole_number
from tagwire.wire.checksums import checksum
from tagwire.wire.types import WIRE_TYPES, IntegerType
from tagwire.wire.varint import UVARINT_MAX, to_zigzag, uvarint_bytes

_BYTES_AT: Final = 8
"""The column at which the bytes begin, unless a title line shows another column."""
_NO_PATH: Final = 1 << 30
_COLOR: Final = re.compile(r"\x1b\[[0-9;]*m")
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
_SKIPPED: Final = ("#", "!", "+")
_FIXED: Final = {name: wire.width for name, wire in WIRE_TYPES.items() if isinstance(wire, IntegerType)}
_WITH_LENGTH: Final = {name: wire.length for name, wire in WIRE_TYPES.items() if wire.length}
"""Maps each type whose values begin with a length, such as `string`, to the integer type of that length.

Not used if the type's name shows how the length is encoded, as in `compact string`.
"""
_OPTIONAL: Final = "optional fields"
_PLACE: Final = re.compile(r"\[(\d+)\]")


class AssembleError(AnnotationError):
    """Raised if a line can't be parsed as annotated bytes. `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, found: str, expected: str) -> None:
        super().__init__(f"line {line}, column {column}: found {found}, expected {expected}")
        self.line = line
        self.column = column


class Line:
    """A line of annotated bytes. The bytes of its continuation lines are appended to it."""

    __slots__ = ("data", "path", "type")

    def __init__(self, data: bytes | bytearray, path: str, type: str) -> None:
        self.data: bytes | bytearray = bytearray(data)
        self.path = "" if path == "." else path
        kind, packed, _ = type.partition(" in ")
        self.type = "" if packed and "[]" in kind else kind
        """The type as layouts print it, or "" for compressed elements, which can't be counted here."""


def assemble(text: str, *, fix: bool = False) -> list[bytes]:
    """Parse annotated bytes, such as the output of `tagwire explain`. Return the bytes of each message.

    Each title line starts a new message. Bytes before the first title line are a separate message. With `fix`, lengths,
    counts and checksums are corrected (`fix_lengths`). Raises AssembleError, with line and column.
    """
    messages: list[list[list[Line]]] = []
    begin, end = _BYTES_AT, _NO_PATH
    size = 0
    for number, line in enumerate(_COLOR.sub("", text).splitlines(), 1):
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
    if fix:
        for message in messages:
            for part in message:
                fix_lengths(part)
    return [b"".join(line.data for part in message for line in part) for message in messages]


def _add(lines: list[Line], data: bytes, rest: str) -> None:
    path, type, *_ = [*_CELLS.split(rest.strip(), maxsplit=2), "", ""]
    if type or not lines:
        lines.append(Line(data, path, type))
    else:
        lines[-1].data += data


def _line(line: str, number: int, begin: int, end: int, most: int) -> tuple[bytes, str]:
    position = _start(line, number, begin)
    data = bytearray()
    if position >= end:
        return b"", line[position:]
    while position < len(line):
        match = _TOKEN.match(line, position)
        if match is None or match["odd"]:
            digits = match["odd"][:40] if match else ""
            found = f"{digits!r}, an odd number of digits" if digits else _next_word(line, position)
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
        if line.startswith(("  ", " \t", "\t"), position) or _NO_MORE.match(line, position):
            break
        if not line.startswith(" ", position):
            raise AssembleError(number, position + 1, _next_word(line, position), "a space after the bytes")
        position += 1
    return bytes(data), line[position:]


def _next_word(line: str, position: int) -> str:
    """Return the first word after `position` in quotes. If there is only white space, return its first character."""
    return repr((line[position : position + 12].split() or [line[position]])[0])


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


def fix_lengths(lines: Sequence[Line]) -> None:
    """Correct the lengths, counts and checksums of one header or body in place.

    If any line shows optional fields (KIP-482's first draft), nothing is corrected, because the lines don't show how
    such fields are encoded.
    """
    if any(line.type == _OPTIONAL for line in lines):
        return
    following: deque[Line] = deque()  # inserting at the start of a list would take quadratic time
    for line in reversed(lines):
        words = line.type.split()
        if words and line.data:
            _fix_one(line, words, following)
        following.appendleft(line)


def _fix_one(line: Line, words: list[str], following: Sequence[Line]) -> None:
    code = next((word for word in words if word in _CODES), "")
    last = words[-1]
    struct = line.path.rpartition(".")[0]
    if last in _WITH_LENGTH and words[0] != "raw":
        opened = takewhile(lambda each: each.path.startswith(f"{line.path}["), following)
        _fix_length(line, code or _WITH_LENGTH[last], _size(opened))
    elif last == "length" and code:
        line.data = _CODES[code](_size(_measured(line, struct, following)))
    elif last == "count" and code and (count := _elements(following, f"{struct}." if struct else "")) is not None:
        line.data = _CODES[code](count)
    elif last in ("crc32", "crc32c"):
        covered = b"".join(each.data for each in _in_struct(line, struct, following))
        line.data = checksum(last, covered).to_bytes(4, "big")
    elif last.startswith("[]"):
        count = _count(following, line.path)
        if count or not _is_null(code, line.data):
            line.data = _CODES[code or "int32"](count)
    elif line.type == "tagged fields":
        line.data = uvarint_bytes(_tags(line, following))
    elif words[0] == "tag" and (tag := whole_number(last)) is not None and tag <= UVARINT_MAX:
        line.data = uvarint_bytes(tag) + uvarint_bytes(_size(_in_struct(line, line.path, following)))


def _fix_length(line: Line, code: str, opened: int) -> None:
    """Set the length at the start of a line to the number of bytes that follow it.

    In a records field, `opened` is the number of bytes in record batches on later lines. If no bytes follow, a length
    that means null stays unchanged.
    """
    width = _width(code, line.data)
    content = line.data[width:]
    size = len(content) + opened
    if size or not _is_null(code, line.data[:width]):
        line.data = _CODES[code](size) + content


def _measured(line: Line, struct: str, following: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines whose bytes a length counts.

    A length named after the next field (`headers_length` before `headers`) counts the bytes of that field. Any other
    length counts the bytes of the rest of its struct.
    """
    field = line.path.removesuffix("_length")
    if field != line.path and following and _is_in(following[0].path, field):
        return (each for each in _in_struct(line, struct, following) if _is_in(each.path, field))
    return _in_struct(line, struct, following)


def _size(lines: Iterable[Line]) -> int:
    return sum(len(each.data) for each in lines)


def _in_struct(line: Line, struct: str, following: Sequence[Line]) -> Iterator[Line]:
    for each in following:
        if (struct and not _is_in(each.path, struct)) or (each.path, each.type) == (line.path, line.type):
            return
        yield each


def _tags(section: Line, following: Sequence[Line]) -> int:
    count = 0
    path = None
    for each in following:
        if each.type.startswith("tag ") and _is_own_tag(each.path, section.path):
            count += 1
            path = each.path
        elif path is None or not _is_in(each.path, path):
            break
    return count


def _is_in(path: str, parent: str) -> bool:
    return path == parent or path.startswith((f"{parent}.", f"{parent}["))


def _is_own_tag(path: str, struct: str) -> bool:
    prefix = f"{struct}." if struct else ""
    name = path.removeprefix(prefix)
    return path.startswith(prefix) and "." not in name and ("[" not in name or name.startswith("unknown_tags["))


def _elements(following: Sequence[Line], prefix: str) -> int | None:
    if not following:
        return 0
    path = following[0].path
    name, bracket, _ = path.removeprefix(prefix).partition("[")
    return _count(following, prefix + name) if bracket and path.startswith(prefix) else None


def _count(following: Sequence[Line], array: str) -> int:
    """Count the elements of an array by the indexes in the paths of its lines.

    A line with a new index begins an element. So does a line with the same path and type as the current element's first
    line, because the user may have duplicated the element.
    """
    count = 0
    number, first = "", ("", "")
    for each in following:
        match = _PLACE.match(each.path, len(array)) if each.path.startswith(array) else None
        if match is None:
            break
        kind = each.path[match.end() :], each.type
        if match[1] != number or kind == first:
            count += 1
            number, first = match[1], kind
    return count


def _fixed(width: int) -> Callable[[int], bytes]:
    return lambda value: (value & (1 << 8 * width) - 1).to_bytes(width, "big")


_CODES: Final[dict[str, Callable[[int], bytes]]] = {
    **{name: _fixed(width) for name, width in _FIXED.items()},
    "compact": lambda value: uvarint_bytes(value + 1),
    "varint": lambda value: uvarint_bytes(to_zigzag(value)),
    "uvarint": uvarint_bytes,
}


def _width(code: str, data: bytes | bytearray) -> int:
    if code in _FIXED:
        return min(_FIXED[code], len(data))
    return next((size for size, byte in enumerate(data, 1) if byte < 0x80), len(data))


def _is_null(code: str, data: bytes | bytearray) -> bool:
    if code == "varint":
        return data == b"\1"
    return data == b"\0" if code == "compact" else data == b"\xff" * len(data)
