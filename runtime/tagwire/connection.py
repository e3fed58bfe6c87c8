"""An RPC connection without I/O: it turns messages into bytes, and received bytes into messages.

    connection = Connection(messages.registry, client_id="me")
    sock.sendall(connection.send(MetadataRequest(topics=None)))
    for answer in connection.receive(sock.recv(65536)):
        print(answer.message)

`Connection` is the client's side and `ServerConnection` the server's. They work with any package that has request and
response headers. They number requests, pair responses with requests, split frames, and choose versions.
`tagwire.connect` and `connect_async` run the client's side on a socket: they carry out the steps that
`Connection.asking` yields (send bytes, wait for a response, or pause).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from tagwire.arguments import check_type
from tagwire.errors import EncodeError, TagwireError
from tagwire.frames import negotiation
from tagwire.frames.error_codes import AnswerError
from tagwire.frames.frame_headers import check_kind
from tagwire.frames.pairing import Pairing
from tagwire.frames.splitter import DEFAULT_MAX_SIZE, FrameSplitter
from tagwire.limits import DEFAULT_LIMITS, Limits, check_limits
from tagwire.versions import NONE, Versions
from tagwire.wire.buffers import held

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message

__all__ = ["Answer", "AnswerError", "Connection", "RequestInfo", "ServerConnection", "UnusableConnectionError"]

Steps: TypeAlias = "Iterator[bytes | Sent | float | Done]"
"""The steps that the code with the socket carries out: send bytes, wait for the response to a request (`Sent`), or
pause for a number of seconds. The last step is `Done`."""

_HANDSHAKES: Final = 3
"""The maximum number of version requests."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0
_MOST_WAITING: Final = 64
"""The maximum number of unanswered requests of `Connection.asking_all`."""
_OTHERS: Final = ((b"HTTP", "HTTP"), (b"GET ", "HTTP"), (b"\x15\x03", "TLS: pass `ssl`"), (b"\x16\x03", "TLS"))
"""The first bytes of other protocols, with hints for the error: read as a frame size, these bytes exceed the limit."""


class UnusableConnectionError(TagwireError):
    """Raised if the peer has sent bytes that can't be read. After this error, open a new connection."""


class PeerConnectionError(UnusableConnectionError):
    """Raised if a peer can't be reached, does not answer in time, or has closed the connection."""


class RequestInfo(NamedTuple):
    """A request that a client sent, or that a server received."""

    message: Any
    """The message, or None for a received request in a version that the package does not have."""
    version: int
    correlation_id: int | None
    """The correlation ID, or None in protocols whose headers do not begin with one."""
    header: Any = None
    """The header of a received request, or None for a request that was sent."""
    frame: bytes = b""
    """The received header and body, without the frame size."""
    offset: int = 0
    """Where the received frame, including its size, begins in the stream of bytes from the client."""


class Sent(RequestInfo):
    """A sent request for which a response is expected."""

    response: Any = None
    arrival: Any = None
    """An event of an asynchronous driver, which sets it when the response arrives."""


class Answer(NamedTuple):
    """A response, together with the request that it answers."""

    request: Sent
    message: Any
    version: int
    """The version of the response. A fallback response (`Message.FALLBACK`) has another version than the request."""
    header: Any


class Done(NamedTuple):
    """The last step that `Connection.asking` and similar methods yield, with the result."""

    result: Any


