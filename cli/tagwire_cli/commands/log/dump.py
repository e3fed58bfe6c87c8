"""`tagwire log dump`: the records of segments."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire_cli.arguments.log_options import format_option, json_option, lenient_option, paths_argument
from tagwire_cli.arguments.log_paths import byte_progress, partitions_of
from tagwire_cli.arguments.options import limit_option, limits_of, package_option, show_sensitive_option
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.output.skipped import Skipped
from tagwire_cli.output.tables import byte_writer

if TYPE_CHECKING:
    from tagwire.log import Partition, Segment
    from tagwire.records import FormatSet

__all__ = ["command"]


@click.command("dump")
@paths_argument
@click.option("--start-offset", type=int, metavar="N", help="Start at this offset, found with the indexes.")
@click.option("--from-log-start", is_flag=True, help="Start at the offset in log-start-offset-checkpoint.")
@click.option(
    "--messages", "with_messages", is_flag=True, help="Also decode records of Kafka's internal topics as messages."
)
@click.option("--partial", is_flag=True, help="Leave out a truncated batch at the end of a log.")
@lenient_option
@format_option
@json_option
@show_sensitive_option
@limit_option
@package_option
def command(
    paths: Sequence[Path],
    start_offset: int | None,
    from_log_start: bool,
    with_messages: bool,
    partial: bool,
    is_lenient: bool,
    format: "FormatSet",
    as_json: bool,
    limits: Sequence[str],
    package: str | None,
) -> None:
    """Print the records of segments, one per line.

    A line has offset, timestamp, key, value, headers and attributes, separated by
    tabs. With --json, a line is an object with file, baseOffset, magic,
    compression, timestampType, isTransactional, isControl, deleteHorizonMs,
    producerId, producerEpoch, baseSequence, offset, timestamp, key and value
    (base64 or null), headers (pairs of a key and base64 or null), hasHeaders and
    isTombstone (the flag, if the format has one). With --messages, it also has
    `message`: type, version, key and value, decoded to their fields. Values that
    the specs mark as sensitive, and the bytes that contain them, are then hidden.

    Records before an error are printed. The error is then reported, and the exit
    status is 1. With --lenient, records after the error are also printed. A record that
    --messages can't decode is printed without a message (`null`) and reported.

    \b
    Examples:
      tagwire log dump alpha-0/00000000000000000000.log
      tagwire log dump alpha-0 --start-offset 12000 --json | head
      tagwire log dump __consumer_offsets-0 --messages --json | jq .message
    """
    from tagwire_cli.output.log_lines import DumpOptions, dump

    registry = find_registry(package) if with_messages else None
    bounds = limits_of(limits)
    found, skipped = list(partitions_of(paths)), Skipped()
    options = DumpOptions(format, bounds, registry, skipped, partial=partial, as_json=as_json, is_lenient=is_lenient)
    with byte_writer() as write, byte_progress("dump", found, prints_all_along=True) as tell:
        for each in found:
            begin = _begin(each, start_offset, from_log_start)
            for size in dump(each, begin, options, write):
                if tell:
                    tell(size)
    skipped.end()


def _begin(found: "Partition | Segment", start_offset: int | None, from_log_start: bool) -> int | None:
    """The offset to begin at, None for the first that is there."""
    log_start = getattr(found, "log_start_offset", None) if from_log_start else None
    known = [each for each in (log_start, start_offset) if each is not None]
    return max(known, default=None)
