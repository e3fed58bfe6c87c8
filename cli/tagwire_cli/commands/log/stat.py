"""`tagwire log stat`: count batches, records, formats and codecs of segments."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire_cli.arguments.logs import (
    Skipped,
    byte_progress,
    partitions_of,
    paths_argument,
    reading_options,
    segments_of,
)
from tagwire_cli.arguments.options import limits_of
from tagwire_cli.output.tables import camel_keys, print_table, table_columns, write_json_line

if TYPE_CHECKING:
    from tagwire.log.stat import SegmentStat
    from tagwire.records import FormatSet


_NUMBERS = ("bytes", "batches", "records")
_COLUMNS = table_columns(
    *("file", *_NUMBERS, "offsets", "from", "to", "formats", "codecs", "attributes"), numbers=_NUMBERS
)


@click.command("stat")
@paths_argument
@reading_options
def command(paths: Sequence[Path], is_lenient: bool, format: "FormatSet", as_json: bool, limits: Sequence[str]) -> None:
    """Count batches, records, formats and codecs of segments.

    Offsets and timestamps (in UTC) are also shown. The attributes `append
    time`, `transactional`, `control` and `delete horizon` are counted in batches,
    the others in records. `null without flag` counts null values whose tombstone
    flag is not set, in formats that have this flag. With --json, there is one object per file,
    which also has the bytes of keys and values and the numbers of empty batches
    and of producers. Damage is an error; with --lenient, undamaged parts are counted.

    \b
    Examples:
      tagwire log stat alpha-0
      tagwire log stat /var/lib/kafka/data --json | jq 'select(.formats.v0)'
    """
    from tagwire.log import Segment
    from tagwire.log.partition import read_steadily
    from tagwire.log.stat import stat

    found, bounds, skipped = list(partitions_of(paths)), limits_of(limits), Skipped()
    skip = skipped if is_lenient else None
    with byte_progress("stat", found) as progress:
        stats: list[SegmentStat] = []
        for each in found:
            if isinstance(each, Segment):
                stats.append(stat(each, format, bounds, progress, skip))
                continue
            stats += read_steadily(
                each, lambda now: [stat(segment, format, bounds, progress, skip) for segment in segments_of(now)]
            )
    if as_json:
        for one in stats:
            write_json_line(camel_keys(one.to_json()))
    else:
        print_table(_COLUMNS, map(_row, stats))
    skipped.end()


def _row(stat: "SegmentStat") -> tuple[object, ...]:
    offsets = "" if stat.end_offset is None else f"{stat.first_offset} to {stat.end_offset - 1}"
    facts = (_time(stat.first_timestamp), _time(stat.last_timestamp), _counts(stat.formats), _counts(stat.codecs))
    return (stat.file, stat.bytes, stat.batches, stat.records, offsets, *facts, _attributes(stat))


def _attributes(stat: "SegmentStat") -> str:
    """Format the counts of attributes, such as `append time 2, tombstone 5`. Counts of zero are left out."""
    counts = {
        "append time": stat.append_time_batches,
        "transactional": stat.transactional_batches,
        "control": stat.control_batches,
        "delete horizon": stat.delete_horizon_batches,
        "tombstone": stat.tombstones,
        "null without flag": stat.nulls_without_flag,
        "has headers": stat.records_with_headers,
    }
    return ", ".join(f"{name} {number}" for name, number in counts.items() if number)


def _counts(counts: "dict[str, int]") -> str:
    """Format names with counts, such as `v0 12, v1 3`. If there is only one name, its count is left out."""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} {number}" for name, number in counts.items())


def _time(timestamp: int | None) -> str:
    """Format a time in ISO 8601. A time outside the range of Python's dates is formatted as a number."""
    if timestamp is None:
        return ""
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return str(timestamp)
