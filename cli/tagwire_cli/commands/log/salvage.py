"""`tagwire log salvage`: copy the intact batches of damaged partitions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire.log.names import log_file
from tagwire.text_format import count
from tagwire_cli.arguments.logs import byte_progress, format_option, output_options, paths_argument, work_of
from tagwire_cli.arguments.options import json_lines_option, limit_option, limits_of
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import camel_keys, write_json_line, write_line

if TYPE_CHECKING:
    from tagwire.log import Partition
    from tagwire.records import FormatSet


@click.command("salvage")
@paths_argument
@output_options
@format_option
@json_lines_option
@limit_option
def command(
    paths: Sequence[Path], output: Path, resumes: bool, format: "FormatSet", as_json: bool, limits: Sequence[str]
) -> None:
    """Copy the intact batches of damaged partitions to DIR.

    New indexes are written. A batch is copied unchanged or left out. After damage,
    a batch is accepted only if its length, magic byte and checksum are right and
    its offsets continue the sequence. Everything left out is reported with its
    position. With --json, there is one object per segment: file, batches, records,
    bytes, lostBytes, problems.

    A partition appears in DIR only when it is complete. --resume continues an
    interrupted run.

    \b
    Examples:
      tagwire log salvage broken/alpha-0 --output saved
    """
    from tagwire.log.salvage import salvage

    def find_target(partition: "Partition", path: Path) -> Path:
        return output / partition.path.absolute().name

    found = [
        partition for work in work_of(paths, "salvaged", find_target, resumes=resumes) for partition, _ in work.left
    ]
    lost = 0
    with byte_progress("salvage", found) as progress:
        for partition in found:
            for report in salvage(partition, output, format, limits_of(limits), progress):
                lost += report.lost_bytes + any(problem.rule == "TWL100" for problem in report.problems)
                if as_json:
                    problems = [problem._asdict() for problem in report.problems]
                    write_json_line(camel_keys(report._asdict() | {"file": str(report.file), "problems": problems}))
                    continue
                if log_file(report.file):
                    batches, records = count(report.batches, "intact batch"), count(report.records, "record")
                    write_line(f"{report.file}: kept {batches}, {records}")
                for problem in report.problems:
                    say(f"{report.file}:{problem.position}: {problem.rule} {problem.message}", err=True)
    if lost:
        raise click.exceptions.Exit(1)
