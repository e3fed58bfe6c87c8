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
    """Say what a record format will cost its readers and writers.

    FILE is a spec, or a folder of them; only record formats are looked at, and
    there must be one. The rules have ids (TL01 and on), which `tagwire rule`
    explains.

    \b
    Examples:
      tagwire lint message_specs/records
      tagwire lint --json MyBatch.json
    """
    from tagwire_generator.designs.lint import lint

    formats = [spec for path in paths for spec in read_design(path) if spec.format is not None]
    if not formats:
        refuse_unjudged(" and ".join(paths), "no record format, and lint judges nothing else")
    findings = [finding for spec in formats for finding in lint(spec)]
    tell(findings, "json" if as_json else output_format, count(len(formats), "record format"))
