"""Findings about spec changes. A finding has the violated rule, the versions and, if bytes change, example bytes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from tagwire.versions import Versions
from tagwire_generator.evolution.proofs import Proof
from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import CHANGE_RULES, Impact, Problem
from tagwire_generator.reading.positions import WHOLE, Spot

FindingSeverity = Literal["error", "wire", "semantic", "source", "policy"]
"""What a change breaks, such as "wire", or "error" if a spec is invalid and can't be compared."""

SEVERITIES: Final[tuple[FindingSeverity, ...]] = ("error", *get_args(Impact))
"""All severities, most severe first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A violation of a change rule. `line` and `column` count from 1, or 0 if the position is unknown."""

    rule: str
    severity: FindingSeverity
    message_name: str
    versions: str
    """The affected versions, or "" if the finding is not about versions."""
    path: str
    """The field path in snake case without indices, such as `topics.partitions.leader_id`, or "" for the message."""
    message: str
    file: str = ""
    """The new spec's file, or the old spec's file if the message was removed."""
    line: int = 0
    column: int = 0
    source_line: str = ""
    proof: Proof | None = None
    spot: Spot = WHOLE

    def as_dict(self) -> dict[str, Any]:
        """Return all attributes except the source line and the spot as a JSON-compatible dict."""
        keys = ("rule", "severity", "message_name", "versions", "path", "message", "file", "line", "column")
        return {key: getattr(self, key) for key in keys} | {"proof": self.proof and self.proof.as_dict()}

    def at(self, file: str, line: int, column: int, source_line: str) -> "Finding":
        """Return a copy of this finding that points to a position in a file."""
        return replace(self, file=file, line=line, column=column, source_line=source_line)


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
    """Create a finding that points to a message's name. `Finding.at` can set a more precise position."""
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
    return Finding(
        rule=problem.rule,
        severity="error",
        message_name=message_name,
        versions="",
        path="",
        message=problem.message,
        file=problem.file,
        line=problem.line,
        column=problem.column,
        source_line=problem.source_line,
    )


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
