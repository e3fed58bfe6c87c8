"""`tagwire log`: a group of commands that read and rewrite log segments, without a broker."""

from typing import Final

import click

from tagwire_cli.command_table import CommandTable

__all__ = ["LOG_COMMANDS", "command"]

LOG_COMMANDS: Final = {
    "dump": "tagwire_cli.commands.log.dump",
    "stat": "tagwire_cli.commands.log.stat",
    "verify": "tagwire_cli.commands.log.verify",
    "state": "tagwire_cli.commands.log.state",
    "salvage": "tagwire_cli.commands.log.salvage",
    "convert": "tagwire_cli.commands.log.convert",
    "compact": "tagwire_cli.commands.log.compact",
}


@click.group("log", cls=CommandTable, sections={"Commands": LOG_COMMANDS})
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
