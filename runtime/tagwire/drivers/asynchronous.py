"""A connection in an asyncio event loop."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from tagwire.connection import Answer, Connection
from tagwire.drivers import READ_SIZE, PeerConnectionError, address_of, reason_of, unreachable
from tagwire.errors import TagwireError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from ssl import SSLContext

    from tagwire.connection import Steps
    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message


@asynccontextmanager
async def connect_async(
    address: str | tuple[str, int], registry: Registry, client_id: str | None = None,
    *, timeout: float = 30.0, ssl: SSLContext | None = None, **options: Any,
) -> AsyncGenerator[AsyncPeer]:  # fmt: skip
    """Connect as `tagwire.connect` does: `async with tagwire.connect_async(...) as peer: await peer.ask(...)`."""
    where = address_of(address)
    peer = AsyncPeer(Connection(registry, client_id, **options), timeout)
    try:
        async with asyncio.timeout(timeout):
            await asyncio.get_running_loop().create_connection(lambda: peer, *where, ssl=ssl)
    except OSError as error:  # includes TimeoutError
        raise unreachable(where, error) from None
    try:
        await peer.carry_out(peer.connection.negotiating())
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
        self._has_room, self._is_lost = asyncio.Event(), asyncio.Event()
        self._has_room.set()

    async def ask(
        self, request: Message, version: int | None = None, *, check: bool = False, retry: float = 0.0
    ) -> Any:
        """Send a request and return the response; see `Peer.ask`. If the task is cancelled, the answer is dropped."""
        return await self.carry_out(self.connection.asking(request, version, check=check, retry=retry))

    async def ask_all(self, requests: Iterable[Message], version: int | None = None) -> list[Any]:
        """Send requests without waiting for each answer, and return the responses in the same order."""
        return [*await asyncio.gather(*(self.ask(each, version) for each in requests))]

    async def close(self) -> None:
        """Flush the output, and close the connection. Requests that still wait raise PeerConnectionError."""
        self._fail("the connection is closed")
        self._transport.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_lost.wait(), self._timeout)
        self._transport.abort()

    async def carry_out(self, steps: Steps) -> Any:
        """Carry out the steps of a connection, and return their result."""
        answer = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return end.value
            answer = await (self._exchange(step) if isinstance(step, bytes) else asyncio.sleep(step))

    async def _exchange(self, data: bytes) -> Answer | None:
        if self._failure is not None:
            raise self._failure
        loop, sent = asyncio.get_running_loop(), self.connection.sent
        timer = loop.call_later(self._timeout, self._fail, f"no answer came within {self._timeout:g} s")
        self._transport.write(data)
        try:
            if sent is None:
                await self._has_room.wait()
                return None
            return await self._waiting.setdefault(id(sent), loop.create_future())
        finally:
            timer.cancel()
            self._waiting.pop(id(sent), None)

    def _fail(self, reason: str | TagwireError) -> None:
        error = reason if isinstance(reason, TagwireError) else PeerConnectionError(f"{reason}; connect again")
        self._failure = self._failure or error
        self._has_room.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._failure)
                future.exception()  # avoids a warning if nobody awaits the future

    def connection_made(self, transport: Any) -> None:  # the methods from here on are called by asyncio
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
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

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None:
            self.buffer_updated(0)
        lost = reason_of(exc) if isinstance(exc, OSError) else exc
        self._fail("the peer closed the connection" if exc is None else f"the connection was lost: {lost}")
        self._is_lost.set()

    def pause_writing(self) -> None:
        self._has_room.clear()

    def resume_writing(self) -> None:
        self._has_room.set()
