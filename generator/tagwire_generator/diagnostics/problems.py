"""Rules, and the problems that break them."""

import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final, Generic, Literal, TypeVar, cast, get_args

from tagwire.errors import SpecError
from tagwire.text_format import printable

Severity = Literal["error", "warning"]

DesignSeverity = Literal["error", "warning", "note"]
"""error: what readers or writers can't live with; warning: what costs them; note: what is so and is known."""

Impact = Literal["wire", "semantic", "source", "policy"]
"""What a change breaks, the gravest first.

wire: the bytes of a released version; semantic: what they mean; source: the
code that uses the classes, or the JSON; policy: nothing, but somebody may
have counted on it.
"""

S = TypeVar("S", bound=str)


@dataclass(frozen=True, slots=True)
class Rule(Generic[S]):
    """A rule: `title` says what is found, in one line; `explanation` why it matters and what to do."""

    id: str
    severity: S
    title: str
    explanation: str
    dialect: str = ""
    """Where a rule about designs is on unless settings say otherwise; "" for everywhere."""


def _severity(number: int) -> Severity:
    return "warning" if number >= 20 else "error"


def _impact(number: int) -> Impact:
    impacts: tuple[Impact, ...] = get_args(Impact)
    return impacts[number // 20]


def _rows() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files("tagwire_generator.diagnostics").joinpath("rules.toml").read_text("utf-8"))


_ROWS: Final = _rows()

RULES: Final[dict[str, Rule[Severity]]] = {
    id: Rule(id, cast(Severity, row.get("severity") or _severity(int(id[3:]))), row["title"], row["explanation"])
    for id, row in _ROWS.items()
    if id.startswith("TW") and not id.startswith("TW9")
}
"""The rules about a spec, and about a directory of them."""

CHANGE_RULES: Final[dict[str, Rule[Impact]]] = {
    id: Rule(id, _impact(int(id[3:])), row["title"], row["explanation"])
    for id, row in _ROWS.items()
    if id.startswith("TW9")
}
"""The rules about what a new spec does to the versions that an old one released."""

DESIGN_RULES: Final[dict[str, Rule[DesignSeverity]]] = {
    id: Rule(id, cast(DesignSeverity, row["severity"]), row["title"], row["explanation"], row.get("dialect", ""))
    for id, row in _ROWS.items()
    if id.startswith("TL")
}
"""The rules about designs: record formats, messages, and several designs that claim the same thing."""

_SHOWN: Final = 160
"""How much of a source line is shown: enough to see the place in a file without line breaks."""
_QUOTED: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One breach of one rule. `line` and `column` count from 1, columns in characters."""

    rule: str
    severity: DesignSeverity
    """A note is only about designs."""
    file: str
    line: int
    column: int
    message: str
    source_line: str = ""
    because: str = ""
    """The file whose errors are all that is wrong here; "" if something in this file is wrong."""

    def as_dict(self) -> dict[str, str | int]:
        """What a program reads: everything but the source line."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
        }


class Source:
    """A spec's text under its file name."""

    __slots__ = ("_lines", "file", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._lines = text.split("\n")

    def problem(self, rule: str, line: int, column: int, message: str) -> Problem:
        """A problem at a place of this text."""
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
        """Line and column after the last character that is not blank."""
        lines = self.text.rstrip().split("\n")
        return len(lines), len(lines[-1]) + 1


def quoted(value: object) -> str:
    """A value of a spec for a message: escaped, on one line, shortened."""
    text = repr(value)
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 4]}...{text[-1]}"


def named(name: str) -> str:
    """A name for a message: unchanged, unless it is hostile."""
    return name if name.isascii() and name.isalnum() and len(name) <= _QUOTED else quoted(name)


def render(problem: Problem) -> str:
    """`file:line:column: severity rule: message`, the source line, a caret under the column."""
    place = f"{printable(problem.file)}:{problem.line}:{problem.column}"
    head = f"{place}: {problem.severity} {problem.rule}: {printable(problem.message)}"
    if not problem.source_line.strip():
        return head
    start = max(0, problem.column - 1 - _SHOWN // 2) if len(problem.source_line) > _SHOWN else 0
    shown = problem.source_line[start : start + _SHOWN]
    before = problem.source_line[start : problem.column - 1]
    return f"{head}\n    {_safe(shown)}\n    {''.join(map(_blank, before))}^"


def _safe(text: str) -> str:
    """The text without what a terminal would obey; as long as before."""
    return "".join(c if c == "\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _blank(character: str) -> str:
    """What moves the caret as far as the character above it: a tab, or one blank, or two."""
    if character == "\t":
        return "\t"
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "


def without_repeats(problems: Iterable[Problem]) -> list[Problem]:
    """The problems without those that only say that another file has errors, if those errors are among them.

    If they are not, the first problem that sends people to the file stays.
    """
    problems = list(problems)
    if not any(each.because for each in problems):
        return problems
    told = {Path(each.file).resolve() for each in problems if each.severity == "error"}
    kept: list[Problem] = []
    for each in problems:
        cause = Path(each.because).resolve() if each.because else None
        if cause not in told:
            kept.append(each)
        if cause is not None:
            told.add(cause)
    return kept


def spec_error(problems: Sequence[Problem]) -> SpecError:
    """All problems as one error, at the place of the first that is an error."""
    first = next((problem for problem in problems if problem.severity == "error"), problems[0])
    return SpecError(
        "\n".join(render(problem) for problem in problems),
        file=first.file,
        line=first.line,
        column=first.column,
        rule=first.rule,
        problems=problems,
    )
