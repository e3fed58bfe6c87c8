"""A connection in an asyncio event loop (`tagwire.connect_async`)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from tagwire.blocking_connection import BasePeer, reaching, reason_of
from tagwire.connection import Connection, Done, Sent, UnusableConnectionError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from ssl import SSLContext

    from tagwire.connection import Steps
    from tagwire.frames.registry import Registry


@asynccontextmanager
async def connect_async(
    address: str | tuple[str, int], registry: Registry, client_id: str | None = None,
    *, timeout: float = 30.0, ssl: SSLContext | None = None, **options: Any,
) -> AsyncGenerator[AsyncPeer]:  # fmt: skip
    """Connect as `tagwire.connect` does: `async with tagwire.connect_async(...) as peer: await peer.ask(...)`."""
    with reaching(address, timeout) as where:
        peer = AsyncPeer(Connection(registry, client_id, **options), timeout)
        async with asyncio.timeout(timeout):
            peer.transport, _ = await asyncio.get_running_loop().create_connection(lambda: peer, *where, ssl=ssl)
    try:
        await peer.carry_out(peer.connection.negotiating())
        yield peer
    finally:
        await peer.close()


class AsyncPeer(BasePeer, asyncio.BufferedProtocol):
    """A connection to a peer. Several tasks may use it at once. If a task is cancelled, its responses are dropped."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        super().__init__(connection, timeout)
        self.transport = asyncio.Transport()
        self._lost = asyncio.get_running_loop().create_future()
        self._has_room = asyncio.Event()
        self._has_room.set()

    async def close(self) -> None:
        """Send buffered output and close the connection. Calls that wait for a response raise PeerConnectionError.

        Output is dropped if the connection is already unusable.
        """
        (self.transport.close if self.connection.error is None else self.transport.abort)()
        self._fail()
        try:
            await asyncio.wait([self._lost], timeout=self._timeout)
        finally:
            self.transport.abort()

    async def carry_out(self, steps: Steps) -> Any:
        for step in steps:
            if isinstance(step, Done):
                return step.result
            if isinstance(step, bytes):
                if self.connection.sent is not None:
                    self.connection.sent.arrival = asyncio.Event()
                self.transport.write(step)
                await self._wait(self._has_room)
                self.connection.check()  # a request that gets no response must not be lost silently
            elif isinstance(step, Sent):
                await self._wait(step.arrival)
            else:
                await asyncio.sleep(step)

    async def _wait(self, event: asyncio.Event) -> None:
        timer = asyncio.get_running_loop().call_later(self._timeout, self._fail, self._timeout_message)
        try:
            await event.wait()
        finally:
            timer.cancel()

    def _fail(self, reason: str = "the connection is closed") -> None:
        self.connection.close(reason)
        for event in (self._has_room, *(each.arrival for each in self.connection.unanswered())):
            event.set()

    # asyncio calls `get_buffer` and the following methods.
    def buffer_updated(self, nbytes: int) -> None:
        """Process received bytes and wake tasks whose responses are complete. 0 bytes mean the end of the stream."""
        with suppress(UnusableConnectionError):
            for answer in self.connection.receive(self._buffer[:nbytes]):
                answer.request.arrival.set()
        if self.connection.error is not None:
            self._fail()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self.connection.close(f"the connection was lost: {reason_of(exc)}")
        self.buffer_updated(0)
        self._lost.set_result(None)

    def pause_writing(self) -> None:
        self._has_room.clear()

    def resume_writing(self) -> None:
        self._has_room.set()
