"""`tagwire spark convert`: what `tagwire log convert` does, on all workers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tagwire_cli.arguments.log_options import (
    conversion_options,
    format_option,
    json_option,
    new_format_option,
    paths_argument,
)
from tagwire_cli.arguments.spark_options import opened_session, output_option, spark_options
from tagwire_cli.commands.log.convert import tell_conversion

__all__ = ["command"]


@click.command("convert")
@paths_argument
@new_format_option(help="The new format; as it is unless given.")
@conversion_options
@output_option("DIR", "Where the partitions are written")
@format_option
@json_option
@spark_options
def command(
    paths: Sequence[Path],
    output: Path,
    as_json: bool,
    master: str | None,
    remote: str | None,
    conf: Sequence[str],
    **conversion: Any,
) -> None:
    """Write partitions to DIR in another format, codec or batch size, segment by segment on all workers.

    What is written, told and meant by the options is that of `tagwire log convert`,
    byte for byte. DIR appears when all of it is written, however often tasks fail
    and are tried again.

    \b
    Examples:
      tagwire spark convert /mnt/kafka --codec zstd --output /mnt/packed
      tagwire spark convert /mnt/kafka --to v2 --output /mnt/new --master spark://host:7077
    """
    from tagwire_spark.jobs import convert_logs

    with opened_session(master, remote, conf) as spark:
        reports = convert_logs(spark, paths, output, **conversion)
    tell_conversion(reports, as_json=as_json)
