"""Findings of design rules. Each finding has a rule ID, a position in a spec, and a message."""

from dataclasses import dataclass, replace
from typing import Final

from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import DESIGN_RULES, DesignSeverity, Problem
from tagwire_generator.reading.positions import Spot

_ARRAY: Final = "[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignFinding:
    """A violation of a design rule. `line` and `column` count from 1; 0 means unknown."""

    rule: str
    severity: DesignSeverity
    file: str
    message_name: str
    path: str
    """The field's path in snake case, or "" for the whole design."""
    message: str
    key: str = "name"
    """The spec key that the finding is about."""
    line: int = 0
    column: int = 0
    source_line: str = ""

    @classmethod
    def of(cls, rule: str, spec: MessageSpec, path: str, message: str, key: str = "name") -> "DesignFinding":
        """Create a finding about a key of a spec, or of the field at `path`. It has the rule's default severity."""
        return cls(
            rule=rule,
            severity=DESIGN_RULES[rule].severity,
            file=spec.file,
            message_name=spec.name,
            path=path,
            message=message,
            key=key,
        )

    @property
    def spot(self) -> Spot:
        """The place in the spec that the finding is about, given as a field's path and a key."""
        return Spot(tuple(self.path.replace(_ARRAY, "").split(".")) if self.path else (), self.key)

    @property
    def versions(self) -> str:
        """Always "", because design rules apply to all versions of a message."""
        return ""

    def at(self, file: str, line: int, column: int, source_line: str) -> "DesignFinding":
        return replace(self, file=file, line=line, column=column, source_line=source_line)

    def graded(self, severity: DesignSeverity) -> "DesignFinding":
        return replace(self, severity=severity)

    def problem(self) -> Problem:
        """Convert the finding to a `Problem`, so that it is printed like a violation of a spec rule."""
        return Problem(
            rule=self.rule,
            severity=self.severity,
            file=self.file,
            line=self.line,
            column=self.column,
            message=self.message if not self.path or self.line else f"{self.path}: {self.message}",
            source_line=self.source_line,
        )

    def as_dict(self) -> dict[str, str | int]:
        return {
            "rule": self.rule,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "message": self.message,
        }
