"""Replay a capture: send its recorded requests to a server, and receive the responses.

Responses are read continuously, so that the server never blocks. Responses without a recorded counterpart are dropped.
"""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from tagwire.addresses import Address
from tagwire.blocking_connection import reason_of
from tagwire.captures import CapturedFrame, CaptureError
from tagwire.connection import pauses
from tagwire.errors import TagwireError
from tagwire.frames.pairing import Pairing
from tagwire.frames.registry import Registry
from tagwire.frames.splitter import FrameSplitter

# Requests keep their recorded order across connections. Otherwise, the player could wait forever for a response that
# the server sends only after another client's request.


class RecordedEvent(NamedTuple):
    """A request, a response or the end of a connection in a capture."""

    line: int
    connection: str
    """The connection: the values of `run` (the recording) and `conn` in the capture."""
    is_request: bool
    key: int | None
    """The correlation ID of a response, or None in protocols that match responses by order."""
    api_key: int
    version: int
    data: bytes
    time: float | None
    """Time in seconds, or None if the capture doesn't say when the event happened."""
    request: bytes = b""
    """The recorded request of this response."""
    is_close: bool = False
    """Whether the connection closed here."""
    unit: str = "line"
    """The unit in which `line` counts. It is "line" or, in a network capture, "frame"."""

    @property
    def position(self) -> str:
        return f"{self.unit} {self.line}"


def steps(
    registry: Registry, frames: Iterable[CapturedFrame], name: str, left_out: Callable[[CapturedFrame], object]
) -> Iterator[RecordedEvent]:
    """Yield the recorded frames and closed connections of a capture, as the steps to replay.

    Gaps in a network capture, and responses without a recorded request, are passed to `left_out` instead. Raises
    CaptureError for a frame that is too short to have a correlation ID.
    """
    pairing = Pairing[bytes](registry)
    for frame in frames:
        if frame.is_close:
            pairing.close(frame.connection)
            yield RecordedEvent(frame.number, frame.connection, False, None, -1, -1, b"", frame.time, is_close=True)
            continue
        if frame.gap or (frame.api is None and not frame.is_request):
            left_out(frame)
            continue
        start = 4 if frame.is_request else 0
        if frame.api is None or (pairing.has_ids and len(frame.data) < start + 4):
            raise CaptureError(f"{name}: {frame.position} can't be replayed: the frame ends before its correlation ID")
        _, key = pairing.key(frame.connection, frame.data, is_request=frame.is_request)
        request = b"" if frame.is_request else pairing.answer(frame.connection, frame.data)
        if request is None:
            left_out(frame)
            continue
        if frame.is_request:
            pairing.ask(frame.connection, frame.data, frame.data)
        facts = (frame.number, frame.connection, frame.is_request, key, *frame.api, frame.data, frame.time, request)
        yield RecordedEvent(*facts, unit=frame.unit)


_READ_SIZE: Final = 1 << 16


class UnreachableServerError(TagwireError):
    """Raised if a connection to the server can't be opened."""


class ReplayedAnswer(NamedTuple):
    """The outcome for one recorded response: the response that the server sent now, or why there is none."""

    step: RecordedEvent
    data: bytes | None
    """The received frame, or None if there was none."""
    reason: str = ""
    """Why no frame was received."""


async def play(
    steps: Sequence[RecordedEvent],
    server: Address,
    timeout: float,
    sent: Callable[[bytes], bytes] = bytes,
    *,
    is_paced: bool = False,
    retry: float = 0.0,
    is_retriable: Callable[[RecordedEvent, bytes], bool] = lambda step, answer: False,
) -> AsyncGenerator[ReplayedAnswer]:
    """Send the requests of a capture, and yield an answer for each recorded response.

    `sent` returns the bytes to send for a recorded request. With `is_paced`, requests are never sent earlier than
    recorded, relative to the start. A request is repeated while `is_retriable` is true for its answer, for at most
    `retry` seconds. Raises UnreachableServerError if a connection can't be opened.
    """
    awaited: dict[str, Counter[int | None]] = defaultdict(Counter)
    for step in steps:
        if not step.is_close:
            awaited[step.connection][step.key] += not step.is_request
    connections: dict[str, _Connection] = {}
    waiting = _pace(steps) if is_paced else None
    try:
        for step in steps:
            if step.is_close:
                if step.connection in connections:
                    await connections.pop(step.connection).close()
                continue
            if step.connection not in connections:
                opened = await _opened(server, timeout)
                connections[step.connection] = _Connection(*opened, awaited[step.connection], timeout)
            connection = connections[step.connection]
            if step.is_request:
                if waiting is not None:
                    await asyncio.sleep(waiting(step))
                await connection.send(sent(step.data))
            else:
                answer = await connection.answer(step)
                for pause in pauses(retry if connection.has_ids else 0.0):
                    if not pause or answer.data is None or not is_retriable(step, answer.data):
                        break
                    await asyncio.sleep(pause)
                    await connection.send(sent(step.request), again=True)
                    answer = await connection.answer(step)
                yield answer
    finally:
        for connection in connections.values():
            await connection.close()


