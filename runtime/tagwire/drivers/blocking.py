"""A connection on a blocking socket."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tagwire.connection import Connection, Done, Sent
from tagwire.drivers import BasePeer, reaching, reason_of

if TYPE_CHECKING:
    from ssl import SSLContext

    from tagwire.connection import Steps
    from tagwire.frames.registry import Registry


def connect(
    address: str | tuple[str, int], registry: Registry, client_id: str | None = None,
    *, timeout: float = 30.0, ssl: SSLContext | None = None, **options: Any,
) -> Peer:  # fmt: skip
    """Connect to a peer. If the protocol has an ApiVersions request, ask the peer for its versions.

    `timeout` is the maximum number of seconds to wait for the connection, and for each response. `options` are passed
    to `Connection`. Raises PeerConnectionError if the peer can't be reached or does not answer in time, and
    AddressError for an invalid address.
    """
    connection = Connection(registry, client_id, **options)
    with ExitStack() as failing:
        with reaching(address) as where:
            sock = failing.enter_context(socket.create_connection(where, timeout))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if ssl is not None:
                sock = failing.enter_context(ssl.wrap_socket(sock, server_hostname=where.host))
        peer = Peer(connection, timeout, sock)
        peer.carry_out(connection.negotiating())
        failing.pop_all()
    return peer


class Peer(BasePeer):
    """A connection to a peer. Not thread-safe."""

    def __init__(self, connection: Connection, timeout: float, sock: socket.socket) -> None:
        super().__init__(connection, timeout)
        self._socket = sock

    def close(self) -> None:
        self.connection.close()
        self._socket.close()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def carry_out(self, steps: Steps) -> Any:
        for step in steps:
            if isinstance(step, Done):
                return step.result
            if isinstance(step, bytes | Sent):
                self._exchange(step)
            else:
                time.sleep(step)

    def _exchange(self, step: bytes | Sent) -> None:
        try:
            if isinstance(step, bytes):
                self._socket.sendall(step)
            else:
                self._wait(step)
        except OSError as error:
            reason = (
                self._timeout_message
                if isinstance(error, TimeoutError)
                else f"the connection was lost: {reason_of(error)}"
            )
            # Close the socket, because a late response could be mistaken for the response to the next request.
            self._socket.close()
            raise self.connection.close(reason) from None

    def _wait(self, sent: Sent) -> None:
        end = time.monotonic() + self._timeout
        while sent.response is None:
            self.connection.check()
            size = self._socket.recv_into(self.get_buffer())
            if time.monotonic() > end:
                raise TimeoutError
            self.connection.receive(self._buffer[:size])
