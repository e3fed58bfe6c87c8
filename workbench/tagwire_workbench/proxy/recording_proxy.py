"""A recording proxy without I/O: bytes from one side go in, and bytes for the other side come out.

Requests, and bytes that do not form frames, pass unchanged. Each response is paired with its request. A response that
advertises addresses is held back until it is complete, and then rewritten. The module `server` adds sockets.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final, NamedTuple

from tagwire.addresses import LOOPBACK, Address
from tagwire.errors import TagwireError
from tagwire.frames.frame_headers import names_request
from tagwire.frames.pairing import Pairing
from tagwire.frames.registry import Registry
from tagwire.frames.splitter import DEFAULT_MAX_SIZE
from tagwire_workbench.proxy.advertised import Advertised, Moved
from tagwire_workbench.proxy.capture_file import ProxyError, RecordedFrame
from tagwire_workbench.proxy.passing import PREFIX_SIZE, Begun, Budget, Bytes, Passing

_MOST_HELD: Final = 1 << 28
_PROBLEMS_KEPT: Final = 1_000
_START: Final = struct.Struct(">hh")
"""The layout of a request's first four bytes: API key and version."""
_MOST_WAITING: Final = 10_000
"""Maximum number of pending requests per connection. Clients have only a few at a time."""


class RecordingProxy:
    """Passes bytes between clients and servers, and calls `on_frame` with each frame.

    `server` is the server for clients that connect to the proxy's first address. The default registry is Kafka's.
    `on_close` is called when a connection has closed. `max_size` is the maximum number of bytes in a frame, and
    `max_held` in the incomplete frames of all connections together. Raises ProxyError for a package whose requests have
    no API key and version.
    """

    def __init__(
        self,
        server: Address | tuple[str, int],
        on_frame: Callable[[RecordedFrame], object],
        registry: Registry | None = None,
        *,
        on_close: Callable[[RecordedFrame], object] | None = None,
        on_problem: Callable[[str], object] | None = None,
        max_size: int = DEFAULT_MAX_SIZE,
        max_held: int = _MOST_HELD,
    ) -> None:
        if registry is None:
            from tagwire.frames.known_packages import kafka_messages

            registry = kafka_messages()
        if not names_request(registry.request_header):
            raise ProxyError(
                f"{registry!r}: a proxy can't identify requests, because some versions of RequestHeader do not "
                "begin with RequestApiKey and RequestApiVersion"
            )
        self.server = Address(*server)
        self.registry = registry
        self.max_size = max_size
        self.budget = Budget(max_held)
        self.advertised = Advertised(registry)
        self.record = on_frame
        self.record_close = on_close
        self.listeners: dict[Address, Address] = {}
        """The address at which the proxy listens for each server."""
        self.problems: list[str] = []
        """The first thousand problems: invalid frames, failed rewrites and unreachable servers."""
        self.problem_count = 0
        self._on_problem = on_problem
        self.connection_count = 0

    def connect(self, server: Address | None = None, moved: Moved | None = None) -> ProxyConnection:
        """Return a new connection. The caller opens its sockets, and passes the received bytes to the connection.

        `moved` maps an advertised address to the address that clients should use (default: no change).
        """
        self.connection_count += 1
        return ProxyConnection(self, self.connection_count, server or self.server, moved or (lambda *address: address))

    def note(self, problem: str) -> None:
        """Report a problem. After the first thousand, problems are only counted. May be called from any thread."""
        self.problem_count += 1
        if len(self.problems) >= _PROBLEMS_KEPT:
            return
        self.problems.append(problem)
        if self._on_problem is not None:
            self._on_problem(problem)
            if len(self.problems) == _PROBLEMS_KEPT:
                self._on_problem("further problems are counted, but not shown")

    def serving(
        self,
        host: str = LOOPBACK,
        port: int = 0,
        *,
        allow_remote: bool = False,
        on_listening: Callable[[Address, Address], object] | None = None,
    ) -> AbstractAsyncContextManager[Address]:
        """Listen in the running event loop: `async with proxy.serving() as address`.

        Port 0 means any free port. For every other advertised server, the proxy listens on another free port of the
        host, and calls `on_listening` with the new address and the server.

        Raises ProxyError if other machines can reach the host (unless `allow_remote` is set), if the address is not
        available, or if a server is the proxy itself.
        """
        from tagwire_workbench.proxy.server import serving

        return serving(self, host, port, allow_remote=allow_remote, on_listening=on_listening)

    def __repr__(self) -> str:
        return f"<recording proxy of {self.registry!r} for {self.server}>"


class _PassedRequest(NamedTuple):
    """The properties of a request that are needed when its response arrives."""

    api_key: int
    version: int
    correlation_id: int | None
    """The correlation ID, or None in protocols without correlation IDs."""
    client_id: str | None


