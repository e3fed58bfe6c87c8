"""The mock peer: a registry of messages, the rules of a script, and a journal of what was received.

It does no I/O: `connect` gives connections that turn bytes into actions, and `server` puts
them on sockets. What is Kafka's is in Kafka's generated messages and in the tables of
`announcing`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any

from tagwire.frames.announcing import announcement_of, announcing_message, fallback_message
from tagwire.frames.splitter import DEFAULT_MAX_SIZE
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.base import Message
from tagwire.testing.addresses import LOOPBACK, Address
from tagwire.testing.peer import assertions
from tagwire.testing.peer.connection import PeerConnection
from tagwire.testing.peer.errors import PeerError
from tagwire.testing.peer.journal import Journal, Problem, Received
from tagwire.testing.peer.replies import Reply
from tagwire.testing.peer.rules import Rule
from tagwire.text_format import shown
from tagwire.versions import Versions

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry


class MockPeer:
    """A peer with scripted answers; Kafka's messages where no registry is given.

    `limits` and `max_size` (of a frame, in bytes) bound what it takes. Where clients ask for
    versions (Kafka's ApiVersionsRequest), it answers with those of the APIs that have rules.
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
        self.registry = registry
        self.limits = limits
        self.max_size = max_size
        self.journal = Journal()
        self.address: Address | None = None
        """Where it listens, while it does."""
        self._rules: list[Rule] = []
        self._offered: dict[int, Versions] = {}
        self._announcement = announcement_of(registry)

    # ------------------------------------------------------------ the script

    def on(
        self,
        request: type[Message] | str | int,
        *,
        versions: Versions | str | None = None,
        when: Callable[[Received], object] | None = None,
        times: int | None = None,
    ) -> Rule:
        """A rule for requests of this class, name or API key. Its `reply` puts it into force.

        It answers the versions that are stable for request and response, or those given, of
        requests for which `when` is true, and so many `times`. Where several rules match, the
        latest one answers. Raises UnknownMessageError, VersionsError, PeerError for what is no
        request and for a rule that no request can match.
        """
        __tracebackhide__ = True
        cls, response = self.api(request)
        answered = _stable(cls, response) if versions is None else _versions(versions) & cls.VERSIONS
        if not answered:
            text = "has no stable version; name some" if versions is None else f"has none of the versions {versions}"
            raise PeerError(f"{cls.NAME} {text}; known are {cls.VERSIONS}")
        if times is not None and (not isinstance(times, int) or times < 1):
            raise PeerError(f"on({cls.NAME}): times: expected an integer from 1 on, got {shown(times)}")
        return Rule(
            cls,
            response,
            answered,
            when=when,
            times=times,
            enact=self._rules.append,
        )

    def offer(self, request: type[Message] | str | int, versions: Versions | str) -> None:
        """Announce these versions of an API, whatever the rules are; "none" announces none of it.

        A request in another version is refused. Raises as `on` does.
        """
        __tracebackhide__ = True
        cls, _ = self.api(request)
        self._offered[cls.API_KEY or 0] = _versions(versions)

    @property
    def offered(self) -> dict[int, Versions]:
        """The versions that the peer announces, by API key."""
        found: dict[int, Versions] = {}
        if self._announcement is not None:
            cls, response = self.api(self._announcement.request)
            found[cls.API_KEY or 0] = _stable(cls, response)
        for rule in self._rules:
            key, versions = rule.request.API_KEY or 0, rule.versions
            before = found.get(key, versions)
            found[key] = Versions(min(before.lowest, versions.lowest), max(before.highest, versions.highest))
        return {key: versions for key, versions in sorted({**found, **self._offered}.items()) if versions}

    def api(self, request: type[Message] | str | int) -> tuple[type[Message], type[Message]]:
        """A request and its response. Raises UnknownMessageError, PeerError for what is no request."""
        __tracebackhide__ = True
        cls = self.registry.request(request) if isinstance(request, int) else request
        cls = self.registry[cls] if isinstance(cls, str) else cls
        if not (isinstance(cls, type) and issubclass(cls, Message)) or cls.KIND != "request" or cls.API_KEY is None:
            raise PeerError(f"expected a request by its class, name or API key, got {getattr(cls, 'NAME', cls)!r}")
        return cls, self.registry.response(cls.API_KEY)

    def reply_to(self, request: Received) -> Reply:
        """The answer to a request. Raises PeerError where the script has none; what the script raises comes through."""
        cls, response = self.api(request.name)
        offered = self.offered.get(cls.API_KEY or 0)
        if offered is None:
            raise PeerError(
                "none of its versions are offered"
                if cls.API_KEY in self._offered
                else "no rule answers it, and it was not offered"
            )
        if request.version not in offered or request.message is None:
            fallback = fallback_message(self.registry, response, offered, self._announcement)
            if fallback is None:
                lacking = "offered" if request.version not in offered else "known, though they were offered"
                raise PeerError(f"this version is not {lacking}; offered are {offered}, known are {cls.VERSIONS}")
            message, version = fallback
            return Reply(message, version=version)
        for rule in reversed(self._rules):
            if rule.matches(request):
                return rule.answer(request)
        if self._announcement is not None and request.name == self._announcement.request:
            return Reply(announcing_message(self._announcement, self.registry, self.offered))
        raise PeerError("no rule answers it")

    # ------------------------------------------------------------ connections

    def connect(self, address: Address | tuple[str, int] = (LOOPBACK, 0)) -> PeerConnection:
        """A connection without a socket; `address` is where the client believes to be connected to."""
        return PeerConnection(self, self.journal.new_connection(), Address(*address))

    def serving(
        self, host: str = LOOPBACK, port: int = 0, *, allow_remote: bool = False
    ) -> AbstractAsyncContextManager[Address]:
        """Listen in the event loop that runs: `async with peer.serving() as address`.

        Port 0 is any free one. Raises PeerError for a host that other machines reach, unless
        `allow_remote` is set, and OSError for an address that can't be had.
        """
        from tagwire.testing.peer.server import serving

        return serving(self, host, port, allow_remote=allow_remote)

    def running(
        self, host: str = LOOPBACK, port: int = 0, *, allow_remote: bool = False
    ) -> AbstractContextManager[Address]:
        """Listen in a thread with an event loop of its own: `with peer.running() as address`; else as `serving`."""
        from tagwire.testing.peer.server import running

        return running(self, host, port, allow_remote=allow_remote)

    # ------------------------------------------------------------ what was received

    @property
    def requests(self) -> list[Received]:
        """All requests so far, in order."""
        return self.journal.requests

    @property
    def problems(self) -> list[Problem]:
        """What kept the peer from answering: requests without a rule, errors of the script, invalid bytes."""
        return self.journal.problems

    def received(self, request: type[Message]) -> list[Received]:
        """The requests of a class so far, in order."""
        return [each for each in self.requests if each.name == request.NAME]

    def wait_for(self, request: type[Message], *, count: int = 1, timeout: float = 10.0) -> list[Received]:
        """The requests of a class once there are `count` of them, waited for at most `timeout` seconds.

        For a peer that is `running`. Raises AssertionError, at once if the peer has a problem.
        """
        __tracebackhide__ = True
        found = self.journal.wait(request, count, timeout)
        assertions.check_number(self.journal, request, found, count, f"within {timeout:g} s")
        return found

    def assert_received(
        self, expected: Message | type[Message], *, version: int | None = None, times: int | None = None
    ) -> None:
        """Assert that such a request was received: one that equals the message, or any of the class.

        `times` is how often, exactly; without it once or more. Raises AssertionError with what
        differs in the requests that come closest.
        """
        __tracebackhide__ = True
        assertions.check_received(self.journal, expected, version, times)

    def assert_not_received(self, expected: Message | type[Message], *, version: int | None = None) -> None:
        """Assert that no such request was received. Raises AssertionError with the places of those that were."""
        __tracebackhide__ = True
        assertions.check_received(self.journal, expected, version, 0)

    def assert_order(self, *expected: Message | type[Message]) -> None:
        """Assert that such requests came in this order, with any others between them. Raises AssertionError."""
        __tracebackhide__ = True
        assertions.check_order(self.journal, expected)

    def assert_no_problems(self) -> None:
        """Assert that `problems` is empty. Raises AssertionError with all of them."""
        __tracebackhide__ = True
        assertions.check_no_problems(self.journal)

    def __repr__(self) -> str:
        rules: Any = ", ".join(sorted({rule.request.NAME for rule in self._rules})) or "no rules"
        return f"<mock peer of {self.registry!r}: {rules}>"


def _stable(request: type[Message], response: type[Message]) -> Versions:
    """The versions that are stable for both."""
    return request.VERSIONS & response.VERSIONS & Versions(0, min(request.LATEST_STABLE, response.LATEST_STABLE))


def _versions(versions: Versions | str) -> Versions:
    return Versions.parse(versions) if isinstance(versions, str) else versions
