"""Add hints to click's usage errors: for options of Kafka's own tools, and for missing arguments."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from tagwire_cli.command_table import DOCUMENTATION

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
"""Hints by options that this command does not have. Most are options of kcat, or of the tools in Kafka's release."""
_CLIENT: Final = re.compile(r"No such command '(kcat|kafkacat|consumer?|producer?|topics?|subscribe|.+:\d+)'; see .*")
_EXTRA: Final = re.compile(r"Got unexpected extra argument \((.+)\)")


@contextmanager
def usage_hints() -> Generator[None]:
    """Context manager that adds a hint to click's usage errors, for example for an option of Kafka's own tools."""
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
        found = _EXTRA.match(error.message)
        if _CLIENT.fullmatch(error.message):
            raise click.UsageError(f"{error.message}. {_BROKER}", error.ctx) from None
        if found and Path(found[1]).is_dir():
            how = f"to run in this directory, use `tagwire -C {found[1]} ...`"
            raise click.UsageError(f"{error.message.rstrip('.')}; {how}.", error.ctx) from None
        raise


def _option_hint(name: str, ctx: click.Context | None) -> str:
    if ctx is None:
        return ""
    root, own = ctx.find_root(), {option for param in ctx.command.params for option in param.opts}
    if root is not ctx and any(name in param.opts for param in root.command.params):
        return f"It is a global option; write it before the command, as in `tagwire {name} ...`."
    hint = next((hint for options, hint in _OTHER_TOOLS.items() if name in options.split()), "")
    if hint == _BROKER and ctx.command.name in ("record", "replay"):
        return "Give the address of the broker with --to HOST:PORT."
    return "" if (hint == _RANGE and "--start-offset" not in own) or (hint == _STDOUT and "--output" in own) else hint
