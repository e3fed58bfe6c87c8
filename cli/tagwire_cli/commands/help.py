"""`tagwire help COMMAND`: print the help of a command."""

from collections.abc import Sequence

import click

from tagwire_cli.output.echo import say


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND...]")
@click.pass_context
def command(ctx: click.Context, words: Sequence[str]) -> None:
    """Print the help of COMMAND, or of tagwire itself.

    \b
    Examples:
      tagwire help
      tagwire help decode
      tagwire help log dump
    """
    context = ctx.find_root()
    for word in words:
        group = context.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{context.command_path} has no subcommands; unexpected argument {word!r}")
        _, found, _ = group.resolve_command(context, [word])
        if found is None:  # click returns None for a word that looks like an option, such as --json
            raise click.UsageError(f"{word!r} is not a command")
        context = click.Context(found, info_name=word, parent=context)
    say(context.get_help(), lines=True)
