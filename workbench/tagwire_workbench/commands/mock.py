"""`tagwire mock`: run a mock peer that plays a YAML script, for clients in any language."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tagwire_cli.arguments.options import json_lines_option, package_option
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.command_table import CommandTable
from tagwire_cli.output.echo import say_error
from tagwire_cli.output.tables import write_json_line, write_line
from tagwire_cli.paths import InputPath
from tagwire_workbench.serving import Printing, Stopping, duration_option, exit_for_problems

if TYPE_CHECKING:
    from tagwire.addresses import Address
    from tagwire.frames.registry import Registry
    from tagwire.testing.peer import Received


@click.group("mock", cls=CommandTable, sections={"Commands": {"serve": f"{__name__}:serve"}})
def command() -> None:
    """Run a scripted server to test clients.

    docs/mock-peer.md describes scripts, and mock peers in Python.

    \b
    Examples:
      tagwire mock serve script.yaml
    """


@click.command("serve")
@click.argument("file", metavar="SCRIPT", type=InputPath(folders=False, stdin_name="script.yaml"))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=0, type=click.IntRange(0, 65535), help="The port to listen on; 0, the default, is any free port."
)
@click.option("--allow-remote", is_flag=True, help="Allow a --host that other machines can reach.")
@click.option("--check", "is_check", is_flag=True, help="Only check the script.")
@duration_option
@json_lines_option
@package_option
def serve(
    file: Path,
    host: str,
    port: int,
    allow_remote: bool,
    is_check: bool,
    seconds: float | None,
    as_json: bool,
    package: str | None,
) -> None:
    """Serve a script in YAML.

    SCRIPT defines the responses to requests. The whole script is checked first, and
    errors are reported with their line.

    The server listens on loopback by default. The first line of output is its
    address, and each request is another line, with its position. With --json, the
    first line is {"host": "127.0.0.1", "port": 40123}, and a request has its header
    and body. Requests that the script does not answer and other problems are printed
    as errors, and the connection is closed. The server runs until it is interrupted
    or terminated, or for --duration.

    \b
    Examples:
      tagwire mock serve script.yaml --port 9092
      tagwire mock serve script.yaml --check
      tagwire mock serve script.yaml --duration 60 --json > requests.jsonl
    """
    from tagwire_workbench.mocking.script import read_script

    script = read_script(file)
    registry = script.registry() if package is None else find_registry(package)
    require_headers(registry)
    peer = script.peer(registry)
    if is_check:
        return
    stopping = Stopping()
    printing = Printing(stopping)

    def received(request: "Received") -> None:
        text = f"#{request.number} ({request.position}): {request.name} v{request.version}"
        printing.add(partial(write_json_line, _row(registry, request)) if as_json else partial(write_line, text))

    def show(address: "Address") -> None:
        row = {"host": address.host, "port": address.port}
        printing.add(partial(write_json_line, row) if as_json else partial(write_line, f"listening at {address}"))

    peer.journal.on_received = received
    peer.journal.on_problem = lambda problem: printing.add(partial(say_error, problem))
    asyncio.run(stopping.serve(peer.serving(host, port, allow_remote=allow_remote), seconds, show))
    printing.close()
    exit_for_problems(len(peer.problems))


def _row(registry: "Registry", request: "Received") -> dict[str, Any]:
    """Return a request as `tagwire decode --frames request` prints it, together with its number and position."""
    header_version = registry[request.name].header_version(request.version)
    return {
        "number": request.number,
        "connection": request.connection,
        "index": request.index,
        "offset": request.offset,
        "message": request.name,
        "version": request.version,
        "header": request.header.to_json(header_version),
        "body": None if request.message is None else request.message.to_json(request.version),
    }
