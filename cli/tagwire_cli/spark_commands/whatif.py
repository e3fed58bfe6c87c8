"""`tagwire spark whatif`: what `tagwire whatif` does, over the logs of a cluster."""

from collections.abc import Sequence
from pathlib import Path

import click

from tagwire_cli.commands.whatif import tell_whatif
from tagwire_cli.log_paths import conversion_options, format_option, paths_argument
from tagwire_cli.spark_options import opened_session, spark_options

__all__ = ["command"]


@click.command("whatif")
@paths_argument
@click.option("--to", required=True, metavar="FORMAT", help="The format to try.")
@click.option("--against", metavar="FORMAT", help="What it is compared with; the format of each batch unless given.")
@conversion_options
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page with plots."
)
@click.option("--top", default=20, show_default=True, metavar="N", help="Topics in the table and on the page.")
@click.option("--json", "as_json", is_flag=True, help="JSON, with every kind of batch.")
@format_option
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
    format: str,
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
