"""Checks against a lock that found nothing, so that a commit hook need not read all specs again.

Kept with what generation keeps (`cache`): the key is the hash of the specs, the
lock, the options and the generator, so what is known is never wrong.
"""

from dataclasses import dataclass

from tagwire_generator.cache import Cache, Entry, environment_key, key_of
from tagwire_generator.evolution.check import Check
from tagwire_generator.evolution.findings import Finding
from tagwire_generator.settings import SpecSet
from tagwire_generator.spec_files import find_specs

__all__ = ["KnownCheck", "Memory"]


@dataclass(frozen=True, slots=True)
class KnownCheck:
    """A check that found nothing before."""

    names: set[str]
    """The messages of both sides."""

    def findings(self) -> tuple[Finding, ...]:
        """None."""
        return ()


class Memory:
    """What is known of a spec set and its lock, as both are now."""

    def __init__(self, spec_set: SpecSet, lock: bytes) -> None:
        specs = [(each.component, each.path.name, each.path.read_bytes()) for each in find_specs(spec_set.specs)]
        self._key = key_of(environment_key(spec_set), lock, *(part for spec in specs for part in spec))
        self._cache = Cache(spec_set.root, f"{spec_set.package}.lock")

    def recall(self) -> KnownCheck | None:
        """The check, if it found nothing."""
        entry = self._cache.get(self._key)
        return None if entry is None else KnownCheck(set(entry.summary["names"]))

    def keep(self, check: Check) -> None:
        """Remember a check if it found nothing; what was known before is forgotten."""
        if not check.findings():
            self._cache.put(self._key, Entry({}, {"names": sorted(check.names)}))
            self._cache.prune()
