"""`tagwire collide`: find conflicts between designs."""

from collections.abc import Sequence
from pathlib import Path

import click

from tagwire.text_format import count
from tagwire_cli.output.diagnostics import report_options
from tagwire_cli.paths import InputPath
from tagwire_workbench.commands.lint import print_findings, read_design, reject_unjudged


@click.command("collide")
@click.argument("paths", nargs=-1, required=True, metavar="A B...", type=InputPath(is_text=True))
@report_options
def command(paths: Sequence[str], output_format: str) -> None:
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
    from tagwire_workbench.designs.collide import Design, collide

    designs = [Design(path, read_design(path)) for path in paths]
    for design in designs:
        if not design.specs:
            reject_unjudged(design.name, "collide")
    findings = collide(designs)
    print_findings(findings, output_format, count(len(paths), "design"))
