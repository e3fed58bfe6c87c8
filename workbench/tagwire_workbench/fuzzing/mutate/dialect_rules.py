"""Break the rules that exist only in the tagwire dialect: closed enums, unique keys, unions."""

from __future__ import annotations

from random import Random
from typing import Any

from tagwire.layout import Array, TaggedSection
from tagwire_workbench.fuzzing.framing import FuzzInput
from tagwire_workbench.fuzzing.mutate.mutation import ExpectedError
from tagwire_workbench.fuzzing.mutate.valid_edits import entry_bytes, fresh
from tagwire_workbench.fuzzing.sites import InputSite, splice

_Broken = tuple[bytes, ExpectedError]


def no_member(read: FuzzInput, site: InputSite, random: Random) -> _Broken | None:
    """Write a number that is not a member of the field's closed enum."""
    wire: Any = getattr(site.type, "wire", None)
    if not getattr(wire, "is_closed", False) or site.node.length != wire.width:
        return None
    number = random.randint(wire.low, wire.high)
    if number in wire.members:
        return None
    data = number.to_bytes(wire.width, "big", signed=wire.low < 0)
    spliced = splice(read, site.holder, site.start, site.end, data)
    return spliced.data, ExpectedError("", site.path, spliced.at)


def same_key(read: FuzzInput, site: InputSite, random: Random) -> _Broken | None:
    """Give an element the key of the previous element."""
    if not isinstance(site.type, Array) or not site.type.unique or not site.inner:
        return None
    last = site.inner[-1]
    spliced = splice(read, site, last.end, last.end, read.data[last.start : last.end], elements=1)
    return spliced.data, ExpectedError("", f"{site.path}[{len(site.inner)}]", spliced.at)


def no_alternative(read: FuzzInput, site: InputSite, random: Random) -> _Broken | None:
    """Remove all fields of a union. Skip structs with unknown fields, which may be a newer version's alternatives."""
    chosen = [entry for entry in site.inner if entry.is_union]
    if len(chosen) != 1 or any(entry.item is None for entry in site.inner):
        return None
    entry = chosen[0]
    spliced = splice(read, site, entry.start, entry.end, b"", elements=-1)
    return spliced.data, ExpectedError("", site.path, spliced.at - (entry.start - site.start))


def two_alternatives(read: FuzzInput, site: InputSite, random: Random) -> _Broken | None:
    """Set two fields of a union, which allows only one."""
    section = site.struct.section if site.struct is not None else None
    chosen = [entry for entry in site.inner if entry.is_union and entry.item is not None]
    if not isinstance(section, TaggedSection) or len(chosen) != 1 or chosen[0] is not site.inner[-1]:
        return None
    tag = chosen[0].item.tag if chosen[0].item is not None else None
    names = {name for union in section.unions for name in union.alternatives}
    others = [field for field in section.fields if field.name in names and (field.tag or 0) > (tag or 0)]
    if len(section.unions) != 1 or not others:
        return None
    other = random.choice(others)
    data = entry_bytes(other.tag or 0, fresh(read, site, other.type, other, random))
    spliced = splice(read, site, chosen[0].end, chosen[0].end, data, elements=1)
    path = f"{site.path}.{other.name}" if site.path else other.name
    return spliced.data, ExpectedError("", path, spliced.at)
