"""Compare the old and new layouts of a version, and find what the new layout breaks.

The comparison uses layouts, never the text of specs. Each difference names the rule that it violates.

Fields that take no bytes (structs without fields) can be added, removed and moved freely.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tagwire.layout import (
    DEFAULT_STRUCT,
    Array,
    Fixed,
    Item,
    Layout,
    LengthCode,
    Missing,
    Nested,
    NullableFixed,
    OptionalBuffer,
    Sized,
    StructLayout,
    TaggedSection,
    Type,
)
from tagwire.message.json import json_value
from tagwire.message.register import Register
from tagwire.wire.wire_type import WireType
from tagwire_generator.evolution.matching import MatchedField, matched, same_width
from tagwire_generator.evolution.value_rules import enum_changes, key_change, union_changes
from tagwire_generator.problems import CHANGE_RULES

Steps = tuple[MatchedField, ...]
"""The path from the message to a field."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A violation of one rule at one field. `steps` is the path from the message to the field; the field comes last."""

    rule: str
    steps: Steps
    text: str
    """A sentence that describes the change, but does not name the field."""
    key: str
    """The spec key that causes the difference."""


def compare_layouts(old: Layout, new: Layout) -> "Comparison":
    """Compare the old and new layouts of a version. Return the differences, in the order of the new layout's fields."""
    walk = Comparison()
    before, now = _encoding(old.root), _encoding(new.root)
    if before != now:
        walk.lengths_count = False
        walk.add("TW901", (), f"the version was {before} and is now {now}", "flexibleVersions")
    walk.struct((), old.root, new.root, is_default=False)
    return walk


def wrapped(type: Type) -> Item | None:
    """If a struct is encoded exactly like its only field, return this field. Returns None for all other types."""
    if not isinstance(type, Nested) or type.marker or type.struct.section is not None:
        return None
    return type.struct.items[0] if len(type.struct.items) == 1 else None


def _is_same_value(old: object, new: object) -> bool:
    """Return whether two defaults have equal types and values.

    Floats are compared by their bits. An enum member equals its number.
    """
    if isinstance(old, float) and isinstance(new, float):
        return old.hex() == new.hex()
    return (type(old) is type(new) or _are_numbers(old, new)) and old == new


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _shown_default(default: object) -> str:
    if default is None or default is DEFAULT_STRUCT:
        return "null" if default is None else "a default struct"
    if isinstance(default, Register):
        return f"{default.text} ({int(default)})"
    if default in ((), b"") or isinstance(default, str):
        return repr(default) if default else "empty"
    return str(json_value(default)).lower() if isinstance(default, bool) else str(json_value(default))


def _encoding(struct: StructLayout) -> str:
    section = struct.section
    if isinstance(section, TaggedSection):
        return "flexible"
    if isinstance(section, OptionalBuffer):
        counted = " and include the tag" if section.counts_tag else ""
        return f"one with optional fields (lengths are {section.length.name}{counted})"
    return "not flexible"


def _type_name(type: Type) -> str:
    if isinstance(type, Array):
        return f"[]{_type_name(type.element)}"
    if isinstance(type, Nested):
        return type.struct.name
    if isinstance(type, Fixed | NullableFixed | Sized):
        return f"{type.wire.name} {type.wire.semantic}".rstrip()
    return str(type)


