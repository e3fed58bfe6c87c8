"""`tagwire fuzz`: what fuzzers need of messages. A table of commands, as `tagwire` itself."""

from typing import Final

import click

from tagwire_cli.command_table import CommandTable

__all__ = ["FUZZ_COMMANDS", "command"]

FUZZ_COMMANDS: Final = {
    "corpus": "tagwire_workbench.commands.fuzz.corpus",
    "minimise": "tagwire_workbench.commands.fuzz.minimise",
}
"""Name to module."""


@click.group("fuzz", cls=CommandTable, sections={"Commands": FUZZ_COMMANDS})
def command() -> None:
    """Fuzz programs that read messages: begin with seeds, end with small inputs.

    docs/howto-fuzzing.md shows how libFuzzer, AFL++, Atheris and Jazzer take what is
    written.

    \b
    Examples:
      tagwire fuzz corpus MetadataResponse --output seeds
      tagwire fuzz minimise crash-1 MetadataResponse 12 --target target:target --output small
    """
