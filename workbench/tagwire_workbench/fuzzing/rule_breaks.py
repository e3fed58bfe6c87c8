"""Create invalid bytes whose error is known: they break one rule of the format, at a known position.

Each function breaks a rule in a part of the input (an `InputPart`), and returns the path and offset of the error that
strict decoding must raise. Counts and sizes around the part are adjusted.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from tagwire.layout import COMPACT, INT16, INT32, Array, Fixed, LengthCode, Nested, NullableFixed, Sized, TaggedSection
from tagwire.wire.varint import UVARINT_MAX, uvarint_bytes
from tagwire_workbench.fuzzing.framing import FuzzInput
from tagwire_workbench.fuzzing.input_parts import InputPart, length_bytes, splice
from tagwire_workbench.fuzzing.valid_edits import entry_bytes, fresh


class ExpectedError(NamedTuple):
    """The rule that invalid bytes break, and the first position at which a decoder can notice it."""

    rule: str
    path: str
    """The path of the field, or "" for the message itself."""
    offset: int
    """Byte offset in the whole input, including any prefix."""

    def __str__(self) -> str:
        return f"{self.path} at byte {self.offset}: {self.rule}" if self.path else f"byte {self.offset}: {self.rule}"


_TRIES: Final = 12
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
                return found[0], found[1]._replace(rule=name)
    return None


def _broken(
    read: FuzzInput,
    holds: InputPart | None,
    start: int,
    end: int,
    data: bytes,
    path: str,
    inside: int = 0,
    *,
    elements: int = 0,
) -> _Broken:
    """Replace the bytes from `start` to `end` with `data`. Return the new input and the expected error.

    The error is expected in the field at `path`, `inside` bytes after the start of `data`. `elements` is the number of
    elements that `data` adds to the array or tag section `holds`.
    """
    spliced = splice(read, holds, start, end, data, elements=elements)
    return spliced.data, ExpectedError("", path, spliced.at + inside)


# ---------------------------------------------------------------- rules about lengths and counts


class _LengthPrefix(NamedTuple):
    """The length or count at the start of an encoded string, byte string or array."""

    type: Sized | Array
    code: LengthCode
    end: int


def _length_prefix(read: FuzzInput, part: InputPart) -> _LengthPrefix | None:
    type = part.type
    if not isinstance(type, Sized | Array) or type.length is None:
        return None
    end = part.start + type.length.width
    while not type.length.code and read.data[end - 1] >= 0x80:
        end += 1
    return _LengthPrefix(type, type.length, end)


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
    left = _left(read, part, prefix.end)
    least = left + 1 if isinstance(prefix.type, Sized) else left // prefix.type.element.minimum + 1
    most = (1 << 8 * prefix.code.width - 1) - 1 if prefix.code.code else UVARINT_MAX - prefix.code.bias
    if least > most:
        return None
    stated = random.choice((least, min(least + 1, most), random.randint(least, most), most))
    data = length_bytes(prefix.code, stated)
    inside = len(data) if isinstance(prefix.type, Sized) and stated <= prefix.type.longest else 0
    return _broken(read, part.holder, part.start, prefix.end, data, part.path, inside)


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
    if prefix is None or prefix.type.nullable or prefix.code not in (INT16, INT32, COMPACT):
        return None
    return _broken(read, part.holder, part.start, prefix.end, length_bytes(prefix.code, -1), part.path)


def _too_long(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Make a string longer than Kafka allows.

    Only strings with compact lengths are changed, because a fixed-width length can't be that large.
    """
    prefix = _length_prefix(read, part)
    if prefix is None or prefix.code.code or not isinstance(prefix.type, Sized) or prefix.type.longest >= UVARINT_MAX:
        return None
    size = prefix.type.longest + random.choice((1, 2, 100))
    return _broken(read, part.holder, part.start, part.end, length_bytes(prefix.code, size) + b"a" * size, part.path)


# ---------------------------------------------------------------- rules about varints

