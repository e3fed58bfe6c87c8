"""Which message of an old set is which one of a new set.

By name, by a name in `aliases`, by component, kind and API key: in this order,
and each message once. The last is a guess that the bytes must confirm; the
verdicts say so where they don't.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tagwire_generator.evolution.released import Released
from tagwire_generator.model import MessageSpec

How = Literal["name", "alias", "key"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A message before and after; `how` it was recognized."""

    old: Released
    new: MessageSpec
    how: How


@dataclass(frozen=True, slots=True)
class Pairing:
    """All messages of two sets."""

    pairs: tuple[Pair, ...]
    gone: tuple[Released, ...]
    """Messages that the new set lacks."""

    def old_of(self, new: MessageSpec) -> Released | None:
        """What a message was before, if it was there."""
        return next((pair.old for pair in self.pairs if pair.new is new), None)


def pair_up(old: Sequence[Released], new: Iterable[MessageSpec]) -> Pairing:
    """Pair the messages of two sets, in the order of the new one."""
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
    return Pairing(pairs, tuple(each for each in old if each.spec.name not in taken))


def api_of(spec: MessageSpec) -> tuple[str, str, int] | None:
    """What identifies a message to peers: component, kind and API key; None without a key."""
    if spec.api_key is None or spec.kind in ("header", "data"):
        return None
    return spec.component, spec.kind, spec.api_key
