"""`tagwire help COMMAND`: print the help of a command."""

from collections.abc import Sequence

import click

from tagwire_cli.output.echo import say


@click.command("help")
@click.argument("names", nargs=-1, metavar="[COMMAND...]")
@click.pass_context
def command(ctx: click.Context, names: Sequence[str]) -> None:
    """Print the help of COMMAND, or of tagwire itself.

    \b
    Examples:
      tagwire help
      tagwire help decode
      tagwire help log dump
    """
    context = ctx.find_root()
    for name in names:
        group = context.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{context.command_path} has no subcommands; unexpected argument {name!r}")
        _, found, _ = group.resolve_command(context, [name])
        if found is None:  # click returns None for a word that looks like an option, such as --json
            raise click.UsageError(f"{name!r} is not a command")
        context = click.Context(found, info_name=name, parent=context)
    say(context.get_help(), lines=True)
