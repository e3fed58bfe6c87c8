"""What a mock peer received, in order, and what went wrong.

Requests come in on the thread of a server and are read on that of a test, so one condition
guards the lists, and a test can wait for what is still to come.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tagwire.sensitive import showing_sensitive
from tagwire.testing.addresses import Address

if TYPE_CHECKING:
    from tagwire.message.base import Message

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """A request, with its place in what was received."""

    name: str
    """The name of its message."""
    version: int
    header: Any
    """Its header."""
    message: Any
    """The request itself; None where the peer can't read its version."""
    number: int
    """Its place among all requests of the peer, from 1."""
    connection: int
    """The number of its connection, from 1."""
    index: int
    """Its place on the connection, from 1."""
    offset: int
    """Where its size begins in the bytes that the client sent."""
    frame: bytes
    """Header and body as they came, without the size."""
    address: Address
    """Where the client connected to: what a MetadataResponse should name."""

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"connection {self.connection}, request {self.index}, byte {self.offset}"

    def __str__(self) -> str:
        with showing_sensitive():  # what a test made up is no secret
            return f"#{self.number} ({self.place}): v{self.version} {self.message!r}"


class Problem(NamedTuple):
    """What kept the peer from answering as its script says; the connection was closed for it. Or a callback's error."""

    text: str
    connection: int
    request: Received | None = None
    """The request that was to be answered, where one was read."""
    cause: BaseException | None = None
    """What a function of the script raised, or why bytes could not be read or written."""

    def __str__(self) -> str:
        where = self.request.place if self.request else f"connection {self.connection}"
        return f"{where}: {self.text}"


class Journal:
    """All requests and problems of a peer. Each call is safe in any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: list[Received] = []
        self._problems: list[Problem] = []
        self._connections = 0
        self.on_received: Callable[[Received], None] | None = None
        """Called for each request, on the thread of the server. What it raises is a problem."""
        self.on_problem: Callable[[Problem], None] | None = None
        """Called for each problem, on the thread of the server. What it raises is one more, of which it is not told."""

    @property
    def requests(self) -> list[Received]:
        """A copy of the requests so far."""
        with self._changed:
            return [*self._requests]

    @property
    def problems(self) -> list[Problem]:
        """A copy of the problems so far."""
        with self._changed:
            return [*self._problems]

    def new_connection(self) -> int:
        """The number of one more connection."""
        with self._changed:
            self._connections += 1
            return self._connections

    def add_request(self, make: Callable[[int], Received]) -> Received:
        """Add the request that `make` makes of its number."""
        with self._changed:
            request = make(len(self._requests) + 1)
            self._requests.append(request)
            self._changed.notify_all()
        error = _error_of(self.on_received, request)
        if error is not None:
            self.add_problem(Problem(f"on_received raised {error!r}", request.connection, request, error))
        return request

    def add_problem(self, problem: Problem) -> None:
        """Add a problem. Whoever waits for a request stops waiting."""
        self._keep(problem)
        error = _error_of(self.on_problem, problem)
        if error is not None:
            self._keep(problem._replace(text=f"on_problem raised {error!r}", cause=error))

    def _keep(self, problem: Problem) -> None:
        with self._changed:
            self._problems.append(problem)
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget requests and problems; connections keep their numbers."""
        with self._changed:
            self._requests.clear()
            self._problems.clear()

    def wait(self, cls: type[Message], number: int, timeout: float) -> list[Received]:
        """The requests of a class, once there are so many, or when time is over or a problem is found."""
        end = time.monotonic() + timeout
        with self._changed:
            while True:
                found = [each for each in self._requests if each.name == cls.NAME]
                left = end - time.monotonic()
                if len(found) >= number or self._problems or left <= 0:
                    return found
                self._changed.wait(left)


def _error_of(callback: Callable[[T], None] | None, value: T) -> Exception | None:
    """Call a callback; gives what it raised. The connection goes on, and the test finds the error in `problems`."""
    try:
        if callback is not None:
            callback(value)
    except Exception as error:
        return error
    return None
