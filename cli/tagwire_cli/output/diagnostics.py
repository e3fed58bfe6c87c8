"""Print errors, spec problems, and findings about spec changes.

Problems and findings are printed as text with a position and a caret, as JSON, or for other programs: as GitHub
annotations, and as SARIF. The paragraph of a finding that breaks bytes also has an example value and its old and new
bytes. rich is imported only for terminals, so that commit hooks stay fast.

Sources: GitHub's documentation of workflow commands; OASIS SARIF 2.1.0.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import PurePath
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

import click

import tagwire
from tagwire.errors import MissingExtraError, SpecError, TagwireError
from tagwire.text_format import count, printable, printable_json
from tagwire_cli.output.echo import is_colored, say, say_error
from tagwire_cli.output.tables import write_json
from tagwire_cli.paths import UnreadableFileError, given_name

if TYPE_CHECKING:
    from tagwire_generator.evolution import Proof
    from tagwire_generator.problems import Finding, Problem, Rule
    from tagwire_generator.project.exemptions import Excused

Level = Literal["error", "warning", "note"]

FORMATS: Final = ("text", "json", "github", "sarif")
"""The values of `--output-format`."""

_LEVELS: Final[Mapping[str, Level]] = {"source": "warning", "warning": "warning", "policy": "note", "note": "note"}
"""The SARIF level of each severity. Severities not listed here have the level `error`."""
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_COLORS: Final = {
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold cyan",
    "wire": "bold red",
    "semantic": "bold red",
    "source": "bold yellow",
}
"""The color of each severity of problems and findings."""
_KINDS: Final = {
    "error": "error",
    "wire": "wire-breaking change",
    "semantic": "semantic change",
    "source": "source-breaking change",
    "policy": "policy finding",
}
_MAGIC_AT: Final = 16
_INDENT: Final = "    "
_WIDTH: Final = 112


def print_problems(problems: Iterable["Problem"], *, err: bool) -> None:
    """Print problems with their source lines and carets, separated by blank lines."""
    from tagwire_generator.problems import render

    print_paragraphs([(render(problem), problem.severity) for problem in problems], err=err)


def print_paragraphs(paragraphs: Sequence[tuple[str, str]], *, err: bool = False) -> None:
    """Print paragraphs, given as pairs of text and severity. The severity determines the color."""
    stream = sys.stderr if err else sys.stdout
    if not is_colored(stream):
        if paragraphs:
            say("\n\n".join(given_name(text) for text, _ in paragraphs), err=err, lines=True)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, soft_wrap=True, highlight=False)
    for number, (text, severity) in enumerate(paragraphs):
        first_line, line_end, body = given_name(text).partition("\n")
        color = _COLORS.get(severity, "bold cyan")
        shown = Text(first_line, style="bold")
        shown.highlight_words([f" {severity} "], color)
        shown.append(line_end + body, "not bold")
        if text.endswith("^"):
            shown.stylize(color, len(shown) - 1)
        console.print(*([Text()] if number else []), shown, sep="\n")


def print_error(error: TagwireError) -> int:
    """Print an error on standard error and return its exit status.

    If an error suggests a function argument such as `max_keys`, the equivalent option, --max-keys, is printed instead.
    """
    from tagwire.log.errors import LogError
    from tagwire.message.engines import EngineError

    if problems := _problems_of(error):
        print_problems(problems, err=True)
    else:
        location = f"{error.file}:{error.line}:{error.column}: " if isinstance(error, SpecError) and error.line else ""
        text = re.sub(
            r"argument `(\w+)(=True)?`", lambda found: f"--{found[1].replace('_', '-')}", f"{location}{error}"
        )
        if isinstance(error, LogError) and error.rule in ("TWL101", "TWL103") and error.offset <= _MAGIC_AT:
            from shlex import quote

            file = error.file if given_name(error.file) == error.file else "-"
            text = f"{text}; if this is not a log segment, `tagwire explain {quote(file)}` detects what it is"
        else:
            text = "; ".join([text, *getattr(error, "__notes__", ())])
        say_error(text)
    is_usage = isinstance(error, (EngineError, MissingExtraError, UnreadableFileError)) or _is_in_settings(error)
    return 2 if is_usage else 1


def _problems_of(error: TagwireError) -> "list[Problem]":
    """Return the spec problems that an error lists. Errors without problems don't import `tagwire_generator`."""
    if not (found := getattr(error, "problems", ())):
        return []
    from tagwire_generator.problems import Problem

    return [each for each in found if isinstance(each, Problem)]


def _is_in_settings(error: TagwireError) -> bool:
    if not isinstance(error, SpecError):
        return False
    from tagwire_generator.project.settings import SettingsError

    return isinstance(error, SettingsError)


def summary(problems: "Sequence[Problem]") -> str:
    """Return a phrase that counts problems or findings, such as `2 errors, 1 warning`, or `no problems`."""
    found = [(severity, sum(each.severity == severity for each in problems)) for severity in _COLORS]
    return ", ".join(count(number, severity) for severity, number in found if number) or "no problems"


def finding_text(finding: "Finding") -> str:
    """Format a finding as a paragraph of text."""
    from tagwire_generator.problems import render

    return "\n".join([render(with_subject(finding)), *(indent(part, _INDENT) for part in _proof_lines(finding.proof))])


def with_subject(finding: "Finding") -> "Finding":
    """Return a finding about a spec change whose message names the field, so that it is printed like a spec problem."""
    return replace(finding, message=f"{_subject(finding)}{finding.message}")