class Comparison:
    """Compares two layouts recursively, and collects all differences, and the structs that were compared."""

    def __init__(self) -> None:
        self.differences: list[Difference] = []
        self.structs: list[tuple[Steps, str, str]] = []
        """The structs that were compared: path, old name and new name."""
        self.lengths_count = True
        """Whether to report each changed length encoding. False if the encoding of the whole version changed,
        because that is reported once for the version.
        """

    def add(self, rule: str, steps: Steps, text: str, key: str) -> None:
        self.differences.append(Difference(rule, steps, text, key))

    def struct(self, steps: Steps, old: StructLayout, new: StructLayout, *, is_default: bool) -> None:
        """Compare two structs.

        `is_default` means that the struct is the default of a tagged field. A tagged field that has its default is not
        written, so a changed default inside the struct changes the encoded bytes.
        """
        self.structs.append((steps, old.name, new.name))
        if steps and old.name != new.name:
            self.add("TW942", steps, f"the struct was {old.name} and is now {new.name}", "type")
        members = matched(old, new)
        moved = _moved(members, old.items)
        old_tags: dict[int | None, Item] = {item.tag: item for item in old.fields if item.tag is not None}
        for step in members:
            here = (*steps, step)
            if step.old is None:
                self.added(here, old_tags)
            elif step.new is None:
                self.removed(here)
            else:
                if step.new.name in moved:
                    self.add("TW906", here, "the field moved to another position in its struct", "name")
                self.names(here, step.old, step.new)
                self.both(here, step.old, step.new, is_default=is_default)
        for step, rule, text in union_changes(old, new, members):
            self.add(rule, (*steps, step), text, "union")
        self.missing(steps, old.missing, new.missing)

    def added(self, here: Steps, old_tags: dict[int | None, Item]) -> None:
        item = here[-1].item
        other = old_tags.get(item.tag)
        if item.tag is not None and other is not None:
            text = f"tag {item.tag} was {_described(other)} and is now {_described(item)}"
            self.add("TW911", here, text, "tag")
        elif item.tag is None and item.type.minimum:
            self.add("TW904", here, "the field was added to this version", "versions")

    def removed(self, here: Steps) -> None:
        item = here[-1].item
        if item.tag is None and item.type.minimum:
            self.add("TW905", here, "the field was removed from this version", "versions")
        elif item.tag is None:
            self.add("TW941", here, "the field, which took no bytes, was removed", "versions")

    def names(self, here: Steps, old: Item, new: Item) -> None:
        """Report changes to a field's name and tag."""
        if (old.tag is None) != (new.tag is None):
            was, now = ("no tag" if each.tag is None else f"tag {each.tag}" for each in (old, new))
            self.add("TW909", here, f"the field had {was} and now has {now}", "tag")
        elif old.tag != new.tag:
            self.add("TW910", here, f"the tag was {old.tag} and is now {new.tag}", "tag")
        elif old.json_name != new.json_name and new.tag is not None:
            was, now = _described(old), _described(new)
            self.add("TW943", here, f"tag {new.tag} was {was} and is now {now}", "name")
        elif old.json_name != new.json_name:
            self.add("TW941", here, f"the field was renamed from {old.json_name} to {new.json_name}", "name")

    def missing(self, steps: Steps, old: Sequence[Missing], new: Sequence[Missing]) -> None:
        """Compare the defaults and `ignorable` of fields that this version of the message doesn't have.

        Decoding sets such a field to its default. If the field has another value, encoding drops the value if
        the field is ignorable, and fails if it is not.
        """
        olds = {each.name: each for each in old}
        for now in new:
            before = olds.get(now.name)
            if before is None:
                continue
            here = (*steps, MatchedField(_stand_in(before), _stand_in(now)))
            if before.ignorable != now.ignorable:
                change = "dropped and is now rejected" if before.ignorable else "rejected and is now dropped"
                self.add("TW944", here, f"a value here was {change}", "ignorable")
            if _is_same_kind(before.default, now.default):
                self.default(here, before.default, now.default, is_tagged=False)

    def both(self, here: Steps, old: Item, new: Item, *, is_default: bool) -> None:
        is_tagged = old.tag is not None and new.tag is not None
        is_struct_default = old.default is DEFAULT_STRUCT and new.default is DEFAULT_STRUCT
        decides = is_tagged or is_default
        if self.type(here, old.type, new.type, is_default=decides and is_struct_default):
            self.default(here, old.default, new.default, is_tagged=decides)

    def default(self, here: Steps, old: object, new: object, *, is_tagged: bool) -> None:
        if not _is_same_value(old, new):
            text = f"the default was {_shown_default(old)} and is now {_shown_default(new)}"
            self.add("TW912" if is_tagged else "TW921", here, text, "default")

    def type(self, here: Steps, old: Type, new: Type, *, is_default: bool) -> bool:
        """Compare two types. Returns False if they differ too much to compare the field further."""
        if isinstance(old, Fixed | NullableFixed) and isinstance(new, Fixed | NullableFixed):
            self.nullable(here, isinstance(old, NullableFixed), isinstance(new, NullableFixed))
            return self.fixed(here, old.wire, new.wire)
        if isinstance(old, Sized) and isinstance(new, Sized):
            return self.sized(here, old, new)
        if isinstance(old, Array) and isinstance(new, Array):
            self.nullable(here, old.nullable, new.nullable)
            self.length(here, old.length, new.length)
            keys = key_change(old, new)
            if keys is not None:
                self.add("TW918", here, keys, "unique")
            return self.type(here, old.element, new.element, is_default=False)
        if isinstance(old, Nested) and isinstance(new, Nested):
            self.nullable(here, old.nullable, new.nullable)
            self.struct(here, old.struct, new.struct, is_default=is_default)
            return True
        return self.unlike(here, old, new)

    def fixed(self, here: Steps, old: WireType, new: WireType) -> bool:
        before, now = (getattr(each, "base", each) for each in (old, new))
        is_alike = before.name == now.name or same_width(before, now)
        if before.name != now.name:
            self.retyped("TW920" if is_alike else "TW903", here)
        elif before is not now:
            self.semantic(here, before, now)
        if is_alike and old != new:
            for rule, text in enum_changes(old, new):
                self.add(rule, here, text, "enum")
        return is_alike

    def semantic(self, here: Steps, old: WireType, new: WireType) -> None:
        was, now = (each.semantic or "none" for each in (old, new))
        self.add("TW952", here, f"the semantic was {was} and is now {now}", "semantic")

    def sized(self, here: Steps, old: Sized, new: Sized) -> bool:
        if old.wire.family != new.wire.family:
            self.retyped("TW903", here)
            return False
        if old.wire.name != new.wire.name:
            self.retyped("TW946", here)
        elif old.wire is not new.wire:
            self.semantic(here, old.wire, new.wire)
        self.nullable(here, old.nullable, new.nullable)
        self.length(here, old.length, new.length)
        return True

    def unlike(self, here: Steps, old: Type, new: Type) -> bool:
        """Compare types of different kinds, such as a struct and an array.

        A struct and the type of its only field are encoded alike. All other types are incompatible.
        """
        before, now = wrapped(old), wrapped(new)
        if (before is None) == (now is None):
            self.retyped("TW903", here)
            return False
        inner = Comparison()
        inner.type(here, before.type if before else old, now.type if now else new, is_default=False)
        found = inner.differences
        breaks = any(CHANGE_RULES[each.rule].severity == "wire" for each in found)
        self.retyped("TW903" if breaks else "TW945", here)
        self.differences += [] if breaks else found
        return False

    def retyped(self, rule: str, here: Steps) -> None:
        """Report a field's changed type. The finding shows the whole type, even if only the element type changed."""
        was, now = (_type_name(item.type) for item in here[-1] if item)
        self.add(rule, here, f"the type was {was} and is now {now}", "type")

    def nullable(self, here: Steps, old: bool, new: bool) -> None:
        if new and not old:
            self.add("TW907", here, "null was rejected and is now allowed", "nullableVersions")
        elif old and not new:
            self.add("TW908", here, "null was allowed and is now rejected", "nullableVersions")

    def length(self, here: Steps, old: LengthCode | None, new: LengthCode | None) -> None:
        if self.lengths_count and old != new and old and new:
            self.add("TW902", here, f"the length was {old.name} and is now {new.name}", "flexibleVersions")


