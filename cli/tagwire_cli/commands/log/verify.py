"""`tagwire log verify`: check the checksums, lengths, offsets, indexes and checkpoints of logs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tagwire.log.names import log_file
from tagwire.text_format import count
from tagwire_cli.arguments.logs import (
    byte_progress,
    partitions_of,
    paths_argument,
    reading_options,
)
from tagwire_cli.arguments.options import limits_of
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import write_json_line, write_line

if TYPE_CHECKING:
    from tagwire.limits import Limits
    from tagwire.log import Partition, Segment
    from tagwire.log.verify import FileReport
    from tagwire.records import FormatSet


@click.command("verify")
@paths_argument
@reading_options
def command(paths: Sequence[Path], is_lenient: bool, format: "FormatSet", as_json: bool, limits: Sequence[str]) -> None:
    """Check logs: checksums, lengths, offsets, indexes, checkpoints.

    Every file is read to its end, even if it has problems. docs/logs.md lists the
    rules. With --lenient, input that Kafka's reader accepts is valid. With --json,
    there is one object per file: file, batches, records, bytes, problems (each
    with position, rule and message).

    \b
    Examples:
      tagwire log verify alpha-0
      tagwire log verify /var/lib/kafka/data --json | jq 'select(.problems != [])'
    """
    found = list(partitions_of(paths))
    segments = others = problems = 0
    with byte_progress("verify", found) as progress:
        for report in _reports(paths, found, format, limits_of(limits), progress):
            name = log_file(Path(report.file))
            is_segment = Path(report.file) in paths if name is None else name.kind == "log"
            segments, others = segments + is_segment, others + (not is_segment)
            problems += len(report.problems)
            if as_json:
                rows = [each._asdict() for each in report.problems]
                write_json_line(report._asdict() | {"file": str(report.file), "problems": rows})
                continue
            for each in report.problems:
                write_line(f"{report.file}:{each.position}: {each.rule} {each.message}")
    if not as_json:
        files = count(segments, "segment") + (f", {count(others, 'other file')}" if others else "")
        say(f"{files}, {count(problems, 'problem') if problems else 'no problems'}", err=True)
    if problems:
        raise click.exceptions.Exit(1)


def _reports(
    paths: Sequence[Path], found: "Sequence[Partition | Segment]", format: "FormatSet", limits: "Limits", progress: Any
) -> "Iterator[FileReport]":
    """Yield a report on each file: first the checkpoints of log folders, then the files of each partition."""
    from tagwire.log import Segment
    from tagwire.log.verify import verify_directory_files, verify_partition, verify_segment

    folders = {each.path.absolute().parent for each in found if each.path.is_dir()}
    given = {path.absolute() for path in paths}
    for folder in sorted(folders):
        if any(folder.is_relative_to(path) for path in given):
            yield from verify_directory_files(folder)
    for each in found:
        if isinstance(each, Segment):
            yield from verify_segment(each.path, format, limits, progress)
        else:
            yield from verify_partition(each, format, limits, progress)
