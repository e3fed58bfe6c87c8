"""Report findings to other programs: as GitHub annotations, and as SARIF.

A `Report` contains only what these formats need: a rule, a severity, a position and a sentence.

Sources: GitHub's documentation of workflow commands; OASIS SARIF 2.1.0.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple
from urllib.parse import quote

import click

import tagwire
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import write_json
from tagwire_cli.paths import given_name

if TYPE_CHECKING:
    from tagwire_generator.evolution import Finding
    from tagwire_generator.problems import Problem, Rule


FORMATS: Final = ("text", "json", "github", "sarif")
"""The values of `--output-format`."""

Level = Literal["error", "warning", "note"]

_LEVELS: Final[Mapping[str, Level]] = {"source": "warning", "warning": "warning", "policy": "note", "note": "note"}
"""The SARIF level of each severity. Severities not listed here have the level `error`."""
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def report_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option `--output-format` (or `--format`), and the flag `--json` for `--output-format json`."""
    command = click.option("--json", "as_json", is_flag=True, help="Same as --output-format json.")(command)
    names = ("--output-format", "--format", "output_format")
    return click.option(*names, type=click.Choice(FORMATS), default="text", show_default=True)(command)


class Report(NamedTuple):
    """A finding, reduced to what other programs need. `line` and `column` count from 1; line 0 means the whole file."""

    rule: str
    severity: str
    message: str
    file: str
    line: int = 0
    column: int = 0

    @property
    def level(self) -> Level:
        return _LEVELS.get(self.severity, "error")


def of_problem(problem: "Problem") -> Report:
    """Convert a spec problem to a report."""
    return Report(problem.rule, problem.severity, problem.message, problem.file, problem.line, problem.column)


def of_change(finding: "Finding", message: str) -> Report:
    """Convert a finding about a spec change to a report with the text `message`."""
    return Report(finding.rule, finding.severity, message, finding.file, finding.line, finding.column)


def print_github(reports: Sequence[Report]) -> None:
    """Print each finding as a GitHub workflow command, which GitHub shows next to the line."""
    for report in reports:
        kind = "notice" if report.level == "note" else report.level
        properties: dict[str, object] = {"file": report.file} if report.file else {}
        properties |= {"line": report.line, "col": report.column} if report.line else {}
        properties["title"] = f"{report.severity} {report.rule}"
        listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
        say(f"::{kind} {listed}::{_data(report.message)}")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def print_sarif(reports: Sequence[Report]) -> None:
    """Print all findings as one SARIF log, with descriptions of their rules."""
    rules = _all_rules()
    used = sorted({report.rule for report in reports})
    driver = {"name": "tagwire", "version": tagwire.__version__, "rules": [_rule(rules[id]) for id in used]}
    results = [_result(report, used.index(report.rule)) for report in reports]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    write_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _all_rules() -> dict[str, "Rule[Any]"]:
    from tagwire_generator.problems import CHANGE_RULES, DESIGN_RULES, RULES

    return {**RULES, **CHANGE_RULES, **DESIGN_RULES}


def _rule(rule: "Rule[Any]") -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": f"tagwire rule {rule.id}"},
        "defaultConfiguration": {"level": _LEVELS.get(rule.severity, "error")},
    }


def _result(report: Report, index: int) -> dict[str, Any]:
    result = {"ruleId": report.rule, "ruleIndex": index, "level": report.level, "message": {"text": report.message}}
    if given_name(report.file) in ("", "standard input"):  # the report names no file
        return result
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(PurePath(report.file).as_posix())}}
    if report.line:
        location["region"] = {"startLine": report.line, "startColumn": report.column}
    return result | {"locations": [{"physicalLocation": location}]}
