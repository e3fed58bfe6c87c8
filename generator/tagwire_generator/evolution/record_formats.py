"""What a change does to a record format, which has no versions, and whose bytes logs keep for years.

So the wire format must not change at all; other bytes need another format with another discriminator. Names
may change, but programs find fields by them.
"""

from collections.abc import Iterator

from tagwire.layout import Bits, Compression, Condition, Item, Order, StructLayout, Type, nested_struct
from tagwire.versions import NONE
from tagwire_generator.evolution.findings import Finding, change
from tagwire_generator.expansion.format_classes import format_class
from tagwire_generator.model import MessageSpec
from tagwire_generator.reading.places import Spot

_WIRE = ("condition", "extent", "equals", "relative_to", "compression")
"""The framing of an item, apart from its type and bits."""


def format_findings(old: MessageSpec, new: MessageSpec) -> Iterator[Finding]:
    """What a new spec of a format breaks of the old one; both are one format, or one of them is a message."""
    if old.format is None or new.format is None:
        what = "a record format and is now a message" if old.format else "a message and is now a record format"
        yield change("TW923", new, NONE, f"{new.name} was {what}", spot=Spot(key="type"))
        return
    if old.format.name != new.format.name:
        text = f"the format was called {old.format.name} and is now {new.format.name}"
        yield change("TW940", new, NONE, text, spot=Spot(key="format"))
    before, now = (format_class(spec, spec.options).layout().root for spec in (old, new))
    for rule, names, text in _structs(before, now, {}, ()):
        yield change(rule, new, NONE, text, path=".".join(item.name for item in names), spot=_spot(names))


_Found = Iterator[tuple[str, tuple[Item, ...], str]]


def _spot(items: tuple[Item, ...]) -> Spot:
    return Spot(tuple(item.json_name for item in items))


def _structs(old: StructLayout, new: StructLayout, outer: dict[str, str], around: tuple[Item, ...]) -> _Found:
    renamed = _renamed(old, new)
    for was, item in renamed.items():
        yield "TW941", (*around, item), f"the field was {was} and is now {item.name}"
    names = outer | {was: item.name for was, item in renamed.items()}
    before = {names.get(item.name, item.name): item for item in old.items}
    now = {item.name: item for item in new.items}
    for name in before.keys() - now.keys():
        yield "TW914", around, f"{name} was removed"
    for name, item in now.items():
        if name not in before:
            yield "TW914", (*around, item), f"{name} was added"
    common = [name for name in before if name in now]
    if common != [name for name in now if name in before]:
        yield "TW914", around, f"the order of fields changed; it was {', '.join(common)}"
    for name in common:
        yield from _items(before[name], now[name], names, (*around, now[name]))


def _renamed(old: StructLayout, new: StructLayout) -> dict[str, Item]:
    """Fields at their old place, with their old type and another name."""
    if len(old.items) != len(new.items):
        return {}
    known = {item.name for item in (*old.items, *new.items)}
    both = known - ({item.name for item in old.items} ^ {item.name for item in new.items})
    pairs = zip(old.items, new.items, strict=True)
    return {
        was.name: item
        for was, item in pairs
        if was.name not in both and item.name not in both and str(was.type) == str(item.type)
    }


def _items(old: Item, new: Item, names: dict[str, str], path: tuple[Item, ...]) -> _Found:
    if str(old.type) != str(new.type):
        yield "TW914", path, f"the type was {old.type} and is now {new.type}"
    elif _terms(old.type, names) != _terms(new.type, {}):
        yield "TW914", path, f"the length, count, order or range of the {old.type} changed"
    for name in _WIRE:
        if _with_names(getattr(old, name), names) != _with_names(getattr(new, name), {}):
            yield "TW914", path, f"its {name.replace('_', ' ')} changed"
    if [_shape(group) for group in old.bits] != [_shape(group) for group in new.bits]:
        yield "TW914", path, "its bits changed"
    for one, other in zip(old.bits, new.bits, strict=False):
        if _shape(one) == _shape(other) and one.name != other.name:
            yield "TW920", path, f"the bits 0x{one.mask:02x} were {one.name} and are now {other.name}"
    if old.default != new.default:
        yield "TW921", path, f"the default was {old.default!r} and is now {new.default!r}"
    inner = nested_struct(old.type), nested_struct(new.type)
    if inner[0] is not None and inner[1] is not None:
        yield from _structs(inner[0], inner[1], names, path)


def _shape(group: Bits) -> tuple[int, tuple[str, ...]]:
    return group.mask, group.values


def _with_names(value: object, names: dict[str, str]) -> object:
    """The references of an old item to other fields, with their new names."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Compression):
        return names.get(value.field, value.field), _shape(value.bits)
    if isinstance(value, Condition | Order):
        return value.replace(field=names.get(value.field, value.field))
    return value


def _terms(kind: Type, names: dict[str, str]) -> list[tuple[str, object]]:
    """The description of a type with new names, without the members of its struct, which are compared separately."""
    return [(name, _with_names(part, names)) for name, part in kind.given() if name not in ("struct", "element")]
