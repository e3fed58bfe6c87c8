"""What commands that connect to servers or run one have in common: addresses, the reasons to stop, the exit status."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final

import click

from tagwire.text_format import count
from tagwire_cli.arguments.options import seconds_from
from tagwire_cli.output.echo import say_error

if TYPE_CHECKING:
    from tagwire.addresses import Address

_CLOSING: Final = 2.0


def server_address(text: str, host: str = "") -> "Address":
    """Parse the parameter `HOST:PORT`. A port alone, or port 0, is accepted if a default host is given."""
    from tagwire.addresses import Address, AddressError

    try:
        address = Address.parse(text, host)
    except AddressError as error:
        raise click.BadParameter(str(error)) from None
    if not (address.port or host):
        raise click.BadParameter(f"{text}: expected the port of a server, got 0")
    return address


duration_option = click.option(
    "--duration", "--time", "seconds", type=seconds_from(0), metavar="SECONDS", help="Stop after this time."
)
"""Adds the option `--duration` (parameter `seconds`), which `Stopping.serve` takes."""


class Stopping:
    """Stops a server when a signal arrives, or when a file or the output can't be written."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] | None = None

    async def serve(
        self,
        serving: "contextlib.AbstractAsyncContextManager[Address]",
        seconds: float | None,
        show: "Callable[[Address], object]" = lambda address: None,
    ) -> None:
        """Run a server until it must stop, at most `seconds`. `show` is called with the server's address.

        Raises OSError if something can't be written.
        """
        loop = asyncio.get_running_loop()
        self.future = loop.create_future()
        for each in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # raised on Windows, where Ctrl-C ends the event loop
                loop.add_signal_handler(each, self.stop)
        async with serving as address:
            show(address)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.future, seconds)

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


class Printing:
    """Prints in a separate thread, so that a slow reader of the output delays neither the server nor its end."""

    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="tagwire output", daemon=True)
        self._thread.start()

    def add(self, show: Callable[[], None]) -> None:
        self._waiting.put(show)

    def close(self) -> None:
        """Wait until queued output is printed. Discard it if nothing was printed for `_CLOSING` seconds."""
        self._waiting.put(None)
        left = -1
        while self._thread.is_alive() and left != self._waiting.qsize():
            left = self._waiting.qsize()
            self._thread.join(_CLOSING)
        if self._thread.is_alive() and self._thread.ident and hasattr(signal, "pthread_kill"):
            # The thread waits in a write, and holds the lock of standard output, so that Python could not exit. After
            # a signal, the write is tried again, and succeeds.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            signal.signal(signal.SIGUSR1, lambda *_: None)
            signal.pthread_kill(self._thread.ident, signal.SIGUSR1)
            self._thread.join(_CLOSING)

    def _work(self) -> None:
        while (show := self._waiting.get()) is not None:
            try:
                show()
            except OSError as error:  # standard output is closed
                self._stopping.stop_from_thread(error)
                return


def exit_for_problems(number: int) -> None:
    """If a server had problems, report their number and exit with status 1."""
    if number:
        say_error(f"there {'was' if number == 1 else 'were'} {count(number, 'problem')}")
        raise click.exceptions.Exit(1)
