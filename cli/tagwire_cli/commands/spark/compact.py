"""`tagwire spark compact`: run `tagwire log compact` on all Spark workers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tagwire_cli.arguments.logs import format_option
from tagwire_cli.arguments.options import json_lines_option, limit_option, limits_of
from tagwire_cli.arguments.spark_options import Session, location_argument, output_option, spark_options
from tagwire_cli.commands.log.compact import print_compaction, rule_options


@click.command("compact")
@location_argument
@output_option("DIR", "Write the partitions to this folder")
@rule_options
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
