"""One connection through a proxy, without any I/O: bytes of either side go in, and bytes for the other side come out.

Requests pass on untouched. Responses are paired with them, and those that advertise addresses
are held until they are whole and rewritten. What is no frame passes on untouched as well.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from tagwire.errors import TagwireError
from tagwire.testing.proxy.pairing import Asked, Pairing
from tagwire.testing.proxy.passing import HEAD, Bytes, Passing
from tagwire.testing.proxy.recorded import RecordedFrame

if TYPE_CHECKING:
    from tagwire.testing.addresses import Address
    from tagwire.testing.proxy.advertised import Moved
    from tagwire.testing.proxy.recording_proxy import RecordingProxy

__all__ = ["ProxyConnection"]


class ProxyConnection:
    """A connection of a `RecordingProxy`. Made by `RecordingProxy.connect`."""

    def __init__(self, proxy: RecordingProxy, number: int, server: Address, moved: Moved) -> None:
        self.number = number
        self.server = server
        self._proxy = proxy
        self._moved = moved
        self._pairing = Pairing(by_id=proxy.has_leading_ids)
        self._answered: Asked | None = None
        """The request of the response that has begun."""
        self._is_unpaired_noted = False
        passing = partial(Passing, max_size=proxy.max_size, budget=proxy.budget)
        self._requests = passing(
            begins=lambda head: False, ends=self._request, note=partial(self._note, "from the client")
        )
        self._responses = passing(begins=self._begins, ends=self._response, note=partial(self._note, "from the server"))

    def receive_from_client(self, data: bytes) -> list[Bytes]:
        """Take some bytes of the client; empty bytes say that it sends no more. Returns the bytes for the server."""
        return self._requests.feed(data) if data else self._requests.close()

    def receive_from_server(self, data: bytes) -> list[Bytes]:
        """Take some bytes of the server; empty bytes say that it sends no more. Returns the bytes for the client."""
        return self._responses.feed(data) if data else self._responses.close()

    def _request(self, frame: bytes) -> bytes:
        """Note and record a request."""
        proxy = self._proxy
        if len(frame) < HEAD // 2:
            self._note("from the client", f"byte {self._requests.offset}: {len(frame)} bytes are no request")
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

    def _begins(self, head: bytes) -> bool:
        """A response begins: find its request; whether it is held."""
        asked = self._answered = self._pairing.answer(head)
        return asked is not None and self._proxy.advertised.is_changed(asked.api_key, asked.version)

    def _response(self, frame: bytes) -> bytes:
        """Record a response; returns it with the addresses that clients get."""
        asked, self._answered = self._answered, None
        if asked is None:
            if not (self._is_unpaired_noted or self._requests.is_lost):
                self._is_unpaired_noted = True
                self._note(
                    "from the server",
                    f"byte {self._responses.offset}: a response to no request; such responses are passed on, and not "
                    "recorded",
                )
            return frame
        self._record(asked, frame, is_request=False)
        if not self._proxy.advertised.is_changed(asked.api_key, asked.version):
            return frame
        try:
            return self._proxy.advertised.changed(frame, asked.api_key, asked.version, self._moved)
        except TagwireError as error:
            self._note(
                "from the server",
                f"byte {self._responses.offset}: the response to API {asked.api_key} v{asked.version} passes on as it "
                f"is, with the addresses in it: {error}",
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