def _described(item: Item) -> str:
    return f"{item.name} ({_type_name(item.type)})"


def _is_same_kind(old: object, new: object) -> bool:
    """Return whether two defaults can be compared. A string and a number, for example, can't."""
    return old is None or new is None or type(old) is type(new) or _are_numbers(old, new)


def _stand_in(missing: Missing) -> Item:
    """Return a placeholder for a field that this version doesn't have."""
    return Item(missing.name, Nested(StructLayout(missing.name, ())), default=missing.default)


def _moved(members: Iterable[MatchedField], old_items: Sequence[Item]) -> set[str]:
    """Return the new names of the fields that moved. If there are several explanations, choose the fewest fields."""
    positions = {item.name: position for position, item in enumerate(old_items)}
    kept = [
        (positions[step.old.name], step.new.name)
        for step in members
        if step.old and step.new and step.old.tag is None and step.new.tag is None and step.new.type.minimum
    ]
    in_order = _longest_ascending([position for position, _ in kept])
    return {name for position, name in kept if position not in in_order}


def _longest_ascending(numbers: Sequence[int]) -> set[int]:
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        position = bisect_left(tails, number)
        before[number] = tails[position - 1] if position else None
        tails[position : position + 1] = [number]
    found: set[int] = set()
    last = tails[-1] if tails else None
    while last is not None:
        found.add(last)
        last = before[last]
    return found
