"""The rules of a mock peer. Each rule specifies which requests it answers, and how.

`peer.on(...)` makes a rule, and `reply` activates it. If several rules match, the latest rule answers, so a test can
override the rules of its fixtures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tagwire.message.base import Message
from tagwire.testing.peer.journal import PeerError
from tagwire.testing.peer.replies import AnswerTo, Reply, as_reply, with_faults

if TYPE_CHECKING:
    from tagwire.testing.peer.journal import Received
    from tagwire.versions import Versions


class AnswerRule:
    """The answers to certain requests of one API. Made by `MockPeer.on`."""

    def __init__(
        self,
        request: type[Message],
        response: type[Message],
        versions: Versions,
        *,
        when: Callable[[Received], object] | None,
        times: int | None,
        enact: Callable[[AnswerRule], None],
    ) -> None:
        self.request = request
        self.response = response
        self.versions = versions
        """The versions that the rule answers."""
        self.times = times
        """The maximum number of requests that the rule answers, or None for any number."""
        self.requests: list[Received] = []
        """The answered requests, in order."""
        self._when = when
        self._enact = enact
        self._answers: Sequence[Any] = ()

    def reply(self, answer: AnswerTo = None, **faults: Any) -> AnswerRule:
        """Set the answer: a response, `Reply`, None (no answer), or a function that returns one of these for a request.

        A list or tuple has one answer per request, in order; its last answer is repeated. `faults` are arguments of
        `Reply`, which apply to each answer. Returns the rule. Raises PeerError for an invalid answer or fault, and for
        a rule that already has answers.
        """
        __tracebackhide__ = True
        if self._answers:
            raise PeerError(f"{self}: this rule already has answers; add another rule with `on`")
        answers = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        if not answers:
            raise PeerError(f"{self}: the list of answers is empty")
        unknown = [name for name in faults if name not in Reply.__dataclass_fields__ or name == "message"]
        if unknown:
            known = ", ".join(name for name in Reply.__dataclass_fields__ if name != "message")
            raise PeerError(f"{self}: unknown fault {unknown[0]!r}; expected one of {known}")
        # Check the faults now, because an answer function is called only when a request arrives.
        with_faults(None, faults)
        for each in answers:
            self._check(each)
        self._answers = [self._made(each, faults) for each in answers]
        self._enact(self)
        return self

    def matches(self, request: Received) -> bool:
        """Return whether the rule answers this request. Exceptions raised by `when` aren't caught."""
        if type(request.message) is not self.request or request.version not in self.versions:
            return False
        if self.times is not None and len(self.requests) >= self.times:
            return False
        return self._when is None or bool(self._when(request))

    def answer(self, request: Received) -> Reply:
        """Count a request and return its answer. Exceptions raised by an answer function aren't caught."""
        answer = self._answers[min(len(self.requests), len(self._answers) - 1)]
        self.requests.append(request)
        reply: Reply = answer(request)
        self._check(reply)
        return reply

    def _made(self, answer: Any, faults: dict[str, Any]) -> Callable[[Received], Reply]:
        if callable(answer):
            function: Any = answer
            return lambda request: with_faults(function(request), faults)
        reply = with_faults(answer, faults)
        return lambda request: reply

    def _check(self, answer: Any) -> None:
        __tracebackhide__ = True
        # A class is callable, but the caller meant an instance.
        if callable(answer) and not isinstance(answer, type):
            return
        message = as_reply(answer).message
        if message is not None and type(message) is not self.response:
            raise PeerError(f"{self}: expected {self.response.__name__} as the response, got {type(message).__name__}")

    def __repr__(self) -> str:
        return f"on({self.request.NAME})"
