"""Create invalid bytes whose error is known: they break one rule of the format, at a known position.

Each function breaks a rule in a part of the input (an `InputPart`), and returns the path and offset of the error that
strict decoding must raise. Counts and sizes around the part are adjusted.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from tagwire.layout import COMPACT, INT16, INT32, Array, Fixed, LengthCode, Nested, NullableFixed, Sized
from tagwire.wire.varint import UVARINT_MAX, uvarint_bytes
from tagwire_workbench.fuzzing.framing import FuzzInput
from tagwire_workbench.fuzzing.input_parts import InputPart, length_bytes, splice
from tagwire_workbench.fuzzing.mutate.dialect_rules import no_alternative, no_member, same_key, two_alternatives
from tagwire_workbench.fuzzing.mutate.mutation import ExpectedError
from tagwire_workbench.fuzzing.mutate.truncation import truncated

_Broken = tuple[bytes, ExpectedError]
_Break = Callable[[FuzzInput, InputPart, Random], _Broken | None]


def rule_break(read: FuzzInput, parts: list[InputPart], random: Random, rule: str | None = None) -> _Broken | None:
    """Break `rule`, or a random rule. Return the invalid bytes and the expected error, or None if this fails."""
    rules = list(_ALL) if rule is None else [rule]
    for name in random.sample(rules, len(rules)):
        kinds, broken = _ALL[name]
        candidates = [part for part in parts if part.kind in kinds]
        for part in random.sample(candidates, min(len(candidates), _TRIES)):
            found = broken(read, part, random)
            if found is not None:
                data, error = found
                return data, error._replace(rule=name)
    return None


_TRIES: Final = 12


def _broken(
    read: FuzzInput, holds: InputPart | None, start: int, end: int, data: bytes, path: str, inside: int = 0
) -> _Broken:
    """Replace the bytes from `start` to `end` with `data`. Return the new input and the expected error.

    The error is expected in the field at `path`, `inside` bytes after the start of `data`.
    """
    spliced = splice(read, holds, start, end, data)
    return spliced.data, ExpectedError("", path, spliced.at + inside)


# ---------------------------------------------------------------- rules about lengths and counts


class _LengthPrefix(NamedTuple):
    """The length or count at the start of an encoded string, byte string or array."""

    code: LengthCode
    end: int
    nullable: bool


def _length_prefix(read: FuzzInput, part: InputPart) -> _LengthPrefix | None:
    type = part.type
    if not isinstance(type, Sized | Array) or type.length is None:
        return None
    end = part.start + type.length.width
    while not type.length.code and read.data[end - 1] >= 0x80:
        end += 1
    return _LengthPrefix(type.length, end, type.nullable)


def _left(read: FuzzInput, part: InputPart, begin: int) -> int:
    """Return the number of bytes from `begin` to the end of the tagged field around the part.

    If no tagged field encloses the part, count to the end of the input.
    """
    entry = next((each for each in reversed(part.around) if each.kind in ("entry", "optional")), None)
    return (len(read.data) if entry is None else entry.end) - begin


def _beyond(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Replace a length or count with one that is too large for the bytes that follow."""
    prefix = _length_prefix(read, part)
    if prefix is None:
        return None
    type, left = part.type, _left(read, part, prefix.end)
    least = left + 1 if isinstance(type, Sized) else left // _minimum(type) + 1
    most = (1 << 8 * prefix.code.width - 1) - 1 if prefix.code.code else UVARINT_MAX - prefix.code.bias
    if least > most:
        return None
    stated = random.choice((least, min(least + 1, most), random.randint(least, most), most))
    data = length_bytes(prefix.code, stated)
    inside = len(data) if isinstance(type, Sized) and stated <= type.longest else 0
    return _broken(read, part.holder, part.start, prefix.end, data, part.path, inside)


def _minimum(type: object) -> int:
    assert isinstance(type, Array)
    return type.element.minimum


