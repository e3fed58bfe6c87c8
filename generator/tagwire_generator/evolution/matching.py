"""Match released messages and their fields with the messages and fields of new specs.

Usually, the released versions of a message are the versions of one spec. A lock file also contains retired tags and
dropped versions. If a spec adds a dropped version again, the version's bytes must be the same as before.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tagwire.layout import Array, Fixed, Item, Nested, NullableFixed, Sized, StructLayout, Type
from tagwire.versions import NONE, Versions
from tagwire.wire.wire_type import WireType
from tagwire_generator.model import MessageSpec

RetiredTags = Mapping[str, Mapping[int, str]]
"""Maps a struct's path ("" for the message) and a tag to the name and type of the field that had this tag.

For a tag that was only reserved, the value is "".
"""


@dataclass(frozen=True, slots=True)
class Edition:
    """Versions that were dropped from a message, and the last spec that contained them."""

    versions: Versions
    spec: MessageSpec


@dataclass(frozen=True, slots=True)
class Released:
    """The last released spec of a message, and its history."""

    spec: MessageSpec
    is_retired: bool = False
    """Whether the message was removed earlier. If it was, `archive` contains all of its versions."""
    archive: tuple[Edition, ...] = ()
    retired_tags: RetiredTags = field(default_factory=dict)


def as_released(
    specs: Mapping[str, MessageSpec | Released] | Iterable[MessageSpec | Released],
) -> list[Released]:
    """Convert specs without a history to `Released`, and return `Released` objects unchanged."""
    given = specs.values() if isinstance(specs, Mapping) else specs
    return [each if isinstance(each, Released) else Released(each) for each in given]


class Stability:
    """Determines which version of a message is unstable: the latest, if the spec sets `latestVersionUnstable`.

    For a response, the spec of its request decides.
    """

    def __init__(self, old: Iterable[Released]) -> None:
        specs = (each.spec for each in old)
        self._requests = {(spec.component, spec.api_key): spec for spec in specs if spec.kind == "request"}

    def unstable(self, spec: MessageSpec) -> Versions:
        request = self._requests.get((spec.component, spec.api_key)) if spec.kind == "response" else None
        decides = request or spec
        if not decides.latest_version_unstable:
            return NONE
        return Versions(decides.latest_stable + 1, spec.valid_versions.highest)


How = Literal["name", "alias", "key"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A message's released spec and its new spec. They were matched by the property `how`: name, alias or API key."""

    old: Released
    new: MessageSpec
    how: How


@dataclass(frozen=True, slots=True)
class MatchedMessages:
    """The matched messages of two sets of specs."""

    pairs: tuple[Pair, ...]
    removed: tuple[Released, ...]
    """Messages that the new set does not have."""

    def old_of(self, new: MessageSpec) -> Released | None:
        """Return the released message that is paired with `new`, or None if there is none."""
        return next((pair.old for pair in self.pairs if pair.new is new), None)


def pair_up(old: Sequence[Released], new: Iterable[MessageSpec]) -> MatchedMessages:
    """Pair the messages of two sets, in the order of the new set."""
    by_name = {each.spec.name: each for each in old}
    by_key = {key: each for each in old if each.spec.valid_versions and (key := api_of(each.spec)) is not None}
    taken: set[str] = set()
    found: dict[int, Pair] = {}
    messages = list(new)

    def take(each: MessageSpec, before: Released | None, how: How) -> None:
        if before is not None and before.spec.name not in taken and id(each) not in found:
            taken.add(before.spec.name)
            found[id(each)] = Pair(before, each, how)

    for each in messages:
        take(each, by_name.get(each.name), "name")
    for each in messages:
        for alias in each.aliases:
            take(each, by_name.get(alias), "alias")
    for each in messages:
        key = api_of(each)
        take(each, by_key.get(key) if key is not None else None, "key")
    pairs = tuple(found[id(each)] for each in messages if id(each) in found)
    return MatchedMessages(pairs, tuple(each for each in old if each.spec.name not in taken))


def api_of(spec: MessageSpec) -> tuple[str, str, int] | None:
    """Return (component, kind, API key), by which peers identify a message, or None if it has no API key."""
    if spec.api_key is None or spec.kind in ("header", "data"):
        return None
    return spec.component, spec.kind, spec.api_key


_FIXED = (Fixed, NullableFixed)


class MatchedField(NamedTuple):
    """A field in the old and the new layout. `old` or `new` is None if that layout does not have the field."""

    old: Item | None
    new: Item | None

    @property
    def item(self) -> Item:
        """The new field or, for a removed field, the old field."""
        found = self.new or self.old
        assert found is not None
        return found


def matched(old: StructLayout, new: StructLayout) -> tuple[MatchedField, ...]:
    """Pair the fields of both structs, in the wire order of the new struct. The removed fields come last."""
    olds = {item.name: item for item in old.fields}
    renamed = _renamed(old, new)
    steps = [MatchedField(olds.get(item.name, renamed.get(item.name)), item) for item in new.fields]
    found = {step.old.name for step in steps if step.old}
    return (*steps, *(MatchedField(item, None) for item in old.fields if item.name not in found))


def same_shape(old: Type, new: Type) -> bool:
    """Return whether two types look the same on the wire, ignoring nulls, length encodings and tagged fields."""
    if isinstance(old, Array) and isinstance(new, Array):
        return same_shape(old.element, new.element)
    if isinstance(old, Nested) and isinstance(new, Nested):
        ours, theirs = old.struct.items, new.struct.items
        return len(ours) == len(theirs) and all(same_shape(a.type, b.type) for a, b in zip(ours, theirs, strict=True))
    if isinstance(old, Sized) and isinstance(new, Sized):
        return old.wire.family == new.wire.family
    return isinstance(old, _FIXED) and isinstance(new, _FIXED) and same_width(old.wire, new.wire)


def same_width(old: WireType, new: WireType) -> bool:
    """Return whether two types have the same width and family, such as int32 and uint32, or UUID and fixed bytes."""
    families = {old.family, new.family}
    return old.width == new.width and (len(families) == 1 or families == {"uuid", "fixed bytes"})


def _renamed(old: StructLayout, new: StructLayout) -> Mapping[str, Item]:
    names = {item.name for item in old.fields} & {item.name for item in new.fields}
    pairs = [*_between(old.items, new.items, names), *_by_tag(old, new, names)]
    return {theirs.name: ours for ours, theirs in pairs if same_shape(ours.type, theirs.type)}


def _between(old: Iterable[Item], new: Iterable[Item], names: set[str]) -> Iterator[tuple[Item, Item]]:
    """Pair the fields that only the old struct has with the fields that only the new struct has, by position.

    The fields in `names`, which both structs have, divide each struct into sections. In each section, the fields are
    paired in order.
    """
    olds, news = _gaps(old, names), _gaps(new, names)
    for anchor, items in news.items():
        yield from zip(olds.get(anchor, ()), items, strict=False)


def _gaps(items: Iterable[Item], names: set[str]) -> dict[str, list[Item]]:
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
