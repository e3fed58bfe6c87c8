"""The steps of a capture: requests are sent, and responses awaited, in recorded order.

So requests keep their order across connections: a response that a server sends only after another client's request is
not awaited too early.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tagwire.captures import CapturedFrame, CaptureError
from tagwire.frames.pairing import Pairing

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry


class Step(NamedTuple):
    """A line of a capture."""

    line: int
    connection: str
    """Identifies the connection: run and number."""
    is_request: bool
    key: int | None
    """The correlation id of a response; None in protocols that match responses by order."""
    api_key: int
    version: int
    data: bytes
    time: float | None
    """Time in seconds; None if the line has none."""
    request: bytes = b""
    """The recorded request of a response."""
    is_close: bool = False
    """Whether the connection closed here."""


def steps(registry: "Registry", frames: Iterable[CapturedFrame], name: str) -> Iterator[Step]:
    """Yield the steps of a capture, without responses whose request is missing. Raises CaptureError."""
    pairing = Pairing[bytes](registry)
    for frame in frames:
        if frame.is_close:
            yield Step(frame.number, frame.connection, False, None, -1, -1, b"", frame.time, is_close=True)
            continue
        start = 4 if frame.is_request else 0
        if frame.api is None:
            raise CaptureError(f"{name}: line {frame.number} can't be played: it has no api_key or no api_version")
        if pairing.has_ids and len(frame.data) < start + 4:
            raise CaptureError(f"{name}: line {frame.number} can't be played: its frame ends before its correlation ID")
        connection, key = pairing.key(frame.connection, frame.data, is_request=frame.is_request)
        request = b"" if frame.is_request else pairing.answer(connection, frame.data)
        if request is None:
            continue
        if frame.is_request:
            pairing.ask(connection, frame.data, frame.data)
        yield Step(frame.number, frame.connection, frame.is_request, key, *frame.api, frame.data, frame.time, request)
