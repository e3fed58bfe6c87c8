"""A connection on a blocking socket."""

from __future__ import annotations

import socket
import time
from collections import deque
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tagwire.connection import Answer, Asked, Connection
from tagwire.drivers.asking import (
    READ_SIZE,
    PeerConnectionError,
    address_of,
    check_handshake,
    is_tried_again,
    pauses,
    unreachable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from ssl import SSLContext

    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message

_MOST_WAITING: Final = 64
"""The number of requests that are sent before answers are read."""


def connect(
    address: str | tuple[str, int],
    registry: Registry,
    client_id: str | None = None,
    *,
    timeout: float = 30.0,
    ssl: SSLContext | None = None,
    **options: Any,
) -> Peer:
    """Connect to a peer, and learn its versions if the protocol can ask for them.

    `timeout` is the number of seconds to wait for the connection and for each answer; `options` are passed to
    `Connection`. Raises PeerConnectionError, AddressError.
    """
    host, port = address_of(address)
    connection = Connection(registry, client_id, **options)
    with ExitStack() as failing:
        try:
            sock = failing.enter_context(socket.create_connection((host, port), timeout))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if ssl is not None:
                sock = failing.enter_context(ssl.wrap_socket(sock, server_hostname=host))
        except OSError as error:
            raise unreachable(host, port, error) from None
        peer = Peer(sock, connection)
        peer.learn_versions()
        failing.pop_all()
    return peer


class Peer:
    """A connection to a peer. Not thread-safe."""

    def __init__(self, sock: socket.socket, connection: Connection) -> None:
        self.connection = connection
        self._socket = sock
        self._answers: deque[Answer] = deque()
        self._buffer = memoryview(bytearray(READ_SIZE))

    def learn_versions(self) -> None:
        """Ask for the peer's versions, unless they are known. `connect` has already done this."""
        tries = 0
        while (data := self.connection.handshake()) is not None:
            tries += 1
            self._send(data)
            check_handshake(self.connection, self._answer(), tries)

    def ask(self, request: Message, version: int | None = None, *, check: bool = False, retry: float = 0.0) -> Any:
        """Send a request and return the response; None for a request that gets no response.

        The default version is the highest that loses nothing. With `retry`, a request whose errors are all
        retriable is sent again for up to that many seconds; with `check`, an answer with errors raises AnswerError.
        """
        answer = None
        for pause in pauses(retry):
            (answer,) = self.ask_all([request], version)
            if not is_tried_again(self.connection, answer, pause, check=check):
                break
            time.sleep(pause)
        return answer

    def ask_all(self, requests: Iterable[Message], version: int | None = None) -> list[Any]:
        """Send requests without waiting for each answer, and return the responses in the same order."""
        sent: list[Asked | None] = []
        answers: list[Answer] = []  # includes late answers to requests whose `ask` was interrupted
        for request in requests:
            self._send(self.connection.send(request, version))
            sent.append(self.connection.sent if self.connection.waits else None)
            if self.connection.waiting > _MOST_WAITING:  # a peer stops reading requests if nobody reads its answers
                answers.append(self._answer())
        while self._answers or self.connection.waiting:
            answers.append(self._answer())
        found = {id(each.request): each.message for each in answers}
        return [None if each is None else found[id(each)] for each in sent]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            self._fail(f"the request could not be sent: {error.strerror or error}")

    def _answer(self) -> Answer:
        while not self._answers:
            if self.connection.error is not None:
                self.close()
                raise self.connection.error
            try:
                size = self._socket.recv_into(self._buffer)
            except TimeoutError:
                self._fail(f"no answer came within {self._socket.gettimeout():g} s")
            except OSError as error:
                self._fail(f"the connection was lost: {error.strerror or error}")
            self._answers += self.connection.receive(self._buffer[:size])
            if not size:
                self._fail("the peer closed the connection")
        return self._answers.popleft()

    def _fail(self, reason: str) -> NoReturn:
        """Close the connection, because missing answers can't be distinguished from later ones."""
        self.close()
        raise PeerConnectionError(f"{reason}; connect again")
