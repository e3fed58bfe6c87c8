"""A connection in an asyncio event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from tagwire.connection import Answer, Connection
from tagwire.drivers.asking import (
    READ_SIZE,
    PeerConnectionError,
    address_of,
    check_handshake,
    is_tried_again,
    pauses,
    unreachable,
)
from tagwire.errors import TagwireError

if TYPE_CHECKING:
    from ssl import SSLContext

    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message


@asynccontextmanager
async def connect_async(
    address: str | tuple[str, int],
    registry: Registry,
    client_id: str | None = None,
    *,
    timeout: float = 30.0,
    ssl: SSLContext | None = None,
    **options: Any,
) -> AsyncGenerator[AsyncPeer]:
    """Connect as `tagwire.connect` does: `async with tagwire.connect_async(...) as peer: await peer.ask(...)`."""
    host, port = address_of(address)
    peer = AsyncPeer(Connection(registry, client_id, **options), timeout)
    connecting = asyncio.get_running_loop().create_connection(lambda: peer, host, port, ssl=ssl)
    try:
        await asyncio.wait_for(connecting, timeout)
    except OSError as error:  # includes TimeoutError
        raise unreachable(host, port, error) from None
    try:
        await peer.learn_versions()
        yield peer
    finally:
        await peer.close()


class AsyncPeer(asyncio.BufferedProtocol):
    """A connection to a peer. Tasks may use it concurrently: requests are sent in the order of the calls."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        self.connection = connection
        self._timeout = timeout
        self._transport = asyncio.Transport()
        self._buffer = memoryview(bytearray(READ_SIZE))
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        """By the `id` of the request, which the connection keeps alive until the answer arrives."""
        self._failure: TagwireError | None = None
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_lost = asyncio.Event()

    async def learn_versions(self) -> None:
        """Ask for the peer's versions, unless they are known. `connect_async` has already done this."""
        tries = 0
        while (data := self.connection.handshake()) is not None:
            tries += 1
            check_handshake(self.connection, await self._exchange(data), tries)

    async def ask(
        self, request: Message, version: int | None = None, *, check: bool = False, retry: float = 0.0
    ) -> Any:
        """Send a request and return the response; see `Peer.ask`. If the task is cancelled, the answer is dropped."""
        answer = None
        for pause in pauses(retry):
            answer = await self._ask(request, version)
            if not is_tried_again(self.connection, answer, pause, check=check):
                break
            await asyncio.sleep(pause)
        return answer

    async def ask_all(self, requests: Iterable[Message], version: int | None = None) -> list[Any]:
        """Send requests without waiting for each answer, and return the responses in the same order."""
        return [*await asyncio.gather(*(self._ask(each, version) for each in requests))]

    async def close(self) -> None:
        """Flush the output, and close the connection. Requests that still wait raise PeerConnectionError."""
        self._fail("the connection is closed")
        self._transport.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_lost.wait(), self._timeout)
        self._transport.abort()

    async def _ask(self, request: Message, version: int | None) -> Any:
        if self._failure is not None:
            raise self._failure
        data = self.connection.send(request, version)
        if self.connection.waits:
            return (await self._exchange(data)).message
        self._transport.write(data)
        await self._has_room.wait()
        return None

    async def _exchange(self, data: bytes) -> Answer:
        loop, key = asyncio.get_running_loop(), id(self.connection.sent)
        future: asyncio.Future[Answer] = loop.create_future()
        self._waiting[key] = future
        timer = loop.call_later(self._timeout, self._fail, f"no answer came within {self._timeout:g} s")
        try:
            self._transport.write(data)
            if not self._has_room.is_set():
                await self._has_room.wait()
            return await future
        finally:
            timer.cancel()
            self._waiting.pop(key, None)

    def _fail(self, reason: str | TagwireError) -> None:
        error = reason if isinstance(reason, TagwireError) else PeerConnectionError(f"{reason}; connect again")
        self._failure = self._failure or error
        self._has_room.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._failure)
                future.exception()  # avoids a warning if nobody awaits the future

    # ------------------------------------------------------------ what asyncio calls

    def connection_made(self, transport: Any) -> None:
        """Store the transport."""
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer to read into."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Pass answers to the tasks that wait for them; zero bytes mean the end of the stream."""
        try:
            for answer in self.connection.receive(self._buffer[:nbytes]):
                future = self._waiting.get(id(answer.request))
                if future is not None and not future.done():
                    future.set_result(answer)
        except TagwireError as error:
            self._fail(error)
        if self.connection.error is not None:
            self._fail(self.connection.error)

    def eof_received(self) -> None:
        """Note that the peer has closed the connection."""
        self.buffer_updated(0)
        self._fail("the peer closed the connection")

    def connection_lost(self, exc: Exception | None) -> None:
        """Store the reason, unless one is known."""
        reason = exc.strerror if isinstance(exc, OSError) else None
        self._fail(f"the connection was lost: {reason or exc or 'it was closed'}")
        self._is_lost.set()

    def pause_writing(self) -> None:
        """Make tasks wait until the peer has read more."""
        self._has_room.clear()

    def resume_writing(self) -> None:
        """Let waiting tasks continue."""
        self._has_room.set()
