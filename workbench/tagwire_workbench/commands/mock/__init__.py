"""`tagwire mock`: run mock peers. A subcommand is imported only when it is used."""

from typing import Final

import click

from tagwire_cli.command_table import CommandTable

__all__ = ["MOCK_COMMANDS", "command"]

MOCK_COMMANDS: Final = {
    "serve": "tagwire_workbench.commands.mock.serve",
}


@click.group("mock", cls=CommandTable, sections={"Commands": MOCK_COMMANDS})
def command() -> None:
    """Run a scripted server to test clients.

    docs/mock-peer.md describes scripts, and mock peers in Python.

    \b
    Examples:
      tagwire mock serve script.yaml
    """
