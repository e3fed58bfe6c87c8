"""The commands of `tagwire spark` that rewrite, export and restore logs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tagwire.text_format import count
from tagwire_cli.arguments.logs import conversion_options, format_option, new_format_option
from tagwire_cli.arguments.options import json_lines_option, limit_option, limits_of
from tagwire_cli.arguments.spark_options import PathOrUrl, Session, location_argument, output_option, spark_options
from tagwire_cli.commands.log.compact import print_compaction, rule_options
from tagwire_cli.commands.log.convert import print_conversion
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import camel_keys, print_table, table_columns, write_json_line

if TYPE_CHECKING:
    from tagwire_spark.jobs.export_part import ExportReport


_NUMBERS: Final = ("records", "batches", "kept", "bytes", "parquet", "exact")
_EXPORTED: Final = table_columns("file", *_NUMBERS, numbers=_NUMBERS)
_IMPORTED: Final = table_columns("file", "bytes", "batches", numbers=_NUMBERS)


@click.command("convert")
@location_argument
@new_format_option(help="The new format; default: unchanged.")
@conversion_options
@output_option("DIR", "Write the partitions to this folder")
@format_option
@json_lines_option
@limit_option
@spark_options
def convert(
    paths: Sequence[Path | str],
    output: Path | str,
    as_json: bool,
    limits: Sequence[str],
    session: Session,
    **conversion: Any,
) -> None:
    """Convert partitions to another format, codec or batch size.

    The segments are distributed over all workers. The options, the report and the
    files are the same as for `tagwire log convert`. DIR appears only when it is
    complete, even if tasks fail and are retried.

    \b
    Examples:
      tagwire spark convert /mnt/kafka --codec zstd --output /mnt/packed
      tagwire spark convert /mnt/kafka --to v2 --output /mnt/new --master spark://host:7077
    """
    from tagwire_spark.jobs import convert_logs

    with session() as spark:
        reports = convert_logs(spark, paths, output, limits=limits_of(limits), **conversion)
    print_conversion(reports, as_json=as_json)


@click.command("compact")
@location_argument
@output_option("DIR", "Write the partitions to this folder")
@rule_options
@format_option
@json_lines_option
@limit_option
@spark_options
def compact(
    paths: Sequence[Path | str],
    output: Path | str,
    as_json: bool,
    limits: Sequence[str],
    session: Session,
    **rules: Any,
) -> None:
    """Compact partitions: keep the last record of each key.

    The segments are distributed over all workers. The options, the report and the
    files are the same as for `tagwire log compact`. DIR appears only when it is
    complete.

    \b
    Examples:
      tagwire spark compact /mnt/kafka --output /mnt/compacted
    """
    from tagwire_spark.jobs import compact_logs

    with session() as spark:
        reports = compact_logs(spark, paths, output, limits=limits_of(limits), **rules)
    for report in reports:
        print_compaction(report, as_json=as_json)


@click.command("export")
@location_argument
@output_option("PARQUET", "Write to this folder")
@click.option("--columns", metavar="NAME,...", help="The columns of the table; default: all of kafka_log.")
@click.option("--permissive", is_flag=True, help="Also export bytes that are not a batch, and report where they are.")
@format_option
@json_lines_option
@limit_option
@spark_options
def export(
    paths: Sequence[Path | str],
    output: Path | str,
    columns: str | None,
    permissive: bool,
    as_json: bool,
    limits: Sequence[str],
    session: Session,
    **reading: Any,
) -> None:
    """Export logs to Parquet, so that they can be restored exactly.

    PATH is a partition folder, or a folder above partitions, or the URL of either.
    PARQUET is a new folder with a table of the records by topic and partition, which
    any Parquet reader can read. Next to the table, PARQUET contains everything in the
    log folders that the table lacks, such as batch headers and indexes. From both,
    `tagwire spark import` restores every file, byte for byte. PARQUET appears only
    when it is complete.

    \b
    Examples:
      tagwire spark export /mnt/kafka --output /mnt/archive
      tagwire spark export orders-0 --columns key,value,offset,timestamp --output orders
    """
    from tagwire_spark.jobs import export_logs

    names = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
    mode = "PERMISSIVE" if permissive else "FAILFAST"
    with session() as spark:
        reports = export_logs(spark, paths, output, columns=names, mode=mode, limits=limits_of(limits), **reading)
    for report in reports if as_json else ():
        write_json_line(camel_keys(report.to_json()))
    if not as_json:
        print_table(_EXPORTED, map(_row, reports))
    damaged = [report for report in reports if report.damage]
    for report in damaged:
        position, reason = report.damage[0]
        parts = count(len(report.damage), "invalid part")
        say(f"tagwire: {report.file}: {parts} exported without rows, the first at byte {position}: {reason}", err=True)
    if damaged:
        raise click.exceptions.Exit(1)


def _row(report: "ExportReport") -> tuple[object, ...]:
    sizes = (report.bytes, report.parquet_bytes, report.exact_bytes)
    return (report.file, report.records, report.batches, report.kept, *sizes)


@click.command("import")
@click.argument("parquet", metavar="PARQUET", type=PathOrUrl(files=False))
@output_option("DIR", "Write the logs to this folder")
@json_lines_option
@spark_options
def import_(
    parquet: Path | str,
    output: Path | str,
    as_json: bool,
    session: Session,
    **storage: Any,
) -> None:
    """Restore the logs that `tagwire spark export` wrote.

    The restored files equal the exported files byte for byte; a changed export is
    rejected. DIR appears only when it is complete. `batches` counts the batches
    rebuilt from the records of the table; other batches were stored as bytes.

    \b
    Examples:
      tagwire spark import /mnt/archive --output /mnt/restored
    """
    from tagwire_spark.jobs import import_logs

    with session() as spark:
        reports = import_logs(spark, parquet, output, **storage)
    for report in reports if as_json else ():
        write_json_line(report.to_json())
    if not as_json:
        print_table(_IMPORTED, [(each.file, each.bytes, each.batches) for each in reports])
