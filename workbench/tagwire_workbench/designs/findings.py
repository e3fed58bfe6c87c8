"""Findings about designs: a rule, a place in terms of the spec, a sentence; on the way to a report also a line."""

from dataclasses import dataclass, replace
from typing import Final

from tagwire_generator.diagnostics.problems import DESIGN_RULES, DesignSeverity, Problem
from tagwire_generator.model import MessageSpec
from tagwire_generator.reading.places import Spot

_ARRAY: Final = "[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found in a design. `line` and `column` count from 1; 0 where nobody looked the place up."""

    rule: str
    severity: DesignSeverity
    file: str
    message_name: str
    path: str
    """The field, in snake_case; "" for the design as a whole."""
    message: str
    key: str = "name"
    """The key of the spec that says so."""
    line: int = 0
    column: int = 0
    source_line: str = ""

    @classmethod
    def of(cls, rule: str, spec: MessageSpec, path: str, message: str, key: str = "name") -> "Finding":
        """A finding about a spec, with the severity of the rule."""
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
        """Where it stands in the spec."""
        return Spot(tuple(self.path.replace(_ARRAY, "").split(".")) if self.path else (), self.key)

    @property
    def versions(self) -> str:
        """ "": a design is judged in all its versions."""
        return ""

    def at(self, file: str, line: int, column: int, source_line: str) -> "Finding":
        """The same finding at a place of a file."""
        return replace(self, file=file, line=line, column=column, source_line=source_line)

    def graded(self, severity: DesignSeverity) -> "Finding":
        """The same finding with another severity."""
        return replace(self, severity=severity)

    def problem(self) -> Problem:
        """The finding as problems of specs are reported."""
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
        """What a program reads."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "message": self.message,
        }
