"""Findings about spec changes. A finding has the violated rule, the versions and, if bytes change, example bytes."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Final

from tagwire.versions import Versions
from tagwire_generator.evolution.proofs import Proof
from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import CHANGE_RULES, IMPACTS, WHOLE, Finding, Problem, Severity, Spot

SEVERITIES: Final[tuple[Severity, ...]] = ("error", *IMPACTS)
"""All severities, most severe first. "error" means that a spec is invalid and can't be compared."""


def change(
    rule: str,
    spec: MessageSpec,
    versions: Versions,
    message: str,
    *,
    path: str = "",
    spot: Spot = WHOLE,
    proof: Proof | None = None,
) -> Finding:
    """Create a finding that points to a message's name. `reading.positions` sets a more precise position."""
    return Finding(
        rule=rule,
        severity=CHANGE_RULES[rule].severity,
        message_name=spec.name,
        versions=str(versions) if versions else "",
        path=path,
        message=message,
        file=spec.file,
        line=spec.line,
        column=spec.column,
        proof=proof,
        spot=spot,
    )


def invalid(problem: Problem, message_name: str) -> Finding:
    """Create a finding for a spec that can't be compared, because it violates a rule of the spec language."""
    return Finding(**asdict(problem), message_name=message_name)


def runs(versions: Iterable[int]) -> Iterator[Versions]:
    """Group version numbers into ranges without gaps, such as 1-3 and 5, in ascending order."""
    lowest = highest = -1
    for version in sorted(versions):
        if version != highest + 1 or highest < 0:
            if highest >= 0:
                yield Versions(lowest, highest)
            lowest = version
        highest = version
    if highest >= 0:
        yield Versions(lowest, highest)
