"""Break the rules that exist only in the tagwire dialect: closed enums, unique keys, and unions."""

from __future__ import annotations

from random import Random
from typing import Any

from tagwire.layout import Array, TaggedSection
from tagwire_workbench.fuzzing.framing import FuzzInput
from tagwire_workbench.fuzzing.input_parts import InputPart, splice
from tagwire_workbench.fuzzing.mutate.mutation import ExpectedError
from tagwire_workbench.fuzzing.mutate.valid_edits import entry_bytes, fresh

_Broken = tuple[bytes, ExpectedError]


def no_member(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Write a number that is not a member of the field's closed enum."""
    wire: Any = getattr(part.type, "wire", None)
    if not getattr(wire, "is_closed", False) or part.node.length != wire.width:
        return None
    number = random.randint(wire.low, wire.high)
    if number in wire.members:
        return None
    data = number.to_bytes(wire.width, "big", signed=wire.low < 0)
    spliced = splice(read, part.holder, part.start, part.end, data)
    return spliced.data, ExpectedError("", part.path, spliced.at)


def same_key(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Repeat an array's last element, so that two elements have the same key."""
    if not isinstance(part.type, Array) or not part.type.unique or not part.inner:
        return None
    last = part.inner[-1]
    spliced = splice(read, part, last.end, last.end, read.data[last.start : last.end], elements=1)
    return spliced.data, ExpectedError("", f"{part.path}[{len(part.inner)}]", spliced.at)


def no_alternative(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Remove a union's only field. Skip structs with unknown fields, which may belong to the union."""
    chosen = [entry for entry in part.inner if entry.is_union]
    if len(chosen) != 1 or any(entry.item is None for entry in part.inner):
        return None
    entry = chosen[0]
    spliced = splice(read, part, entry.start, entry.end, b"", elements=-1)
    return spliced.data, ExpectedError("", part.path, spliced.at - (entry.start - part.start))


def two_alternatives(read: FuzzInput, part: InputPart, random: Random) -> _Broken | None:
    """Set two fields of a union, which allows only one."""
    section = part.struct.section if part.struct is not None else None
    chosen = [entry for entry in part.inner if entry.is_union and entry.item is not None]
    if not isinstance(section, TaggedSection) or len(chosen) != 1 or chosen[0] is not part.inner[-1]:
        return None
    tag = chosen[0].item.tag if chosen[0].item is not None else None
    names = {name for union in section.unions for name in union.alternatives}
    others = [field for field in section.fields if field.name in names and (field.tag or 0) > (tag or 0)]
    if len(section.unions) != 1 or not others:
        return None
    other = random.choice(others)
    data = entry_bytes(other.tag or 0, fresh(read, part, other.type, other, random))
    spliced = splice(read, part, chosen[0].end, chosen[0].end, data, elements=1)
    path = f"{part.path}.{other.name}" if part.path else other.name
    return spliced.data, ExpectedError("", path, spliced.at)