class ProxyConnection:
    """A connection through a `RecordingProxy`, made by `RecordingProxy.connect`."""

    def __init__(self, proxy: RecordingProxy, number: int, server: Address, moved: Moved) -> None:
        self.number = number
        self.server = server
        self._proxy = proxy
        self._moved = moved
        self._pairing = Pairing[_PassedRequest](proxy.registry, limit=_MOST_WAITING)
        self._headers: dict[bytes, tuple[bytes, int, str | None]] = {}
        """Maps API key and version to the last header: its bytes after the correlation ID, its end, its client ID."""
        self._is_unpaired_noted = False
        passing = partial(Passing, max_size=proxy.max_size, budget=proxy.budget)
        request = Begun(is_held=False, ends=self._request)
        self._requests = passing(begins=lambda prefix: request, note=partial(self._note, "from the client"))
        self._responses = passing(begins=self._response_begins, note=partial(self._note, "from the server"))

    def receive_from_client(self, data: bytes) -> Iterator[Bytes]:
        """Process bytes from the client: yield the bytes to send to the server, and record the requests.

        Empty `data` means that the client sends no more bytes.
        """
        return self._requests.feed(data) if data else iter(self._requests.close())

    def receive_from_server(self, data: bytes) -> Iterator[Bytes]:
        """Process bytes from the server: yield the bytes to send to the client, and record the responses.

        Empty `data` means that the server sends no more bytes.
        """
        return self._responses.feed(data) if data else iter(self._responses.close())

    def close(self) -> None:
        if self._proxy.record_close is not None:
            closed = RecordedFrame(self.number, False, -1, -1, None, None, self.server, time.time(), b"", is_close=True)
            self._proxy.record_close(closed)

    def _request(self, frame: bytes, offset: int) -> bytes:
        if len(frame) < PREFIX_SIZE // 2:
            found = f"a frame of {len(frame)} bytes, too short for a request header"
            self._note("from the client", f"byte {offset}: expected a request, got {found}")
            return frame
        api_key, version = _START.unpack_from(frame)
        _, correlation_id = self._pairing.key(None, frame, is_request=True)
        request = _PassedRequest(api_key, version, correlation_id, self._client_id(frame))
        self._pairing.ask(None, frame, request)
        self._record(request, frame, is_request=True)
        return frame

    def _client_id(self, frame: bytes) -> str | None:
        """Return the client ID in a request's header, or None if the header can't be read.

        The last decoded header of each API is cached: headers usually differ only in their correlation IDs.
        """
        start, end, known = self._headers.get(frame[:4], (b"", 0, None))
        if end and frame[PREFIX_SIZE:end] == start:
            return known
        try:
            header, end = self._proxy.registry.decode_header(frame)
        except TagwireError:  # the API is unknown, or this isn't a request header
            return None
        found = getattr(header, "client_id", None)
        client_id = found if isinstance(found, str) else None
        if self._pairing.has_ids:
            self._headers[frame[:4]] = frame[PREFIX_SIZE:end], end, client_id
        return client_id

    def _response_begins(self, prefix: bytes) -> Begun:
        """Find a response's request. Hold the response back if it contains addresses to rewrite."""
        request = self._pairing.answer(None, prefix)
        if request is None:
            return Begun(is_held=False, ends=self._unpaired)
        if self._proxy.advertised.is_changed(request.api_key, request.version):
            return Begun(is_held=True, ends=partial(self._advertising, request))
        return Begun(is_held=False, ends=partial(self._response, request))

    def _unpaired(self, frame: bytes, offset: int) -> bytes:
        """Pass on a response whose request is unknown. Only the first one is reported."""
        if not (self._is_unpaired_noted or self._requests.is_lost):
            self._is_unpaired_noted = True
            self._note(
                "from the server",
                f"byte {offset}: received a response without a request; such responses are passed on, but not recorded",
            )
        return frame

    def _response(self, request: _PassedRequest, frame: bytes, offset: int) -> bytes:
        self._record(request, frame, is_request=False)
        return frame

    def _advertising(self, request: _PassedRequest, frame: bytes, offset: int) -> bytes:
        """Record a response, and return it with the servers' addresses replaced by the proxy's."""
        self._record(request, frame, is_request=False)
        try:
            return self._proxy.advertised.changed(frame, request.api_key, request.version, self._moved)
        except TagwireError as error:
            self._note(
                "from the server",
                f"byte {offset}: the response to API {request.api_key} v{request.version} is passed on, but its "
                f"addresses can't be replaced: {error}",
            )
            return frame

    def _record(self, request: _PassedRequest, frame: bytes, *, is_request: bool) -> None:
        self._proxy.record(
            RecordedFrame(
                connection=self.number,
                is_request=is_request,
                api_key=request.api_key,
                version=request.version,
                correlation_id=request.correlation_id,
                client_id=request.client_id,
                server=self.server,
                time=time.time(),
                data=frame,
            )
        )

    def _note(self, side: str, text: str) -> None:
        self._proxy.note(f"connection {self.number}, {side}: {text}")
