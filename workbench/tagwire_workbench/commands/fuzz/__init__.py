"""`tagwire fuzz`: tools for fuzzing messages. A subcommand is imported only when it is used."""

import click

from tagwire_cli.command_table import CommandTable

_NAMES = ("corpus", "minimise")


@click.group("fuzz", cls=CommandTable, sections={"Commands": {name: f"{__name__}.{name}" for name in _NAMES}})
def command() -> None:
    """Create seeds for fuzzers, and minimise failing inputs.

    docs/howto-fuzzing.md shows how to use the files with libFuzzer, AFL++, Atheris
    and Jazzer.

    \b
    Examples:
      tagwire fuzz corpus MetadataResponse --output seeds
      tagwire fuzz minimise crash-1 MetadataResponse 12 --target target:target --output small
    """
