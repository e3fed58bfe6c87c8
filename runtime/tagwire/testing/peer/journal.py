"""The journal of a mock peer: the received requests, in order, the problems that occurred, and assertions about them.

Requests are added by the server's thread and read by the test's thread. A condition variable guards the lists, so that
a test can wait for requests. A failed assertion shows what the peer really received.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from tagwire.addresses import Address
from tagwire.arguments import check_type
from tagwire.errors import TagwireError, UnsupportedVersionError
from tagwire.message.base import Message
from tagwire.message.declarations import attributes_of
from tagwire.message.struct_class import Struct, same
from tagwire.sensitive import HIDDEN, hides, showing_sensitive
from tagwire.text_format import count as counted
from tagwire.text_format import shown

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

T = TypeVar("T")
RequestName = type[Message] | str | int
"""A request's class, name or API key."""
Expected = Message | RequestName
"""A request equal to a message, or any request of a class."""

_CLOSEST: Final = 3
"""The maximum number of similar requests to show."""
_MOST: Final = 12
_LONGEST: Final = 300
MISSING: Final = object()
"""Takes the place of an element that is missing in one of two compared arrays."""


class PeerError(TagwireError):
    """Raised if a script can't be run, or for an unsupported use of a peer."""


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

        def found() -> list[Received]:
            return [each for each in self._requests if each.name == cls.NAME]

        with self._changed:
            self._changed.wait_for(lambda: len(found()) >= number or self._problems, timeout)
            return found()


def _error_of(callback: Callable[[T], None] | None, value: T) -> Exception | None:
    """Call a callback. Return its exception, if any, because raising it would end the connection."""
    try:
        if callback is not None:
            callback(value)
    except Exception as error:
        return error
    return None


class JournalAssertions:
    """The base class of `MockPeer`, with the received requests, the problems, and assertions about them.

    Methods with a request as an argument take its class, name or API key. They raise UnknownMessageError for an unknown
    message, and PeerError if it is not a request.
    """

    journal: Journal
    registry: Registry

    def request_class(self, request: RequestName) -> type[Message]:
        """Return the class of a request."""
        __tracebackhide__ = True
        cls = self.registry.request(request) if isinstance(request, int) else request
        cls = self.registry[cls] if isinstance(cls, str) else cls
        if not (isinstance(cls, type) and issubclass(cls, Message)) or cls.KIND != "request" or cls.API_KEY is None:
            raise PeerError(f"expected a request's class, name or API key, got {getattr(cls, 'NAME', cls)!r}")
        return cls

    def _expected(self, expected: Expected) -> Message | type[Message]:
        """Return the class of a request that isn't given as a message."""
        __tracebackhide__ = True
        cls = self.request_class(type(expected) if isinstance(expected, Message) else expected)
        return expected if isinstance(expected, Message) else cls

    @property
    def requests(self) -> list[Received]:
        """All requests received so far, in order."""
        return self.journal.requests

    @property
    def problems(self) -> list[PeerProblem]:
        """Errors that kept the peer from answering: requests without a rule, script errors, invalid bytes."""
        return self.journal.problems

    def received(self, request: RequestName) -> list[Received]:
        """Return the requests of this class received so far, in order."""
        name = self.request_class(request).NAME
        return [each for each in self.requests if each.name == name]

    def wait_for(self, request: RequestName, *, count: int = 1, timeout: float = 10.0) -> list[Received]:
        """Wait until `count` requests of a class have been received, and return them.

        Use this with a peer that runs in a thread (`running`). Raises AssertionError after `timeout` seconds, or
        immediately if the peer has a problem.
        """
        __tracebackhide__ = True
        cls = self.request_class(request)
        check_type("count", count, int, "a number of requests")
        check_type("timeout", timeout, int | float, "a number of seconds")
        found = self.journal.wait(cls, count, timeout)
        if len(found) < count:
            text = f"{counted(len(found), cls.NAME)} received within {timeout:g} s; {count} expected"
            raise AssertionError("\n".join([text, *self._summary()]))
        return found

    def assert_received(self, expected: Expected, *, version: int | None = None, times: int | None = None) -> None:
        """Assert that a request equal to `expected` was received or, if `expected` is a class, one of that class.

        `times` is the exact number of such requests; by default, there must be at least one. The AssertionError shows
        how the most similar requests differ. Raises UnsupportedVersionError for an unknown `version`.
        """
        __tracebackhide__ = True
        expected, requests = self._expected(expected), self.requests
        if version is not None and version not in expected.VERSIONS:
            raise UnsupportedVersionError(expected.NAME, version, expected.VERSIONS)
        found = [each for each in requests if _is(each, expected) and version in (None, each.version)]
        if len(found) == times or (found and times is None):
            return
        what = f"{expected.NAME}{'' if version is None else f' v{version}'}"
        number = "some" if times is None else "none" if times == 0 else times
        lines = [f"{what}: {number} expected, {len(found) or 'none'} received"]
        if found:
            lines += [f"  {each}" for each in found]
        elif isinstance(expected, Message):
            lines += _closest(expected, version, requests)
        raise AssertionError("\n".join([*lines, *self._summary()]))

    def assert_not_received(self, expected: Expected, *, version: int | None = None) -> None:
        """Assert that no request equal to `expected` was received or, if `expected` is a class, none of that class.

        The AssertionError lists the received requests.
        """
        __tracebackhide__ = True
        self.assert_received(expected, version=version, times=0)

    def assert_order(self, *expected: Expected) -> None:
        """Assert that requests were received in this order.

        Each request is given as an equal message or as a class. Other requests may come in between. Raises
        AssertionError if any is missing or out of order.
        """
        __tracebackhide__ = True
        requests = iter(self.requests)
        before = "the start"
        for each in map(self._expected, expected):
            found = next((request for request in requests if _is(request, each)), None)
            if found is None:
                text = f"no such {each.NAME} was received after {before}"
                if isinstance(each, Message):
                    with showing_sensitive():
                        text += f": {each!r}"
                raise AssertionError("\n".join([text, *self._summary()]))
            before = f"#{found.number} {found.name}"

    def assert_no_problems(self) -> None:
        """Assert that `problems` is empty. Raises AssertionError with a list of the problems if there are any."""
        __tracebackhide__ = True
        problems = self.problems
        if problems:
            lines = [f"the mock peer had {counted(len(problems), 'problem')}:", *(f"  {each}" for each in problems)]
            raise AssertionError("\n".join(lines)) from next(filter(None, map(_unexplained, problems)), None)

    def _summary(self) -> list[str]:
        connections: dict[int, list[str]] = {}
        for each in self.requests:
            connections.setdefault(each.connection, []).append(f"{each.name} v{each.version}")
        lines = [f"  connection {number}: {', '.join(names)}" for number, names in connections.items()]
        received = ["received:", *lines] if lines else ["nothing was received"]
        return [*received, *(f"problem: {each}" for each in self.problems)]


