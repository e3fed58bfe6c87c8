"""The `tagwire` command group, and the error handling shared by its subcommands.

To add a command, write its module, and add the command to the tables in `tagwire_cli.command_table`.
"""

import errno
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import click

from tagwire import __version__
from tagwire.errors import TagwireError
from tagwire.text_format import printable
from tagwire_cli.command_table import DOCUMENTATION, SECTIONS, CommandTable
from tagwire_cli.output.echo import PREFERENCES, say_error
from tagwire_cli.paths import UnreadableFileError, is_folder

_BROKER: Final = (
    "This command does not connect to a broker. `tagwire log dump PATH` prints the records in a partition's folder; "
    f"{DOCUMENTATION}/howto-broker.md shows how to talk to a broker."
)
_RANGE: Final = "Select records with --start-offset, --end-offset, --start-time, --end-time or --count."
_STDOUT: Final = "The output is written to standard output; redirect it with `> FILE`."
_OTHER_TOOLS: Final = {
    "-b -t -p -G -L -P -Q --bootstrap-server --bootstrap-servers --broker --brokers --broker-list --zookeeper --topic "
    "--topics --partition --partitions --group --from-beginning --command-config --consumer-property": _BROKER,
    "--files --print-data-log --deep-iteration --offsets-decoder --transaction-log-decoder --cluster-metadata-decoder "
    "--share-group-state-decoder --skip-record-metadata --key-decoder-class --value-decoder-class": (
        "`tagwire log dump PATH` prints records and the entries of indexes and snapshots; with --messages, it also "
        "decodes the records of internal topics."
    ),
    "--verify-index-only --index-sanity-check": "`tagwire log verify PATH` checks indexes and segments.",
    "--from --to --since --until --offset --max-messages": _RANGE,
    "--request --response": (
        "`tagwire explain --request` reads a request; other commands read streams, with --frames request."
    ),
    "-o --output --out": _STDOUT,
}
"""Options that users may pass by mistake, each with the hint to print if the command does not have the option.

Most of these options belong to kcat or to Kafka's own tools.
"""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writes. Without a file name, they are about standard output: errors of other files have the name."""
_COMMAND_OPTIONS: Final = ("--package", "--json", "--jsonl", "--hex", "--capture", "--check", "--diff")
"""Options of several commands that users may write before the command by mistake."""
_DETECTING: Final = ("browse", "compare", "demo", "redact", "replay")
"""Commands that read captures without the option `--capture`."""
_CLIENT: Final = r"No such command '(kcat|kafkacat|consumer?|producer?|topics?|subscribe|.+:\d+)'; see .*"
_EXTRA: Final = r"Got unexpected extra argument \((.+)\)"


@contextmanager
def usage_hints() -> Generator[None]:
    """Add hints to usage errors that click raises in the `with` block."""
    try:
        yield
    except click.NoSuchOption as error:
        hint = _option_hint(error.option_name, error.ctx)
        if not hint:
            raise
        text = f"No such option {error.option_name!r}. {hint}"
        raise click.NoSuchOption(error.option_name, text, ctx=error.ctx) from None
    except click.MissingParameter as error:
        if error.message or error.param is None:
            raise
        is_message = error.param.human_readable_name == "MESSAGE"
        hint = "`tagwire messages` lists all messages." if is_message else getattr(error.param, "help", None) or ""
        raise click.MissingParameter(hint, error.ctx, param=error.param) from None
    except click.BadParameter as error:
        if error.param_hint is None and isinstance(error.param, click.Argument):
            error.param_hint = error.param.human_readable_name.strip("[].")
        raise
    except click.UsageError as error:
        found = re.match(_EXTRA, error.message)
        if re.fullmatch(_CLIENT, error.message):
            raise click.UsageError(f"{error.message}. {_BROKER}", error.ctx) from None
        if found and is_folder(found[1]):
            how = f"to run in this directory, use `tagwire -C {found[1]} ...`"
            raise click.UsageError(f"{error.message.rstrip('.')}; {how}.", error.ctx) from None
        raise


def _option_hint(name: str, ctx: click.Context | None) -> str:
    if ctx is None:
        return ""
    root, own = ctx.find_root(), {option for param in ctx.command.params for option in param.opts}
    if root is ctx and name in _COMMAND_OPTIONS:
        return f"It is an option of commands; write it after the command, as in `tagwire COMMAND {name} ...`."
    if root is not ctx and any(name in param.opts for param in root.command.params):
        return f"It is a global option; write it before the command, as in `tagwire {name} ...`."
    if name == "--to" and any(param.human_readable_name == "FORMAT" for param in ctx.command.params):
        return f"Give the new format as the first argument, as in `{ctx.command_path} FORMAT ...`."
    if name == "--capture" and ctx.command.name in _DETECTING:
        return "This command detects captures; leave out --capture."
    hint = next((hint for options, hint in _OTHER_TOOLS.items() if name in options.split()), "")
    if hint == _BROKER and ctx.command.name in ("record", "replay"):
        return "Give the address of the broker with --to HOST:PORT."
    return "" if (hint == _RANGE and "--start-offset" not in own) or (hint == _STDOUT and "--output" in own) else hint


class _Commands(CommandTable):
    """The group of subcommands. It prints any TagwireError or OSError, and exits with status 1 or 2."""

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
            # The message of NoArgsIsHelpError is the help text, whose line breaks must not be escaped.
            if not isinstance(error, click.exceptions.NoArgsIsHelpError):
                error.message = printable(error.message)  # type: ignore[misc]  # click offers no other way
            raise

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            try:
                return super().main(*args, **extra)
            finally:
                if sys.stdout is not None and not sys.stdout.closed:  # None: it was closed before Python started
                    sys.stdout.flush()
        except OSError as error:
            reason = error.strerror or error
            if isinstance(error, FileNotFoundError) and error.filename is None:
                reason = "the current directory does not exist any more; change to another one, or use -C DIR"
            if error.filename is None and error.errno in _FULL:
                reason = f"standard output can't be written: {reason}"
            say_error(reason if error.filename is None else f"{error.filename}: {reason}")
            sys.exit(1)


@click.group(
    cls=_Commands,
    sections=SECTIONS,
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
      tagwire explain 00120000000000070003646f63    print each byte of a request with its meaning
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
