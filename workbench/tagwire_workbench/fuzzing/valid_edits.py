"""Make valid but unusual edits of messages.

Examples are extreme numbers, null and empty values, long strings of unusual characters, arrays of other sizes, unknown
tagged fields, and tagged fields with their default. An edit changes one part of the input (an `InputPart`), and adjusts
the counts and sizes around the part.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from tagwire.layout import Array, Fixed, Item, Nested, NullableFixed, Sized, StructLayout, TaggedSection, Type
from tagwire.wire.families import BinaryType, IntegerType
from tagwire.wire.varint import UVARINT_MAX, uvarint_bytes
from tagwire_workbench.fuzzing.corpus import SHAPES, Filler
from tagwire_workbench.fuzzing.framing import FuzzInput
from tagwire_workbench.fuzzing.input_parts import InputPart, Spliced, splice, value_bytes

_FIXED_NAMES: Final = ("request_api_key", "request_api_version")
"""Header fields that determine how the rest of the input is read, so edits never change them."""
_LENGTHS: Final = (0, 1, 2, 126, 127, 128, 129, 255, 256, 1000, 16382, 16383, 16384, 32766, 32767)
"""Lengths for new values. Most are close to a limit of the encoding."""
_TEXTS: Final = (
    "\0",
    "a",
    "é",
    "€",
    "\U0010ffff",
    "\ufeff",
    "\ufffd",
    "\uffff",
    " ",
    "\n",
    '"',
    "\\",
    ".",
    "../",
    "%s",
)
_TAGS: Final = (0, 1, 2, 5, 100, 127, 128, 0x3FFF, 0x4000, 0x7FFF, 0xFFFF, 1 << 21, 1 << 28, UVARINT_MAX - 1)
"""Tags for unknown tagged fields. The highest possible tag is left out, because Kafka's own classes can't write it."""
_DATA: Final = (b"", b"\0", b"\1", b"\xff\xff\xff\xff\xff", b"a" * 200)
_TRIES: Final = 12


_Change = tuple[str, Spliced]


def valid_edit(read: FuzzInput, parts: list[InputPart], random: Random) -> tuple[str, bytes] | None:
    """Edit a random part of the message. Return a description and the new input, or None if no part can be edited."""
    candidates = [part for part in parts if part.kind in _EDITS and not _is_fixed(part)]
    for part in random.sample(candidates, min(len(candidates), _TRIES)):
        change = random.choice(_EDITS[part.kind])(read, part, random)
        if change is not None:
            what, spliced = change
            return f"{part.path}: {what}" if part.path else what, spliced.data
    return None


def _is_fixed(part: InputPart) -> bool:
    """Return whether a value must not change. This is true of unique keys, and of values that other bytes depend on."""
    name = part.item.name if part.item is not None else ""
    if name in _FIXED_NAMES:
        return True
    holder = next((each for each in reversed(part.around) if each.kind == "array"), None)
    return holder is not None and isinstance(holder.type, Array) and name in holder.type.unique


def _put(read: FuzzInput, part: InputPart, what: str, data: bytes) -> _Change | None:
    if data == read.data[part.start : part.end]:
        return None
    return what, splice(read, part.holder, part.start, part.end, data)


def _value(read: FuzzInput, part: InputPart, what: str, value: object) -> _Change | None:
    assert part.type is not None
    return _put(read, part, what, value_bytes(part.type, value))


def fresh(read: FuzzInput, part: InputPart, type: Type, item: Item, random: Random) -> bytes:
    """Return the encoding of a random new value for a field."""
    shape = random.choice([SHAPES[name] for name in ("empty", "full", "high", "low")])
    cls: Any = part.struct.cls if part.struct is not None else None
    row = next(row for row in cls.FIELDS if row.name == item.name)
    return value_bytes(type, Filler(shape, read.version).value(type, row))


def _fixed(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    type: Any = part.type
    wire = type.wire
    if isinstance(type, NullableFixed) and random.random() < 0.5:
        return _value(read, part, "null", None) if type.marker and not part.is_union else None
    if isinstance(wire, IntegerType) and not getattr(wire, "is_closed", False):
        bit = 1 << random.randrange(8 * wire.width)
        numbers = [wire.low, wire.high, 0, 1, -1, bit, bit - 1, -bit, random.randint(wire.low, wire.high)]
        fitting = [number for number in numbers if wire.low <= number <= wire.high]
        return _value(read, part, "extreme number", random.choice(fitting))
    if isinstance(type, Fixed) and wire.name in ("uuid", "float64"):
        ends = (bytes(wire.width), b"\xff" * wire.width, b"\x7f\xf0".ljust(wire.width, b"\0"))
        return _put(read, part, "unusual bits", random.choice([*ends, random.randbytes(wire.width)]))
    return _value(read, part, "another value", random.choice(wire.samples))


def _sized(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    type = part.type
    assert isinstance(type, Sized)
    if type.nullable and not part.is_union and random.random() < 0.3:
        return _value(read, part, "null", None)
    length = min(random.choice(_LENGTHS[: random.choice((4, 9, len(_LENGTHS)))]), type.longest)
    what = f"{length} bytes" if length else "empty"
    if type.wire.family == "text":
        unit = random.choice(_TEXTS)
        text = unit * (length // len(unit.encode()))
        return _value(read, part, f"string of {length} bytes", text + "a" * (length - len(text.encode())))
    if type.wire.__class__ is BinaryType:
        return _value(read, part, what, random.choice((bytes(length), random.randbytes(length))))
    return _value(read, part, "another value", random.choice(type.wire.samples))


def _clear(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    type = part.type
    assert isinstance(type, Array)
    if type.filled or part.is_union:
        return None
    if type.nullable and random.random() < 0.5:
        return _value(read, part, "null", None)
    return _put(read, part, "no elements", value_bytes(type, ()))


def _drop(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    if not part.inner:
        return None
    first = random.randrange(len(part.inner))
    last = random.randrange(first, len(part.inner))
    dropped = part.inner[first : last + 1]
    is_filled = isinstance(part.type, Array) and part.type.filled
    if any(each.is_union for each in dropped) or (is_filled and len(dropped) == len(part.inner)):
        return None
    spliced = splice(read, part, dropped[0].start, dropped[-1].end, b"", elements=-len(dropped))
    return f"{len(dropped)} fewer", spliced


def _repeat(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    type = part.type
    if not part.inner or not isinstance(type, Array) or type.unique or type.order:
        return None
    element = random.choice(part.inner)
    times = random.choice((1, 1, 2, 3, 125, 126, 127, 128)) if element.node.length < _LONG else 1
    data = read.data[element.start : element.end] * times
    return f"{times} more", splice(read, part, element.end, element.end, data, elements=times)


_LONG: Final = 200


def _grow(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    type = part.type
    if not isinstance(type, Array) or type.unique or type.order or part.item is None:
        return None
    data = fresh(read, part, type.element, part.item, random)
    if part.is_null:
        assert type.length is not None
        *before, last = value_bytes(type, ())  # the count of an empty array: its last byte is 0 or, if compact, 1
        return _put(read, part, "one element", bytes([*before, last + 1]) + data)
    position = random.choice([part.content_start, *(each.end for each in part.inner)])
    return "one more", splice(read, part, position, position, data, elements=1)


def _turn(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    if len(part.inner) < 2 or not isinstance(part.type, Array) or part.type.order:
        return None
    elements = [read.data[each.start : each.end] for each in part.inner]
    turned = b"".join(reversed(elements))
    if turned == b"".join(elements):
        return None
    return "reversed", splice(read, part, part.content_start, part.inner[-1].end, turned)


def _struct(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    type = part.type
    if not isinstance(type, Nested) or not type.nullable or part.item is None or part.is_union:
        return None
    if not part.is_null:
        return _value(read, part, "null", None)
    return _put(read, part, "a struct", fresh(read, part, type, part.item, random))


def _unknown(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    """Add a tagged field that no version of the struct defines. A known tag might make the message invalid."""
    cls: Any = part.struct.cls if part.struct is not None else None
    known = {row.tag for row in cls.FIELDS} | {field.tag for field in _section(part).fields}
    there = {entry.tag for entry in part.inner}
    tag = random.choice([*_TAGS, random.randrange(UVARINT_MAX)])
    if tag in known | there:
        return None
    data = random.choice([*_DATA, random.randbytes(random.randrange(9))])
    return f"unknown tag {tag}", _insert(read, part, tag, data)


def _known(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    """Add a tagged field that the spec has, but the input doesn't."""
    there = {entry.tag for entry in part.inner}
    unions = {name for union in _section(part).unions for name in union.alternatives}
    fields = [field for field in _section(part).fields if field.tag not in there and field.name not in unions]
    if not fields:
        return None
    field = random.choice(fields)
    if random.random() < 0.5:
        default = field.default_value()
        if default is not None or (getattr(field.type, "nullable", False) and getattr(field.type, "marker", True)):
            return f"tag {field.tag} at its default", _insert(read, part, field.tag, value_bytes(field.type, default))
    return f"tag {field.tag}", _insert(read, part, field.tag, fresh(read, part, field.type, field, random))


