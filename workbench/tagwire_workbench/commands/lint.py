"""`tagwire lint`: report design problems in specs."""

import datetime
from collections.abc import Sequence

import click

from tagwire.text_format import count
from tagwire_cli.arguments.spec_paths import spec_paths
from tagwire_cli.output.diagnostics import report_options
from tagwire_cli.output.echo import say
from tagwire_cli.paths import InputPath
from tagwire_workbench.designs_output import read_design, reject_unjudged, tell

_RULES = "RULE[,RULE...]"


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[FILE...]", type=InputPath(is_text=True, stdin_name="stdin.json"))
@click.option("--select", multiple=True, metavar=_RULES, help="Run only these rules, instead of those in the settings.")
@click.option("--ignore", multiple=True, metavar=_RULES, help="Do not run these rules.")
@report_options
def command(
    paths: Sequence[str], select: Sequence[str], ignore: Sequence[str], output_format: str, as_json: bool
) -> None:
    """Report design problems of messages and record formats.

    FILE is a spec or a folder of specs; by default, the specs of this project are
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
    designs = [read_design(path) for path in spec_files]
    if not any(designs):
        reject_unjudged(" and ".join(spec_files), "lint")
    findings = [finding for specs in designs for finding in chosen(lint_set(specs), specs, rules)]
    names = {spec.name for specs in designs for spec in specs}
    judged = judge(findings, settings.design_exemptions, datetime.date.today(), names)
    for warning in judged.warnings:
        say(f"warning: {warning}", err=True)
    what = count(sum(map(len, designs)), "spec")
    tell(judged.findings, "json" if as_json else output_format, what, excused=len(judged.excused))


def _split(options: Sequence[str]) -> list[str]:
    return [rule.strip().upper() for option in options for rule in option.split(",") if rule.strip()]
