"""One connection through a proxy, without any I/O: bytes of either side go in, and bytes for the other side come out.

Requests pass on untouched. Responses are paired with them, and those that advertise addresses
are held until they are whole and rewritten. What is no frame passes on untouched as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tagwire.errors import TagwireError
from tagwire_workbench.proxy.pairing import Asked, Pairing
from tagwire_workbench.proxy.passing import HEAD, Begun, Bytes, Passing
from tagwire_workbench.proxy.recorded import RecordedFrame

if TYPE_CHECKING:
    from tagwire.testing.addresses import Address
    from tagwire_workbench.proxy.advertised import Moved
    from tagwire_workbench.proxy.recording_proxy import RecordingProxy

__all__ = ["ProxyConnection"]


class ProxyConnection:
    """A connection of a `RecordingProxy`. Made by `RecordingProxy.connect`."""

    def __init__(self, proxy: RecordingProxy, number: int, server: Address, moved: Moved) -> None:
        self.number = number
        self.server = server
        self._proxy = proxy
        self._moved = moved
        self._pairing = Pairing(by_id=proxy.has_leading_ids)
        self._is_unpaired_noted = False
        passing = partial(Passing, max_size=proxy.max_size, budget=proxy.budget)
        request = Begun(is_held=False, ends=self._request)
        self._requests = passing(begins=lambda head: request, note=partial(self._note, "from the client"))
        self._responses = passing(begins=self._response_begins, note=partial(self._note, "from the server"))

    def receive_from_client(self, data: bytes) -> Iterator[Bytes]:
        """Take some bytes of the client; empty bytes say that it sends no more. Yields the bytes for the server,
        and records frames when these have been sent."""
        yield from self._requests.feed(data) if data else self._requests.close()

    def receive_from_server(self, data: bytes) -> Iterator[Bytes]:
        """The same for the server. Yields the bytes for the client."""
        yield from self._responses.feed(data) if data else self._responses.close()

    def _request(self, frame: bytes, offset: int) -> bytes:
        """Note and record a request."""
        proxy = self._proxy
        if len(frame) < HEAD // 2:
            self._note("from the client", f"byte {offset}: {len(frame)} bytes are no request")
            return frame
        api_key, version = (int.from_bytes(frame[at : at + 2], "big", signed=True) for at in (0, 2))
        correlation_id = None
        if proxy.has_leading_ids and len(frame) >= HEAD:
            correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
        try:
            header, _ = proxy.registry.decode_header(frame)
            client_id = getattr(header, "client_id", None)
        except TagwireError:  # of an API that the package lacks, or no header: it is recorded as it is
            client_id = None
        asked = Asked(api_key, version, correlation_id, client_id if isinstance(client_id, str) else None)
        if not proxy.is_silent(frame, api_key):
            self._pairing.ask(asked)
        self._record(asked, frame, is_request=True)
        return frame

    def _response_begins(self, head: bytes) -> Begun:
        """Find the request of a response. The response is held if addresses in it change."""
        asked = self._pairing.answer(head)
        if asked is None:
            return Begun(is_held=False, ends=self._unpaired)
        if self._proxy.advertised.is_changed(asked.api_key, asked.version):
            return Begun(is_held=True, ends=partial(self._advertising, asked))
        return Begun(is_held=False, ends=partial(self._response, asked))

    def _unpaired(self, frame: bytes, offset: int) -> bytes:
        """Note the first response to no request."""
        if not (self._is_unpaired_noted or self._requests.is_lost):
            self._is_unpaired_noted = True
            self._note(
                "from the server",
                f"byte {offset}: a response to no request; such responses are passed on, and not recorded",
            )
        return frame

    def _response(self, asked: Asked, frame: bytes, offset: int) -> bytes:
        """Record a response."""
        self._record(asked, frame, is_request=False)
        return frame

    def _advertising(self, asked: Asked, frame: bytes, offset: int) -> bytes:
        """Record a response; returns it with the addresses that clients get."""
        self._record(asked, frame, is_request=False)
        try:
            return self._proxy.advertised.changed(frame, asked.api_key, asked.version, self._moved)
        except TagwireError as error:
            self._note(
                "from the server",
                f"byte {offset}: the response to API {asked.api_key} v{asked.version} passes on as it is, with the "
                f"addresses in it: {error}",
            )
            return frame

    def _record(self, asked: Asked, frame: bytes, *, is_request: bool) -> None:
        self._proxy.record(
            RecordedFrame(
                connection=self.number,
                is_request=is_request,
                api_key=asked.api_key,
                version=asked.version,
                correlation_id=asked.correlation_id,
                client_id=asked.client_id,
                server=self.server,
                time=time.time(),
                data=frame,
            )
        )

    def _note(self, side: str, text: str) -> None:
        self._proxy.note(f"connection {self.number}, {side}: {text}")
