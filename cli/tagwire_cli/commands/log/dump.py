"""`tagwire log dump`: print the records of segments, or the entries of other log files."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tagwire.text_format import suggestion
from tagwire_cli.arguments.logs import (
    Skipped,
    byte_progress,
    format_option,
    lenient_option,
    partitions_of,
    paths_argument,
    segments_of,
)
from tagwire_cli.arguments.options import (
    json_lines_option,
    limit_option,
    limits_of,
    package_option,
    show_sensitive_option,
)
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import byte_writer, camel_keys, write_json_line, write_line

if TYPE_CHECKING:
    from tagwire.records import FormatSet
    from tagwire_cli.output.log_lines import RecordFilter


_TEMPLATE_NAMES: Final = ("file", "topic", "partition", "offset", "timestamp", "key", "value", "headers", "attributes")
_NAME: Final = re.compile(r"\{(\w*)\}|\\([tn\\])")
_ESCAPES: Final = {"t": "\t", "n": "\n", "\\": "\\"}


def _time(text: str) -> int:
    """Parse a time: milliseconds since 1970, or ISO 8601. Without a time zone, it is UTC."""
    try:
        if text.lstrip("-").isdecimal():
            return int(text)
        time = datetime.fromisoformat(text)
    except ValueError:
        expected = "milliseconds since 1970, or a time such as 2026-01-31T12:00:00Z"
        raise click.BadParameter(f"expected {expected}, got {text!r}") from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _template(text: str) -> Callable[[Mapping[str, str]], str]:
    """Parse a line template with {names}. \\t, \\n and \\\\ are a tab, a line break and a backslash."""
    for found in _NAME.finditer(text):
        if found[1] is not None and found[1] not in _TEMPLATE_NAMES:
            hint = suggestion(found[1], _TEMPLATE_NAMES, f"give one of {', '.join(_TEMPLATE_NAMES)}")
            raise click.BadParameter(f"unknown placeholder {{{found[1]}}}; {hint}")
    return lambda values: _NAME.sub(lambda found: _ESCAPES[found[2]] if found[2] else values[found[1]], text)


def _record_filter(**conditions: Any) -> "RecordFilter":
    """Return the filter for options that select records. Raises click.UsageError if no record can meet them."""
    from tagwire_cli.output.log_lines import RecordFilter

    for what in ("offset", "time"):
        first, end = conditions[f"start_{what}"], conditions[f"end_{what}"]
        if first is not None and end is not None and first >= end:
            raise click.UsageError(f"--end-{what} must be after --start-{what}; otherwise, there is nothing to print.")
    return RecordFilter(**conditions)


@click.command("dump")
@paths_argument
@click.option(
    "--start-offset", type=click.IntRange(0), metavar="N", help="Start at this offset, found with the indexes."
)
@click.option("--end-offset", type=click.IntRange(0), metavar="N", help="Stop before this offset.")
@click.option("--start-time", type=_time, metavar="TIME", help="Only records from this time on (milliseconds or ISO).")
@click.option("--end-time", type=_time, metavar="TIME", help="Only records before this time.")
@click.option("--key", metavar="TEXT", help="Only records with this key.")
@click.option("--header", metavar="NAME[=VALUE]", help="Only records with this header.")
@click.option("--count", "left", type=click.IntRange(0), metavar="N", help="Stop after N records.")
@click.option(
    "--template", type=_template, metavar="TEXT", help="Print this for each record: '{offset} {key} {value}'."
)
@click.option("--from-log-start", is_flag=True, help="Start at the offset in log-start-offset-checkpoint.")
@click.option(
    "--messages", "with_messages", is_flag=True, help="Also decode records of Kafka's internal topics as messages."
)
@click.option("--partial", is_flag=True, help="Leave out an incomplete batch at the end of a log.")
@lenient_option
@format_option
@json_lines_option
@show_sensitive_option
@limit_option
@package_option
def command(
    paths: Sequence[Path],
    template: "Callable[[Mapping[str, str]], str] | None",
    from_log_start: bool,
    with_messages: bool,
    partial: bool,
    is_lenient: bool,
    format: "FormatSet",
    as_json: bool,
    limits: Sequence[str],
    package: str | None,
    **filters: Any,
) -> None:
    """Print the records of segments, one per line, or the entries of other files of a log.

    A line has offset, timestamp, key, value, headers and attributes, separated by
    tabs. With --json, a line is an object with the keys `file`, `baseOffset`,
    `magic`, `compression`, `timestampType`, `isTransactional`, `isControl`,
    `deleteHorizonMs`, `producerId`, `producerEpoch`, `baseSequence`, `offset`,
    `timestamp`, `key`, `value`, `headers`, `hasHeaders` and `isTombstone`. `key` and
    `value` are base64 or null. `headers` is a list of pairs: the key of a header, and
    its value as base64 or null. `isTombstone` is the record's tombstone flag. In
    formats without this flag, it is true if the value is null. With --messages, the
    object also has `message`: type, version, key and value, decoded to their fields.
    With --json, numbers that have names (such as a transaction's status) stay
    numbers; otherwise, the names are printed. Values that the specs mark as sensitive
    are hidden, and so are the bytes that contain them.

    Records before an error are printed. The error is then reported, and the exit
    status is 1. With --lenient, records after the error are also printed. A record that
    --messages can't decode is printed without a message (`null`) and reported.

    A template may have {file}, {topic}, {partition}, {offset}, {timestamp}, {key},
    {value}, {headers} and {attributes}, and \\t, \\n and \\\\.

    A PATH may also be an index (.index, .timeindex, .txnindex), a producer snapshot
    (.snapshot), a checkpoint, meta.properties, partition.metadata or quorum-state.
    All of its entries are then printed, one per line; options that select or format
    records have no effect on them.

    \b
    Examples:
      tagwire log dump alpha-0/00000000000000000000.log
      tagwire log dump alpha-0 --start-offset 12000 --json | head
      tagwire log dump alpha-0 --key user-7 --start-time 2026-01-31 --template '{offset} {value}'
      tagwire log dump __consumer_offsets-0 --messages --json | jq .message
      tagwire log dump alpha-0/00000000000000000000.timeindex
    """
    from tagwire.log.directory import starting_offset
    from tagwire_cli.output.log_lines import DumpOptions, dump

    registry = find_registry(package) if with_messages else None
    record_filter = _record_filter(**filters)
    bounds = limits_of(limits)
    logs = [path for path in paths if not _dump_entries(path, as_json)]
    found, skipped = list(partitions_of(logs)), Skipped()
    options = DumpOptions(
        *(format, bounds, registry, skipped, partial, as_json, is_lenient),
        filter=record_filter,
        template=template,
    )
    with byte_writer() as write, byte_progress("dump", found, prints_all_along=True) as progress:
        for each in found:
            begin = starting_offset(each, record_filter.start_offset, from_log_start=from_log_start)
            for size in dump(each, begin, options, write):
                progress(size)
    if found and not any(part.size for each in found for part in segments_of(each, with_snapshots=False)):
        say("tagwire: the log is empty", err=True)
    skipped.end()


def _dump_entries(path: Path, as_json: bool) -> bool:
    """Print the entries of an index, snapshot or checkpoint. For a segment, print nothing and return False."""
    from tagwire_cli.output.log_lines import file_entries

    entries = file_entries(path)
    if entries is None:
        return False
    for entry in map(camel_keys, entries):
        if as_json:
            write_json_line({"file": str(path), **entry})
        else:
            pairs = (f"{key}: {value if isinstance(value, str) else json.dumps(value)}" for key, value in entry.items())
            write_line("  ".join(pairs))
    return True
