"""A group whose commands are modules, named in a table: `tagwire`, `tagwire log`, `tagwire spark`.

A command's module holds a click command called `command`. It is imported when
it is asked for, and imports what is slow inside its function: `--help` then
answers at once, and one command does not need the extra of another.
"""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from tagwire.text_format import suggestion
from tagwire_cli.output.exit_status import epilog

__all__ = ["CommandTable"]


class CommandTable(click.Group):
    """The commands of `table`, name to module, in its order; a name that none has leads to the nearest."""

    def __init__(self, *args: Any, table: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        command = importlib.import_module(self.table[cmd_name]).command
        assert isinstance(command, click.Command)
        if not isinstance(command, CommandTable):
            path = cmd_name if ctx.parent is None else f"{ctx.info_name} {cmd_name}"
            command.epilog = epilog(path)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.table and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}; {suggestion(args[0], self.table)}")
        return super().resolve_command(ctx, args)
