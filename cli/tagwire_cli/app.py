"""The `tagwire` command group, and the error handling shared by its subcommands.

To add a command, write its module (see `tagwire_cli.command_table`) and add a row to `tagwire_cli.sections`.
"""

import errno
import os
from typing import Any, Final

import click

from tagwire import __version__
from tagwire.errors import TagwireError
from tagwire.text_format import printable
from tagwire_cli.command_table import DOCUMENTATION, CommandTable
from tagwire_cli.output.echo import PREFERENCES, say_error
from tagwire_cli.paths import UnreadableFileError
from tagwire_cli.sections import SECTIONS
from tagwire_cli.usage_hints import usage_hints

COMMANDS: Final = {name: module for section in SECTIONS for name, module in section.commands.items()}
"""Module names by command name, in the order of `tagwire --help`."""


class _Commands(CommandTable):
    """The group of subcommands. A TagwireError that a subcommand raises is printed; the exit status is then 1 or 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with usage_hints():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with usage_hints():
                return super().invoke(ctx)
        except TagwireError as error:
            from tagwire_cli.output.diagnostics import print_error

            ctx.exit(print_error(error))
        except click.ClickException as error:
            # NoArgsIsHelpError is not an error: its message is the help text.
            if not isinstance(error, click.exceptions.NoArgsIsHelpError):
                error.message = printable(error.message)  # type: ignore[misc]  # click offers no other way
            raise
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader closed the pipe: click and `main` exit silently
                raise
            reason = error.strerror or error
            say_error(reason if error.filename is None else f"{error.filename}: {reason}")
            ctx.exit(1)


@click.group(
    cls=_Commands,
    sections={section.title: section.commands for section in SECTIONS},
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Documentation: {DOCUMENTATION}",
)
@click.option("-C", "folder", metavar="DIR", help="Run in this directory.")
@click.option("-q", "--quiet", is_flag=True, help="Print only data and errors: no notes, no progress.")
@click.option("-v", "--verbose", is_flag=True, help="Also print which package and engine are used.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="When to use colors; auto: on a terminal.",
)
@click.version_option(__version__, "-V", "--version", prog_name="tagwire")
def app(folder: str | None, quiet: bool, verbose: bool, color: str) -> None:
    """Explain, decode and encode Kafka's messages and logs, or messages of your own protocol.

    Data is written to standard output, everything else to standard error.

    \b
    Exit status:
      0  success
      1  findings or bad data; see the help of each command
      2  usage error or invalid settings

    \b
    Environment:
      NO_COLOR        disables colors
      FORCE_COLOR     uses colors even if the output is not a terminal
      TAGWIRE_ENGINE  selects the engine: native or python
      CI              makes `generate` and `breaking` ignore their caches

    \b
    Examples:
      tagwire explain 000d00050000000100016300      print each byte of a request with its meaning
      tagwire decode --capture traffic.pcap         print captured requests and responses as JSON
      tagwire log dump orders-0 | head              print the records of a partition
      tagwire init pings                            create a protocol in the current folder
      tagwire generate                              write the Python classes of its messages
    """
    PREFERENCES.quiet, PREFERENCES.verbose, PREFERENCES.color = quiet, verbose, color
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as error:
            raise UnreadableFileError.of(folder, error, wants_folder=True) from None
