"""`tagwire spark export`: export logs to Parquet, so that `tagwire spark import` can restore them exactly."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tagwire.text_format import count
from tagwire_cli.arguments.logs import format_option
from tagwire_cli.arguments.options import json_lines_option, limit_option, limits_of
from tagwire_cli.arguments.spark_options import Session, location_argument, output_option, spark_options
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import TableColumn, camel_keys, print_table, write_json_line

if TYPE_CHECKING:
    from tagwire_spark.jobs.export import ExportReport


_COLUMNS: Final = (
    TableColumn("file", style="cyan"),
    *(TableColumn(name, is_number=True) for name in ("records", "batches", "kept", "bytes", "parquet", "exact")),
)


@click.command("export")
@location_argument
@output_option("PARQUET", "Write to this folder")
@click.option("--columns", metavar="NAME,...", help="The columns of the table; default: all of kafka_log.")
@click.option("--permissive", is_flag=True, help="Also export bytes that are not a batch, and report where they are.")
@format_option
@json_lines_option
@limit_option
@spark_options
def command(
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
        print_table(_COLUMNS, [_row(report) for report in reports])
    damaged = [report for report in reports if report.damage]
    for report in damaged:
        position, reason = report.damage[0]
        parts = count(len(report.damage), "invalid part")
        say(f"tagwire: {report.file}: {parts} exported without rows, the first at byte {position}: {reason}", err=True)
    if damaged:
        raise click.exceptions.Exit(1)


def _row(report: "ExportReport") -> tuple[str, ...]:
    numbers = (report.records, report.batches, report.kept, report.bytes, report.parquet_bytes, report.exact_bytes)
    return (str(report.file), *map(str, numbers))