class _Side:
    """The base class of both sides of a connection. It splits incoming bytes into frames.

    After an unreadable frame, the connection can't be used any more.
    """

    def __init__(self, registry: Registry, max_size: int, limits: Limits) -> None:
        negotiation.check_registry(registry)
        check_limits(limits)
        self.registry = registry
        self.limits = limits
        self.error: UnusableConnectionError | None = None
        """Why the connection is unusable; None while it is usable."""
        self._splitter = FrameSplitter(max_size=max_size)

    def _receive(self, data: bytes | memoryview) -> list[Any]:
        self.check()
        data = held(data)  # raises TypeError while the connection is still usable
        found: list[Any] = []
        at = self._splitter.offset
        try:
            if data:
                self._splitter.feed(data)
                for frame in self._splitter:
                    found.append(self._read(frame, at))
                    at = self._splitter.offset
            else:
                self._splitter.close()
        except TagwireError as error:
            rest = self._splitter.rest()
            hints = (f"; the other side uses {name}" for start, name in _OTHERS if rest.startswith(start))
            kind, remedy = (UnusableConnectionError, "") if data else (PeerConnectionError, "; connect again")
            self.error = kind(f"the connection became unusable at byte {at}: {error}{next(hints, remedy)}")
            self.error.__cause__ = error
            if not found:
                raise self.error from error
        except BaseException:  # for example, Ctrl-C: a frame may be lost
            self.error = UnusableConnectionError(f"reading the frame at byte {at} was interrupted; connect again")
            raise
        return found

    def _read(self, frame: bytes, offset: int) -> Any:
        raise NotImplementedError

    def check(self) -> None:
        if self.error is not None:
            raise self.error


