"""A connection on a blocking socket."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tagwire.connection import Answer, Asked, Connection
from tagwire.drivers import READ_SIZE, PeerConnectionError, address_of, reason_of, unreachable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from ssl import SSLContext

    from tagwire.connection import Steps
    from tagwire.errors import TagwireError
    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message

_MOST_WAITING: Final = 64
"""The number of requests that are sent before answers are read."""


def connect(
    address: str | tuple[str, int], registry: Registry, client_id: str | None = None,
    *, timeout: float = 30.0, ssl: SSLContext | None = None, **options: Any,
) -> Peer:  # fmt: skip
    """Connect to a peer, and learn its versions if the protocol can ask for them.

    `timeout` is the number of seconds to wait for the connection and for each answer; `options` are passed to
    `Connection`. Raises PeerConnectionError, AddressError.
    """
    where = address_of(address)
    connection = Connection(registry, client_id, **options)
    with ExitStack() as failing:
        try:
            sock = failing.enter_context(socket.create_connection(where, timeout))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if ssl is not None:
                sock = failing.enter_context(ssl.wrap_socket(sock, server_hostname=where.host))
        except OSError as error:
            raise unreachable(where, error) from None
        peer = Peer(sock, connection)
        peer.carry_out(connection.negotiating())
        failing.pop_all()
    return peer


class Peer:
    """A connection to a peer. Not thread-safe."""

    def __init__(self, sock: socket.socket, connection: Connection) -> None:
        self.connection = connection
        self._socket = sock
        self._timeout = sock.gettimeout() or float("inf")
        self._buffer = memoryview(bytearray(READ_SIZE))

    def ask(self, request: Message, version: int | None = None, *, check: bool = False, retry: float = 0.0) -> Any:
        """Send a request and return the response; see `Connection.asking` for the arguments. Raises AnswerError."""
        return self.carry_out(self.connection.asking(request, version, check=check, retry=retry))

    def ask_all(self, requests: Iterable[Message], version: int | None = None) -> list[Any]:
        """Send requests without waiting for each answer, and return the responses in the same order."""
        answers = self._exchange(self.connection.send(request, version) for request in requests)
        return [answer and answer.message for answer in answers]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def carry_out(self, steps: Steps) -> Any:
        """Carry out steps of the connection, and return their result."""
        answer = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(step, bytes):
                (answer,) = self._exchange([step])
            else:
                time.sleep(step)

    def _exchange(self, requests: Iterable[bytes]) -> list[Answer | None]:
        """Send requests, and return their answers; None for a request that gets none."""
        sent: list[Asked | None] = []
        answers: dict[int, Answer] = {}  # includes late answers to requests whose `ask` was interrupted
        for data in requests:
            if self._socket.fileno() < 0:
                self._fail("the connection is closed")
            sent.append(self.connection.sent)
            try:
                self._socket.sendall(data)
            except OSError as error:
                self._fail(f"the request could not be sent: {reason_of(error)}")
            while self.connection.waiting > _MOST_WAITING:  # a peer stops reading if nobody reads its answers
                self._read(answers)
        while self.connection.waiting:
            self._read(answers)
        return [None if each is None else answers[id(each)] for each in sent]

    def _read(self, answers: dict[int, Answer]) -> None:
        """Wait for an answer."""
        end, number = time.monotonic() + self._timeout, len(answers)
        while len(answers) == number:
            if self.connection.error is not None:
                self._fail(self.connection.error)
            try:
                size = self._socket.recv_into(self._buffer)
            except TimeoutError:
                end, size = 0.0, 0
            except OSError as error:
                self._fail(f"the connection was lost: {reason_of(error)}")
            if time.monotonic() > end:
                self._fail(f"no answer came within {self._timeout:g} s")
            answers.update((id(each.request), each) for each in self.connection.receive(self._buffer[:size]))
            if not size:
                self._fail("the peer closed the connection")

    def _fail(self, reason: str | TagwireError) -> NoReturn:
        """Close the connection, because missing answers can't be distinguished from later ones."""
        self.close()
        raise PeerConnectionError(f"{reason}; connect again") if isinstance(reason, str) else reason
