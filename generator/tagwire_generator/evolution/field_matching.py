"""Pairs the fields of an old struct with those of the new one, in one version.

Fields are paired by name first. A remaining field was renamed if it is between the same neighbours (or has
the same tag) and has the same bytes; otherwise it was added or removed. Similar names are not used: bytes
decide.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tagwire.layout import Array, Fixed, Item, Nested, NullableFixed, Sized, StructLayout, Type
from tagwire.wire.wire_type import WireType

_FIXED = (Fixed, NullableFixed)


class Step(NamedTuple):
    """A field in both layouts; None where one of them lacks it."""

    old: Item | None
    new: Item | None

    @property
    def item(self) -> Item:
        """The field as it is called now, or was called before it went."""
        found = self.new or self.old
        assert found is not None
        return found


def matched(old: StructLayout, new: StructLayout) -> tuple[Step, ...]:
    """Every field of both structs once: those of the new one in wire order, then those that are gone."""
    olds = {item.name: item for item in old.fields}
    renamed = _renamed(old, new)
    steps = [Step(olds.get(item.name, renamed.get(item.name)), item) for item in new.fields]
    found = {step.old.name for step in steps if step.old}
    return (*steps, *(Step(item, None) for item in old.fields if item.name not in found))


def same_shape(old: Type, new: Type) -> bool:
    """Whether two types have the same bytes under any names; null, lengths and tagged fields apart."""
    if isinstance(old, Array) and isinstance(new, Array):
        return same_shape(old.element, new.element)
    if isinstance(old, Nested) and isinstance(new, Nested):
        ours, theirs = old.struct.items, new.struct.items
        return len(ours) == len(theirs) and all(same_shape(a.type, b.type) for a, b in zip(ours, theirs, strict=True))
    if isinstance(old, Sized) and isinstance(new, Sized):
        return old.wire.family == new.wire.family
    return isinstance(old, _FIXED) and isinstance(new, _FIXED) and same_width(old.wire, new.wire)


def same_width(old: WireType, new: WireType) -> bool:
    """Whether two types have the same bytes, which mean something else: signed or not, a uuid or any 16 bytes."""
    families = {old.family, new.family}
    return old.width == new.width and (len(families) == 1 or families == {"uuid", "fixed bytes"})


def _renamed(old: StructLayout, new: StructLayout) -> Mapping[str, Item]:
    """The old field of each new one that has a name of its own, by the new name."""
    names = {item.name for item in old.fields} & {item.name for item in new.fields}
    pairs = [*_between(old.items, new.items, names), *_by_tag(old, new, names)]
    return {theirs.name: ours for ours, theirs in pairs if same_shape(ours.type, theirs.type)}


def _between(old: Iterable[Item], new: Iterable[Item], names: set[str]) -> Iterator[tuple[Item, Item]]:
    """Fields without a namesake, in the order in which they follow the same field."""
    olds, news = _gaps(old, names), _gaps(new, names)
    for anchor, items in news.items():
        yield from zip(olds.get(anchor, ()), items, strict=False)


def _gaps(items: Iterable[Item], names: set[str]) -> dict[str, list[Item]]:
    """Fields without a namesake, by the name of the last one before them that has one."""
    gaps: dict[str, list[Item]] = {}
    anchor = ""
    for item in items:
        if item.name in names:
            anchor = item.name
        else:
            gaps.setdefault(anchor, []).append(item)
    return gaps


def _by_tag(old: StructLayout, new: StructLayout, names: set[str]) -> Iterator[tuple[Item, Item]]:
    olds = {item.tag: item for item in old.fields if item.tag is not None and item.name not in names}
    for item in new.fields:
        if item.tag in olds and item.name not in names:
            yield olds[item.tag], item
