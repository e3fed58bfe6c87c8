"""`tagwire spark`: Spark jobs for logs and captures that are too large for one machine."""

from pathlib import Path

import click

from tagwire_cli.command_table import CommandTable
from tagwire_cli.output.echo import say

_COMMANDS = {
    "convert": "tagwire_cli.commands.spark.logs:convert",
    "compact": "tagwire_cli.commands.spark.logs:compact",
    "whatif": "tagwire_workbench.commands.spark_whatif",
    "export": "tagwire_cli.commands.spark.logs:export",
    "import": "tagwire_cli.commands.spark.logs:import_",
    "audit": "tagwire_cli.commands.spark.audit",
}


def _print_script(ctx: click.Context, _: click.Parameter, is_requested: bool) -> None:
    if is_requested and not ctx.resilient_parsing:
        say(Path(__file__).parents[2] / "spark_submit.py")
        ctx.exit()


@click.group("spark", cls=CommandTable, sections={"Commands": _COMMANDS})
@click.option(
    "--script",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_script,
    help="Print the path of the script for spark-submit, and exit.",
)
def command() -> None:
    """Run jobs on Spark, locally or on a cluster.

    The folders that a job reads and writes must be mounted on the driver and on all
    workers. A job can also read URLs, such as s3://bucket/kafka, and write to s3://
    URLs. Under spark-submit, its settings apply, and --master and --remote are not
    needed. docs/spark-jobs.md describes the jobs.

    In your own Spark programs, spark.read.format("kafka_log") reads logs, and
    spark.read.format("kafka_rpc") reads captured traffic. All of this requires the
    extra spark: pip install 'tagwire[spark]'.

    \b
    Examples:
      tagwire spark whatif --to v3 /mnt/kafka
      tagwire spark audit captures --rejected-by 4.0
      spark-submit --master yarn $(tagwire spark --script) convert /mnt/kafka --to v2 --output /mnt/new
    """