def _negative(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Write a length or count below -1. The value -1 would mean null."""
    prefix = _length_prefix(read, part)
    if prefix is None or not prefix.code.code:
        return None
    low = -(1 << 8 * prefix.code.width - 1)
    stated = random.choice((-2, -3, low, random.randint(low, -2)))
    return _broken(read, part.holder, part.start, prefix.end, length_bytes(prefix.code, stated), part.path)


def _null(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    prefix = _length_prefix(read, part)
    if prefix is None or prefix.nullable or prefix.code not in (INT16, INT32, COMPACT):
        return None
    null = length_bytes(prefix.code, -1)
    return _broken(read, part.holder, part.start, prefix.end, null, part.path)


def _too_long(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Make a string longer than Kafka allows.

    Only strings with compact lengths are changed, because a fixed-width length can't be that large.
    """
    prefix, type = _length_prefix(read, part), part.type
    if prefix is None or prefix.code.code or not isinstance(type, Sized) or type.longest >= UVARINT_MAX:
        return None
    size = type.longest + random.choice((1, 2, 100))
    return _broken(read, part.holder, part.start, part.end, length_bytes(prefix.code, size) + b"a" * size, part.path)


# ---------------------------------------------------------------- rules about varints


def _varints(read: FuzzInput, part: InputPart) -> list[tuple[int, int, str]]:
    """Find the varints before a part's content, such as its length, count or tag. Returns (start, end, error path)."""
    if part.kind == "entry":
        middle = part.start + len(uvarint_bytes(int(part.node.type.removeprefix("tag "))))
        return [(part.start, middle, part.holder.path), (middle, part.content_start, part.holder.path)]
    if part.kind == "section":
        return [(part.start, part.content_start, part.path)]
    prefix = _length_prefix(read, part)
    return [] if prefix is None or prefix.code.code else [(part.start, prefix.end, part.path)]


def _in_varint(
    read: FuzzInput, part: InputPart, random: Random, change: Callable[[bytes], bytes | None]
) -> _Broken | None:
    varints = _varints(read, part)
    if not varints:
        return None
    start, end, path = random.choice(varints)
    data = change(read.data[start:end])
    return None if data is None else _broken(read, part.holder, start, end, data, path)


def _not_shortest(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    def longer(data: bytes) -> bytes | None:
        more = random.randint(1, 5 - len(data)) if len(data) < 5 else 0
        return data[:-1] + bytes([data[-1] | 0x80]) + b"\x80" * (more - 1) + b"\0" if more else None

    return _in_varint(read, part, random, longer)


def _endless(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    return _in_varint(read, part, random, lambda data: random.choice((b"\xff" * 5 + b"\1", b"\x80" * 9 + b"\1")))


def _too_high(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    high = (b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x08", b"\xff\xff\xff\xff\x7f")
    return _in_varint(read, part, random, lambda data: random.choice(high))


# ---------------------------------------------------------------- rules about values


def _bad_text(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    prefix, type = _length_prefix(read, part), part.type
    if prefix is None or not isinstance(type, Sized) or type.wire.family != "text":
        return None
    good = random.choice((b"", b"a", "é".encode(), b"topic-"))
    bad = random.choice((b"\xff", b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xc3"))
    size = length_bytes(prefix.code, len(good + bad))
    return _broken(read, part.holder, part.start, part.end, size + good + bad, part.path, len(size + good))


def _bad_boolean(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    type = part.type
    if not isinstance(type, Fixed) or type.wire.name != "bool":
        return None
    data = bytes([random.choice((2, 0x7F, 0x80, 0xFF))])
    return _broken(read, part.holder, part.start, part.end, data, part.path)


def _bad_marker(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    type = part.type
    if not isinstance(type, Nested | NullableFixed) or not type.marker:
        return None
    data = bytes([random.choice((0, 2, 0x7F, 0x80, 0xFE) if type.marker == "int8" else (2, 0x7F))])
    return _broken(read, part.holder, part.start, part.start + 1, data, part.path)


# ---------------------------------------------------------------- rules about tagged fields


def _tags_beyond(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    least = _left(read, part, part.content_start) // 2 + 1
    data = uvarint_bytes(random.choice((least, least + 1, random.randint(least, UVARINT_MAX), UVARINT_MAX)))
    return _broken(read, part.holder, part.start, part.content_start, data, part.path)


def _tag_beyond(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    _, (middle, content, _) = _varints(read, part)
    least = _left(read, part, content) + 1
    size = uvarint_bytes(random.choice((least, least + 1, UVARINT_MAX)))
    spliced = splice(read, part.holder, middle, content, size)
    return spliced.data, ExpectedError("", part.holder.path, spliced.at - (middle - part.start))


def _tag_twice(read: FuzzInput, part: InputPart, random: Random) -> _Broken:
    entry = read.data[part.start : part.end]
    spliced = splice(read, part.holder, part.end, part.end, entry, elements=1)
    return spliced.data, ExpectedError("", part.holder.path, spliced.at)


def _tags_swapped(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    if part.number == 0:
        return None
    before = part.holder.inner[part.number - 1]
    swapped = read.data[part.start : part.end] + read.data[before.start : before.end]
    return _broken(read, part.holder, before.start, part.end, swapped, part.holder.path, part.node.length)


def _after_value(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Add bytes after the value of a known tagged field, and increase the field's size so that it includes them."""
    if part.item is None:
        return None
    return _broken(read, part, part.end, part.end, random.randbytes(random.randint(1, 3)), part.path)


def _cut_value(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Cut off the end of a known tagged field's fixed-width value, and reduce the field's size."""
    if part.item is None or not part.inner or not isinstance(part.item.type, Fixed):
        return None
    kept = read.data[part.content_start : random.randrange(part.content_start, part.end)]
    return _broken(read, part, part.content_start, part.end, kept, part.path)


# ---------------------------------------------------------------- rules about the whole input


def _trailing(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    if part.end != len(read.data):
        return None  # this is a header, and bytes after it would be read as the message
    return _broken(read, None, part.end, part.end, random.randbytes(random.randint(1, 8)), "")


def _no_key(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    if part.item is None or part.item.name != "request_api_key" or len(read.trace.parts) < 2:
        return None
    return _broken(read, part.holder, part.start, part.end, b"\x7f\xff", part.path)


RULES: Final[dict[str, tuple[tuple[str, ...], _Break]]] = {
    "the bytes end inside a field": (("message",), truncated),
    "bytes after the message": (("message",), _trailing),
    "a length or count beyond the end": (("sized", "array"), _beyond),
    "a negative length or count": (("sized", "array"), _negative),
    "null where there is no null": (("sized", "array"), _null),
    "a string longer than 32767 bytes": (("sized",), _too_long),
    "a string that is not UTF-8": (("sized",), _bad_text),
    "a boolean that is neither 0 nor 1": (("fixed",), _bad_boolean),
    "an invalid null marker": (("struct", "fixed"), _bad_marker),
    "a varint longer than necessary": (("sized", "array", "section", "entry"), _not_shortest),
    "a varint of more than five bytes": (("sized", "array", "section", "entry"), _endless),
    "a varint above 2^31 - 1": (("sized", "array", "section", "entry"), _too_high),
    "more tagged fields than bytes for them": (("section",), _tags_beyond),
    "a tagged field beyond the end": (("entry",), _tag_beyond),
    "a tag twice": (("entry",), _tag_twice),
    "tags in descending order": (("entry",), _tags_swapped),
    "bytes after the value of a tagged field": (("entry",), _after_value),
    "a tagged field that is too short": (("entry",), _cut_value),
    "an unknown API key": (("fixed",), _no_key),
}
"""Maps each of Kafka's rules to the kinds of input part in which it can be broken, and the function that breaks it."""

DIALECT_RULES: Final[dict[str, tuple[tuple[str, ...], _Break]]] = {
    "a number that its enum does not have": (("fixed",), no_member),
    "two elements with the same key": (("array",), same_key),
    "no alternative of a union": (("section",), no_alternative),
    "two alternatives of a union": (("section",), two_alternatives),
}
"""Rules that only the tagwire dialect has."""

_ALL: Final = RULES | DIALECT_RULES
