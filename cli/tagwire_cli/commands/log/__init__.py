"""`tagwire log`: a group of commands that read and rewrite log segments, without a broker."""

import click

from tagwire_cli.command_table import CommandTable

_NAMES = ("dump", "stat", "verify", "state", "salvage", "convert", "compact")


@click.group("log", cls=CommandTable, sections={"Commands": {name: f"{__name__}.{name}" for name in _NAMES}})
def command() -> None:
    """Read and rewrite log segments of Kafka 0.8 to 4.4.

    No broker is needed. PATH is a segment, the folder of a partition, or any
    folder above partitions. docs/logs.md explains what is read and verified.

    \b
    Examples:
      tagwire log dump alpha-0 --json
      tagwire log verify /var/lib/kafka/data
      tagwire log state /var/lib/kafka/data --json
    """
