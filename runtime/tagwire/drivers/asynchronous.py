"""A connection in an asyncio event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from tagwire.connection import Answer, Connection
from tagwire.drivers.asking import PeerConnectionError, address_of, check_handshake, is_tried_again, pauses, unreachable
from tagwire.errors import TagwireError

if TYPE_CHECKING:
    from ssl import SSLContext

    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message

__all__ = ["AsyncPeer", "connect_async"]

_READ_SIZE: Final = 1 << 16


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
    connection = Connection(registry, client_id, **options)
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port, ssl=ssl), timeout)
    except OSError as error:  # TimeoutError is one
        raise unreachable(host, port, error) from None
    peer = AsyncPeer(reader, writer, connection, timeout)
    try:
        await peer.learn_versions()
        yield peer
    finally:
        await peer.close()


class AsyncPeer:
    """A connection to a peer. Tasks may use it at the same time: their requests are sent as they come."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection, timeout: float
    ) -> None:
        self.connection = connection
        self._timeout = timeout
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        """By the `id` of the request, which its connection keeps until the answer comes."""
        self._failure: TagwireError | None = None
        self._reading = asyncio.ensure_future(self._read(reader))

    async def learn_versions(self) -> None:
        """Ask for the peer's versions, if the protocol can and they are unknown. `connect_async` has done it."""
        tries = 0
        while (data := self.connection.handshake()) is not None:
            tries += 1
            check_handshake(self.connection, await self._exchange(data), tries)

    async def ask(
        self, request: Message, version: int | None = None, *, check: bool = False, retry: float = 0.0
    ) -> Any:
        """Send a request and return the response; see `Peer.ask`. If the task is cancelled, its answer is dropped."""
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
        """Close the connection. Requests that still wait raise PeerConnectionError."""
        self._fail(PeerConnectionError("the connection is closed; connect again"))
        self._reading.cancel()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _ask(self, request: Message, version: int | None) -> Any:
        if self._failure is not None:
            raise self._failure
        data = self.connection.send(request, version)
        if self.connection.waits:
            return (await self._exchange(data)).message
        self._writer.write(data)
        await self._writer.drain()
        return None

    async def _exchange(self, data: bytes) -> Answer:
        key = id(self.connection.sent)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[key] = future
        self._writer.write(data)
        try:
            async with asyncio.timeout(self._timeout):
                await self._writer.drain()
                return await future
        except TimeoutError:
            self._fail(PeerConnectionError(f"no answer came within {self._timeout:g} s; connect again"))
        except OSError as error:
            self._fail(PeerConnectionError(f"the connection was lost: {error.strerror or error}; connect again"))
        finally:
            self._waiting.pop(key, None)
        assert self._failure is not None
        raise self._failure

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while data := await reader.read(_READ_SIZE):
                for answer in self.connection.receive(data):
                    future = self._waiting.get(id(answer.request))
                    if future is not None and not future.done():
                        future.set_result(answer)
                if self.connection.error is not None:
                    raise self.connection.error
            self.connection.receive(b"")
            raise PeerConnectionError("the peer closed the connection; connect again")
        except OSError as error:
            self._fail(PeerConnectionError(f"the connection was lost: {error.strerror or error}; connect again"))
        except TagwireError as error:
            self._fail(error)

    def _fail(self, error: TagwireError) -> None:
        self._failure = self._failure or error
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._failure)
                future.exception()  # nobody may await it