class Connection(_Side):
    """The client's side of a connection.

    `client_id` is written to every request header. `max_size` is the maximum size of received frames in bytes, and
    `limits` applies to decoding. The response to a version request (Kafka's ApiVersionsRequest) sets `versions`, and
    later requests are sent in versions that the peer supports. If the peer does not support version requests, pass its
    version ranges by API key as `versions`.
    """

    def __init__(
        self,
        registry: Registry,
        client_id: str | None = None,
        *,
        max_size: int = DEFAULT_MAX_SIZE,
        limits: Limits = DEFAULT_LIMITS,
        versions: Mapping[int, Versions] | None = None,
    ) -> None:
        super().__init__(registry, max_size, limits)
        check_type("versions", versions, Mapping | None, "a dict from API keys to versions")
        for key, each in (versions or {}).items():
            check_type(f"versions[{key}]", each, Versions, "a tagwire.Versions")
        self.client_id = client_id
        self.versions = dict(versions or {})
        """The versions of each API that the peer supports; empty before the peer announces them."""
        self.sent: Sent | None = None
        """The last request sent, or None if it gets no response, such as a ProduceRequest with `acks` 0."""
        self._usual_versions: dict[type[Message], int] = {}
        """For each request class, the highest common version if encoding in it drops nothing silently; otherwise -1."""
        self._has_announced = versions is not None
        self._pairing = Pairing[Sent](registry)
        self._next_id = 0
        self._header_names = registry.request_header.__slots__
        self._announcement = negotiation.announcement_of(registry)

    @property
    def has_versions(self) -> bool:
        """Whether the peer's versions are known. Always true if the protocol has no version request."""
        return self._has_announced or self._announcement is None

    @property
    def waiting(self) -> int:
        return len(self._pairing)

    def unanswered(self) -> Iterator[Sent]:
        return self._pairing.rest()

    def send(self, request: Message, version: int | None = None) -> bytes:
        """Return the bytes of a request, including the frame size and header.

        The default version is the highest that both sides support and that can represent the whole request. Before the
        peer has announced its versions, only stable versions are used. Raises NoCommonVersionError or
        LossyVersionsError if there is no such version, EncodeError if `version` is given and a value is invalid, and
        UnusableConnectionError after an unreadable frame.
        """
        self.check()
        if version is None:
            version, frame = self._best(request)
        else:
            frame = self._encoded(request, version)
        number = self._next_id
        self._next_id = (number + 1) & 0x7FFFFFFF
        sent = Sent(request, version, number if self._pairing.has_ids else None)
        self.sent = sent if self._pairing.ask(None, frame, sent) else None
        return len(frame).to_bytes(4, "big") + frame

    def receive(self, data: bytes | memoryview) -> list[Answer]:
        """Take bytes from the peer and return the responses that they complete. Empty bytes mean the end of the stream.

        Invalid bytes, or the end of the stream, make the connection unusable. This call still returns the
        responses before them, and sets `error`. The next call raises UnusableConnectionError.
        """
        found = self._receive(data)
        if not data:
            self.close("the peer closed the connection")
        return found

    def close(self, reason: str = "the connection is closed") -> UnusableConnectionError:
        """Make the connection unusable, unless it already is, and return the error that later calls raise."""
        if self.error is None:
            how, hint = self._announcement, "; connect again"
            if how is not None and any(how.request == each.message.NAME for each in self.unanswered()):
                hint = (
                    " after the request for its versions: if it uses TLS on this port, pass `ssl`; if it does not have "
                    f"{how.request}, pass `versions`; or it uses another protocol"
                )
            self.error = PeerConnectionError(reason + hint)
        return self.error

    def handshake(self) -> bytes | None:
        """Return the bytes of a version request; None if the versions are known, or the protocol has no such request.

        Call this method again after each response, because a peer that does not support the version of the request
        answers with the versions that it supports.
        """
        if self.has_versions or self._announcement is None:
            return None
        cls = self.registry[self._announcement.request]
        return self.send(*negotiation.version_request(cls, self._peer_versions(cls)))

    def negotiating(self) -> Steps:
        """Yield the steps that ask for the peer's versions, unless they are known.

        Raises AnswerError if the peer answers with an error.
        """
        for rest in reversed(range(_HANDSHAKES)):
            data = self.handshake()
            if data is None:
                break
            response = yield from self._exchanging(data)
            if not self.has_versions and not (rest and negotiation.is_fallback(response)):
                raise AnswerError(response, self.registry.errors(response))
        yield Done(None)

    def asking(self, request: Message, version: int | None = None, *, check: bool = False, retry: float = 0.0) -> Steps:
        """Yield the steps that send a request. The last step has the response, or None if the request gets no response.

        The default version is the highest that can represent the request. If all errors in the response are retriable,
        the request is sent again after a pause, until the pauses add up to `retry` seconds. With `check`, errors in the
        last response raise AnswerError.
        """
        for pause in pauses(retry):
            response = yield from self._exchanging(self.send(request, version))
            errors = self.registry.errors(response) if response is not None and (check or pause) else ()
            if pause and errors and all(each.is_retriable for each in errors):
                yield pause
            elif check and errors:
                raise AnswerError(response, errors)
            else:
                yield Done(response)
                return

    def asking_all(self, requests: Iterable[Message], version: int | None = None) -> Steps:
        """Yield the steps that send requests without waiting for each response. The last step has all responses."""
        check_type("requests", requests, Iterable, "a list of requests")
        sent = []
        for request in requests:
            data = self.send(request, version)
            sent.append(self.sent)
            yield data
            # A peer may stop reading requests until its responses are read.
            if len(sent) > _MOST_WAITING and (oldest := sent[-_MOST_WAITING - 1]) is not None:
                yield oldest
        responses = []
        for each in sent:
            responses.append((yield from self._awaiting(each)))
        yield Done(responses)

    def _exchanging(self, data: bytes) -> Generator[bytes | Sent, None, Any]:
        sent = self.sent
        yield data
        return (yield from self._awaiting(sent))

    def _awaiting(self, sent: Sent | None) -> Generator[Sent, None, Any]:
        if sent is None:
            return None
        yield sent
        # Otherwise, `self.sent` would keep the response alive until the next request.
        response, sent.response = sent.response, None
        if response is None:
            self.check()
        return response

    def _best(self, request: Message) -> tuple[int, bytes]:
        cls = type(request)
        usual = self._usual_versions.get(cls)
        if usual is None:
            check_kind(request, None, "request")
            version = negotiation.best_version(cls, self._peer_versions(cls))
            # The search for values that would be lost is slow. Skip it if encoding raises an error for each of them.
            usual = self._usual_versions[cls] = version if negotiation.drops_nothing(cls, version) else -1  # type: ignore[arg-type]
        if usual >= 0:
            try:
                return usual, self._encoded(request, usual)
            except EncodeError:  # this version can't represent a value
                pass
        version = negotiation.best_version(request, self._peer_versions(cls))
        return version, self._encoded(request, version)

    def _encoded(self, request: Message, version: int) -> bytes:
        return self.registry.encode_request(
            request,
            version,
            correlation_id=self._next_id if "correlation_id" in self._header_names else None,
            client_id=self.client_id if "client_id" in self._header_names else None,
        )

    def _peer_versions(self, cls: type[Message]) -> Versions:
        known = self.versions.get(cls.API_KEY if cls.API_KEY is not None else -1)
        if known is not None:
            return known
        return NONE if self._has_announced else cls.VERSIONS

    def _read(self, frame: bytes, offset: int) -> Answer:
        request = next(iter(self._pairing.candidates(None, frame)), None)
        if request is None:
            _, number = self._pairing.key(None, frame, is_request=False)
            which = "" if number is None else f" with correlation ID {number}"
            raise UnusableConnectionError(f"received a response{which}, but no request is waiting for it")
        cls: type[Message] = type(request.message)
        if cls.API_KEY is None:
            raise UnusableConnectionError(f"the response to {cls.NAME} can't be decoded: {cls.NAME} has no API key")
        found = self.registry.decode_response(frame, cls.API_KEY, request.version, limits=self.limits)
        self._pairing.answer(None, frame)  # if the response can't be decoded, the request stays in `unanswered`
        answer = Answer(request, found.message, found.version, found.header)
        request.response = found.message
        how = self._announcement
        if how is not None and how.request == cls.NAME:
            self.versions.update(negotiation.announced_versions(how, found.message))
            self._usual_versions.clear()
            has_error = bool(getattr(found.message, found.message.FIELDS[0].name))
            self._has_announced = self._has_announced or not (has_error or negotiation.is_fallback(found.message))
        return answer


