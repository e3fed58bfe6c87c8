"""A connection on a blocking socket (`tagwire.connect`), and the base class that it shares with asyncio connections.

Connections have no metadata cache, no group coordinator and no background threads. docs/howto-broker.md shows how to
use them.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from contextlib import ExitStack, contextmanager, suppress
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from tagwire.addresses import Address
from tagwire.connection import Connection, Done, PeerConnectionError, Sent
from tagwire.errors import TagwireError
from tagwire.text_format import shown

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from ssl import SSLContext

    from tagwire.connection import Steps
    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message

_READ_SIZE: Final = 1 << 18
_LONGEST: Final = 86_400
"""The maximum timeout in seconds: a day."""


class InvalidTimeoutError(TagwireError, ValueError):
    """Raised for a timeout that is not a positive number of seconds."""


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
def reaching(address: str | tuple[str, int], timeout: float) -> Generator[Address]:
    """Parse an address (of IPv6 sockets, the first two values) and yield it. OSErrors become PeerConnectionErrors.

    Raises AddressError if the string is not an address, and InvalidTimeoutError for an impossible timeout.
    """
    if not isinstance(timeout, int | float) or not 0 < timeout <= _LONGEST:
        raise InvalidTimeoutError(
            f"timeout: expected a number of seconds above 0, up to {_LONGEST}, got {shown(timeout)}"
        )
    where = Address.parse(":".join(map(str, address[:2])) if isinstance(address, tuple) else str(address))
    try:
        yield where
    except OSError as error:
        reason = "it did not answer in time" if isinstance(error, TimeoutError) else reason_of(error)
        is_handshake = isinstance(error, ConnectionResetError) or "SSL" in reason
        hint = "; does the peer use TLS on this port?" if is_handshake and "CERTIFICATE" not in reason else ""
        raise PeerConnectionError(f"{where} can't be reached: {reason}{hint}") from None


def reason_of(error: Exception) -> str:
    """Return the text of an OSError, without the error number and the addresses that asyncio adds."""
    text = getattr(error, "strerror", None) or str(error)
    if isinstance(error, ConnectionError) or text.startswith(("Connect call failed", "error while attempting to bind")):
        return os.strerror(getattr(error, "errno", None) or errno.ECONNRESET)
    return "none of its addresses responds" if text.startswith("Multiple exceptions") else text


def listening_failed(address: Address, error: OSError) -> str:
    """Return the error message for a server that can't listen at an address."""
    is_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
    remedy = "choose another port, or 0 for any free port" if is_port else "choose an address of this machine"
    return f"can't listen at {address}: {reason_of(error)}; {remedy}"


def connect(
    address: str | tuple[str, int], registry: Registry, client_id: str | None = None,
    *, timeout: float = 30.0, ssl: SSLContext | None = None, **options: Any,
) -> Peer:  # fmt: skip
    """Connect to a peer. If the protocol has an ApiVersions request, ask the peer for its versions.

    `timeout` is the maximum number of seconds to wait for the connection, and for each response. To use TLS, pass
    `ssl.create_default_context()` or another SSLContext as `ssl`. `options` are passed to `Connection`. Raises
    PeerConnectionError if the peer can't be reached or does not answer in time, AddressError for an invalid address,
    and InvalidTimeoutError for a timeout of 0, or of more than a day.
    """
    if ssl is not None and not hasattr(ssl, "wrap_socket"):
        raise TypeError(f"ssl: expected an SSLContext, such as ssl.create_default_context(), got {shown(ssl)}")
    connection = Connection(registry, client_id, **options)
    with ExitStack() as failing:
        with reaching(address, timeout) as where:
            sock = failing.enter_context(socket.create_connection(where, timeout))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if ssl is not None:
                sock = failing.enter_context(ssl.wrap_socket(sock, server_hostname=where.host))
        peer = Peer(connection, timeout, sock)
        peer.carry_out(connection.negotiating())
        failing.pop_all()
    return peer


class Peer(BasePeer):
    """A connection to a peer. Several threads may share it: each call waits until other threads' calls have ended."""

    def __init__(self, connection: Connection, timeout: float, sock: socket.socket) -> None:
        super().__init__(connection, timeout)
        self._socket = sock
        self._received: list[int] = []
        """The number of received bytes that have not been processed yet, if there are any."""
        self._lock = RLock()  # `ask_all` may take requests from a generator that calls `ask`
        self._using_socket = RLock()

    def close(self) -> None:
        """Close the connection. Calls of other threads that wait for a response raise PeerConnectionError."""
        self.connection.close()
        with suppress(OSError):  # raised if the connection has already ended
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # wake other threads, even if they use TLS
        with self._using_socket:
            self._socket.close()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def carry_out(self, steps: Steps) -> Any:
        with self._lock:
            for step in steps:
                if isinstance(step, Done):
                    return step.result
                if isinstance(step, bytes | Sent):
                    with self._using_socket:
                        self._exchange(step)
                else:
                    time.sleep(step)

    def _exchange(self, step: bytes | Sent) -> None:
        end = time.monotonic() + self._timeout
        try:
            if isinstance(step, Sent):
                self._wait(step, end)
            elif self.connection.waiting > (self.connection.sent is not None):  # other requests are unanswered
                self._send(step, end)
            else:
                self._socket.settimeout(self._timeout)
                self._socket.sendall(step)
        except OSError as error:
            lost = f"the connection was lost: {reason_of(error)}"
            reason = self._timeout_message if isinstance(error, TimeoutError) else lost
            # Close the socket, because a late response could be mistaken for the response to the next request.
            self._socket.close()
            raise self.connection.close(reason) from None
        except BaseException:  # for example, KeyboardInterrupt, or the exception of a signal handler
            # The peer may have received a part of the request, or received bytes may not have been processed.
            if self._received or not isinstance(step, Sent):
                self.close()
            raise

    def _send(self, data: bytes, end: float) -> None:
        """Send a request. Also receive responses, because a peer may stop reading until its responses are read."""
        from ssl import SSLWantReadError, SSLWantWriteError

        blocked = (BlockingIOError, SSLWantReadError, SSLWantWriteError)
        self._socket.settimeout(0)
        rest = memoryview(data)
        while rest:
            with suppress(*blocked):
                rest = rest[self._socket.send(rest) :]
                continue
            with DefaultSelector() as selector:
                selector.register(self._socket, EVENT_READ | EVENT_WRITE)
                if not selector.select(end - time.monotonic()):
                    raise TimeoutError
            with suppress(*blocked):
                self._receive()

    def _wait(self, sent: Sent, end: float) -> None:
        while sent.response is None:
            self.connection.check()
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            self._receive()

    def _receive(self) -> None:
        # `extend` calls `recv_into` without running Python code in between, so an interrupt can't lose the size.
        self._received.extend(map(self._socket.recv_into, (self._buffer,)))
        self.connection.receive(self._buffer[: self._received[0]])
        self._received.clear()