def _trade(read: FuzzInput, part: InputPart, random: Random) -> _Change | None:
    entries = [entry for entry in part.inner if entry.item is None]
    if len(entries) < 2:
        return None
    one, other = random.sample(entries, 2)
    first, second = sorted((one, other), key=lambda entry: entry.start)
    data = [read.data[each.content_start : each.end] for each in (first, second)]
    if data[0] == data[1]:
        return None
    between = read.data[first.end : second.start]
    traded = entry_bytes(first.tag, data[1]) + between + entry_bytes(second.tag, data[0])
    return "values swapped", splice(read, part, first.start, second.end, traded)


def _insert(read: FuzzInput, part: InputPart, tag: int | None, data: bytes) -> Spliced:
    assert tag is not None
    position = next(
        (entry.start for entry in part.inner if entry.tag > tag), part.inner[-1].end if part.inner else None
    )
    position = part.content_start if position is None else position
    return splice(read, part, position, position, entry_bytes(tag, data), elements=1)


def entry_bytes(tag: int, data: bytes) -> bytes:
    """Return a field's entry in a tag section: its tag, its size and `data`."""
    return uvarint_bytes(tag) + uvarint_bytes(len(data)) + data


def _section(part: InputPart) -> TaggedSection:
    struct: StructLayout | None = part.struct
    assert struct is not None and isinstance(struct.section, TaggedSection)
    return struct.section


_EDITS: Final[dict[str, tuple[Callable[[FuzzInput, InputPart, Random], _Change | None], ...]]] = {
    "fixed": (_fixed,),
    "sized": (_sized,),
    "array": (_clear, _drop, _repeat, _grow, _grow, _turn),
    "struct": (_struct,),
    "section": (_unknown, _unknown, _known, _known, _drop, _trade),
}
"""Possible edits for each kind of part. Some are listed twice, so that they are chosen more often."""