class ServerConnection(_Side):
    """The server's side of a connection: `receive` returns requests, and `send` answers them."""

    def __init__(
        self, registry: Registry, *, max_size: int = DEFAULT_MAX_SIZE, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        super().__init__(registry, max_size, limits)
        names = {row.name for row in registry.request_header.FIELDS}
        self._echoed = [row.name for row in registry.response_header.FIELDS if row.name in names]

    def receive(self, data: bytes) -> list[RequestInfo]:
        """Take bytes from the client and return the requests that they complete; see `Connection.receive`."""
        return self._receive(data)

    def send(
        self,
        response: Message,
        request: RequestInfo,
        version: int | None = None,
        header: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the bytes of a response, including frame size and header. By default, use the request's version.

        Header fields that the request also has, such as the correlation ID, are copied from it. `header` contains the
        values of all other header fields.
        """
        check_type("request", request, RequestInfo, "a request from `receive`")
        check_type("header", header, Mapping | None, "a dict of header fields")
        check_kind(response, version, "response")
        cls = self.registry.request_class(request.frame)[0] if request.message is None else type(request.message)
        if response.API_KEY != cls.API_KEY:
            reason = f"expected a response to {cls.NAME}, got {response.NAME}"
            raise EncodeError(reason, message_name=response.NAME, version=version, path="")
        fields = {name: getattr(request.header, name) for name in self._echoed} | dict(header or {})
        used = request.version if version is None else version
        if fields.keys() == {"correlation_id"}:
            frame = self.registry.encode_response(response, used, **fields)
        else:
            frame = self.registry.encode_response(response, used, header=self.registry.response_header(**fields))
        return len(frame).to_bytes(4, "big") + frame

    def _read(self, frame: bytes, offset: int) -> RequestInfo:
        cls, version = self.registry.request_class(frame)
        message = None
        if version in cls.VERSIONS:
            found = self.registry.decode_request(frame, limits=self.limits)
            header, message = found.header, found.message
        else:
            header, _ = self.registry.decode_header(frame, limits=self.limits)
        return RequestInfo(message, version, getattr(header, "correlation_id", None), header, frame, offset)


def pauses(seconds: float) -> Iterator[float]:
    """Yield how many seconds to pause before each retry. The sum is `seconds`. The final 0 means: don't retry again."""
    check_type("retry", seconds, int | float, "a number of seconds")
    pause = _FIRST_PAUSE
    while seconds > 0:
        yield min(pause, seconds)
        seconds -= pause
        pause = min(2 * pause, _LONGEST_PAUSE)
    yield 0.0
