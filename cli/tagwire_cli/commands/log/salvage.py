"""`tagwire log salvage`: what is whole of damaged partitions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire_cli.arguments.log_options import format_option, json_option, output_options, paths_argument
from tagwire_cli.arguments.log_paths import byte_progress, work_of
from tagwire_cli.arguments.options import limit_option, limits_of
from tagwire_cli.output.diagnostics import count
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import write_json_line, write_line

if TYPE_CHECKING:
    from tagwire.log import Partition
    from tagwire.log.salvage import SalvageReport
    from tagwire.records import FormatSet

__all__ = ["command"]


@click.command("salvage")
@paths_argument
@output_options
@format_option
@json_option
@limit_option
def command(
    paths: Sequence[Path], output: Path, resumes: bool, format: "FormatSet", as_json: bool, limits: Sequence[str]
) -> None:
    """Write what is whole of damaged partitions to DIR, with new indexes.

    Batches are kept as they are or not at all. Behind damage a batch counts only
    if its length, magic byte and checksum agree and its offsets go on. Everything
    that was left out is told, with its place. With --json, an object a segment:
    file, batches, records, bytes, lost_bytes, problems.

    A partition appears in DIR when all of it is written. A run that was stopped
    goes on with --resume.

    \b
    Examples:
      tagwire log salvage broken/alpha-0 --output saved
    """
    from tagwire.log.salvage import salvage

    def place(partition: "Partition", path: Path) -> Path:
        return output / partition.path.absolute().name

    found = [partition for work in work_of(paths, "salvaged", place, resumes=resumes) for partition, _ in work.left]
    lost = 0
    with byte_progress("salvage", found) as tell:
        for partition in found:
            for report in salvage(partition, output, format, limits_of(limits), tell):
                lost += report.lost_bytes + any(problem.rule == "TWL100" for problem in report.problems)
                (_tell_json if as_json else _tell_text)(report)
    if lost:
        raise click.exceptions.Exit(1)


def _tell_json(report: "SalvageReport") -> None:
    problems = [problem._asdict() for problem in report.problems]
    write_json_line(report._asdict() | {"file": str(report.file), "problems": problems})


def _tell_text(report: "SalvageReport") -> None:
    """What was kept, and then what was not."""
    write_line(f"{report.file}: {count(report.batches, 'whole batch')}, {count(report.records, 'record')} kept")
    for problem in report.problems:
        say(f"{report.file}:{problem.position}: {problem.rule} {problem.message}", err=True)
