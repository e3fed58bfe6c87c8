"""Print findings about spec changes, as paragraphs with example bytes, as JSON, or as reports for other programs.

A paragraph contains the position, the rule, a description, and the line of the spec. For a change that breaks bytes,
it also has an example value and its old and new bytes.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Any, Final, cast

from tagwire.text_format import printable, printable_json
from tagwire_cli.output.diagnostics import count, is_coloured
from tagwire_cli.output.echo import say
from tagwire_cli.output.reports import Report, of_change

if TYPE_CHECKING:
    from tagwire_generator.evolution import Finding, Proof
    from tagwire_generator.project.exemptions import Excused


_COLOURS: Final = {"error": "bold red", "wire": "bold red", "semantic": "bold red", "source": "bold yellow"}
_KINDS: Final = {
    "error": "error",
    "wire": "wire-breaking change",
    "semantic": "semantic change",
    "source": "source-breaking change",
    "policy": "policy finding",
}
_INDENT: Final = "    "
_WIDTH: Final = 112


def print_findings(findings: Sequence[tuple[str, str]]) -> None:
    """Print paragraphs, given as pairs of text and severity, on standard output. The severity determines the color."""
    if not is_coloured(sys.stdout):
        if findings:
            say("\n\n".join(text for text, _ in findings), lines=True)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, soft_wrap=True, highlight=False)
    for number, (text, severity) in enumerate(findings):
        first_line, line_end, body = text.partition("\n")
        shown = Text(first_line, style="bold")
        shown.highlight_words([f" {severity} "], _COLOURS.get(severity, "bold cyan"))
        console.print(*([Text()] if number else []), shown.append(line_end + body, "not bold"), sep="\n")


def finding_text(finding: "Finding") -> str:
    """Format a finding as a paragraph of text."""
    text = (
        _positioned(finding) if finding.line else printable(f"{_prefix(finding)}{_subject(finding)}{finding.message}")
    )
    return "\n".join([text, *(indent(part, _INDENT) for part in _proof_lines(finding.proof))])


def _positioned(finding: "Finding") -> str:
    """Format a finding like an error in a spec: with its position, the source line, and a caret."""
    from tagwire_generator.problems import Problem, render

    problem = Problem(
        rule=finding.rule,
        severity=cast(Any, finding.severity),  # `render` accepts more severities than the annotation allows
        file=finding.file,
        line=finding.line,
        column=finding.column,
        message=f"{_subject(finding)}{finding.message}",
        source_line=finding.source_line,
    )
    return render(problem)


def _prefix(finding: "Finding") -> str:
    location = f"{finding.file}: " if finding.file else ""
    return f"{location}{finding.severity} {finding.rule}: "


def excused_text(excused: "Excused[Finding]") -> str:
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


def report_of(finding: "Finding") -> Report:
    """Convert a finding to a report that other programs can read."""
    return of_change(finding, _subject(finding) + finding.message)


def findings_summary(findings: Sequence["Finding"], *, excused: int, messages: int) -> str:
    """Count findings by kind, such as `2 wire-breaking changes, 1 excused finding in 3 messages`."""
    from tagwire_generator.evolution import SEVERITIES

    numbers = [(_KINDS[each], sum(finding.severity == each for finding in findings)) for each in SEVERITIES]
    parts = [count(number, kind) for kind, number in [*numbers, ("excused finding", excused)] if number]
    if not (parts or messages):
        return "no released messages to compare"
    return f"{', '.join(parts) or 'no breaking changes'} in {count(messages, 'message')}"
