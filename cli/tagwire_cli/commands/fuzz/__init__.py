"""`tagwire fuzz`: what fuzzers need of messages. A table of commands, as `tagwire` itself."""

from typing import Final

import click

from tagwire_cli.command_table import CommandTable

__all__ = ["FUZZ_COMMANDS", "command"]

FUZZ_COMMANDS: Final = {
    "corpus": "tagwire_cli.commands.fuzz.corpus",
}
"""Name to module."""


@click.group("fuzz", cls=CommandTable, sections={"Commands": FUZZ_COMMANDS})
def command() -> None:
    """Prepare the fuzzing of programs that read messages.

    docs/howto-fuzzing.md shows how libFuzzer, AFL++, Atheris and Jazzer take what is
    written.

    \b
    Examples:
      tagwire fuzz corpus MetadataResponse --output seeds
    """
