"""A mock peer on sockets: an asyncio server that passes bytes to connections and carries out the resulting actions.

`PeerConnection` makes all decisions. By default, the server listens only on loopback, because a mock peer answers
anyone.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from tagwire.addresses import Address, check_listening
from tagwire.blocking_connection import listening_failed
from tagwire.testing.peer.journal import PeerError
from tagwire.testing.peer.replies import Action, Close, Send, Wait

if TYPE_CHECKING:
    from tagwire.testing.peer.mock_peer import MockPeer

__all__ = ["running", "serving"]

_READ_SIZE: Final = 65536
_MOST_WAITING: Final = 1 << 24
"""The maximum size, in bytes, of the answers that wait to be sent to a client.

Above this size, the peer reads no more requests until the client has read some answers.
"""


class PeerAddressError(PeerError, OSError):
    """Raised if a mock peer can't listen at an address, for example because another server does."""


@asynccontextmanager
async def serving(peer: MockPeer, host: str, port: int, *, allow_remote: bool) -> AsyncGenerator[Address]:
    """Serve clients in the running event loop. Used by `MockPeer.serving`."""
    check_listening(host, port, "a mock peer", PeerError, allow_remote=allow_remote)
    if peer.address is not None:
        raise PeerError(f"the peer is already listening at {peer.address}; create another peer")
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_serve(peer, reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        # Abort, because `close` could wait forever for a client that doesn't read its answers.
        task.add_done_callback(lambda _: writer.transport.abort())

    try:
        server = await asyncio.start_server(connected, host, port)
    except OSError as error:
        raise PeerAddressError(listening_failed(Address(host, port), error)) from None
    address = peer.address = Address(*server.sockets[0].getsockname()[:2])
    try:
        yield address
    finally:
        peer.address = None
        await stop_accepting(server)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def stop_accepting(server: asyncio.Server) -> None:
    """Close a server, after the event loop has set up all connections that it has accepted.

    Otherwise, nobody would close these connections, and `Server.wait_closed` would wait for them.
    """
    for each in server.sockets:
        with suppress(NotImplementedError):  # raised on Windows
            asyncio.get_running_loop().remove_reader(each.fileno())
    for _ in range(3):
        await asyncio.sleep(0)
    server.close()


async def _serve(peer: MockPeer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one client until its connection ends. Requests are read and recorded even while answers are delayed."""
    connection = peer.connect(Address(*writer.get_extra_info("sockname")[:2]))
    waiting = _Waiting()
    answering = asyncio.ensure_future(_answer(waiting, writer))
    try:
        while not connection.is_closed:
            try:
                data = await reader.read(_READ_SIZE)
            except OSError:  # the client reset the connection
                return
            for action in connection.receive_data(data):
                waiting.put(action)
            await waiting.room()
        with suppress(OSError):  # the client reset the connection
            await answering
            writer.close()
            await writer.wait_closed()
    finally:
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)


class _Waiting:
    def __init__(self) -> None:
        self.actions: asyncio.Queue[Action] = asyncio.Queue()
        self._size = 0
        self._is_over = False
        self._has_room = asyncio.Event()

    def put(self, action: Action) -> None:
        self._size += len(action.data) if isinstance(action, Send) else 0
        self.actions.put_nowait(action)

    async def room(self) -> None:
        """Wait until the client has read enough answers to make room in the queue."""
        while self._size > _MOST_WAITING and not self._is_over:
            self._has_room.clear()
            await self._has_room.wait()

    def sent(self, size: int) -> None:
        self._size -= size
        self._has_room.set()

    def end(self) -> None:
        """Make all waiting calls of `room` return, because no more answers will be sent."""
        self._is_over = True
        self._has_room.set()


async def _answer(waiting: _Waiting, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            match await waiting.actions.get():
                case Send(data):
                    writer.write(data)
                    await writer.drain()
                    waiting.sent(len(data))
                case Wait(seconds):
                    await asyncio.sleep(seconds)
                case Close():
                    return
    finally:
        waiting.end()


@contextmanager
def running(peer: MockPeer, host: str, port: int, *, allow_remote: bool) -> Generator[Address]:
    """Serve clients in a thread with its own event loop. Used by `MockPeer.running`."""
    started: Future[Address] = Future()
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()

    async def serve() -> None:
        try:
            async with serving(peer, host, port, allow_remote=allow_remote) as address:
                started.set_result(address)
                await stopping.wait()
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, name="tagwire mock peer", daemon=True)
    thread.start()
    try:
        yield started.result()
    finally:
        if thread.is_alive() and started.exception() is None:
            loop.call_soon_threadsafe(stopping.set)
        thread.join()