async def _opened(server: Address, timeout: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        return await asyncio.wait_for(asyncio.open_connection(*server), timeout)
    except TimeoutError:
        why = f"no connection within {timeout:g} s"
    except OSError as error:
        why = reason_of(error)
    raise UnreachableServerError(f"{server}: the server can't be reached: {why}; start it, or name another with --to")


def _pace(steps: Sequence[RecordedEvent]) -> Callable[[RecordedEvent], float]:
    """Return a function that computes how many seconds to wait before a step."""
    first = next((step.time for step in steps if step.time is not None), 0.0)
    start = time.monotonic()
    return lambda step: 0.0 if step.time is None else max(step.time - first - (time.monotonic() - start), 0.0)


class _Connection:
    """A connection to the server. Nothing more is sent after a failure."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        awaited: Counter[int | None],
        timeout: float,
    ) -> None:
        self._writer = writer
        self._awaited = awaited
        self._timeout = timeout
        self._failure = ""
        self._answers: dict[int | None, deque[bytes]] = defaultdict(deque)
        self._changed = asyncio.Event()
        self._reading = asyncio.ensure_future(self._read(reader))

    @property
    def has_ids(self) -> bool:
        """Whether responses can be matched to requests by correlation ID."""
        return None not in self._awaited

    async def send(self, frame: bytes, *, again: bool = False) -> None:
        """Send a request. Errors are reported by `answer`."""
        if self._failure:
            return
        if again:
            self._awaited[int.from_bytes(frame[4:8], "big", signed=True)] += 1
        self._writer.write(len(frame).to_bytes(4, "big") + frame)
        try:
            await asyncio.wait_for(self._writer.drain(), self._timeout)
        except TimeoutError:
            self._fail(f"the server accepted no bytes for {self._timeout:g} s")
        except OSError as error:
            self._fail(f"the connection was lost: {reason_of(error)}")

    async def answer(self, step: RecordedEvent) -> ReplayedAnswer:
        """Wait for the server's response. If no response arrives in time, give up the connection."""
        found = self._answers[step.key]
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout):
                while not found and not self._failure:
                    self._changed.clear()
                    await self._changed.wait()
        if found:
            return ReplayedAnswer(step, found.popleft())
        self._fail(f"no response within {self._timeout:g} s")
        return ReplayedAnswer(step, None, self._failure)

    async def close(self) -> None:
        """Send all bytes that are still queued, and close the connection. Wait until it is closed."""
        if not self._failure:
            self._writer.close()
            with suppress(OSError):  # includes TimeoutError
                await asyncio.wait_for(self._writer.wait_closed(), self._timeout)
        self._reading.cancel()
        self._writer.transport.abort()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        splitter = FrameSplitter()
        try:
            while data := await reader.read(_READ_SIZE):
                splitter.feed(data)
                for frame in splitter:
                    self._take(frame)
            self._fail("the server closed the connection")
        except OSError as error:
            self._fail(f"the connection was lost: {reason_of(error)}")
        except TagwireError as error:
            self._fail(f"the server sent bytes that are not a frame: {error}")

    def _take(self, frame: bytes) -> None:
        number = None if not self.has_ids else int.from_bytes(frame[:4], "big", signed=True)
        if self._awaited[number] > 0:
            self._awaited[number] -= 1
            self._answers[number].append(frame)
            self._changed.set()

    def _fail(self, why: str) -> None:
        self._failure = self._failure or why
        self._changed.set()
