"""Compare two sets of specs, such as released and current specs, and locate each finding in its file.

If the spec of a message has changed, the layouts of all versions that both specs have are compared, and also the
properties that are not part of layouts. A difference that recurs in consecutive versions is a single finding, with
example bytes for one version.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from tagwire.layout import Layout
from tagwire.message.field_table import layout_of
from tagwire.versions import NONE, Versions
from tagwire_generator.evolution.compare import Difference, Steps, compare_layouts
from tagwire_generator.evolution.declared import StructPair, field_findings, format_findings, tag_findings
from tagwire_generator.evolution.findings import SEVERITIES, change, invalid, runs
from tagwire_generator.evolution.matching import (
    MatchedMessages,
    Pair,
    Released,
    RetiredTags,
    Stability,
    api_of,
    as_released,
    pair_up,
)
from tagwire_generator.evolution.message_attributes import (
    HeaderSpecs,
    attribute_findings,
    header_specs,
    lowered_findings,
)
from tagwire_generator.evolution.proofs import prove
from tagwire_generator.message_classes import message_class
from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import CHANGE_RULES, Finding, Problem, Spot, without_repeats
from tagwire_generator.reading.positions import placed

if TYPE_CHECKING:  # importing the spec readers would slow down checks whose result is cached (`evolution.known`)
    from tagwire_generator.evolution.spec_sources import SpecSources

_TAG_RULES = ("TW909", "TW910", "TW911", "TW943")
"""The rules about tags that are checked by comparing layouts."""


def compare_specs(
    old: Mapping[str, MessageSpec | Released] | Iterable[MessageSpec | Released],
    new: Mapping[str, MessageSpec] | Iterable[MessageSpec],
    *,
    known_headers: Iterable[MessageSpec] = (),
) -> tuple[Finding, ...]:
    """Return the findings about all changes from an old set of specs to a new one.

    Findings are sorted by message, then by severity, most severe first. Messages are paired by name, alias, or API key.
    Each finding points to the name of its message, until `tagwire_generator.reading.positions` finds the exact
    position. `known_headers` provide the header specs that a set does not contain.
    """
    messages = list(new.values() if isinstance(new, Mapping) else new)
    released = as_released(old)
    pairing = pair_up(released, messages)
    stability = Stability(released)
    headers = _headers((each.spec for each in released), messages, known_headers)
    found: list[Finding] = []
    for pair in pairing.pairs:
        found += _pair_findings(pair, stability, headers)
    for removed in pairing.removed:
        found += _removal_findings(removed)
    found += _taken_keys(pairing, messages)
    return _in_order(found)


def compare_messages(
    old: MessageSpec | Released, new: MessageSpec, *, known_headers: Iterable[MessageSpec] = ()
) -> tuple[Finding, ...]:
    """Compare the old and the new spec of one message, which may have a new name, and return all findings."""
    before = old if isinstance(old, Released) else Released(old)
    headers = _headers([before.spec], [new], known_headers)
    return _in_order(_pair_findings(Pair(before, new, "name"), Stability([before]), headers))


def _headers(
    old: Iterable[MessageSpec], new: Iterable[MessageSpec], known: Iterable[MessageSpec]
) -> tuple[HeaderSpecs, HeaderSpecs]:
    """Return the header specs of the old and the new set. A header that only one set defines is used for both."""
    before, now = header_specs(old), header_specs(known) | header_specs(new)
    return now | before, before | now


def struct_pairs(old: MessageSpec, new: MessageSpec) -> list[StructPair]:
    """Return a pair for each struct that both specs have. The first pair contains the two messages themselves."""
    return _MessageComparison(old, new, old.valid_versions & new.valid_versions, NONE).struct_pairs()


def _in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(
        sorted(found, key=lambda each: (each.message_name, SEVERITIES.index(each.severity), each.rule, each.path))
    )


def _pair_findings(pair: Pair, stability: Stability, headers: tuple[HeaderSpecs, HeaderSpecs]) -> list[Finding]:
    old, new = pair.old.spec, pair.new
    if old.format is not None or new.format is not None:
        return [] if old == new else list(format_findings(old, new))
    found: list[Finding] = []
    if old != new or pair.old.retired_tags:
        unstable = stability.unstable(old)
        if not pair.old.is_retired:
            found += attribute_findings(old, new, unstable, headers)
        found += lowered_findings(pair.old, new)
        common = NONE if pair.old.is_retired else old.valid_versions & new.valid_versions
        if new.valid_versions:
            found += _MessageComparison(old, new, common, unstable).findings(pair.old.retired_tags)
            found += field_findings(old, new, common - unstable)
        found += _name_findings(pair, found, is_same=bool(common))
    for edition in pair.old.archive:
        found += _MessageComparison(edition.spec, new, edition.versions & new.valid_versions, NONE).layout_findings()
    return found


def _name_findings(pair: Pair, found: Iterable[Finding], *, is_same: bool) -> Iterator[Finding]:
    """Report that a message was renamed or, if its bytes also differ, that another message took over its API key."""
    old, new = pair.old.spec, pair.new
    if old.name == new.name or old.name in new.aliases:
        return
    if pair.how == "key" and (not is_same or any(each.severity == "wire" for each in found)):
        yield _taken_key(new, old.name)
    else:
        text = f"the message was {old.name} and is now {new.name}; add {old.name} to aliases"
        yield change("TW940", new, new.valid_versions, text)


def _taken_key(new: MessageSpec, old_name: str) -> Finding:
    text = f"apiKey {new.api_key} belonged to {old_name} and now belongs to {new.name}, whose bytes differ"
    return change("TW925", new, new.valid_versions, text, spot=Spot(key="apiKey"))


def _removal_findings(removed: Released) -> Iterator[Finding]:
    spec = removed.spec
    if not removed.is_retired:
        name = spec.name if spec.valid_versions else f"{spec.name}, which kept apiKey {spec.api_key} reserved,"
        yield change("TW961", spec, spec.valid_versions, f"{name} no longer has a spec")


def _taken_keys(pairing: MatchedMessages, messages: Iterable[MessageSpec]) -> Iterator[Finding]:
    """Yield a finding for each API key that now belongs to a different message than before."""
    before = {id(pair.new): pair.old for pair in pairing.pairs}
    owners = {api: old for old in chain(before.values(), pairing.removed) if (api := api_of(old.spec)) is not None}
    for new in messages:
        api = api_of(new)
        owner = owners.get(api) if api is not None else None
        if owner is not None and before.get(id(new)) is not owner:
            yield _taken_key(new, owner.spec.name)


class _MessageComparison:
    """Compares a message's old and new spec, in the versions that both have."""

    def __init__(self, old: MessageSpec, new: MessageSpec, common: Versions, unstable: Versions) -> None:
        self.old, self.new = old, new
        self.unstable = unstable
        self._classes = message_class(old), message_class(new)
        self._seen: defaultdict[tuple[str, str, str], dict[int, Difference]] = defaultdict(dict)
        """For each rule, path and text, the versions with this difference, in ascending order."""
        self._structs: dict[tuple[str, str], Steps] = {(old.name, new.name): ()}
        for version in common:
            comparison = compare_layouts(*self._layouts(version))
            for each in comparison.differences:
                self._seen[each.rule, _path(each.steps), each.text][version] = each
            for steps, before, now in comparison.structs[1:]:
                self._structs.setdefault((before, now), steps)

    def _layouts(self, version: int) -> tuple[Layout, Layout]:
        old, new = self._classes
        return layout_of(old, version), layout_of(new, version)

    def findings(self, retired: RetiredTags) -> Iterator[Finding]:
        yield from self.layout_findings()
        offered = self.old.valid_versions - self.unstable
        for pair in self.struct_pairs():
            known = retired.get(pair.old_path, {})
            reported = self._reported_tags(pair.new_path)
            yield from tag_findings(self.old, self.new, pair, offered=offered, retired=known, reported=reported)

    def layout_findings(self) -> Iterator[Finding]:
        """For each difference between the layouts, yield a finding per range of consecutive versions that have it."""
        in_unstable: dict[str, list[str]] = {}
        for (rule, path, text), seen in self._seen.items():
            newest, difference = [*seen.items()][-1]
            for run in runs(version for version in seen if version not in self.unstable):
                is_proven = CHANGE_RULES[rule].severity == "wire" or rule == "TW920"
                proof = prove(*self._layouts(self._clearest(run)), difference.steps) if is_proven else None
                spot = Spot(_names(difference.steps), difference.key)
                yield change(rule, self.new, run, text, path=path, spot=spot, proof=proof)
            if newest in self.unstable:
                in_unstable.setdefault(path, []).append(rule)
        if in_unstable:
            what = "; ".join(f"{path or 'the message'} ({', '.join(rules)})" for path, rules in in_unstable.items())
            text = f"version {self.unstable}, not stable yet, changed: {what}"
            yield change("TW962", self.new, self.unstable, text)

    def _clearest(self, versions: Versions) -> int:
        """Return the newest of the versions with the fewest differences, because it gives the simplest example."""
        numbers = Counter(version for seen in self._seen.values() for version in seen)
        return min(reversed(list(versions)), key=lambda version: numbers[version])

    def _reported_tags(self, path: str) -> set[int]:
        tags: set[int] = set()
        for (rule, *_), seen in self._seen.items():
            steps = [*seen.values()][-1].steps
            if rule in _TAG_RULES and _path(steps[:-1]) == path:
                tags |= {item.tag for item in steps[-1] if item is not None and item.tag is not None}
        return tags

    def struct_pairs(self) -> list[StructPair]:
        pairs: list[StructPair] = []
        for (old, new), steps in self._structs.items():
            before, now = (s.struct(n) if steps else s.root for s, n in ((self.old, old), (self.new, new)))
            old_path = ".".join((step.old or step.item).name for step in steps)
            pairs.append(StructPair(before, now, old_path, _path(steps), _names(steps)))
        return pairs


