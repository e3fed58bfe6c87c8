"""`tagwire engine`: print which engine is in use."""

import click

from tagwire_cli.output.echo import say


@click.command("engine")
def command() -> None:
    """Print the engine in use, python or native.

    The environment variable TAGWIRE_ENGINE (native or python) selects one.

    \b
    Examples:
      tagwire engine
      TAGWIRE_ENGINE=python tagwire engine
    """
    import tagwire

    say(tagwire.engine())
