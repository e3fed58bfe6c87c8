"""The tables of commands and exit statuses, and the command group that loads its commands from these tables.

Most commands have a module of their own, with the command in its attribute `command`. Commands that share most of their
code can share a module; in the table, each of them is `module:name`. A module is imported only when its command is
used, and its functions import slow modules only when they run. So `--help` is fast, and a command doesn't require the
extras of other commands.

The libraries cloup and rich-click can also group commands in help sections, but they would change all other help.
"""

import importlib
import re
from collections.abc import Mapping
from typing import Any, Final

import click

from tagwire.text_format import suggestion

SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Write specs": {
        "init": "tagwire_cli.commands.init",
        "validate": "tagwire_cli.commands.validate",
        "fmt": "tagwire_cli.commands.fmt",
        "rule": "tagwire_cli.commands.rule",
        "lint": "tagwire_workbench.commands.lint",
        "collide": "tagwire_workbench.commands.lint:collide",
        "import": "tagwire_workbench.commands.import_specs",
        "export": "tagwire_cli.commands.export",
    },
    "Write specs in an editor": {"lsp": "tagwire_workbench.commands.lsp"},
    "Generate classes": {"generate": "tagwire_cli.commands.generate"},
    "Messages and their bytes": {
        "messages": "tagwire_cli.commands.messages",
        "show": "tagwire_cli.commands.show",
        "diff": "tagwire_cli.commands.diff",
        "encode": "tagwire_cli.commands.encode",
        "decode": "tagwire_cli.commands.decode",
        "get": "tagwire_cli.commands.get_and_set:get",
        "set": "tagwire_cli.commands.get_and_set:set_",
        "redact": "tagwire_cli.commands.redact",
        "explain": "tagwire_cli.commands.explain",
        "assemble": "tagwire_cli.commands.assemble",
        "demo": "tagwire_cli.commands.demo",
    },
    "Captures and logs in a terminal": {"browse": "tagwire_workbench.commands.browse"},
    "Record batches and logs": {
        "convert": "tagwire_cli.commands.convert",
        "log": "tagwire_cli.commands.log",
        "whatif": "tagwire_workbench.commands.whatif",
    },
    "Change what is released": {
        "breaking": "tagwire_cli.commands.breaking",
        "lock": "tagwire_cli.commands.lock",
        "add-version": "tagwire_cli.commands.add_version",
        "add-field": "tagwire_cli.commands.add_version:add_field",
        "draft-version": "tagwire_workbench.commands.draft_version",
    },
    "Test clients": {"mock": "tagwire_workbench.commands.mock"},
    "Record and replay traffic": {
        "record": "tagwire_workbench.commands.record",
        "replay": "tagwire_workbench.commands.replay",
        "compare": "tagwire_workbench.commands.compare",
    },
    "Fuzz decoders": {"fuzz": "tagwire_workbench.commands.fuzz"},
    "Spark": {"spark": "tagwire_cli.commands.spark"},
    "This command": {
        "engine": "tagwire_cli.commands.this_command:engine",
        "completion": "tagwire_cli.commands.this_command:completion",
        "help": "tagwire_cli.commands.this_command:help",
        "json-schema": "tagwire_cli.commands.json_schema",
    },
}
"""The commands of each section of `tagwire --help`, in its order. The values are `module` or `module:name`."""

# The exit statuses of commands, as listed in their help. Only the meaning of status 1 depends on the command.

FINE: Final = "success"
USAGE: Final = "usage error or invalid settings"

FOUND: Final = {
    "init": "a file that can't be written",
    "generate": "a spec with an error; changes with --check or --exit-non-zero-on-change",
    "validate": "a spec with an error; warnings do not count",
    "fmt": "a spec with an error; with --check, a change",
    "breaking": "findings of the --fail-on severity or higher, or a spec with an error",
    "lock": "a spec with an error or a breaking change; with --check, any change",
    "export": "a spec that can't be plain Kafka, or that has an error",
    "import": "a source that can't be read or merged",
    "add-version": "a spec that breaks a rule, or a change that breaks a released version",
    "add-field": "a spec that breaks a rule, or a change that breaks a released version",
    "draft-version": "a spec that breaks a rule, or a change that breaks a released version",
    "encode": "bad data",
    "decode": "bad data",
    "get": "bad data",
    "set": "bad data, or a value that the version can't represent",
    "redact": "frames that can't be read",
    "explain": "invalid bytes",
    "assemble": "text that can't be read as bytes",
    "browse": "an input that can't be read",
    "convert": "bad data, or data that FORMAT can't represent",
    "log dump": "an error in a log, or a record that --messages can't decode",
    "log stat": "an error in a log",
    "log verify": "problems in a log",
    "log state": "an error in a log, a record that is left out, or no internal topic of Kafka",
    "log salvage": "data that was left out",
    "log compact": "an error in a log",
    "log convert": "an error in a log, or data that the format can't represent",
    "whatif": "an error in a log",
    "fuzz corpus": "a file that can't be written",
    "fuzz minimise": "an input that does not fail",
    "mock serve": "an invalid script, requests without a matching rule, or other problems",
    "record": "bytes that aren't frames, or other problems",
    "compare": "a capture that can't be read",
    "replay": "responses that differ or are missing, or none to compare",
    "spark convert": "an error in a log, or data that the format can't represent",
    "spark compact": "an error in a log",
    "spark whatif": "an error in a log",
    "spark export": "an error in a log, even if --permissive exports it",
    "spark import": "an export that is incomplete or was changed",
    "spark audit": "a file that can't be read; with --rejected-by, rejected requests",
    "lint": "errors; warnings and notes do not count",
    "collide": "designs that conflict",
    "demo": "a frame that is rejected or encodes to different bytes",
}
"""The meaning of exit status 1, by command. Commands that are not listed never exit with 1."""


def epilog(command: str) -> str:
    """Return the end of a command's help, which lists the exit statuses."""
    found = f"  1  {FOUND[command]}\n" if command in FOUND else ""
    return f"\b\nExit status:\n  0  {FINE}\n{found}  2  {USAGE}"


DOCUMENTATION: Final = "https://github.com/tagwire/tagwire/tree/main/docs"
"""The URL of the documentation, as in pyproject.toml. Reading the package metadata would slow down every command."""

_PAGE: Final = re.compile(r"(?<!/)\bdocs/(?=[\w-]+\.md)")
"""Matches the `docs/` of a path such as `docs/logs.md` in a command's help."""

_WHOLE: Final = 1000
"""The maximum length of a command's summary. It is so large that click never shortens a summary."""


class CommandTable(click.Group):
    """A command group with help in sections. `sections` maps a section's title to its commands' names and modules.

    For an unknown command, the error suggests the most similar name, or `--help`.
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
        module, _, attribute = self.table[cmd_name].partition(":")
        command = getattr(importlib.import_module(module), attribute or "command")
        assert isinstance(command, click.Command)
        command.help = _PAGE.sub(f"{DOCUMENTATION}/", command.help or "")
        if not isinstance(command, CommandTable):
            path = cmd_name if ctx.parent is None else f"{ctx.info_name} {cmd_name}"
            command.epilog = epilog(path)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the help: each command with the first sentence of its help, in aligned columns."""
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
