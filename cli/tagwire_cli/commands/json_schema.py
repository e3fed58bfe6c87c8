"""`tagwire json-schema`: what the JSON of a command looks like, for programs that read it."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

import click

__all__ = ["SCHEMAS", "command"]

SCHEMAS: Final = (
    "validate",
    "breaking",
    "messages",
    "show",
    "diff",
    "decode",
    "explain",
    "log dump",
    "log stat",
    "log verify",
    "log state",
    "log salvage",
    "log convert",
    "whatif",
    "lint",
    "collide",
)
"""The commands that have one: `json_schemas/`, with a dash for the blank."""


@click.command("json-schema")
@click.argument("words", nargs=-1, metavar="[COMMAND...]")
def command(words: Sequence[str]) -> None:
    """Print the JSON Schema of what COMMAND prints as JSON, or list the commands that have one.

    It is of one value: the whole output, or a line of it where a command prints
    an object a line. The schema of `decode` is that of a frame (--frame request
    or response); bodies are what `tagwire show` says of their messages.

    \b
    Examples:
      tagwire json-schema
      tagwire json-schema validate
      tagwire json-schema log verify > log-verify.json
    """
    name = " ".join(words)
    if not words:
        click.echo("\n".join(SCHEMAS))
    elif name in SCHEMAS:
        folder = files("tagwire_cli") / "json_schemas"
        click.echo((folder / f"{name.replace(' ', '-')}.json").read_text(encoding="utf-8"), nl=False)
    else:
        raise click.BadParameter(f"{name!r} prints no JSON; there are {', '.join(SCHEMAS)}", param_hint="COMMAND")
