"""`tagwire spark import`: restore the logs that `tagwire spark export` wrote."""

from pathlib import Path
from typing import Any, Final

import click

from tagwire_cli.arguments.options import json_lines_option
from tagwire_cli.arguments.spark_options import PathOrUrl, Session, output_option, spark_options
from tagwire_cli.output.tables import TableColumn, print_table, write_json_line

_COLUMNS: Final = (
    TableColumn("file", style="cyan"),
    TableColumn("bytes", is_number=True),
    TableColumn("batches", is_number=True),
)
_EXPORT: Final = PathOrUrl(files=False)


@click.command("import")
@click.argument("parquet", metavar="PARQUET", type=_EXPORT)
@output_option("DIR", "Write the logs to this folder")
@json_lines_option
@spark_options
def command(
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
        print_table(_COLUMNS, [(str(each.file), str(each.bytes), str(each.batches)) for each in reports])
