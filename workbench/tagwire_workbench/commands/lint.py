"""`tagwire lint` and `tagwire collide`: report design problems in specs, and conflicts between designs."""

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire.text_format import count
from tagwire_cli.arguments.spec_paths import known_near, spec_paths
from tagwire_cli.output.diagnostics import print_for_programs, print_problems, report_options, summary
from tagwire_cli.output.echo import say
from tagwire_cli.paths import InputPath

if TYPE_CHECKING:
    from tagwire_generator.model import MessageSpec
    from tagwire_generator.problems import Finding

_RULES = "RULE[,RULE...]"


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=InputPath(is_text=True, stdin_name="stdin.json"))
@click.option("--select", multiple=True, metavar=_RULES, help="Run only these rules, instead of those in the settings.")
@click.option("--ignore", multiple=True, metavar=_RULES, help="Do not run these rules.")
@report_options
def command(paths: Sequence[str], select: Sequence[str], ignore: Sequence[str], output_format: str) -> None:
    """Report design problems of messages and record formats.

    PATH is a spec or a folder of specs; by default, the specs of this project are
    checked. RULE is a rule ID or a prefix of IDs, such as TL5. Set severities and
    rules in [tool.tagwire.lint], and exceptions in
    [[tool.tagwire.exceptions]]. `tagwire rule` explains the rules, TL01 and up.

    \b
    Examples:
      tagwire lint message_specs/records
      tagwire lint --ignore TL6,TL72 --json PingRequest.json
      tagwire lint --select TL4 message_specs
    """
    from tagwire.errors import SpecError
    from tagwire_generator.project.exemptions import judge
    from tagwire_generator.project.settings import load_project
    from tagwire_workbench.designs.lint import chosen, lint_set

    settings = load_project()
    try:
        rules = settings.lint.with_options(_split(select), _split(ignore))
    except SpecError as error:
        raise click.UsageError(str(error)) from error
    spec_files = spec_paths(settings, paths)
    designs = [_read_design(path) for path in spec_files]
    if not any(designs):
        _reject_unjudged(" and ".join(spec_files), "lint")
    findings = [finding for specs in designs for finding in chosen(lint_set(specs), specs, rules)]
    names = {spec.name for specs in designs for spec in specs}
    judged = judge(findings, settings.exemptions_for("TL"), datetime.date.today(), names)
    for warning in judged.warnings:
        say(f"warning: {warning}", err=True)
    what = count(sum(map(len, designs)), "spec")
    _print_findings(judged.findings, output_format, what, excused=len(judged.excused))


@click.command("collide")
@click.argument("paths", nargs=-1, required=True, metavar="A B...", type=InputPath(is_text=True))
@report_options
def collide(paths: Sequence[str], output_format: str) -> None:
    """Report conflicts between several designs.

    Designs conflict if they claim the same discriminator, attribute bit, API
    version or tag. A, B ... are specs or folders of specs, such as a proposal. API
    versions conflict if two designs have the same newest version.

    \b
    Examples:
      tagwire collide message_specs/drafts/kip82_int message_specs/drafts/kip87
    """
    if len({Path(path).resolve() for path in paths}) < max(len(paths), 2):
        raise click.UsageError("give at least two designs, and each design only once.")
    from tagwire_workbench.designs.collide import Design, conflicts

    designs = [Design(path, _read_design(path)) for path in paths]
    for design in designs:
        if not design.specs:
            _reject_unjudged(design.name, "collide")
    _print_findings(conflicts(designs), output_format, count(len(paths), "design"))


def _split(options: Sequence[str]) -> list[str]:
    return [rule.strip().upper() for option in options for rule in option.split(",") if rule.strip()]


def _read_design(path: str) -> "tuple[MessageSpec, ...]":
    """Read the specs in a file or folder, without registers (named numbers).

    Raises SpecError for a spec with errors.
    """
    from tagwire_generator.problems import spec_error
    from tagwire_generator.project.settings import load_project
    from tagwire_generator.project.spec_files import SpecFile, find_specs
    from tagwire_generator.reading.spec import read_file

    spec_path, settings = Path(path), load_project()
    options = settings.options_of(spec_path)
    known = known_near(settings, spec_path, options)
    found = list["MessageSpec"]()
    for each in find_specs(spec_path) if spec_path.is_dir() else [SpecFile("", spec_path)]:
        result = read_file(each.path, component=each.component, options=options, **known)
        if result.register is not None:  # no design rule applies to registers
            continue
        if result.message is None:
            raise spec_error(result.problems)
        found.append(result.message)
    return tuple(found)


def _reject_unjudged(path: str, command: str) -> None:
    """Raise click.UsageError for a path that has only registers, which `command` doesn't check."""
    text = f"{path} has only registers, but {command} checks messages and record formats"
    raise click.UsageError(f"{text}; use `tagwire validate` to check registers")


def _print_findings(findings: "Sequence[Finding]", output_format: str, paths: str, excused: int = 0) -> None:
    """Print the findings and, in text output, what was checked. Exit with status 1 if a finding is an error."""
    from tagwire_generator.reading.positions import placed
    from tagwire_workbench.designs.findings import as_row, text_of

    files = list(dict.fromkeys(finding.file for finding in findings))
    found = placed(findings, {file: Path(file).read_text("utf-8") for file in files})
    findings = sorted(found, key=lambda each: (files.index(each.file), each.line, each.column, each.rule))
    problems = [replace(finding, message=text_of(finding)) for finding in findings]
    if not print_for_programs(output_format, map(as_row, findings), problems):
        print_problems(problems, err=False)
        also = f", {count(excused, 'excused finding')}" if excused else ""
        say(f"{summary(findings)}{also} in {paths}", err=True)
    if any(finding.severity == "error" for finding in findings):
        raise click.exceptions.Exit(1)
