"""The mock peer. It consists of a registry of messages, the rules of a script, and a journal of received requests.

The peer itself does no I/O: `connect` makes connections that turn bytes into actions, and `server` runs them on
sockets. Everything specific to Kafka is in the generated messages and in the table of `tagwire.frames.negotiation`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any

from tagwire.addresses import LOOPBACK, Address
from tagwire.frames.negotiation import announcement_of, announcing_message, fallback_message
from tagwire.frames.splitter import DEFAULT_MAX_SIZE
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.base import Message
from tagwire.testing.peer import assertions
from tagwire.testing.peer.connection import PeerConnection
from tagwire.testing.peer.journal import Journal, PeerError, PeerProblem, Received
from tagwire.testing.peer.replies import Reply
from tagwire.testing.peer.rules import AnswerRule
from tagwire.text_format import shown
from tagwire.versions import Versions

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry


class MockPeer:
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
        request: type[Message] | str | int,
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
        return AnswerRule(
            cls,
            response,
            answered,
            when=when,
            times=times,
            enact=self._rules.append,
        )

    def offer(self, request: type[Message] | str | int, versions: Versions | str) -> None:
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

    def api(self, request: type[Message] | str | int) -> tuple[type[Message], type[Message]]:
        """Return a request class and its response class.

        Raises UnknownMessageError for an unknown message, and PeerError if it is not a request.
        """
        __tracebackhide__ = True
        cls = self.registry.request(request) if isinstance(request, int) else request
        cls = self.registry[cls] if isinstance(cls, str) else cls
        if not (isinstance(cls, type) and issubclass(cls, Message)) or cls.KIND != "request" or cls.API_KEY is None:
            raise PeerError(f"expected a request's class, name or API key, got {getattr(cls, 'NAME', cls)!r}")
        return cls, self.registry.response(cls.API_KEY)

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
        raise PeerError("no rule answers this request; add a rule with `on`")

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

    @property
    def requests(self) -> list[Received]:
        """All requests received so far, in order."""
        return self.journal.requests

    @property
    def problems(self) -> list[PeerProblem]:
        """Errors that kept the peer from answering: requests without a rule, script errors, invalid bytes."""
        return self.journal.problems

    def received(self, request: type[Message]) -> list[Received]:
        """Return the requests of this class received so far, in order."""
        return [each for each in self.requests if each.name == request.NAME]

    def wait_for(self, request: type[Message], *, count: int = 1, timeout: float = 10.0) -> list[Received]:
        """Wait until `count` requests of a class have been received, and return them.

        Use this with a peer that runs in a thread (`running`). Raises AssertionError after `timeout` seconds, or
        immediately if the peer has a problem.
        """
        __tracebackhide__ = True
        found = self.journal.wait(request, count, timeout)
        assertions.check_number(self.journal, request, found, count, f"within {timeout:g} s")
        return found

    def assert_received(
        self, expected: Message | type[Message], *, version: int | None = None, times: int | None = None
    ) -> None:
        """Assert that a request equal to `expected` was received or, if `expected` is a class, one of that class.

        `times` is the exact number of such requests; by default, there must be at least one. The AssertionError shows
        how the most similar requests differ.
        """
        __tracebackhide__ = True
        assertions.check_received(self.journal, expected, version, times)

    def assert_not_received(self, expected: Message | type[Message], *, version: int | None = None) -> None:
        """Assert that no request equal to `expected` was received or, if `expected` is a class, none of that class.

        The AssertionError lists the received requests.
        """
        __tracebackhide__ = True
        assertions.check_received(self.journal, expected, version, 0)

    def assert_order(self, *expected: Message | type[Message]) -> None:
        """Assert that requests were received in this order.

        Each request is given as an equal message or as a class. Other requests may come in between. Raises
        AssertionError if any is missing or out of order.
        """
        __tracebackhide__ = True
        assertions.check_order(self.journal, expected)

    def assert_no_problems(self) -> None:
        """Assert that `problems` is empty. Raises AssertionError with a list of the problems if there are any."""
        __tracebackhide__ = True
        assertions.check_no_problems(self.journal)

    def __repr__(self) -> str:
        rules: Any = ", ".join(sorted({rule.request.NAME for rule in self._rules})) or "no rules"
        return f"<mock peer of {self.registry!r}: {rules}>"


def _stable(request: type[Message], response: type[Message]) -> Versions:
    return request.VERSIONS & response.VERSIONS & Versions(0, min(request.LATEST_STABLE, response.LATEST_STABLE))


def _versions(versions: Versions | str) -> Versions:
    return Versions.parse(versions) if isinstance(versions, str) else versions
