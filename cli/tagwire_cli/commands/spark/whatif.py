"""`tagwire spark whatif`: what `tagwire whatif` does, over the logs of a cluster."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire_cli.arguments.log_options import whatif_options
from tagwire_cli.arguments.spark_options import opened_session, spark_options
from tagwire_cli.commands.whatif import tell_whatif

if TYPE_CHECKING:
    from tagwire.records import FormatSet

__all__ = ["command"]


@click.command("whatif")
@whatif_options
@spark_options
def command(
    paths: Sequence[Path],
    to: str,
    against: str | None,
    codec: str | None,
    batch_bytes: int | None,
    batch_records: int | None,
    html: Path | None,
    top: int,
    as_json: bool,
    format: "FormatSet",
    master: str | None,
    remote: str | None,
    conf: Sequence[str],
) -> None:
    """Measure what logs would be in FORMAT, segment by segment on all workers.

    The figures, and what the options mean, are those of `tagwire whatif`.

    \b
    Examples:
      tagwire spark whatif --to v3 --html report.html /mnt/kafka
    """
    from tagwire_spark.jobs import whatif_logs

    with opened_session(master, remote, conf) as spark:
        found = whatif_logs(
            spark,
            paths,
            to,
            against=against,
            codec=codec,
            batch_bytes=batch_bytes,
            batch_records=batch_records,
            format=format,
        )
    tell_whatif(found, html, top, as_json=as_json)
