"""Connections on sockets: `tagwire.connect` blocks, and `tagwire.connect_async` is for asyncio.

They have no metadata cache, no group coordinator and no background threads. docs/howto-broker.md shows how to use them.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tagwire.addresses import Address
from tagwire.connection import PeerConnectionError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from tagwire.connection import Connection, Steps
    from tagwire.message.base import Message

_READ_SIZE: Final = 1 << 18


class BasePeer:
    """The base class of blocking and asyncio connections. The methods of asyncio connections return coroutines."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        self.connection = connection
        self._timeout = timeout
        self._timeout_message = f"no answer came within {timeout:g} s"
        self._buffer = memoryview(bytearray(_READ_SIZE))

    def carry_out(self, steps: Steps) -> Any:
        """Carry out the steps that a `Connection` yields (send, wait, pause), and return the last step's result."""
        raise NotImplementedError

    def get_buffer(self, sizehint: int = -1) -> memoryview:
        """Return the buffer that asyncio writes received bytes to. The size hint is ignored."""
        return self._buffer

    def ask(self, request: Message, version: int | None = None, *, check: bool = False, retry: float = 0.0) -> Any:
        """Send a request and return the response. The arguments have the same meaning as in `Connection.asking`.

        Raises AnswerError if `check` is set and the response has error codes.
        """
        return self.carry_out(self.connection.asking(request, version, check=check, retry=retry))

    def ask_all(self, requests: Iterable[Message], version: int | None = None) -> Any:
        """Send requests without waiting for each response, and return the list of responses in the same order."""
        return self.carry_out(self.connection.asking_all(requests, version))


@contextmanager
def reaching(address: str | tuple[str, int]) -> Generator[Address]:
    """Parse an address and yield it. An OSError in the `with` block becomes a PeerConnectionError.

    Raises AddressError if the string is not an address.
    """
    where = Address.parse(":".join(map(str, address)) if isinstance(address, tuple) else str(address))
    try:
        yield where
    except OSError as error:
        reason = reason_of(error) or "it did not answer in time"
        is_handshake = isinstance(error, ConnectionResetError) or "SSL" in reason
        hint = "; does the peer use TLS on this port?" if is_handshake and "CERTIFICATE" not in reason else ""
        raise PeerConnectionError(f"{where} can't be reached: {reason}{hint}") from None


def reason_of(error: Exception) -> str:
    """Return the text of an OSError, but leave out the error number."""
    if isinstance(error, ConnectionError):
        return os.strerror(error.errno or errno.ECONNRESET)
    return getattr(error, "strerror", None) or str(error)
