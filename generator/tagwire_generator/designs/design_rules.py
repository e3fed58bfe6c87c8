"""The rules about designs, by id: `tagwire lint` and `tagwire collide` report by them, `tagwire rule` explains them."""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, Literal

from tagwire_generator.diagnostics.rule_catalogue import Rule

__all__ = ["DESIGN_RULES", "DesignSeverity", "Finding"]

DesignSeverity = Literal["error", "warning", "note"]


def _read() -> dict[str, Rule[DesignSeverity]]:
    text = resources.files("tagwire_generator.designs").joinpath("design_rules.toml").read_text("utf-8")
    rows: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {id: Rule(id, row["severity"], row["title"], row["explanation"]) for id, row in rows.items()}


DESIGN_RULES: Final[dict[str, Rule[DesignSeverity]]] = _read()
"""Severity: error, what readers or writers can't live with; warning, what costs them; note, what is so and is known."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found in a design."""

    rule: str
    file: str
    path: str
    """The field, in snake_case; "" for the design as a whole."""
    message: str

    @property
    def severity(self) -> DesignSeverity:
        """That of the rule."""
        return DESIGN_RULES[self.rule].severity

    def as_dict(self) -> dict[str, str]:
        """What a program reads."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "file": self.file,
            "path": self.path,
            "message": self.message,
        }
