"""`tagwire record`: run a proxy that writes the traffic to a capture file."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tagwire.text_format import count
from tagwire_cli.arguments.options import Seconds, json_lines_option, package_option
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.output.echo import say, say_error
from tagwire_cli.output.tables import write_json_line, write_line
from tagwire_cli.paths import AnyPath

if TYPE_CHECKING:
    from tagwire.addresses import Address
    from tagwire_workbench.proxy import RecordedFrame, RecordingProxy

T = TypeVar("T")

_CLOSING: Final = 2.0
"""Seconds to wait at the end for output that is still queued."""


class _AddressType(click.ParamType):  # type: ignore[type-arg]
    """Parameter type for `HOST:PORT`. A port alone is accepted if a default host is set."""

    name = "address"

    def __init__(self, host: str = "") -> None:
        self._host = host

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Address":
        from tagwire.addresses import Address, AddressError

        try:
            address = value if isinstance(value, Address) else Address.parse(value, self._host)
        except AddressError as error:
            self.fail(str(error), param, ctx)
        if not (address.port or self._host):
            self.fail(f"{value}: expected the port of a server, got 0", param, ctx)
        return address


ADDRESS: Final = _AddressType()
_LISTENING: Final = _AddressType("127.0.0.1")


@click.command("record")
@click.option("--to", "server", metavar="HOST:PORT", type=ADDRESS, required=True, help="The server, such as a broker.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=AnyPath(folders=False),
    required=True,
    help="A new file; gzipped if its name ends in .gz.",
)
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    type=_LISTENING,
    default="0",
    help="The address to listen on; default: any free port of 127.0.0.1.",
)
@click.option("--allow-remote", is_flag=True, help="Allow a HOST of --listen that other machines can reach.")
@click.option("--redact", "is_redacted", is_flag=True, help="Remove secrets from frames, as in `tagwire redact`.")
@click.option("--run", metavar="NAME", help="The name of the recording in each line; default: the time.")
@click.option("--label", metavar="NAME", help="The client_label in each line; default: the client id.")
@click.option("--duration", "--time", "seconds", type=Seconds(), metavar="SECONDS", help="Stop after this time.")
@json_lines_option
@package_option
def command(
    server: "Address",
    output: Path,
    listen: "Address",
    allow_remote: bool,
    is_redacted: bool,
    run: str | None,
    label: str | None,
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
      tagwire record --listen 19092 --to localhost:9092 -o frames.jsonl.gz
      tagwire record --to localhost:9092 -o shared.jsonl.gz --redact --duration 60
    """
    from tagwire.frames.redaction import Redaction
    from tagwire_workbench.proxy import CaptureFile, RecordingProxy
    from tagwire_workbench.proxy.passing import keep_freed_memory

    keep_freed_memory()
    registry = find_registry(package)
    require_headers(registry)
    stopping = Stopping()
    printing = _Printing(stopping)

    def add(frame: "RecordedFrame") -> None:
        file.add(frame)  # `file` is opened below, because it reports problems to the proxy

    write = stopping.guarding(add)
    proxy = RecordingProxy(
        server,
        write,
        registry,
        on_close=write,
        on_problem=lambda problem: printing.add(lambda: say_error(problem)),
    )
    redaction = Redaction(registry) if is_redacted else None
    with CaptureFile(
        output,
        run=run,
        label=label,
        redaction=redaction,
        on_problem=proxy.note,
        on_error=stopping.stop_from_thread,
    ) as file:
        asyncio.run(_serve(proxy, stopping, printing, listen, seconds, allow_remote=allow_remote, as_json=as_json))
    printing.close()
    passed = f"{count(file.counts[True], 'request')} and {count(file.counts[False], 'response')}"
    say(f"recorded {passed} of {count(proxy.connection_count, 'connection')}", err=True)
    if proxy.problem_count:
        say_error(f"there {'was' if proxy.problem_count == 1 else 'were'} {count(proxy.problem_count, 'problem')}")
        raise click.exceptions.Exit(1)


class Stopping:
    """Stops a server when a signal arrives, or when a file or the output can't be written."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] | None = None

    async def wait(self, seconds: float | None) -> None:
        """Wait until the server must stop, at most `seconds`. Raises OSError if something can't be written."""
        assert self.future is not None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.future, seconds)

    def begin(self) -> None:
        """React to signals from now on."""
        loop = asyncio.get_running_loop()
        self.future = loop.create_future()
        for each in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # raised on Windows, where Ctrl-C ends the event loop
                loop.add_signal_handler(each, self.stop)

    def stop(self, error: OSError | None = None) -> None:
        if self.future is None or self.future.done() or self.future.get_loop().is_closed():
            return
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)

    def stop_from_thread(self, error: OSError) -> None:
        """Stop the server from a thread other than that of the event loop."""
        if self.future is not None:
            with contextlib.suppress(RuntimeError):  # raised if the event loop has already ended
                self.future.get_loop().call_soon_threadsafe(self.stop, error)

    def guarding(self, write: Callable[[T], None]) -> Callable[[T], None]:
        """Return a function that stops the server if `write` raises OSError."""

        def call(value: T) -> None:
            try:
                write(value)
            except OSError as error:
                self.stop(error)

        return call


class _Printing:
    """Prints in a separate thread, so that a slow reader of the output doesn't delay the proxy."""

    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="tagwire record output", daemon=True)
        self._thread.start()

    def add(self, show: "Callable[[], None]") -> None:
        self._waiting.put(show)

    def close(self) -> None:
        """Wait at most `_CLOSING` seconds for queued output to be printed."""
        self._waiting.put(None)
        self._thread.join(_CLOSING)

    def _work(self) -> None:
        while (show := self._waiting.get()) is not None:
            try:
                show()
            except OSError as error:  # standard output is closed
                self._stopping.stop_from_thread(error)
                return


async def _serve(
    proxy: "RecordingProxy",
    stopping: Stopping,
    printing: _Printing,
    listen: "Address",
    seconds: float | None,
    *,
    allow_remote: bool,
    as_json: bool,
) -> None:
    """Serve until a signal arrives or `seconds` have passed. Raises OSError if output can't be written."""
    stopping.begin()

    def show(address: "Address", server: "Address") -> None:
        row = {"host": address.host, "port": address.port, "server": str(server)}
        text = f"listening at {address} for {server}"
        printing.add(lambda: write_json_line(row) if as_json else write_line(text))

    async with proxy.serving(*listen, allow_remote=allow_remote, on_listening=show):
        await stopping.wait(seconds)
