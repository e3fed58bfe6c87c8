"""The rules for specs, and the classes for violations of these rules.

A `Violation` refers to an object of the spec model. A `Problem` has a position in a file. A `Finding` is a problem of a
change or of a design.
"""

import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal

from tagwire.errors import SpecError
from tagwire.text_format import printable

Severity = Literal["error", "warning", "note", "wire", "semantic", "source", "policy"]
"""The severity of a rule, or of a violation. Rules for specs have the severity "error" or "warning".

Design rules:

- "error": the design breaks readers or writers
- "warning": the design makes reading or writing more costly
- "note": the design has a known, harmless property

Rules for changes, with what a change breaks:

- "wire": the bytes of a released version
- "semantic": the meaning of the bytes
- "source": the JSON form, or code that uses the classes
- "policy": nothing technical, but users may have relied on the old declaration
"""
DESIGN_SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")
IMPACTS: Final[tuple[Severity, ...]] = ("wire", "semantic", "source", "policy")
"""The severities of rules for changes, most severe first."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for specs, spec changes or spec designs.

    `title` is one line. `explanation` describes why the rule matters and how to fix a violation.
    """

    id: str
    severity: Severity
    title: str
    explanation: str
    dialect: str = ""
    """The only spec dialect in which a design rule is on by default, or "" for all dialects."""