def excused_text(excused: "Excused") -> str:
    """Format a finding that an entry in [[tool.tagwire.exceptions]] excuses. The last line is the entry's reason."""
    finding, exemption = excused.finding, excused.exemption
    until = "" if exemption.until is None else f" until {exemption.until}"
    prefix = f"{finding.file}:{finding.line}:{finding.column}: excused{until} {finding.rule}: "
    text = printable(f"{prefix}{_subject(finding)}{finding.message}")
    return f"{text}\n{_INDENT}reason: {printable(exemption.reason)}"


def _subject(finding: "Finding") -> str:
    """Return the start of a finding's sentence, such as `FooRequest 1-3: topics.name: `, or "" for an invalid spec."""
    if finding.severity == "error":
        return ""
    where = f"{finding.message_name} {finding.versions}".rstrip()
    return f"{where}: {finding.path}: " if finding.path else f"{where}: "


def _proof_lines(proof: "Proof | None") -> Iterator[str]:
    if proof is None:
        return
    yield f"proof in version {proof.version}: {printable_json(json.dumps(proof.value, ensure_ascii=False))}"
    for name, data in (("old", proof.old_bytes), ("new", proof.new_bytes)):
        yield from _bytes_lines(name, data)
    writer = "new" if proof.reader == "old" else "old"
    outcome = "rejects" if proof.error else "reads"
    what = "" if proof.error else f" as {printable_json(json.dumps(proof.reads, ensure_ascii=False))}"
    yield f"the {proof.reader} reader {outcome} the {writer} bytes{what}:"
    yield from (indent(line, "  ") for line in proof.trace.splitlines()[1:])


def _bytes_lines(name: str, data: bytes | None) -> Iterator[str]:
    if data is None:
        yield f"{name} bytes: none; the {name} spec can't encode this value"
        return
    first_line, *more = wrap(data.hex(" "), _WIDTH - 16) or ["(none)"]
    yield f"{name} bytes: {first_line}"
    yield from (f"           {line}" for line in more)


def findings_summary(findings: Sequence["Finding"], *, excused: int, messages: int) -> str:
    """Count findings by kind, such as `2 wire-breaking changes, 1 excused finding in 3 messages`."""
    from tagwire_generator.evolution import SEVERITIES

    numbers = [(_KINDS[each], sum(finding.severity == each for finding in findings)) for each in SEVERITIES]
    parts = [count(number, kind) for kind, number in [*numbers, ("excused finding", excused)] if number]
    if not (parts or messages):
        return "no released messages to compare"
    return f"{', '.join(parts) or 'no breaking changes'} in {count(messages, 'message')}"


def report_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option `--output-format` (or `--format`), and the flag `--json` for `--output-format json`.

    The command gets both as one parameter, `output_format`.
    """

    @wraps(command)
    def called(*, output_format: str, as_json: bool, **options: Any) -> None:
        command(output_format="json" if as_json else output_format, **options)

    called = click.option("--json", "as_json", is_flag=True, help="Same as --output-format json.")(called)
    names = ("--output-format", "--format", "output_format")
    return click.option(*names, type=click.Choice(FORMATS), default="text", show_default=True)(called)


def print_for_programs(output_format: str, rows: Iterable[dict[str, Any]], problems: "Sequence[Problem]") -> bool:
    """Print problems or findings in a format for programs. For the format "text", print nothing and return False.

    `rows` are the problems or findings as JSON objects.
    """
    if output_format == "json":
        write_json([*rows])
    elif output_format == "github":
        _print_github(problems)
    elif output_format == "sarif":
        _print_sarif(problems)
    return output_format != "text"


def _level(severity: str) -> Level:
    return _LEVELS.get(severity, "error")


def _print_github(problems: "Sequence[Problem]") -> None:
    """Print each problem as a GitHub workflow command, which GitHub shows next to the line."""
    for problem in problems:
        level = _level(problem.severity)
        properties: dict[str, object] = {"file": problem.file} if problem.file else {}
        properties |= {"line": problem.line, "col": problem.column} if problem.line else {}
        properties["title"] = f"{problem.severity} {problem.rule}"
        listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
        say(f"::{'notice' if level == 'note' else level} {listed}::{_data(problem.message)}")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _print_sarif(problems: "Sequence[Problem]") -> None:
    """Print all problems as one SARIF log, with descriptions of their rules."""
    from tagwire_generator.problems import ALL_RULES

    used = sorted({problem.rule for problem in problems})
    driver = {"name": "tagwire", "version": tagwire.__version__, "rules": [_rule(ALL_RULES[id]) for id in used]}
    results = [_result(problem, used.index(problem.rule)) for problem in problems]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    write_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: "Rule") -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": f"tagwire rule {rule.id}"},
        "defaultConfiguration": {"level": _level(rule.severity)},
    }


def _result(problem: "Problem", index: int) -> dict[str, Any]:
    level = _level(problem.severity)
    result = {"ruleId": problem.rule, "ruleIndex": index, "level": level, "message": {"text": problem.message}}
    if given_name(problem.file) in ("", "standard input"):  # the problem names no file
        return result
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(PurePath(problem.file).as_posix())}}
    if problem.line:
        location["region"] = {"startLine": problem.line, "startColumn": problem.column}
    return result | {"locations": [{"physicalLocation": location}]}
