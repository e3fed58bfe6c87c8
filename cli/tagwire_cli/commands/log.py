"""`tagwire log`: what can be done with segments, without a broker. A table of commands, as `tagwire` itself."""

import importlib
from typing import Final

import click

__all__ = ["LOG_COMMANDS", "command"]

LOG_COMMANDS: Final = {
    "dump": "tagwire_cli.log_commands.dump",
    "stat": "tagwire_cli.log_commands.stat",
    "verify": "tagwire_cli.log_commands.verify",
    "state": "tagwire_cli.log_commands.state",
    "salvage": "tagwire_cli.log_commands.salvage",
    "convert": "tagwire_cli.log_commands.convert",
    "compact": "tagwire_cli.log_commands.compact",
}
"""Name to module, in the order in which people meet them."""


class _LogCommands(click.Group):
    """The commands of the table, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(LOG_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LOG_COMMANDS:
            return None
        found = importlib.import_module(LOG_COMMANDS[cmd_name]).command
        assert isinstance(found, click.Command)
        return found


@click.group("log", cls=_LogCommands)
def command() -> None:
    """Read log segments as brokers leave them behind, 0.8 to 4.4.

    A PATH is a segment, the folder of a partition, or any folder above such
    ones. docs/logs.md explains what is read and what is verified.

    \b
    Examples:
      tagwire log dump alpha-0 --json
      tagwire log verify /var/lib/kafka/data
      tagwire log state /var/lib/kafka/data --json
    """
