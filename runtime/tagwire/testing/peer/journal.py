"""The journal of a mock peer: the received requests, in order, and the problems that occurred.

Requests are added by the server's thread and read by the test's thread. A condition variable guards the lists, so that
a test can wait for requests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tagwire.addresses import Address
from tagwire.errors import TagwireError
from tagwire.sensitive import showing_sensitive

if TYPE_CHECKING:
    from tagwire.message.base import Message


T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """A request that the mock peer received."""

    name: str
    """The name of the message."""
    version: int
    header: Any
    """The request header."""
    message: Any
    """The message, or None if the peer can't read its version."""
    number: int
    """The number of the request among all requests that the peer received, counted from 1."""
    connection: int
    """The number of the connection, counted from 1."""
    index: int
    """The number of the request on its connection, counted from 1."""
    offset: int
    """The byte position where the frame (with its size) begins in the data that the client sent."""
    frame: bytes
    """The header and body as received. The size before them is not included."""
    address: Address
    """The address that the client connected to, for use in a MetadataResponse."""

    @property
    def position(self) -> str:
        """The connection, request number and byte position, as text for error messages."""
        return f"connection {self.connection}, request {self.index}, byte {self.offset}"

    def __str__(self) -> str:
        with showing_sensitive():  # test data is not secret, so sensitive values are shown
            return f"#{self.number} ({self.position}): v{self.version} {self.message!r}"


class PeerProblem(NamedTuple):
    """An error that a callback raised, or that made the peer close the connection."""

    text: str
    connection: int
    request: Received | None = None
    """The request that should have been answered, if it could be read."""
    cause: BaseException | None = None
    """The exception of a script function, or the reason why bytes could not be read or written."""

    def __str__(self) -> str:
        where = self.request.position if self.request else f"connection {self.connection}"
        return f"{where}: {self.text}"


class Journal:
    """All requests that a mock peer received, and the problems that occurred. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: list[Received] = []
        self._problems: list[PeerProblem] = []
        self._connections = 0
        self.on_received: Callable[[Received], None] | None = None
        """Called for each request, on the server's thread. An exception it raises is recorded as a problem."""
        self.on_problem: Callable[[PeerProblem], None] | None = None
        """Called for each problem, on the server's thread. Exceptions of the callback are only recorded."""

    @property
    def requests(self) -> list[Received]:
        with self._changed:
            return [*self._requests]

    @property
    def problems(self) -> list[PeerProblem]:
        with self._changed:
            return [*self._problems]

    def new_connection(self) -> int:
        with self._changed:
            self._connections += 1
            return self._connections

    def add_request(self, make: Callable[[int], Received]) -> Received:
        """Add a request, and return it. `make` creates the request from its number."""
        with self._changed:
            request = make(len(self._requests) + 1)
            self._requests.append(request)
            self._changed.notify_all()
        error = _error_of(self.on_received, request)
        if error is not None:
            self.add_problem(PeerProblem(f"on_received raised {error!r}", request.connection, request, error))
        return request

    def add_problem(self, problem: PeerProblem) -> None:
        """Add a problem, and make all running calls of `wait` return."""
        self._keep(problem)
        error = _error_of(self.on_problem, problem)
        if error is not None:
            self._keep(problem._replace(text=f"on_problem raised {error!r}", cause=error))

    def _keep(self, problem: PeerProblem) -> None:
        with self._changed:
            self._problems.append(problem)
            self._changed.notify_all()

    def clear(self) -> None:
        """Remove all requests and problems. The numbering of connections continues."""
        with self._changed:
            self._requests.clear()
            self._problems.clear()

    def wait(self, cls: type[Message], number: int, timeout: float) -> list[Received]:
        """Wait until `number` requests of a class have been received, and return all requests of that class.

        Returns earlier if a problem occurs or if `timeout` seconds have passed.
        """
        end = time.monotonic() + timeout
        with self._changed:
            while True:
                found = [each for each in self._requests if each.name == cls.NAME]
                left = end - time.monotonic()
                if len(found) >= number or self._problems or left <= 0:
                    return found
                self._changed.wait(left)


def _error_of(callback: Callable[[T], None] | None, value: T) -> Exception | None:
    """Call a callback. Return its exception, if any, because raising it would end the connection."""
    try:
        if callback is not None:
            callback(value)
    except Exception as error:
        return error
    return None


class PeerError(TagwireError):
    """Raised if a script can't be run, or for an unsupported use of a peer."""
