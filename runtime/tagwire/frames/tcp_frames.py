"""Find the frames in one direction of a TCP connection, even if some of the bytes were not captured.

As long as no bytes are missing, each frame's size leads to the next frame. This still works if all missing bytes belong
to a single frame whose size is known. After any other gap, the module searches for a size and a plausible header. The
frame found in this way must be followed by another such header or by the end of a segment. Skipped bytes are reported
as `LostBytes`.

The search reads each byte once, and never keeps more bytes in memory than the size of the largest frame.
"""

import re
from collections import Counter
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.frames.splitter import DEFAULT_MAX_SIZE, FrameSplitter

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

_SIZE: Final = 4
_APIS: Final = 1 << 10
_VERSIONS: Final = 1 << 6
"""If there is no registry, a header is plausible only if its API key and version are below these numbers."""


class LostBytes(NamedTuple):
    """Bytes in one direction of a connection that were not captured, or that aren't part of a complete frame."""

    missing: int
    """The number of bytes that are missing from the capture."""
    skipped: int
    """The number of captured bytes that were skipped to get to the next whole frame."""
    reason: str


class RequestHeaders:
    """Recognizes the start of a request: a size, then an API key and version that the registry has.

    `waiting` counts, for each correlation ID, the requests that still wait for a response. It is shared with the
    connection's `ResponseHeaders`.
    """

    width: Final = 12
    pattern: Final = re.compile(rb"(?=[\x00-\x06][\s\S]{3}[\x00-\x7f][\s\S]\x00[\s\S]{5})")

    def __init__(self, waiting: Counter[int], registry: "Registry | None") -> None:
        self._waiting = waiting
        self._registry = registry

    @property
    def is_sure(self) -> bool:
        """Whether matches are almost certainly requests. True if a registry tells which API keys and versions exist."""
        return self._registry is not None

    def holds(self, data: bytes | bytearray, at: int) -> bool:
        """Return whether the bytes at position `at` of `data` can be the start of a request."""
        if not self.width - _SIZE <= _int32(data, at) <= DEFAULT_MAX_SIZE:
            return False
        key = int.from_bytes(data[at + 4 : at + 6], "big", signed=True)
        version = int.from_bytes(data[at + 6 : at + 8], "big", signed=True)
        if self._registry is None:
            return 0 <= key < _APIS and 0 <= version < _VERSIONS
        try:
            return version in self._registry.request(key).VERSIONS
        except LookupError:  # the registry has no request with this API key
            return False

    def follows(self, data: bytes | bytearray, at: int, next_at: int) -> bool:
        """Return whether a request can begin at `next_at`, where the request at `at` ends."""
        return self.holds(data, next_at)

    def take(self, frame: bytes) -> None:
        """Count a request as waiting for a response with its correlation ID."""
        if len(frame) >= 8:
            self._waiting[_int32(frame, 4)] += 1


class ResponseHeaders:
    """Recognizes the start of a response: a size, then the correlation ID of a request that has not been answered yet.

    If the connection's requests were not captured, successive responses must have ascending correlation IDs instead.
    """

    width: Final = 8
    pattern: Final = re.compile(rb"(?=[\x00-\x06][\s\S]{3}[\x00-\x7f][\s\S]{3})")

    def __init__(self, waiting: Counter[int]) -> None:
        self._waiting = waiting

    @property
    def is_sure(self) -> bool:
        """Whether matches are almost certainly responses. True while requests are waiting for a response."""
        return bool(self._waiting)

    def holds(self, data: bytes | bytearray, at: int) -> bool:
        if not self.width - _SIZE <= _int32(data, at) <= DEFAULT_MAX_SIZE:
            return False
        number = _int32(data, at + _SIZE)
        return number in self._waiting if self._waiting else number >= 0

    def follows(self, data: bytes | bytearray, at: int, next_at: int) -> bool:
        first, second = _int32(data, at + _SIZE), _int32(data, next_at + _SIZE)
        if not self.holds(data, next_at):
            return False
        return second != first or self._waiting[first] > 1 if self._waiting else 0 < second - first < _APIS

    def take(self, frame: bytes) -> None:
        number = _int32(frame, 0)
        self._waiting[number] -= 1
        if self._waiting[number] <= 0:
            del self._waiting[number]


FrameHeaders = RequestHeaders | ResponseHeaders


