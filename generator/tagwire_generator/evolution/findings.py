"""A finding: one breach of one rule, in a run of versions, with its proof where it breaks bytes."""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from tagwire.versions import Versions
from tagwire_generator.diagnostics.problems import CHANGE_RULES, Impact, Problem
from tagwire_generator.evolution.witness import Proof
from tagwire_generator.model import MessageSpec
from tagwire_generator.reading.places import WHOLE, Spot

FindingSeverity = Literal["error", "wire", "semantic", "source", "policy"]
"""An impact, or "error" for a spec that breaks a rule of the spec language and can't be compared."""

SEVERITIES: Final[tuple[FindingSeverity, ...]] = ("error", *get_args(Impact))
"""The gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong with a change. `line` and `column` count from 1; 0 where the place can't be known."""

    rule: str
    severity: FindingSeverity
    message_name: str
    versions: str
    """A range; "" where it is not about versions."""
    path: str
    """The field's, in snake_case without indices: `topics.partitions.leader_id`; "" for the message."""
    message: str
    file: str = ""
    """That of the new spec; of the old one for a message that is gone."""
    line: int = 0
    column: int = 0
    source_line: str = ""
    proof: Proof | None = None
    spot: Spot = WHOLE
    """The place in the new spec."""

    def as_dict(self) -> dict[str, Any]:
        """What a program reads."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "message_name": self.message_name,
            "versions": self.versions,
            "path": self.path,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "proof": self.proof and self.proof.as_dict(),
        }

    def at(self, file: str, line: int, column: int, source_line: str) -> "Finding":
        """The same finding at a place of a file."""
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
    """A finding about a message, at its name for now."""
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
    """A spec that can't be compared since it breaks a rule of the spec language."""
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