_WITH_VARINT: Final = ("sized", "array", "section", "entry")
_ENDLESS: Final = (b"\xff" * 5 + b"\1", b"\x80" * 9 + b"\1")
_TOO_HIGH: Final = (b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x08", b"\xff\xff\xff\xff\x7f")


def _varints(read: FuzzInput, part: InputPart) -> list[tuple[int, int, str]]:
    """Find the varints before a part's content, such as its length, count or tag. Returns (start, end, error path)."""
    if part.kind == "entry":
        middle = part.start + len(uvarint_bytes(part.tag))
        return [(part.start, middle, part.holder.path), (middle, part.content_start, part.holder.path)]
    if part.kind == "section":
        return [(part.start, part.content_start, part.path)]
    prefix = _length_prefix(read, part)
    return [] if prefix is None or prefix.code.code else [(part.start, prefix.end, part.path)]


def _changed_varint(change: Callable[[bytes, Random], bytes | None]) -> _Break:
    """Return a function that replaces a random varint. If `change` returns None, the varint can't be replaced."""

    def broken(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
        varints = _varints(read, part)
        if not varints:
            return None
        start, end, path = random.choice(varints)
        data = change(read.data[start:end], random)
        return None if data is None else _broken(read, part.holder, start, end, data, path)

    return broken


def _longer(data: bytes, random: Random) -> bytes | None:
    more = random.randint(1, 5 - len(data)) if len(data) < 5 else 0
    return data[:-1] + bytes([data[-1] | 0x80]) + b"\x80" * (more - 1) + b"\0" if more else None


# ---------------------------------------------------------------- rules about values


def _bad_text(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    prefix = _length_prefix(read, part)
    if prefix is None or not isinstance(prefix.type, Sized) or prefix.type.wire.family != "text":
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
    return _broken(read, part.holder, middle, content, size, part.holder.path, part.start - middle)


def _tag_twice(read: FuzzInput, part: InputPart, random: Random) -> _Broken:
    entry = read.data[part.start : part.end]
    return _broken(read, part.holder, part.end, part.end, entry, part.holder.path, elements=1)


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


# ---------------------------------------------------------------- rules that only the tagwire dialect has


def _no_member(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Write a number that is not a member of the field's closed enum."""
    wire: Any = getattr(part.type, "wire", None)
    if not getattr(wire, "is_closed", False) or part.node.length != wire.width:
        return None
    number = random.randint(wire.low, wire.high)
    if number in wire.members:
        return None
    data = number.to_bytes(wire.width, "big", signed=wire.low < 0)
    return _broken(read, part.holder, part.start, part.end, data, part.path)


def _same_key(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Repeat an array's last element, so that two elements have the same key."""
    if not isinstance(part.type, Array) or not part.type.unique or not part.inner:
        return None
    last = part.inner[-1]
    data = read.data[last.start : last.end]
    return _broken(read, part, last.end, last.end, data, f"{part.path}[{len(part.inner)}]", elements=1)


def _no_alternative(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Remove a union's only field. Skip structs with unknown fields, which may belong to the union."""
    chosen = [entry for entry in part.inner if entry.is_union]
    if len(chosen) != 1 or any(entry.item is None for entry in part.inner):
        return None
    start, end = chosen[0].start, chosen[0].end
    return _broken(read, part, start, end, b"", part.path, part.start - start, elements=-1)


def _two_alternatives(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Set two fields of a union, which allows only one."""
    section = part.struct.section if part.struct is not None else None
    chosen = [entry for entry in part.inner if entry.is_union and entry.item is not None]
    if not isinstance(section, TaggedSection) or len(chosen) != 1 or chosen[0] is not part.inner[-1]:
        return None
    tag = getattr(chosen[0].item, "tag", None) or 0
    names = {name for union in section.unions for name in union.alternatives}
    others = [field for field in section.fields if field.name in names and (field.tag or 0) > tag]
    if len(section.unions) != 1 or not others:
        return None
    other = random.choice(others)
    data = entry_bytes(other.tag or 0, fresh(read, part, other.type, other, random))
    path = f"{part.path}.{other.name}" if part.path else other.name
    return _broken(read, part, chosen[0].end, chosen[0].end, data, path, elements=1)


# ---------------------------------------------------------------- rules about the whole input


def _truncated(read: FuzzInput, message: InputPart, random: Random) -> _Broken | None:
    """Cut the input at a random position in a message or header.

    Decoders often report the error before the end of the remaining bytes, because they compare counts and sizes with
    the number of these bytes.
    """
    if message.node.length == 0:
        return None
    cut = random.randrange(message.start, message.end)
    found = _cut_error(read, message, cut)
    return None if found is None else (splice(read, None, cut, len(read.data), b"").data, ExpectedError("", *found))


def _cut_error(read: FuzzInput, part: InputPart, cut: int) -> tuple[str, int] | None:
    """Return the (path, offset) of the error that decoders must raise if `part` ends at `cut`.

    Returns None if decoders may raise different errors.
    """
    own = _own_cut_error(read, part, cut)
    if own is not None:
        return own
    inner = next((each for each in part.inner if each.end > cut), None)
    return None if inner is None or inner.kind in ("buffer", "raw") else _cut_error(read, inner, cut)


def _own_cut_error(read: FuzzInput, part: InputPart, cut: int) -> tuple[str, int] | None:
    """Like `_cut_error`, but return None if the error is in an inner part."""
    if part.kind == "entry":
        return part.holder.path, cut if cut < part.content_start else part.start
    if part.kind == "section":
        if cut < part.content_start:
            return part.path, cut
        return (part.path, part.start) if len(part.inner) * 2 > cut - part.content_start else None
    type = part.type
    if isinstance(type, Fixed):
        return part.path, part.start
    if isinstance(type, NullableFixed):
        return part.path, part.start + (cut > part.start)
    prefix = _length_prefix(read, part)
    if prefix is None:
        return (part.path, part.start) if part.kind == "struct" and cut < part.content_start else None
    if cut < prefix.end:
        return part.path, part.start if prefix.code.code else cut
    if isinstance(prefix.type, Sized):
        return part.path, prefix.end
    return (part.path, part.start) if len(part.inner) * prefix.type.element.minimum > cut - prefix.end else None


def _trailing(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    if part.end != len(read.data):
        return None  # this is a header, and bytes after it would be read as the message
    return _broken(read, None, part.end, part.end, random.randbytes(random.randint(1, 8)), "")


def _no_key(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    if part.item is None or part.item.name != "request_api_key" or len(read.trace.parts) < 2:
        return None
    return _broken(read, part.holder, part.start, part.end, b"\x7f\xff", part.path)


RULES: Final[dict[str, tuple[tuple[str, ...], _Break]]] = {
    "the bytes end inside a field": (("message",), _truncated),
    "bytes after the message": (("message",), _trailing),
    "a length or count beyond the end": (("sized", "array"), _beyond),
    "a negative length or count": (("sized", "array"), _negative),
    "null where there is no null": (("sized", "array"), _null),
    "a string longer than 32767 bytes": (("sized",), _too_long),
    "a string that is not UTF-8": (("sized",), _bad_text),
    "a boolean that is neither 0 nor 1": (("fixed",), _bad_boolean),
    "an invalid null marker": (("struct", "fixed"), _bad_marker),
    "a varint longer than necessary": (_WITH_VARINT, _changed_varint(_longer)),
    "a varint of more than five bytes": (_WITH_VARINT, _changed_varint(lambda _, random: random.choice(_ENDLESS))),
    "a varint above 2^31 - 1": (_WITH_VARINT, _changed_varint(lambda _, random: random.choice(_TOO_HIGH))),
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
    "a number that its enum does not have": (("fixed",), _no_member),
    "two elements with the same key": (("array",), _same_key),
    "no alternative of a union": (("section",), _no_alternative),
    "two alternatives of a union": (("section",), _two_alternatives),
}
"""Rules that only the tagwire dialect has."""

_ALL: Final = RULES | DIALECT_RULES
