"""`tagwire spark convert`: run `tagwire log convert` on all Spark workers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tagwire_cli.arguments.logs import conversion_options, format_option, new_format_option
from tagwire_cli.arguments.options import json_lines_option, limit_option, limits_of
from tagwire_cli.arguments.spark_options import Session, location_argument, output_option, spark_options
from tagwire_cli.commands.log.convert import print_conversion


@click.command("convert")
@location_argument
@new_format_option(help="The new format; default: unchanged.")
@conversion_options
@output_option("DIR", "Write the partitions to this folder")
@format_option
@json_lines_option
@limit_option
@spark_options
def command(
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
