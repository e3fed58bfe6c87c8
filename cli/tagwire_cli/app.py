"""`tagwire` itself: the table of commands, and what all of them do with an error.

To add a command, write its module (`tagwire_cli.command_table` says how) and add a row to
`COMMANDS`.
"""

import errno
from typing import Any, Final

import click

from tagwire.errors import TagwireError
from tagwire.text_format import printable
from tagwire_cli.command_table import CommandTable
from tagwire_cli.output.echo import say_error

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
    "draft-version": "tagwire_cli.commands.draft_version",
    "messages": "tagwire_cli.commands.messages",
    "show": "tagwire_cli.commands.show",
    "diff": "tagwire_cli.commands.diff",
    "encode": "tagwire_cli.commands.encode",
    "decode": "tagwire_cli.commands.decode",
    "get": "tagwire_cli.commands.get",
    "set": "tagwire_cli.commands.set",
    "redact": "tagwire_cli.commands.redact",
    "explain": "tagwire_cli.commands.explain",
    "assemble": "tagwire_cli.commands.assemble",
    "convert": "tagwire_cli.commands.convert",
    "log": "tagwire_cli.commands.log",
    "whatif": "tagwire_cli.commands.whatif",
    "spark": "tagwire_cli.commands.spark",
    "lint": "tagwire_cli.commands.lint",
    "collide": "tagwire_cli.commands.collide",
    "demo": "tagwire_cli.commands.demo",
    "engine": "tagwire_cli.commands.engine",
    "completion": "tagwire_cli.commands.completion",
    "help": "tagwire_cli.commands.help",
    "json-schema": "tagwire_cli.commands.json_schema",
}
"""Name to module, in the order in which people meet them."""


class _Commands(CommandTable):
    """A TagwireError of any of the commands is told in its own words, exit 1 or 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TagwireError as error:
            from tagwire_cli.output.diagnostics import print_error

            ctx.exit(print_error(error))
        except click.ClickException as error:
            error.message = printable(error.message)  # type: ignore[misc]  # click offers no other way
            raise
        except OSError as error:
            if error.errno == errno.EPIPE:  # nobody reads on; click ends quietly
                raise
            say_error(error)
            ctx.exit(1)


@click.group(cls=_Commands, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tagwire")
def app() -> None:
    """Generate versioned serializer classes from JSON message specs.

    Data is written to standard output, everything else to standard error.

    \b
    Exit status:
      0  success
      1  findings or bad data; see the help of each command
      2  usage error or invalid settings

    \b
    Environment:
      NO_COLOR        disables colours
      TAGWIRE_ENGINE  selects the engine: native or python
      CI              makes `generate` and `breaking` ignore their caches

    \b
    Examples:
      tagwire init pings          start a protocol of your own
      tagwire generate            write the classes of this project's specs
      tagwire generate --check    only report whether they are up to date
      tagwire validate my_specs   check specs against the rules
      tagwire rule TW608          explain a rule
    """
