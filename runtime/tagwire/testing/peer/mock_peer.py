"""The mock peer. It consists of a registry of messages, the rules of a script, and a journal of received requests.

The peer itself does no I/O: `connect` makes connections (`PeerConnection`) that turn bytes into actions, and `server`
runs them on sockets. Everything specific to Kafka is in the generated messages and in the table of
`tagwire.frames.negotiation`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

from tagwire.addresses import LOOPBACK, Address
from tagwire.arguments import check_type
from tagwire.connection import RequestInfo, ServerConnection, UnusableConnectionError
from tagwire.errors import TagwireError
from tagwire.frames.negotiation import announcement_of, announcing_message, check_registry, fallback_message
from tagwire.frames.splitter import DEFAULT_MAX_SIZE
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.base import Message
from tagwire.testing.peer.journal import Journal, JournalAssertions, PeerError, PeerProblem, Received, RequestName
from tagwire.testing.peer.replies import Action, AnswerRule, Close, Reply, actions_of, frame_of
from tagwire.text_format import shown
from tagwire.versions import Versions

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry


class MockPeer(JournalAssertions):
    """A test server that sends scripted answers. `registry` defaults to Kafka's messages.

    `limits` and `max_size` (of a frame, in bytes) apply to received requests. If a client requests the peer's versions
    (Kafka's ApiVersionsRequest), the peer announces the versions of the APIs that have rules.
    """

    def __init__(
        self,
        registry: Registry | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        max_size: int = DEFAULT_MAX_SIZE,
    ) -> None:
        if registry is None:
            from tagwire.frames.known_packages import kafka_messages

            registry = kafka_messages()
        check_registry(registry)
        self.registry = registry
        self.limits = limits
        self.max_size = max_size
        self.journal = Journal()
        self.address: Address | None = None
        """The address that the peer listens on, or None."""
        self._rules: list[AnswerRule] = []
        self._offered: dict[int, Versions] = {}
        self._announcement = announcement_of(registry)

    def on(
        self,
        request: RequestName,
        *,
        versions: Versions | str | None = None,
        when: Callable[[Received], object] | None = None,
        times: int | None = None,
    ) -> AnswerRule:
        """Return a rule for requests of this class, name or API key. Call its `reply` to activate it.

        The rule answers at most `times` requests: those in the given `versions` for which `when(request)` is true.
        By default, `versions` are those in which both request and response are stable. If several rules match, the
        latest rule answers.

        Raises UnknownMessageError for an unknown message, VersionsError for invalid `versions`, and PeerError if the
        message is not a request, or if no request can match the rule.
        """
        __tracebackhide__ = True
        cls, response = self.api(request)
        answered = _stable(cls, response) if versions is None else _versions(versions) & cls.VERSIONS
        if not answered:
            if versions is None:
                raise PeerError(f"{cls.NAME} has only unstable versions ({cls.VERSIONS}); pass `versions` to use them")
            raise PeerError(f"{cls.NAME} has none of the versions {versions}; its versions are {cls.VERSIONS}")
        if times is not None and (not isinstance(times, int) or times < 1):
            raise PeerError(f"on({cls.NAME}): expected an integer of 1 or more as `times`, got {shown(times)}")
        if when is not None and not callable(when):
            raise PeerError(f"on({cls.NAME}): expected a function of the request as `when`, got {shown(when)}")
        enact = self._rules.append
        return AnswerRule(cls, response, answered, when=when, times=times, enact=enact, registry=self.registry)

    def offer(self, request: RequestName, versions: Versions | str) -> None:
        """Announce `versions` of an API. By default, the versions of its rules are announced. "none" hides the API.

        Requests in other versions are rejected. Raises the same errors as `on`.
        """
        __tracebackhide__ = True
        cls, _ = self.api(request)
        self._offered[cls.API_KEY or 0] = _versions(versions)

    @property
    def offered(self) -> dict[int, Versions]:
        """The versions that the peer announces, as ranges by API key."""
        found: dict[int, Versions] = {}
        if self._announcement is not None:
            cls, response = self.api(self._announcement.request)
            found[cls.API_KEY or 0] = _stable(cls, response)
        for rule in self._rules:
            key, versions = rule.request.API_KEY or 0, rule.versions
            before = found.get(key, versions)
            found[key] = Versions(min(before.lowest, versions.lowest), max(before.highest, versions.highest))
        return {key: versions for key, versions in sorted({**found, **self._offered}.items()) if versions}

    def api(self, request: RequestName) -> tuple[type[Message], type[Message]]:
        """Return a request class and its response class.

        Raises UnknownMessageError for an unknown message, and PeerError if it is not a request.
        """
        __tracebackhide__ = True
        cls = self.request_class(request)
        return cls, self.registry.response(cls.API_KEY or 0)

    def reply_to(self, request: Received) -> Reply:
        """Return the answer to a request. Raises PeerError if no rule matches, and any error that the script raises."""
        cls, response = self.api(request.name)
        offered = self.offered.get(cls.API_KEY or 0)
        if offered is None:
            raise PeerError(
                "the peer offers no version of this request"
                if cls.API_KEY in self._offered
                else "the peer does not offer this request, and no rule handles it"
            )
        if request.version not in offered or request.message is None:
            fallback = fallback_message(self.registry, response, offered, self._announcement)
            if fallback is None:
                problem = "not offered" if request.version not in offered else "offered, but unknown"
                raise PeerError(
                    f"version {request.version} is {problem}; "
                    f"the peer offers versions {offered}, and the message has versions {cls.VERSIONS}"
                )
            message, version = fallback
            return Reply(message, version=version)
        for rule in reversed(self._rules):
            if rule.matches(request):
                return rule.answer(request)
        if self._announcement is not None and request.name == self._announcement.request:
            return Reply(announcing_message(self._announcement, self.registry, self.offered))
        raise PeerError("no rule answers this request; add a rule for it")

    def connect(self, address: Address | tuple[str, int] = (LOOPBACK, 0)) -> PeerConnection:
        """Return a connection without a socket. `address` is the peer's address as the client sees it."""
        return PeerConnection(self, self.journal.new_connection(), Address(*address))

    def serving(
        self, host: str = LOOPBACK, port: int = 0, *, allow_remote: bool = False
    ) -> AbstractAsyncContextManager[Address]:
        """Listen in the running event loop: `async with peer.serving() as address`.

        Port 0 means any free port. Raises PeerError for a host that other machines can reach, unless `allow_remote` is
        set, and OSError if the address is not available.
        """
        from tagwire.testing.peer.server import serving

        return serving(self, host, port, allow_remote=allow_remote)

    def running(
        self, host: str = LOOPBACK, port: int = 0, *, allow_remote: bool = False
    ) -> AbstractContextManager[Address]:
        """Listen like `serving`, but in a thread with its own event loop: `with peer.running() as address`."""
        from tagwire.testing.peer.server import running

        return running(self, host, port, allow_remote=allow_remote)

    def __repr__(self) -> str:
        rules: Any = ", ".join(sorted({rule.request.NAME for rule in self._rules})) or "no rules"
        return f"<mock peer of {self.registry!r}: {rules}>"


def _stable(request: type[Message], response: type[Message]) -> Versions:
    return request.VERSIONS & response.VERSIONS & Versions(0, min(request.LATEST_STABLE, response.LATEST_STABLE))


def _versions(versions: Versions | str) -> Versions:
    check_type("versions", versions, str | Versions, "a string such as '0-4', or a Versions")
    return Versions.parse(versions) if isinstance(versions, str) else versions


class PeerConnection:
    """A connection to a `MockPeer`, without I/O. Made by `MockPeer.connect`.

    A `ServerConnection` reads the requests, and the peer's script decides which actions follow. The owner of the socket
    calls `receive_data` and carries out the returned actions.
    """

    def __init__(self, peer: MockPeer, number: int, address: Address) -> None:
        self.number = number
        self.address = address
        self.is_closed = False
        self._peer = peer
        self._server = ServerConnection(peer.registry, max_size=peer.max_size, limits=peer.limits)
        self._received = 0
        self._held: list[tuple[int, list[Action]]] = []
        """The answers that can't be sent yet, because other answers must be sent first.

        For each of them, a pair: how many other answers must be sent before it, and the actions that send it.
        """

    def receive_data(self, data: bytes) -> list[Action]:
        """Take bytes from the client, and return the actions to carry out, in order.

        Empty bytes mean that the client has closed its side of the connection. After a `Close`, further bytes are
        ignored.
        """
        if self.is_closed:
            return []
        if not data:
            return self._ended()
        actions: list[Action] = []
        with suppress(UnusableConnectionError):  # the error is reported below, from `self._server.error`
            for info in self._server.receive(data):
                actions += self._answer(info)
                if self.is_closed:
                    return actions
        if self._server.error is not None:
            problem = PeerProblem(str(self._server.error), self.number, cause=self._server.error.__cause__)
            actions += self._fail(problem)
        return actions

    def _ended(self) -> list[Action]:
        """Return the actions of all answers that `Reply.after` still holds back, and then a `Close`."""
        actions = _up_to_close([*(action for _, held in self._held for action in held), Close()])
        self._held.clear()
        self.is_closed = True
        try:
            self._server.receive(b"")
        except UnusableConnectionError as error:
            text = f"the client closed the connection within a frame: {error.__cause__}"
            self._peer.journal.add_problem(PeerProblem(text, self.number, None, error.__cause__))
        return actions

    def _answer(self, info: RequestInfo) -> list[Action]:
        cls, version = self._peer.registry.request_class(info.frame)
        self._received += 1
        request = self._peer.journal.add_request(
            lambda number: Received(
                name=cls.NAME,
                version=version,
                header=info.header,
                message=info.message,
                number=number,
                connection=self.number,
                index=self._received,
                offset=info.offset,
                frame=info.frame,
                address=self.address,
            )
        )
        try:
            reply = self._peer.reply_to(request)
            actions = actions_of(reply, frame_of(reply, info, self._server))
        except Exception as error:  # the script may raise any exception, and the test must see it
            text = str(error) if isinstance(error, TagwireError) else f"the script raised {error!r}"
            return self._fail(PeerProblem(f"{request.name} v{request.version}: {text}", self.number, request, error))
        return self._in_order(reply, actions)

    def _in_order(self, reply: Reply, own: list[Action]) -> list[Action]:
        """Return the actions of this answer, and then of all answers that waited for it (`Reply.after`)."""
        if reply.after:
            self._held.append((reply.after, own))
            return []
        actions = own
        if reply.is_answer:
            due = [held for left, held in self._held if left == 1]
            self._held = [(left - 1, held) for left, held in self._held if left > 1]
            actions = [*actions, *(action for held in due for action in held)]
        self.is_closed = Close() in actions
        return _up_to_close(actions)

    def _fail(self, problem: PeerProblem) -> list[Action]:
        self.is_closed = True
        self._peer.journal.add_problem(problem)
        return [Close()]


def _up_to_close(actions: list[Action]) -> list[Action]:
    return actions[: actions.index(Close()) + 1] if Close() in actions else actions
