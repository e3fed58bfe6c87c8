"""`tagwire browse`: read a capture or a log in a terminal."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from tagwire_cli.arguments.logs import formats_of, only_format_option, record_format_option, records_option
from tagwire_cli.arguments.options import (
    frames_option,
    limit_option,
    limits_of,
    package_option,
    port_option,
    show_sensitive_option,
)
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.output.echo import is_terminal
from tagwire_cli.paths import InputPath


@click.command("browse")
@click.argument("path", metavar="FILE", type=InputPath())
@click.option("--where", "text", metavar="FILTER", default="", help="Start with this filter, such as 'api=Fetch'.")
@click.option("--follow", "follows", is_flag=True, help="Keep reading as the input grows, and stay on the last entry.")
@frames_option(("request", "response"))
@port_option
@record_format_option("format_name", "The input is a log. NAME is auto, or the format to assume for its magic byte.")
@records_option
@only_format_option
@click.option("--lenient", is_flag=True, help="Accept what Kafka's own reader accepts.")
@show_sensitive_option
@limit_option
@package_option
def command(
    path: Path,
    text: str,
    follows: bool,
    kind: str | None,
    port: int,
    format_name: str | None,
    records: str | None,
    only_format: bool,
    lenient: bool,
    limits: Sequence[str],
    package: str | None,
) -> None:
    """Browse a capture or a log in a terminal.

    FILE is a capture (JSON lines, plain or gzipped, or a network capture), a log
    segment, or a log folder. The list shows its frames or batches. Below it are the
    fields of the selected entry, and their bytes.

    Large files open at once: they are read in the background, and an entry is
    decoded when it is shown. Entries with errors are marked with !, and are shown
    up to the error. Press ? for the keys and filters.

    \b
    Examples:
      tagwire browse frames.jsonl.gz
      tagwire browse frames.jsonl --follow --where 'api=Produce'
      tagwire browse traffic.pcap --port 9093
      tagwire browse /var/lib/kafka/orders-0 --where is=error
    """
    from tagwire_cli.explaining.units import ExplainSettings
    from tagwire_cli.input.filters import FilterError
    from tagwire_workbench.browsing.app import Browser
    from tagwire_workbench.browsing.opening import open_listing

    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):  # for keys and for the screen
        instead = f"tagwire log dump {path}" if path.is_dir() else f"tagwire explain --capture {path}"
        raise click.UsageError(f"browse needs a terminal; `{instead}` prints to a file or a pipe.")
    registry = find_registry(package)
    formats = formats_of(format_name, only=only_format)
    settings = ExplainSettings(registry, "capture", (), formats, records, True, not lenient, limits_of(limits))
    is_log = format_name is not None
    listing = open_listing(path, settings, port=port, stream=kind, is_log=is_log, follows=follows)
    try:
        browser = Browser(listing, registry, path.name or str(path), text=text, follows=follows)
    except FilterError as error:
        raise click.BadParameter(str(error), param_hint="--where") from None
    browser.run()
    sys.exit(browser.return_code)
