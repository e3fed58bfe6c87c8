"""A proxy on sockets: a listener for each server, and a link between two sockets for each client.

The module `recording_proxy` decides which bytes to send; this module only reads and writes the sockets. Reading from
one side pauses while the buffer of the other side is full. When one side has finished sending, the other side is
notified, and may continue to send.

This module uses asyncio protocols instead of streams, because streams would copy all bytes once more.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, cast

from tagwire.addresses import Address, check_listening
from tagwire.blocking_connection import listening_failed, reason_of
from tagwire.testing.peer.server import stop_accepting
from tagwire_workbench.proxy.capture_file import ProxyError

if TYPE_CHECKING:
    from tagwire_workbench.proxy.passing import Bytes
    from tagwire_workbench.proxy.recording_proxy import ProxyConnection, RecordingProxy

_BACKLOG: Final = 512
_MOST_LISTENERS: Final = 1_000
_CONNECTING: Final = 30.0
"""Seconds within which a server must accept a connection."""


@asynccontextmanager
async def serving(
    proxy: RecordingProxy,
    host: str,
    port: int,
    *,
    allow_remote: bool,
    on_listening: Callable[[Address, Address], object] | None,
) -> AsyncGenerator[Address]:
    """Implement `RecordingProxy.serving`. See its docstring for the parameters and errors."""
    check_listening(host, port, "a recording proxy", ProxyError, allow_remote=allow_remote)
    if proxy.listeners:
        raise ProxyError(f"the proxy already listens at {next(iter(proxy.listeners.values()))}; create another proxy")
    listeners = _Listeners(proxy, host, on_listening)
    try:
        try:
            address = listeners.listen(proxy.server, port)
        except OSError as error:
            raise ProxyError(listening_failed(Address(host, port), error)) from None
        if listeners.is_ours(proxy.server, host):
            raise ProxyError(f"{proxy.server} is the address of the proxy itself; give the address of the server")
        yield address
    finally:
        await listeners.close()


class _Listeners:
    """The proxy's listening sockets, and its open client connections, each with its own `_Link`."""

    def __init__(
        self, proxy: RecordingProxy, host: str, on_listening: Callable[[Address, Address], object] | None
    ) -> None:
        self.proxy = proxy
        self.links: set[_Link] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.unreachable: set[Address] = set()
        """Servers that could not be reached at the last attempt."""
        self._is_limit_noted = False
        self._host = host
        self._on_listening = on_listening
        self._loop = asyncio.get_running_loop()
        self._servers: list[asyncio.Server] = []
        self._sockets: list[socket.socket] = []

    def listen(self, server: Address, port: int = 0) -> Address:
        """Open a listener for clients of a server, and return the listener's address. Raises OSError if this fails."""
        family, kind, protocol, _, where = socket.getaddrinfo(
            self._host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # The listener must exist before its address is sent, so don't use the coroutine `create_server`.
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(where)
            listening.listen(_BACKLOG)
            listening.setblocking(False)
        except OSError:
            listening.close()
            raise
        self._sockets.append(listening)
        address = Address(*listening.getsockname()[:2])
        self.proxy.listeners[server] = address
        self.start(self._accept(listening, server))
        if self._on_listening is not None:
            self._on_listening(address, server)
        return address

    def is_ours(self, server: Address, came_to: str) -> bool:
        """Return whether a server's address is an address of this proxy. The proxy must not connect to itself."""
        return any(
            server.port == each.port and server.host in (each.host, came_to, "localhost")
            for each in self.proxy.listeners.values()
        )

    def moved(self, came_to: str, host: str, port: int) -> tuple[str, int]:
        """Return the proxy's address for an advertised server, listening on a new port if necessary.

        `came_to` is the host to which the client connected.
        """
        server = Address(host, port)
        if self.is_ours(server, came_to):
            return host, port
        address = self.proxy.listeners.get(server)
        if address is None:
            if len(self.proxy.listeners) >= _MOST_LISTENERS:
                self._note_limit(f"there are already {_MOST_LISTENERS} listeners", server)
                return host, port
            try:
                address = self.listen(server)
            except OSError as error:
                self._note_limit(f"can't listen on another port: {error}", server)
                return host, port
        return came_to, address.port

    def _note_limit(self, reason: str, server: Address) -> None:
        """Report once that the proxy can't open more listeners."""
        if not self._is_limit_noted:
            self._is_limit_noted = True
            self.proxy.note(f"the addresses of {server} and further servers are not replaced: {reason}")

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Run a coroutine in the background. It is cancelled if the proxy is closed."""
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def note_unreachable(self, server: Address, number: int, reason: str) -> None:
        """Report an unreachable server once per outage, because clients retry many times a second."""
        if server not in self.unreachable:
            self.unreachable.add(server)
            self.proxy.note(f"connection {number}: {server} can't be reached: {reason}")

    async def close(self) -> None:
        for listening in self._servers:
            await stop_accepting(listening)
        for task in [*self.tasks]:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for link in [*self.links]:
            link.abort()
        await asyncio.sleep(0)  # let the event loop call `connection_lost`
        for each in self._sockets:
            each.close()
        self.proxy.listeners.clear()

    async def _accept(self, listening: socket.socket, server: Address) -> None:
        opened = await self._loop.create_server(
            lambda: _Link(self, server).client, sock=listening, backlog=_BACKLOG, start_serving=False
        )
        self._servers.append(opened)
        await opened.start_serving()


class _Link:
    """A client's connection and the proxy's own connection to the server, with the `ProxyConnection` between them."""

    def __init__(self, listeners: _Listeners, server: Address) -> None:
        self.listeners = listeners
        self.server_address = server
        self.client = _Side(self)
        self.server = _Side(self)
        self.client.other, self.server.other = self.server, self.client
        self.connection: ProxyConnection | None = None

    def begin(self) -> None:
        """Connect to the server. Read nothing from the client until the server has accepted the connection."""
        transport = self.client.transport
        assert transport is not None
        came_to = transport.get_extra_info("sockname")[0]
        listeners = self.listeners
        listeners.links.add(self)
        self.connection = listeners.proxy.connect(
            self.server_address, lambda host, port: listeners.moved(came_to, host, port)
        )
        self.client.receive, self.server.receive = (
            self.connection.receive_from_client,
            self.connection.receive_from_server,
        )
        # Python 3.11.2 ignores a pause in `connection_made`, because it starts to read afterwards.
        asyncio.get_running_loop().call_soon(self.client.pause, "connecting")
        listeners.start(self._connect())

    async def _connect(self) -> None:
        assert self.connection is not None
        loop = asyncio.get_running_loop()
        try:
            connecting = loop.create_connection(lambda: self.server, *self.server_address)
            await asyncio.wait_for(connecting, _CONNECTING)
        except (OSError, ValueError) as error:  # a ValueError if another server has advertised an invalid host
            reason = reason_of(error) or f"no answer within {_CONNECTING:g} s"
            self.listeners.note_unreachable(self.server_address, self.connection.number, reason)
            self.abort()
            return
        self.listeners.unreachable.discard(self.server_address)
        if self.client.is_closed:
            self.abort()
        self.client.resume("connecting")

    def close(self) -> None:
        """Record that the connection has closed, unless the proxy itself aborted it."""
        if self in self.listeners.links and self.connection is not None:
            self.connection.close()
        self.listeners.links.discard(self)

    def abort(self) -> None:
        """Close both sockets immediately, dropping bytes that were not sent yet."""
        self.listeners.links.discard(self)
        for side in (self.client, self.server):
            if side.transport is not None:
                side.transport.abort()


class _Side(asyncio.Protocol):
    """One of the two sockets of a link. The bytes that it receives are sent to the other socket."""

    other: _Side

    def __init__(self, link: _Link) -> None:
        self.transport: asyncio.Transport | None = None
        self.receive: Callable[[bytes], Iterable[Bytes]] = lambda data: ()
        self.is_closed = False
        self._link = link
        self._early: list[Bytes] = []
        """Bytes to send to this side, received before its socket was connected: uvloop reads before `begin` pauses."""
        self._has_ended = False
        self._pauses: set[str] = set()

    # asyncio calls the following methods.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        with suppress(OSError, AttributeError):
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self is self._link.client:
            self._link.begin()
        for part in self._early:
            self.transport.write(part)
        self._early.clear()
        if self.other._has_ended:
            self.transport.write_eof()

    def data_received(self, data: bytes) -> None:
        self._send_on(self.receive(data))

    def eof_received(self) -> bool:
        """Tell the other side that this side has finished sending."""
        self._end()
        return True  # keep the socket open

    def pause_writing(self) -> None:
        self.other.pause("writing")

    def resume_writing(self) -> None:
        self.other.resume("writing")

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the other side: at once after an error, or else after its queued bytes have been sent."""
        self.is_closed = True
        self._end()
        self._link.close()
        other = self.other.transport
        if other is not None and not self.other.is_closed:
            other.abort() if exc is not None else other.close()

    # The link calls the following methods.

    def pause(self, why: str) -> None:
        """Stop reading from this side. If it is paused for several reasons, `resume` must be called for each."""
        self._pauses.add(why)
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def resume(self, why: str) -> None:
        self._pauses.discard(why)
        if not self._pauses and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def _end(self) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        self._send_on(self.receive(b""))
        to = self.other.transport
        if to is not None and not to.is_closing():
            with suppress(OSError):
                to.write_eof()
            if self.other._has_ended and self.transport is not None:
                self.transport.close()
                to.close()

    def _send_on(self, parts: Iterable[Bytes]) -> None:
        to = self.other.transport
        for part in parts:  # generating the parts also records the frames
            if to is None:
                self.other._early.append(part)
            elif not to.is_closing():
                to.write(part)
