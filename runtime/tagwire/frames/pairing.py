"""Pair responses with requests.

Clients reuse correlation IDs: on every new connection, after a new login, and when the counter wraps around. Requests
with the same ID on one connection are answered in the order in which they were sent. So there is one
queue of pending requests for each connection and correlation ID, or for each connection if there are no such IDs.
Captures also reuse the names of connections, because clients reuse ports.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from tagwire.errors import TagwireError
from tagwire.frames.frame_headers import begins_with
from tagwire.frames.negotiation import check_registry
from tagwire.sensitive import hides

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from tagwire.frames.frame_selection import RequestSelection
    from tagwire.frames.registry import Registry

SILENT: Final = (("ProduceRequest", "acks", 0),)
"""Requests that a broker doesn't answer if a field has a certain value, as (message, field, value)."""

_START: Final = 8
SASL_TOKEN: Final = "a SASL token without a header, perhaps a password; on the command line, --show-sensitive shows it"

T = TypeVar("T")
_Connection = tuple["Hashable", int]
_Key = tuple[_Connection, int | None]


class Pairing(Generic[T]):
    """Keeps requests until their responses arrive. Callers may use any object to represent a request."""

    def __init__(self, registry: Registry, *, limit: int | None = None) -> None:
        check_registry(registry)
        self.has_ids = has_leading_ids(registry)
        self._silent = dict(_silent_requests(registry))
        self._limit = limit
        self._waiting: dict[_Key, deque[T]] = {}
        self._count = 0
        self._closed: dict[Hashable, int] = {}
        """How many connections of each name were closed."""
        self._unordered: set[_Connection] = set()
        """Connections without correlation IDs where bytes are missing, so responses can't be paired by order."""

    def __len__(self) -> int:
        return self._count

    def _current(self, connection: Hashable) -> _Connection:
        return connection, self._closed.get(connection, 0)

    def key(self, connection: Hashable, frame: bytes, *, is_request: bool) -> _Key:
        """Return the connection and correlation ID, which are the same for a request and its response.

        The connection is its name, and the number of closed connections that had the same name. The ID is None if the
        protocol has no correlation IDs, or if the frame ends before its ID.
        """
        at = 4 if is_request else 0
        has_id = self.has_ids and len(frame) >= at + 4
        return self._current(connection), int.from_bytes(frame[at : at + 4], "big", signed=True) if has_id else None

    def is_silent(self, frame: bytes) -> bool:
        """Return whether a request gets no response. Returns False if the request can't be read."""
        silent = self._silent.get(int.from_bytes(frame[:2], "big", signed=True))
        if silent is None:
            return False
        selection, value = silent
        try:
            return selection.read(frame) == [value]
        except TagwireError:
            return False

    def ask(self, connection: Hashable, frame: bytes, request: T) -> bool:
        """Add a request to the waiting requests, unless it gets no response. Return whether it was added."""
        if self.is_silent(frame):
            return False
        self.wait(connection, frame, request)
        return True

    def wait(self, connection: Hashable, start: bytes, request: T) -> None:
        """Add a request that waits for its response. `start` has the first eight or more bytes of the request frame."""
        if self._current(connection) not in self._unordered:
            self._waiting.setdefault(self.key(connection, start, is_request=True), deque()).append(request)
            self._count += 1
            if self._limit is not None and self._count > self._limit:
                self._forget(next(iter(self._waiting)))

    def answer(self, connection: Hashable, start: bytes, fits: Callable[[T], bool] | None = None) -> T | None:
        """Remove and return the waiting request that a response answers, or None if there is none.

        `start` contains the first bytes of the response. Requests for which `fits` returns false keep waiting.
        """
        key = self.key(connection, start, is_request=False)
        same = self._waiting.get(key)
        if same is None or (self.has_ids and key[1] is None):
            return None
        at = 0 if fits is None else next((at for at, each in enumerate(same) if fits(each)), None)
        if at is None:
            return None
        found = same[at]
        del same[at]
        self._count -= 1
        if not same:
            del self._waiting[key]
        return found

    def candidates(self, connection: Hashable, start: bytes) -> tuple[T, ...]:
        """Return all waiting requests with the correlation ID of the response that begins with `start`."""
        return tuple(self._waiting.get(self.key(connection, start, is_request=False), ()))

    def miss(self, connection: Hashable) -> list[T]:
        """Remove and return the requests whose responses can't be identified after a gap in the connection's bytes."""
        current = self._current(connection)
        lost = [key for key in self._waiting if key[0] == current and (not self.has_ids or len(self._waiting[key]) > 1)]
        if not self.has_ids:
            self._unordered.add(current)
        return [request for key in lost for request in self._forget(key)]

    def close(self, connection: Hashable) -> None:
        """Note that a connection was closed: its waiting requests get no response, even if its name is used again."""
        self._closed[connection] = self._closed.get(connection, 0) + 1

    def rest(self) -> Iterator[T]:
        return (request for same in self._waiting.values() for request in same)

    def _forget(self, key: _Key) -> deque[T]:
        forgotten = self._waiting.pop(key)
        self._count -= len(forgotten)
        if not self.has_ids:
            self._unordered.add(key[0])
        return forgotten


class SaslTokens:
    """Finds SASL tokens, the frames after SaslHandshakeRequest v0, unless sensitive values are shown."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._handshake = registry["SaslHandshakeRequest"] if "SaslHandshakeRequest" in registry and hides() else None
        self._connections: set[Hashable] = set()

    def close(self, connection: Hashable) -> None:
        self._connections.discard(connection)

    def has(self, connection: Hashable, frame: bytes, *, is_request: bool, is_paired: bool = False) -> bool:
        """Return whether a frame is a token. Call this for each frame of a connection, in order.

        The first eight bytes of a frame are enough. `is_paired` is true for a response whose request is known.
        """
        is_login = connection in self._connections
        if self._handshake is None or not is_request:
            return is_login and not is_paired
        try:
            message, version = self._registry.request_class(frame)
            if is_login and len(frame) > _START:
                self._registry.decode_request(frame)
        except TagwireError:
            return is_login
        if is_login and version not in message.VERSIONS:
            return True
        if (message, version) == (self._handshake, 0):
            self._connections.add(connection)
        else:  # a readable request ends the login
            self.close(connection)
        return False


def _silent_requests(registry: Registry) -> Iterator[tuple[int, tuple[RequestSelection, object]]]:
    for name, path, value in SILENT:
        key = registry[name].API_KEY if name in registry else None
        if key is not None and "RequestHeader" in registry and any(row.name == path for row in registry[name].FIELDS):
            yield key, (registry.select_request(name, path), value)


def has_leading_ids(registry: Registry) -> bool:
    """Return whether correlation IDs have fixed positions in all versions: byte 4 of requests, byte 0 of responses."""
    names = ("RequestHeader", "ResponseHeader")
    id = ("correlation_id", "int32")
    return any(name not in registry for name in names) or (
        begins_with(registry.request_header, ("", "int16"), ("", "int16"), id)
        and begins_with(registry.response_header, id)
    )
