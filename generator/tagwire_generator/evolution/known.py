"""Remember which messages passed a check against the lock file, so that a commit hook reads only changed specs.

Results are stored in the generator's cache. Cache keys hash all inputs of a check, so an entry is never outdated.

- For commits that change no spec, one entry records that the whole set passed.
- For commits that change a few specs, another entry lists the messages that passed. A request and its response are one
  item of the list, because the request determines which versions of the response are unstable.

A changed message can be checked alone if it keeps its name and API key, and uses no name or key of another message.
Otherwise, all specs are read.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagwire_generator.problems import Finding
from tagwire_generator.project.cache import Cache, CacheEntry, environment_key, key_of
from tagwire_generator.project.settings import SpecSet
from tagwire_generator.project.spec_files import SpecFile, find_specs, may_be_register, may_be_shared

if TYPE_CHECKING:  # importing the spec readers would take longer than finding that nothing changed
    from tagwire_generator.evolution.check import Check
    from tagwire_generator.evolution.lock import Lock, LockedMessage
    from tagwire_generator.evolution.spec_sources import SpecSources

    Read = Callable[[Collection[str]], SpecSources]
    """Reads the specs in the files with these names, which are given without `.json`."""


@dataclass(frozen=True, slots=True)
class KnownCheck:
    """A check that passed in an earlier run, as recorded in the cache."""

    names: set[str]

    def findings(self) -> tuple[Finding, ...]:
        """Return no findings, because only checks without findings are cached."""
        return ()


class Memory:
    """The cached check results for the current state of a spec set and its lock."""

    def __init__(self, spec_set: SpecSet, lock: bytes) -> None:
        self._files = [(each, each.path.read_bytes()) for each in find_specs(spec_set.specs)]
        others = [each.path.read_bytes() for folder in spec_set.sources[1:] for each in find_specs(folder)]
        registers = filter(may_be_register, (*(data for _, data in self._files), *others))
        shared = (data for _, data in self._files if may_be_shared(data))
        self._environment = key_of(environment_key(spec_set), *registers, *shared)  # any spec may depend on these files
        parts = (part for each, data in self._files for part in (each.component, each.path.name, data))
        self._whole = key_of(self._environment, lock, *parts)
        self._each = key_of(self._environment, "messages")
        self._cache = Cache(spec_set.root, f"{spec_set.package}.lock")

    def recall(self) -> KnownCheck | None:
        """Return the cached result for the whole spec set, or None if no check has passed since the last change."""
        entry = self._cache.get(self._whole)
        return None if entry is None else KnownCheck(set(entry.summary["names"]))

    def check(self, lock: "Lock", read: "Read") -> "Check":
        """Check the messages that have no cached result.

        If these messages can't be checked on their own, check all messages.
        """
        from tagwire_generator.evolution.check import Check
        from tagwire_generator.project.spec_files import HEADER_NAMES

        changed = self._changed(lock)
        if changed is not None:
            known = {each.name for each in lock.messages} - changed
            headers = read(set(HEADER_NAMES.values()) - changed).specs  # example bytes may start with a header
            part = Check(lock.only(changed).baseline(), read(changed), known=frozenset(known), headers=headers)
            if _is_apart(part, lock):
                return part
        return Check(lock.baseline(), read([each.path.stem for each, _ in self._files]))

    def keep(self, check: "Check", lock: "Lock") -> None:
        """Cache which messages have no findings, and remove outdated cache entries."""
        findings = check.findings()
        affected = {finding.message_name for finding in findings}
        # Findings contain message names, but the cache contains file names. So don't cache the result of a file that
        # isn't named after its message.
        affected |= {each.path.stem for each, _ in self._files} - {*check.new.specs, *check.new.shared, *check.known}
        fine = [key for key, names in self._groups(lock) if not names & affected]
        self._cache.put(self._each, CacheEntry({}, {"fine": fine}))
        if not findings:
            self._cache.put(self._whole, CacheEntry({}, {"names": sorted(check.names)}))
        self._cache.prune()

    def _changed(self, lock: "Lock") -> set[str] | None:
        """Return the names of messages without a cached result, or None if all messages must be checked again."""
        entry = self._cache.get(self._each)
        files = {(each.component, each.path.stem) for each, _ in self._files}
        names = {name for _, name in files}
        there = {(each.component, each.name) for each in lock.messages if each.current is not None}
        if entry is None or not there <= files or len(names) != len(files):
            return None
        fine = set(entry.summary["fine"])
        changed: set[str] = set()
        for key, group in self._groups(lock):
            changed |= group if key not in fine else set()
        return changed

    def _groups(self, lock: "Lock") -> Iterator[tuple[str, set[str]]]:
        """Yield (cache key, names) for each group of messages cached together. The key is a hash of all inputs."""
        locked = {each.name: each for each in lock.messages}
        files: dict[str, tuple[SpecFile, bytes]] = {each.path.stem: (each, data) for each, data in self._files}
        groups: dict[Any, set[str]] = {}
        for name in {**locked, **files}:
            api = _api(locked[name]) if name in locked else None
            groups.setdefault(name if api is None else (api[0], api[2]), set()).add(name)
        owners = sorted((each.name, repr(_api(each)), each.current is None) for each in lock.messages)
        base = key_of(self._environment, repr(lock.options), repr(lock.registers), repr(owners))
        for names in groups.values():
            parts: list[str | bytes] = []
            for name in sorted(names):
                file, data = files.get(name, (None, b""))
                parts += [name, repr(locked.get(name)), file.component if file else "-", data]
            yield key_of(base, *parts), names


def _api(message: "LockedMessage") -> tuple[str, str, int] | None:
    tree = message.archive[-1].tree if message.current is None else message.current
    return (message.component, tree["type"], tree["apiKey"]) if "apiKey" in tree else None


def _is_apart(part: "Check", lock: "Lock") -> bool:
    """Return whether the messages in `part` can be checked without the other messages.

    Each message must have kept its name and API key, and no new message may use the name or key of a locked message.
    """
    from tagwire_generator.evolution.matching import api_of

    owned = {_api(each) for each in lock.messages}
    names = {each.name for each in lock.messages}
    for spec in part.new.specs.values():
        before = part.old.specs.get(spec.name)
        if before is not None:
            is_itself = api_of(before.spec) == api_of(spec)
        elif spec.name in part.old.invalid:
            is_itself = True
        else:
            is_itself = not names & {spec.name, *spec.aliases} and (api_of(spec) is None or api_of(spec) not in owned)
        if not is_itself:
            return False
    return True
