"""`tagwire record`: run a proxy that writes the traffic to a capture file."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire.text_format import count
from tagwire_cli.arguments.options import json_lines_option, package_option
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.output.echo import say, say_error
from tagwire_cli.output.tables import write_json_line, write_line
from tagwire_cli.paths import AnyPath
from tagwire_workbench.serving import Printing, Stopping, duration_option, exit_for_problems, server_address

if TYPE_CHECKING:
    from tagwire.addresses import Address
    from tagwire_workbench.proxy import RecordedFrame


@click.command("record")
@click.option(
    "--to", "server", metavar="HOST:PORT", type=server_address, required=True, help="The server, such as a broker."
)
@click.option(
    "--output",
    metavar="FILE",
    type=AnyPath(folders=False),
    required=True,
    help="A new file; gzipped if its name ends in .gz.",
)
@click.option("--redact", "is_redacted", is_flag=True, help="Remove secrets from frames, as in `tagwire redact`.")
@click.option("--run", metavar="NAME", help="The name of the recording in each line; default: the time.")
@click.option("--label", metavar="NAME", help="The client_label in each line; default: the client ID.")
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    type=lambda text: server_address(text, "127.0.0.1"),
    default="0",
    help="The address to listen on; default: any free port of 127.0.0.1.",
)
@click.option("--allow-remote", is_flag=True, help="Allow a HOST of --listen that other machines can reach.")
@duration_option
@json_lines_option
@package_option
def command(
    server: "Address",
    output: Path,
    is_redacted: bool,
    run: str | None,
    label: str | None,
    listen: "Address",
    allow_remote: bool,
    seconds: float | None,
    as_json: bool,
    package: str | None,
) -> None:
    """Record the traffic between clients and servers.

    A client connects to the proxy instead of the server. All bytes are passed on.
    Each request, each response and the end of each connection becomes a line of
    FILE, which `tagwire explain`, `redact`, `replay` and `compare` can read.

    Addresses in responses are replaced by addresses of the proxy, so that clients stay
    connected through it: for each other advertised server, it listens on another free
    port. Each address is a line of output or, with --json, an object: {"host":
    "127.0.0.1", "port": 40123, "server": "broker:9092"}.

    Bytes that aren't frames are passed on unchanged and reported; the exit status is
    then 1. The proxy runs until it is interrupted or terminated, or for --duration. FILE is
    readable at any time, even if the process is killed.

    \b
    Examples:
      tagwire record --listen 19092 --to localhost:9092 --output frames.jsonl.gz
      tagwire record --to localhost:9092 --output shared.jsonl.gz --redact
    """
    from tagwire.frames.redaction import Redaction
    from tagwire_workbench.proxy import CaptureFile, RecordingProxy
    from tagwire_workbench.proxy.passing import keep_freed_memory

    keep_freed_memory()
    registry = find_registry(package)
    require_headers(registry)
    stopping = Stopping()
    printing = Printing(stopping)

    def write(frame: "RecordedFrame") -> None:
        try:
            file.add(frame)  # `file` is opened below, because it reports problems to the proxy
        except OSError as error:
            stopping.stop(error)

    def show(address: "Address", server: "Address") -> None:
        row = {"host": address.host, "port": address.port, "server": str(server)}
        text = f"listening at {address} for {server}"
        printing.add(lambda: write_json_line(row) if as_json else write_line(text))

    proxy = RecordingProxy(
        server,
        write,
        registry,
        on_close=write,
        on_problem=lambda problem: printing.add(lambda: say_error(problem)),
    )
    with CaptureFile(
        output,
        run=run,
        label=label,
        redaction=Redaction(registry) if is_redacted else None,
        on_problem=proxy.note,
        on_error=stopping.stop_from_thread,
    ) as file:
        serving = proxy.serving(*listen, allow_remote=allow_remote, on_listening=show)
        asyncio.run(stopping.serve(serving, seconds))
    printing.close()
    passed = f"{count(file.counts[True], 'request')} and {count(file.counts[False], 'response')}"
    say(f"recorded {passed} of {count(proxy.connection_count, 'connection')}", err=True)
    exit_for_problems(proxy.problem_count)
