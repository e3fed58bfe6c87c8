"""Command groups whose commands are listed in tables and loaded on demand: `tagwire`, `tagwire log`, `tagwire spark`.

Each command is a module that defines a click command called `command`. The module is imported only when the command is
used, and its functions import slow modules only when they run. So `--help` is fast, and a command doesn't require the
extras of other commands.

To divide the help into sections, overriding one method of click is enough. cloup and rich-click also support sections,
but they would change how all other help is printed.
"""

import importlib
import re
from collections.abc import Mapping
from typing import Any, Final

import click

from tagwire.text_format import suggestion
from tagwire_cli.output.exit_status import epilog

DOCUMENTATION: Final = "https://github.com/tagwire/tagwire/tree/main/docs"
"""The URL of the documentation, as in pyproject.toml. Reading it from the metadata would slow down every command."""

_PAGE: Final = re.compile(r"(?<!/)\bdocs/(?=[\w-]+\.md)")
"""Matches `docs/` before the name of a page in a command's help. It is replaced with the URL."""

_WHOLE: Final = 1000
"""A maximum length that no summary reaches, so that click doesn't shorten summaries."""


class CommandTable(click.Group):
    """A command group with help in sections. `sections` maps a section's title to its commands' names and modules.

    For an unknown command, the error suggests the most similar name. If no name is similar, it refers to `--help`.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self.sections = sections
        self.table = {name: module for table in sections.values() for name, module in table.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        command = importlib.import_module(self.table[cmd_name]).command
        assert isinstance(command, click.Command)
        command.help = _PAGE.sub(f"{DOCUMENTATION}/", command.help or "")
        if not isinstance(command, CommandTable):
            path = cmd_name if ctx.parent is None else f"{ctx.info_name} {cmd_name}"
            command.epilog = epilog(path)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the help, with aligned columns. A command is listed with its help's first sentence."""
        width = max(map(len, self.table))
        for title, table in self.sections.items():
            commands = {name: self.get_command(ctx, name) for name in table}
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), each.get_short_help_str(_WHOLE)) for name, each in commands.items() if each]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.table and not ctx.resilient_parsing:
            otherwise = f"see `{ctx.command_path} --help`"
            ctx.fail(f"No such command {args[0]!r}; {suggestion(args[0], self.table, otherwise)}")
        return super().resolve_command(ctx, args)