def _path(steps: Steps) -> str:
    return ".".join(step.item.name for step in steps)


def _names(steps: Steps) -> tuple[str, ...]:
    """Return the JSON names on the path to a field: the new names or, for removed fields, the old names."""
    return tuple(step.item.json_name for step in steps)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The released specs that a check compares with the current specs."""

    specs: Mapping[str, Released] = field(default_factory=dict)
    invalid: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, sources: "SpecSources") -> "Baseline":
        """Return a baseline of specs that have no release history."""
        return cls({name: Released(spec) for name, spec in sources.specs.items()}, sources.invalid)

    def only(self, names: Collection[str]) -> "Baseline":
        specs = {name: spec for name, spec in self.specs.items() if name in names}
        return Baseline(specs, {name: problems for name, problems in self.invalid.items() if name in names})


@dataclass(frozen=True, slots=True)
class Check:
    """A comparison of released specs with current specs.

    If `is_one_message` is set, one released spec is compared with one current spec, even if their names differ.
    """

    old: Baseline
    new: "SpecSources"
    is_one_message: bool = False
    known: frozenset[str] = frozenset()
    """Messages to leave out, because they passed an earlier check."""
    headers: Mapping[str, MessageSpec] = field(default_factory=dict)
    """The header specs to use if neither `old` nor `new` contains them."""

    @property
    def names(self) -> set[str]:
        """The names of all messages in the released or the current specs."""
        return {*self.old.specs, *self.old.invalid, *self.new.specs, *self.new.invalid, *self.known}

    def findings(self) -> tuple[Finding, ...]:
        """Return all findings. A message is not compared if its released or its current spec is invalid."""
        rejected = [*_invalid(self.old.invalid), *_invalid(self.new.invalid)]
        found: Sequence[Finding] = ()
        if not self.is_one_message:
            old = {name: spec for name, spec in self.old.specs.items() if name not in self.new.invalid}
            new = {name: spec for name, spec in self.new.specs.items() if name not in self.old.invalid}
            found = compare_specs(old, new, known_headers=self.headers.values())
        elif not rejected:
            [old_spec], [new_spec] = self.old.specs.values(), self.new.specs.values()
            found = compare_messages(old_spec, new_spec, known_headers=self.headers.values())
        shared = {name: spec.file for name, spec in self.new.shared.items()}
        return (*rejected, *placed(found, self.new.texts, shared))


def _invalid(specs: Mapping[str, tuple[Problem, ...]]) -> Iterator[Finding]:
    reported = set(without_repeats(problem for problems in specs.values() for problem in problems))
    for name, problems in specs.items():
        yield from (invalid(problem, name) for problem in problems if problem in reported)
