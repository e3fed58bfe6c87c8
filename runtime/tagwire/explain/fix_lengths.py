"""Correct lengths, counts and checksums in edited bytes.

The type and path of a line show which other bytes it describes, if any. Lines are corrected from last to first, so
that inner values are correct before outer ones.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from tagwire.text_format import whole_number
from tagwire.wire.checksums import checksum
from tagwire.wire.types import WIRE_TYPES, IntegerType
from tagwire.wire.varint import UVARINT_MAX, to_zigzag, uvarint_bytes

_FIXED: Final = {name: wire.width for name, wire in WIRE_TYPES.items() if isinstance(wire, IntegerType)}
_WITH_LENGTH: Final = {name: wire.length for name, wire in WIRE_TYPES.items() if wire.length}
"""Maps each type whose values begin with a length, such as `string`, to the integer type of that length.

Not used if the type's name shows how the length is encoded, as in `compact string`.
"""
_OPTIONAL: Final = "optional fields"
_PLACE: Final = re.compile(r"\[(\d+)\]")


class Line:
    """A line of annotated bytes, together with its continuation lines."""

    __slots__ = ("data", "path", "type")

    def __init__(self, data: bytes, path: str, type: str) -> None:
        self.data = data
        self.path = "" if path == "." else path
        kind, packed, _ = type.partition(" in ")
        self.type = "" if packed and "[]" in kind else kind
        """The type as layouts print it, or "" for compressed elements, which can't be counted here."""


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
        _fix_length(line, code or _WITH_LENGTH[last], _size(_opened(line, following)))
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


def _opened(line: Line, following: Sequence[Line]) -> Iterator[Line]:
    for each in following:
        if not each.path.startswith(f"{line.path}["):
            return
        yield each


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


def _width(code: str, data: bytes) -> int:
    if code in _FIXED:
        return min(_FIXED[code], len(data))
    return next((size for size, byte in enumerate(data, 1) if byte < 0x80), len(data))


def _is_null(code: str, data: bytes) -> bool:
    if code == "varint":
        return data == b"\1"
    return data == b"\0" if code == "compact" else data == b"\xff" * len(data)
