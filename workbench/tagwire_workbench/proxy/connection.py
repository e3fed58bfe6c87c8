"""A connection through a proxy, without I/O: bytes from one side go in, and bytes for the other side come out.

Requests, and bytes that do not form frames, pass unchanged. Each response is paired with its request. A response that
advertises addresses is held back until it is complete, and then rewritten.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.frames.pairing import Pairing
from tagwire_workbench.proxy.passing import PREFIX_SIZE, Begun, Bytes, Passing
from tagwire_workbench.proxy.recorded import RecordedFrame

if TYPE_CHECKING:
    from tagwire.addresses import Address
    from tagwire_workbench.proxy.advertised import Moved
    from tagwire_workbench.proxy.recording_proxy import RecordingProxy

_START: Final = struct.Struct(">hh")
"""The layout of a request's first four bytes: API key and version."""
_MOST_WAITING: Final = 10_000
"""Maximum number of pending requests per connection. Clients have only a few at a time."""


class PassedRequest(NamedTuple):
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
        self._pairing = Pairing[PassedRequest](proxy.registry, limit=_MOST_WAITING)
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
        request = PassedRequest(api_key, version, correlation_id, self._client_id(frame))
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

    def _response(self, request: PassedRequest, frame: bytes, offset: int) -> bytes:
        self._record(request, frame, is_request=False)
        return frame

    def _advertising(self, request: PassedRequest, frame: bytes, offset: int) -> bytes:
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

    def _record(self, request: PassedRequest, frame: bytes, *, is_request: bool) -> None:
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
