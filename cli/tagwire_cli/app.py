"""`tagwire` itself: the table of commands, and what all of them do with an error.

A command is a module that holds a click command called `command`. It is
imported when it is asked for, and imports what is slow inside its function:
`tagwire --help` then answers at once, and one command does not need the extra
of another. To add a command, write its module and add a row to `COMMANDS`.
"""

import errno
import importlib
from typing import Any, Final

import click

from tagwire.errors import TagwireError

__all__ = ["COMMANDS", "app"]

COMMANDS: Final = {
    "init": "tagwire_cli.commands.init",
    "generate": "tagwire_cli.commands.generate",
    "validate": "tagwire_cli.commands.validate",
    "fmt": "tagwire_cli.commands.fmt",
    "rule": "tagwire_cli.commands.rule",
    "breaking": "tagwire_cli.commands.breaking",
    "lock": "tagwire_cli.commands.lock",
    "import": "tagwire_cli.commands.import_specs",
    "add-version": "tagwire_cli.commands.add_version",
    "messages": "tagwire_cli.commands.messages",
    "show": "tagwire_cli.commands.show",
    "diff": "tagwire_cli.commands.diff",
    "encode": "tagwire_cli.commands.encode",
    "decode": "tagwire_cli.commands.decode",
    "explain": "tagwire_cli.commands.explain",
    "assemble": "tagwire_cli.commands.assemble",
    "convert": "tagwire_cli.commands.convert",
    "log": "tagwire_cli.commands.log",
    "whatif": "tagwire_cli.commands.whatif",
    "lint": "tagwire_cli.commands.lint",
    "collide": "tagwire_cli.commands.collide",
    "demo": "tagwire_cli.commands.demo",
    "engine": "tagwire_cli.commands.engine",
}
"""Name to module, in the order in which people meet them."""


class _Commands(click.Group):
    """The commands of the table; a TagwireError of any of them is told in its own words, exit 1 or 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(COMMANDS)}"
            ctx.fail(f"No such command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TagwireError as error:
            from tagwire_cli.diagnostics import print_error

            ctx.exit(print_error(error))
        except OSError as error:
            if error.errno == errno.EPIPE:  # nobody reads on; click ends quietly
                raise
            click.echo(f"tagwire: {error}", err=True)
            ctx.exit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tagwire")
def app() -> None:
    """Versioned serializer classes from JSON message specs.

    Data goes to standard output, everything else to standard error.

    \b
    Exit status:
      0  fine
      1  findings, or bad data
      2  wrong usage or settings

    \b
    Examples:
      tagwire init pings          begin a protocol of your own
      tagwire generate            write the classes of this project's specs
      tagwire generate --check    only say whether they are up to date
      tagwire validate my_specs   hold specs against the rules of the language
      tagwire rule TW608          what a rule wants, and why
    """
