"""`tagwire log dump`: the records of segments."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire_cli.arguments.log_options import format_option, json_option, paths_argument
from tagwire_cli.arguments.log_paths import byte_progress, partitions_of
from tagwire_cli.arguments.options import limit_option, limits_of, package_option, show_sensitive_option
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.output.tables import byte_writer

if TYPE_CHECKING:
    from tagwire.log import Partition, Segment
    from tagwire.records import FormatSet

__all__ = ["command"]


@click.command("dump")
@paths_argument
@click.option("--start-offset", type=int, metavar="N", help="From this offset on; the indexes are used.")
@click.option("--from-log-start", is_flag=True, help="Not below the start that the log-start-offset-checkpoint has.")
@click.option("--messages", "with_messages", is_flag=True, help="Records of Kafka's own topics as messages, too.")
@click.option("--partial", is_flag=True, help="A batch that is cut off at the end of a log is left out.")
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
    format: "FormatSet",
    as_json: bool,
    limits: Sequence[str],
    package: str | None,
) -> None:
    """Print the records of segments, a line each.

    Offset, timestamp, key, value, headers and attributes by their names, with tabs
    between them. With --json, an object a record: file, baseOffset, magic,
    compression, timestampType, isTransactional, isControl, deleteHorizonMs,
    producerId, producerEpoch, baseSequence, offset, timestamp, key and value
    (base64 or null), headers (pairs of a key and base64 or null), hasHeaders,
    isTombstone (by the flag where the format has one). With --messages also `message`: type,
    version, key and value by their fields. Values that the specs mark as sensitive
    are hidden then, and so are the bytes that have them.

    What stands before a fault is printed; then it is told, and the exit status is 1.

    \b
    Examples:
      tagwire log dump alpha-0/00000000000000000000.log
      tagwire log dump alpha-0 --start-offset 12000 --json | head
      tagwire log dump __consumer_offsets-0 --messages --json | jq .message
    """
    from tagwire_cli.output.log_lines import dump

    registry = find_registry(package) if with_messages else None
    bounds = limits_of(limits)
    found = list(partitions_of(paths))
    with byte_writer() as write, byte_progress("dump", found, prints_all_along=True) as tell:
        for each in found:
            begin = _begin(each, start_offset, from_log_start)
            for size in dump(each, begin, format, bounds, registry, write, partial=partial, as_json=as_json):
                if tell:
                    tell(size)


def _begin(found: "Partition | Segment", start_offset: int | None, from_log_start: bool) -> int | None:
    """The offset to begin at, None for the first that is there."""
    log_start = getattr(found, "log_start_offset", None) if from_log_start else None
    known = [each for each in (log_start, start_offset) if each is not None]
    return max(known, default=None)
