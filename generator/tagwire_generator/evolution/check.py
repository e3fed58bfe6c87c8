"""Compare released specs with the current specs, and locate each finding in its file."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tagwire_generator.evolution.findings import Finding, invalid
from tagwire_generator.evolution.released import Released
from tagwire_generator.evolution.spec_sources import SpecSources
from tagwire_generator.evolution.verdicts import compare_messages, compare_specs
from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import Problem, without_repeats
from tagwire_generator.reading.positions import placed


@dataclass(frozen=True, slots=True)
class Baseline:
    """The released specs that a check compares with the current specs."""

    specs: Mapping[str, Released] = field(default_factory=dict)
    invalid: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, sources: SpecSources) -> "Baseline":
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
    new: SpecSources
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
