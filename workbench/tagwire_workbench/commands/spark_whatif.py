"""`tagwire spark whatif`: run the measurement of `tagwire whatif` on the logs of a whole cluster."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tagwire_cli.arguments.logs import whatif_options
from tagwire_cli.arguments.options import limit_option, limits_of
from tagwire_cli.arguments.spark_options import Session, location_argument, spark_options
from tagwire_workbench.commands.whatif import print_whatif, reject_page


@click.command("whatif")
@location_argument
@whatif_options
@limit_option
@spark_options
def command(
    paths: Sequence[Path | str],
    html: Path | None,
    top: int,
    as_json: bool,
    limits: Sequence[str],
    session: Session,
    **conversion: Any,
) -> None:
    """Measure how large logs would be in another format.

    The segments are distributed over all workers. The options and results are the
    same as for `tagwire whatif`.

    \b
    Examples:
      tagwire spark whatif --to v3 --html report.html /mnt/kafka
    """
    from tagwire_spark.jobs import whatif_logs

    reject_page(html, paths)
    with session() as spark:
        found = whatif_logs(spark, paths, limits=limits_of(limits), **conversion)
    print_whatif(found, html, top, as_json=as_json)