def _closest(expected: Message, version: int | None, requests: list[Received]) -> list[str]:
    """Return lines that show how the most similar received requests of the same class differ from `expected`."""
    with showing_sensitive():  # test data is not secret, so sensitive values are shown
        compared = [
            (list(differences(expected, each.message)), each)
            for each in requests
            if type(each.message) is type(expected)
        ]
        compared.sort(key=lambda pair: (len(pair[0]), pair[1].number))
        lines: list[str] = []
        for differing, each in compared[:_CLOSEST]:
            lines.append(f"  #{each.number} ({each.position}), v{each.version}:")
            if version not in (None, each.version):
                lines.append(f"    version  expected {version}, received {each.version}")
            lines += [f"    {line}" for line in difference_lines(differing)]
    return lines


def _unexplained(problem: PeerProblem) -> BaseException | None:
    """Return a problem's exception if a callback in the test raised it, or None if tagwire did."""
    is_ours = isinstance(problem.cause, PeerError if problem.request is not None else TagwireError)
    return None if is_ours else problem.cause


def _is(request: Received, expected: Message | type[Message]) -> bool:
    if isinstance(expected, type):
        return request.name == expected.NAME
    return bool(request.message == expected)


class FieldDifference(NamedTuple):
    """A field whose values differ. If an array element is missing on one side, that side's text is "nothing"."""

    path: str
    expected: str
    received: str


Pairs = Callable[[Sequence[Any], Sequence[Any], Sequence[str]], Iterable[tuple[Any, Any]]]
"""The type of functions that pair the elements of two arrays. The third argument has the names of the key fields."""


def by_position(
    expected: Sequence[Any], received: Sequence[Any], keys: Sequence[str] = ()
) -> Iterable[tuple[Any, Any]]:
    """Pair array elements by index. The shorter array is padded with MISSING."""
    return zip_longest(expected, received, fillvalue=MISSING)


def differences(
    expected: Any, received: Any, path: str = "", pairs: Pairs = by_position, keys: Sequence[str] = (),
    are_equal: Callable[[Any, Any], bool] = same,
) -> Iterator[FieldDifference]:  # fmt: skip
    """Yield the innermost fields in which two messages or values differ, in field order. Hide sensitive values."""
    if isinstance(expected, Struct) and type(expected) is type(received):
        secrets = {row.name for row in expected.FIELDS if row.sensitive} if hides() else ()
        key_names = {row.name: row.unique for row in expected.FIELDS}
        for name in attributes_of(type(expected)):
            inner = f"{path}.{name}" if path else name
            one, other = getattr(expected, name), getattr(received, name)
            if name not in secrets:
                yield from differences(one, other, inner, pairs, key_names.get(name, ()), are_equal)
            elif not same(one, other):
                yield FieldDifference(inner, HIDDEN, HIDDEN)
    elif isinstance(expected, (tuple, list)) and isinstance(received, (tuple, list)):
        for at, (one, other) in enumerate(pairs(expected, received, keys)):
            yield from differences(one, other, f"{path}[{at}]", pairs, (), are_equal)
    elif expected is MISSING or received is MISSING or not are_equal(expected, received):
        yield FieldDifference(path, _shortened(expected), _shortened(received))


def _shortened(value: object) -> str:
    if value is MISSING:
        return "nothing"
    if not isinstance(value, (Struct, Mapping)):
        return shown(value)
    text = repr(value if isinstance(value, Struct) else dict(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def difference_lines(found: list[FieldDifference]) -> list[str]:
    """Format differences as lines with aligned columns, at most a dozen."""
    width = max((len(each.path) for each in found[:_MOST]), default=0)
    lines = [f"{each.path:<{width}}  expected {each.expected}, received {each.received}" for each in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"and {len(found) - _MOST} more fields")
    return lines