class _Search:
    """Searches the bytes after a gap for the start of a frame.

    A possible frame is confirmed if another header, or the end of the data, directly follows it.
    """

    def __init__(self, headers: FrameHeaders) -> None:
        self.data = bytearray()
        self.dropped = 0
        """The number of dropped bytes before `data`; no frame begins in them."""
        self._headers = headers
        self._checked = 0
        self._waiting: list[tuple[int, int]] = []
        """A heap of possible frames that can't be confirmed yet, each as (end, start)."""
        self._trimmed = 1 << 20

    def feed(self, data: bytes | bytearray) -> int | None:
        """Add bytes. Return the position in `self.data` of the first confirmed frame, or None if there is none yet."""
        self.data += data
        found = min((at for end, at in self._decidable() if self._is_frame(at, end)), default=None)
        return self._new() if found is None else found

    def close(self) -> int | None:
        """End the search. Return the position of the first complete, unconfirmed frame, or None."""
        return min((at for end, at in self._waiting if end <= len(self.data)), default=None)

    def _decidable(self) -> Iterator[tuple[int, int]]:
        later = []
        while self._waiting and self._waiting[0][0] <= len(self.data):
            end, at = heappop(self._waiting)
            if self._is_decidable(end):
                yield end, at
            else:
                later.append((end, at))
        for each in later:
            heappush(self._waiting, each)

    def _is_decidable(self, end: int) -> bool:
        return end == len(self.data) or end + self._headers.width <= len(self.data)

    def _is_frame(self, at: int, end: int) -> bool:
        return end == len(self.data) or self._headers.follows(self.data, at, end)

    def _new(self) -> int | None:
        last = len(self.data) - self._headers.width
        for match in self._headers.pattern.finditer(self.data, self._checked):
            at = match.start()
            if not self._headers.holds(self.data, at):
                continue
            end = at + _SIZE + _int32(self.data, at)
            if not self._is_decidable(end):
                heappush(self._waiting, (end, at))
            elif self._is_frame(at, end):
                return at
        self._checked = max(self._checked, last + 1)
        self._trim()
        return None

    def _trim(self) -> None:
        """Drop the bytes before the first possible frame.

        Dropping bytes is slow, so wait until the data has doubled in size.
        """
        if self._waiting and len(self.data) < self._trimmed:
            return
        first = min((at for _, at in self._waiting), default=self._checked)
        del self.data[:first]
        self.dropped += first
        self._checked -= first
        # The same number is subtracted from all entries, so the list is still a heap.
        self._waiting = [(end - first, at - first) for end, at in self._waiting]
        self._trimmed = max(2 * len(self.data), 1 << 20)


class DirectionFrames:
    """Splits the bytes of one direction of a connection into frames, and reports the bytes lost between them.

    Takes bytes in stream order (`feed`), and the sizes of gaps (`miss`).
    """

    def __init__(self, headers: FrameHeaders, *, is_start: bool) -> None:
        """`is_start` is true if the capture includes the connection's first byte, where a frame begins."""
        self._headers = headers
        self._splitter = FrameSplitter()
        self._is_start = is_start
        self._search: _Search | None = None
        self._skip: int | None = None
        """The number of bytes that remain to the end of a frame damaged by a gap."""
        self._missing = self._skipped = 0
        self._reason = ""

    def feed(self, data: bytes) -> Iterator[bytes | LostBytes]:
        """Add bytes. Yield the frames that they complete, and any lost bytes before them."""
        if not self._is_start:
            self._is_start = True
            if len(data) < self._headers.width or not (self._headers.is_sure and self._headers.holds(data, 0)):
                self._begin_search("the capture begins within a frame")
        if self._skip is not None:
            damaged = data[: self._skip]
            self._skipped += len(damaged)
            self._skip -= len(damaged)
            if self._skip:
                return
            self._skip = None
            data = data[len(damaged) :]
            yield from self._loss()
        yield from self._feed(data)

    def miss(self, count: int) -> Iterator[bytes | LostBytes]:
        """Record a gap of `count` bytes, after yielding the complete frames before it."""
        yield from self._settle()
        self._missing += count
        self._reason = self._reason or "packets are missing from the capture"
        if self._search is not None:
            self._restart(self._search)
            return
        if self._skip is None and self._splitter.pending >= _SIZE:
            self._skip = _SIZE + _int32(self._splitter.rest(), 0) - self._splitter.pending
        self._skipped += self._splitter.pending
        self._splitter = FrameSplitter()
        if self._skip is not None and count <= self._skip:
            self._skip -= count
        else:
            self._skip = None
            self._begin_search(self._reason)

    def close(self) -> Iterator[bytes | LostBytes]:
        yield from self._settle()
        if self._search is not None:
            self._restart(self._search)
        elif self._splitter.pending:
            self._skipped += self._splitter.pending
            self._reason = self._reason or "the capture ends within a frame"
        yield from self._loss()

    def _feed(self, data: bytes | bytearray) -> Iterator[bytes | LostBytes]:
        while data:
            if self._search is not None:
                at = self._search.feed(data)
                if at is None:
                    return
                data = self._found(self._search, at)
                yield from self._loss()
            self._splitter.feed(data)
            data = b""
            try:
                for frame in self._splitter:
                    self._headers.take(frame)
                    yield frame
            except DecodeError as error:  # invalid size: search again, starting at the next byte
                data = self._splitter.rest()[1:]
                self._skipped += 1
                self._splitter = FrameSplitter()
                self._begin_search(f"found {error.found} of a frame, expected {error.expected}")

    def _settle(self) -> Iterator[bytes | LostBytes]:
        """Yield the complete frames before a gap or the end of the data."""
        while self._search is not None and (at := self._search.close()) is not None:
            data = self._found(self._search, at)
            yield from self._loss()
            yield from self._feed(data)

    def _begin_search(self, reason: str) -> None:
        self._search = _Search(self._headers)
        self._reason = reason

    def _restart(self, search: _Search) -> None:
        """Start a new search after a gap. The searched bytes contained no complete frame, so count them as skipped."""
        self._skipped += search.dropped + len(search.data)
        self._search = _Search(self._headers)

    def _found(self, search: _Search, at: int) -> bytearray:
        """End the search, because a frame begins at position `at`. Return the bytes from this position on."""
        self._skipped += search.dropped + at
        self._search = None
        return search.data[at:]

    def _loss(self) -> Iterator[LostBytes]:
        if self._missing or self._skipped:
            yield LostBytes(self._missing, self._skipped, self._reason)
        self._missing = self._skipped = 0
        self._reason = ""


def _int32(data: bytes | bytearray, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big", signed=True)
