"""Findings of design rules. Each finding has a rule ID, a position in a spec, and a message."""

from typing import Any, Final

from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import DESIGN_RULES, Finding, Spot

_ARRAY: Final = "[]"


def design_finding(rule: str, spec: MessageSpec, path: str, message: str, key: str = "name") -> Finding:
    """Create a finding about a key of a spec, or of the field at `path`. It has the rule's default severity."""
    return Finding(
        rule=rule,
        severity=DESIGN_RULES[rule].severity,
        file=spec.file,
        message_name=spec.name,
        path=path,
        message=message,
        spot=Spot(tuple(path.replace(_ARRAY, "").split(".")) if path else (), key),
    )


def text_of(finding: Finding) -> str:
    """Return the message of a finding, with the path of its field if the position in the file is unknown."""
    return finding.message if not finding.path or finding.line else f"{finding.path}: {finding.message}"


def as_row(finding: Finding) -> dict[str, Any]:
    """Return the finding as a JSON-compatible dict."""
    return {key: getattr(finding, key) for key in ("rule", "severity", "file", "line", "column", "path", "message")}
