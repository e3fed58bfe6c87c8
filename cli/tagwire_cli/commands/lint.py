"""`tagwire lint`: flaws of a wire design."""

from collections.abc import Sequence

import click

from tagwire_cli.output.design_findings import read_design, refuse_unjudged, tell
from tagwire_cli.output.diagnostics import count
from tagwire_cli.output.reports import report_options

__all__ = ["command"]


@click.command("lint")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True))
@report_options
def command(paths: Sequence[str], output_format: str, as_json: bool) -> None:
    """Report design problems of record formats.

    FILE is a spec or a folder of specs. Only record formats are checked, and there
    must be at least one. `tagwire rule` explains the rules, TL01 and up.

    \b
    Examples:
      tagwire lint message_specs/records
      tagwire lint --json MyBatch.json
    """
    from tagwire_generator.designs.lint import lint

    formats = [spec for path in paths for spec in read_design(path) if spec.format is not None]
    if not formats:
        refuse_unjudged(" and ".join(paths), "no record format, and lint checks nothing else")
    findings = [finding for spec in formats for finding in lint(spec)]
    tell(findings, "json" if as_json else output_format, count(len(formats), "record format"))
