"""`tagwire log convert`: convert partitions to another format, codec or batch size."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire.text_format import count
from tagwire_cli.arguments.logs import (
    Skipped,
    conversion_options,
    new_format_option,
    output_options,
    partitions_to_write,
    paths_argument,
    reading_options,
)
from tagwire_cli.arguments.options import limits_of
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import camel_keys, print_table, table_columns, write_json_line

if TYPE_CHECKING:
    from tagwire.log.convert import ConvertReport
    from tagwire.records import FormatSet


_NUMBERS = ("records", "batches", "now", "bytes", "now", "left out")
_COLUMNS = table_columns("file", *_NUMBERS, numbers=_NUMBERS)


@click.command("convert")
@paths_argument
@new_format_option(help="The new format; default: unchanged.")
@conversion_options
@output_options
@reading_options
def command(
    paths: Sequence[Path],
    to: str | None,
    codec: str | None,
    batch_bytes: int | None,
    batch_records: int | None,
    output: Path,
    resumes: bool,
    is_lenient: bool,
    format: "FormatSet",
    as_json: bool,
    limits: Sequence[str],
) -> None:
    """Convert partitions to another format, codec or batch size.

    PATH is a partition folder, or a folder above partitions; in that case, the
    broker's own files next to them are also copied. The partitions are written
    to DIR with new indexes. Offsets and timestamps stay the same. Batches are
    merged only if their producer, transaction and leader epoch are the same.
    Without --batch-bytes and --batch-records, batches are not merged or split.

    Values that the format can't represent are reported, once for each kind of loss.
    With --json, there is one object per segment: file, batches, records, bytes,
    newBatches, newBytes, leftOut, losses. Damage is an error; with --lenient,
    damaged parts are skipped and reported. A partition appears in DIR only when it
    is complete. --resume continues an interrupted run.

    \b
    Examples:
      tagwire log convert alpha-0 --codec zstd --batch-bytes 65536 --output packed
      tagwire log convert /var/lib/kafka/data --to v2 --output upgraded
    """
    from tagwire.log.convert import Conversion, convert_partition
    from tagwire.log.rebatching import BatchSize

    skipped = Skipped()
    size, skip = BatchSize(batch_bytes, batch_records), skipped if is_lenient else None
    conversion = Conversion(to, codec, size, format, limits_of(limits), skip)
    keeps_producers = conversion.is_one_to_one
    found = partitions_to_write(paths, output, "convert", resumes=resumes, keeps_producers=keeps_producers)
    reports = (convert_partition(partition, target, conversion, progress) for partition, target, progress in found)
    print_conversion(chain.from_iterable(reports), skipped, as_json=as_json)


def print_conversion(reports: "Iterable[ConvertReport]", skipped: Skipped | None = None, *, as_json: bool) -> None:
    """Print a report on each converted segment, and the losses. Exit with status 1 if data was lost or skipped."""
    from tagwire.log.rebatching import LossReport

    losses = LossReport()
    rows = []
    for each in reports:
        losses.merge(each.losses)
        if as_json:
            write_json_line(camel_keys(each.to_json()))
        else:
            numbers = (each.records, each.batches, each.new_batches, each.bytes, each.new_bytes, each.left_out)
            rows.append((each.file, *numbers))
    if not as_json:
        print_table(_COLUMNS, rows)
    for row in losses.rows():
        where = f"first at byte {row.position} of {row.file}: {row.value}"
        say(f"tagwire: {row.path}: {count(row.times, 'loss')}: {row.reason} ({where})", err=True)
    if skipped:
        skipped.end()
    if losses:
        raise click.exceptions.Exit(1)
