"""`tagwire log compact`: keep the last record of every key, like a broker's log cleaner."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tagwire_cli.arguments.logs import (
    Skipped,
    output_options,
    partitions_to_write,
    paths_argument,
    reading_options,
)
from tagwire_cli.arguments.options import limits_of, option_group
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import camel_keys, print_table, table_columns, write_json_line, write_line

if TYPE_CHECKING:
    from tagwire.log import Segment
    from tagwire.log.compact import CompactReport, SegmentReport
    from tagwire.records import Record


_ROUNDS = 3
_NUMBERS = ("records", "now", "batches", "now", "bytes", "now")
_COLUMNS = table_columns("file", *_NUMBERS, numbers=_NUMBERS)
_REASONS = table_columns("records", "now", "why", numbers=("records",))


def _number(name: str, metavar: str, help: str, default: int | None = None, **more: Any) -> Any:
    return click.option(name, type=click.IntRange(0), default=default, metavar=metavar, help=help, **more)


_DAY_MS = 86_400_000
rule_options = option_group(
    _number("--now", "MS", "The time in milliseconds since 1970; default: now."),
    _number("--delete-retention-ms", "MS", "How long to keep tombstones and markers; default: one day.", _DAY_MS),
    _number("--producer-expiration-ms", "MS", "When an idle producer expires; default: one day.", _DAY_MS),
    _number("--min-compaction-lag-ms", "MS", "Do not compact records below this age.", 0),
    _number("--dirty-from", "OFFSET", "The log is already compacted below this offset."),
    click.option("--include-active", is_flag=True, help="Also compact the active segment, which brokers leave alone."),
    click.option("--drop-keyless", is_flag=True, help="Remove records without a key instead of rejecting them."),
    _number("--max-keys", "N", "Reject logs with more keys.", 5_000_000, show_default=True),
    _number("--segment-bytes", "N", "Join small segments, up to N bytes.", 0),
)
"""Adds the options that set compaction rules. Each is named after an attribute of `Compaction`."""


@click.command("compact")
@paths_argument
@output_options
@click.option("--explain", "is_explained", is_flag=True, help="Print for each record whether it was kept, and why.")
@rule_options
@reading_options
def command(
    paths: Sequence[Path],
    output: Path,
    resumes: bool,
    is_explained: bool,
    is_lenient: bool,
    as_json: bool,
    limits: Sequence[str],
    **rules: Any,
) -> None:
    """Compact partitions: keep the last record of each key.

    PATH is the folder of a partition, or a folder above partitions. The result is
    written to DIR and follows the rules of a broker's log cleaner: tombstones and
    transaction markers stay until their retention time has passed, and offsets do
    not change. The active segment and everything after the start of an open
    transaction are left alone. Damage is an error; with --lenient, damaged parts are
    skipped and reported. --resume continues an interrupted run.

    With --json, one object is printed per partition. It has the keys `partition`,
    `compactedTo`, `because`, `keys` and `segments`. `segments` is a list of objects
    with the keys `file`, `batches`, `records`, `bytes`, `newBatches`, `newRecords`,
    `newBytes`, `emptied`, `kept` and `removed`. `kept` and `removed` map reasons to
    numbers of records. With --explain, an object for each record is printed first,
    with the keys `file`, `offset`, `kept` and `reason`.

    \b
    Examples:
      tagwire log compact alpha-0 --output compacted
      tagwire log compact alpha-0 --include-active --explain --output compacted
    """
    from tagwire.log.compact import compact_partition
    from tagwire.log.compaction import Compaction

    rules["now"] = int(time.time() * 1000) if rules["now"] is None else rules["now"]
    skipped = Skipped()
    compaction = Compaction(limits=limits_of(limits), skip=skipped if is_lenient else None, **rules)
    explain = (_explain_json if as_json else _explain_text) if is_explained else None
    bar_options = {"rounds": _ROUNDS, "prints_all_along": is_explained}
    for partition, target, progress in partitions_to_write(
        paths, output, "compact", resumes=resumes, keeps_producers=True, **bar_options
    ):
        print_compaction(compact_partition(partition, target, compaction, progress, explain), as_json=as_json)
    skipped.end()


def print_compaction(report: "CompactReport", *, as_json: bool) -> None:
    """Print the report on a partition, as one line of JSON or as two tables."""
    from tagwire.log.compaction import KEPT, REMOVED

    if as_json:
        segments = [segment.to_json() for segment in report.segments]
        write_json_line(camel_keys(report._asdict() | {"partition": str(report.partition), "segments": segments}))
        return
    if report.segments:
        print_table(_COLUMNS, map(_row, report.segments))
    kept, removed = Counter[str](), Counter[str]()
    for segment in report.segments:
        kept.update(segment.kept)
        removed.update(segment.removed)
    rows = [(kept[reason], "kept", KEPT[reason]) for reason in KEPT if kept[reason]]
    rows += [(removed[reason], "removed", REMOVED[reason]) for reason in REMOVED if removed[reason]]
    if rows:
        say()
        print_table(_REASONS, rows)
        say()
    write_line(f"{report.partition}: compacted up to offset {report.compacted_to}: {report.because}")


def _explain_json(segment: "Segment", record: "Record", reason: str) -> None:
    from tagwire.log.compaction import KEPT

    write_json_line({"file": str(segment.path), "offset": record.offset, "kept": reason in KEPT, "reason": reason})


def _explain_text(segment: "Segment", record: "Record", reason: str) -> None:
    from tagwire.log.compaction import KEPT, REMOVED

    what, why = ("kept", KEPT[reason]) if reason in KEPT else ("removed", REMOVED[reason])
    write_line(f"{record.offset}\t{what}\t{why}")


def _row(segment: "SegmentReport") -> tuple[object, ...]:
    batches, sizes = (segment.batches, segment.new_batches), (segment.bytes, segment.new_bytes)
    return (segment.file, segment.records, segment.new_records, *batches, *sizes)