def _rule(id: str, row: dict[str, Any]) -> Rule:
    severity = row.get("severity", "warning" if int(id[-2:]) >= 20 else "error")
    if id.startswith("TW9"):
        severity = IMPACTS[int(id[-2:]) // 20]
    return Rule(id, severity, row["title"], row["explanation"], row.get("dialect", ""))


ALL_RULES: Final = {
    id: _rule(id, row)
    for id, row in tomllib.loads(resources.files("tagwire_generator").joinpath("rules.toml").read_text("utf-8")).items()
}
"""All rules except those for logs, sorted by ID."""
CHANGE_RULES: Final = {id: rule for id, rule in ALL_RULES.items() if id.startswith("TW9")}
"""The rules for changes to released versions."""
DESIGN_RULES: Final = {id: rule for id, rule in ALL_RULES.items() if id.startswith("TL")}
"""The rules that `tagwire lint` and `tagwire collide` apply to the design of record formats and messages."""
RULES: Final = {id: rule for id, rule in ALL_RULES.items() if id not in CHANGE_RULES and id not in DESIGN_RULES}
"""The rules for a single spec and for a folder of specs."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule, found in an object of a spec.

    `key` is the spec key whose value breaks the rule. `needs` are other keys on which the violation depends;
    keys of the message have the prefix "message:". The violation isn't reported if the value of `key`
    or of one of the other keys is invalid.

    `struct` is an index in `MessageSpec.structs`, or None for the message itself. `field` is an index in
    `StructSpec.fields`, or None if the violation isn't in a field.
    """

    rule: str
    key: str
    message: str
    needs: tuple[str, ...] = ()
    field: int | None = None
    struct: int | None = None


class InvalidSpec(SpecError):
    """Raised if a model object violates rules. `violations` includes warnings, but `errors` does not."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        self.errors = tuple(each for each in self.violations if RULES[each.rule].severity == "error")
        super().__init__(
            "; ".join(each.message for each in self.errors), rule=self.errors[0].rule, problems=self.violations
        )


def enforce(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Return the violations if all of them are warnings. Otherwise, raise InvalidSpec."""
    found = tuple(violations)
    if any(RULES[violation.rule].severity == "error" for violation in found):
        raise InvalidSpec(found)
    return found


_SHOWN: Final = 160
"""Maximum length of a printed source line, since a file may have no line breaks."""
_QUOTED: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A violation of one rule. `line` and `column` count from 1; `column` counts characters, not bytes."""

    rule: str
    severity: Severity
    file: str
    line: int
    column: int
    message: str
    source_line: str = ""
    because: str = ""
    """The other file whose errors cause this problem, or "" if the cause is in this file."""

    def as_dict(self) -> dict[str, Any]:
        """Return all attributes except the source line as a JSON-compatible dict."""
        return {key: getattr(self, key) for key in ("rule", "severity", "file", "line", "column", "message")}


@dataclass(frozen=True, slots=True)
class Spot:
    """The key in a spec that causes a finding, and the path of the field that has this key.

    The path `names` contains JSON or Python names of fields, outermost first. It is empty for the message itself.
    """

    names: tuple[str, ...] = ()
    key: str = "name"


WHOLE: Final = Spot()
"""The `Spot` of a finding about the message itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Problem):
    """A violation of a rule about changes or designs. `line` and `column` are 0 if the position is unknown.

    `file` is the file of the new spec, or of the old spec if the message was removed.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    message_name: str
    versions: str = ""
    """The affected versions, or "" if the finding is not about versions."""
    path: str = ""
    """The field path in snake case without indices, such as `topics.partitions.leader_id`, or "" for the message."""
    spot: Spot = WHOLE
    proof: Any = None
    """The `tagwire_generator.evolution.Proof` of a change that breaks bytes, or None."""

    def as_dict(self) -> dict[str, Any]:
        """Return all attributes except the source line and the spot as a JSON-compatible dict."""
        keys = ("rule", "severity", "message_name", "versions", "path", "message", "file", "line", "column")
        return {key: getattr(self, key) for key in keys} | {"proof": self.proof and self.proof.as_dict()}


class CheckedText:
    """The text and the file name of a spec."""

    __slots__ = ("_lines", "file", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._lines = text.split("\n")

    def problem(self, rule: str, line: int, column: int, message: str) -> Problem:
        """Create a problem at a position in this text, with the severity of its rule."""
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        return Problem(
            rule=rule,
            severity=RULES[rule].severity,
            file=self.file,
            line=line,
            column=column,
            message=message,
            source_line=text.rstrip("\r"),
        )

    @property
    def end(self) -> tuple[int, int]:
        """The line and column where the text ends, without trailing white space."""
        lines = self.text.rstrip().split("\n")
        return len(lines), len(lines[-1]) + 1


def quoted(value: object) -> str:
    """Format a spec value for an error message: escaped, shortened, and on one line."""
    text = repr(value)
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 4]}...{text[-1]}"


def named(name: str) -> str:
    """Format a name for an error message: unchanged if it is short and alphanumeric, otherwise quoted."""
    return name if name.isascii() and name.isalnum() and len(name) <= _QUOTED else quoted(name)


def render(problem: Problem) -> str:
    """Format a problem as `file:line:column: severity rule: message`, with the source line and a caret below it.

    An unknown file or position is left out.
    """
    location = printable(problem.file) + (f":{problem.line}:{problem.column}" if problem.line else "")
    first_line = f"{location and f'{location}: '}{problem.severity} {problem.rule}: {printable(problem.message)}"
    if not problem.source_line.strip():
        return first_line
    start = max(0, problem.column - 1 - _SHOWN // 2) if len(problem.source_line) > _SHOWN else 0
    shown = problem.source_line[start : start + _SHOWN]
    before = problem.source_line[start : problem.column - 1]
    return f"{first_line}\n    {_safe(shown)}\n    {''.join(map(_blank, before))}^"


def _safe(text: str) -> str:
    """Replace each control character with a visible character, so that a terminal doesn't act on it."""
    return "".join(c if c == "\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _blank(character: str) -> str:
    """Return white space that is as wide as the character on a terminal, so that the caret is aligned."""
    if character == "\t":
        return "\t"
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "


def without_repeats(problems: Iterable[Problem]) -> list[Problem]:
    """Drop problems that are only consequences of errors in another file.

    An invalid shared struct, for example, causes a problem in each spec that imports the struct. If `problems` contains
    the errors of the other file, all their consequences are dropped. Otherwise, only the first consequence is returned.
    """
    problems = list(problems)
    if not any(each.because for each in problems):
        return problems
    reported = {Path(each.file).resolve() for each in problems if each.severity == "error"}
    kept: list[Problem] = []
    for each in problems:
        cause = Path(each.because).resolve() if each.because else None
        if cause not in reported:
            kept.append(each)
        if cause is not None:
            reported.add(cause)
    return kept


def spec_error(problems: Sequence[Problem]) -> SpecError:
    """Return a SpecError whose message lists all problems, positioned at the first error."""
    first = next((problem for problem in problems if problem.severity == "error"), problems[0])
    return SpecError(
        "\n".join(render(problem) for problem in problems),
        file=first.file,
        line=first.line,
        column=first.column,
        rule=first.rule,
        problems=problems,
    )
