"""The answers of a mock peer: rules that choose them, replies with injected faults, and the resulting actions.

`peer.on(...)` makes a rule, and `reply` activates it. If several rules match, the latest rule answers, so a test can
override the rules of its fixtures. The fields of `Reply` are the complete list of faults. Scripts in YAML use the same
names as keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from tagwire.errors import TagwireError, UnsupportedVersionError
from tagwire.message.base import Message
from tagwire.testing.peer.journal import PeerError
from tagwire.text_format import shown
from tagwire.versions import HIGHEST, Versions
from tagwire.wire.varint import UVARINT_MAX

if TYPE_CHECKING:
    from tagwire.connection import RequestInfo, ServerConnection
    from tagwire.frames.registry import Registry
    from tagwire.testing.peer.journal import Received


# The actions of a connection, such as "send these bytes". The owner of the socket carries them out in order.
#
# Actions are plain values, so tests can check delays and truncated frames without a clock or a socket.


class Send(NamedTuple):
    """Send these bytes immediately, in a separate write."""

    data: bytes


class Wait(NamedTuple):
    """Wait before the next action. Later answers wait as well, because a broker answers in order."""

    seconds: float


class Close(NamedTuple):
    """Close the connection after all bytes have been sent. Always the last action."""


Action: TypeAlias = Send | Wait | Close


_SIZE_WIDTH: Final = 4
_LONGEST: Final = 86_400
"""The maximum delay in seconds: a day."""
_PAUSE: Final = 0.005
"""The pause in seconds between the parts of a split frame; without a pause, TCP would join them."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the mock peer, and the faults to inject into it.

    If neither `message` nor `raw` is given, no bytes are sent.
    """

    message: Message | None = None
    """The response to send. If it is None, only the bytes in `raw` are sent, if there are any."""
    _: KW_ONLY
    version: int | None = None
    """The version to encode the response in, or None for the version of the request."""
    header: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Header fields to set, such as correlation_id. All others are copied from the request or have their defaults."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Maps paths of response fields, such as `topics[].error_code`, to values. All fields that match a path are set."""
    unknown_tags: Mapping[int, bytes] = field(default_factory=dict[int, bytes])
    """Tagged fields that aren't in the spec, by tag. They are appended to the response."""
    delay: float = 0.0
    """Seconds to wait before sending. Later answers on the same connection wait as well."""
    after: int = 0
    """The number of later answers on the same connection that are sent before this one."""
    split_at: Collection[int] = ()
    """Ascending offsets at which the frame is split into separate writes. The header begins at offset 4."""
    cut_at: int | None = None
    """Send only this number of bytes of the frame, then close."""
    raw: bytes | None = None
    """Bytes to send unchanged, instead of a frame with its size and header."""
    close: bool = False
    """Whether to close the connection, after the answer if there is one."""

    def __post_init__(self) -> None:
        """Check the faults. Raises PeerError for a fault of the wrong type or out of range."""
        __tracebackhide__ = True
        for name, (is_fit, expected) in _FAULTS.items():
            value = getattr(self, name)
            if not is_fit(value):
                raise PeerError(f"{name}: expected {expected}, got {shown(value)}")
        # Don't convert a range to a tuple: `range(1, 10**9)` would fill the memory.
        object.__setattr__(self, "split_at", _ascending(self.split_at))

    @property
    def is_answer(self) -> bool:
        """Whether this reply has a response (`message` or `raw`)."""
        return self.message is not None or self.raw is not None


def _is_int(value: object, highest: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= highest


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST


def _is_named(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _is_tags(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        _is_int(tag, UVARINT_MAX) and isinstance(data, bytes) for tag, data in value.items()
    )


def _is_offsets(value: object) -> bool:
    if isinstance(value, range):
        return all(map(_is_int, (*value[:1], *value[-1:])))
    return isinstance(value, Collection) and all(map(_is_int, value))


def _ascending(offsets: Collection[int]) -> Sequence[int]:
    if isinstance(offsets, range):
        return offsets if offsets.step > 0 else offsets[::-1]
    return tuple(sorted({*offsets}))


_FAULTS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "version": (lambda value: value is None or _is_int(value, HIGHEST), f"a version from 0 to {HIGHEST}"),
    "header": (_is_named, "a mapping of names to values"),
    "fields": (_is_named, "a mapping of paths to values"),
    "unknown_tags": (_is_tags, f"a mapping of tags from 0 to {UVARINT_MAX} to bytes"),
    "delay": (_is_seconds, f"a number of seconds from 0 to {_LONGEST}"),
    "after": (_is_int, "an integer of 0 or more"),
    "split_at": (_is_offsets, "a list or range of offsets of 0 or more"),
    "cut_at": (lambda value: value is None or _is_int(value), "an integer of 0 or more"),
    "raw": (lambda value: value is None or isinstance(value, bytes), "bytes or None"),
    "close": (lambda value: isinstance(value, bool), "True or False"),
}
"""Maps each fault to a function that checks its value, and to a description of valid values."""

Answer: TypeAlias = "Message | Reply | None"
"""One answer, given directly or returned by a function that takes the request."""
AnswerTo: TypeAlias = "Answer | Callable[[Received], Answer] | Sequence[Answer | Callable[[Received], Answer]]"
"""The first argument of `AnswerRule.reply`: an answer, a function, or a list of these."""


def as_reply(answer: object) -> Reply:
    """Return a response, a `Reply` or None (no answer) as a `Reply`. Raises PeerError for anything else."""
    __tracebackhide__ = True
    if isinstance(answer, Reply):
        return answer
    if answer is None or (isinstance(answer, Message) and answer.KIND == "response"):
        return Reply(answer)
    found = f"a {answer.KIND}, {answer.NAME}" if isinstance(answer, Message) else shown(answer)
    if isinstance(answer, type):
        found = f"the class {answer.__name__}; call it to create a response"
    raise PeerError(f"expected a response, a Reply or None, got {found}")


def check_reply(reply: Reply, response: type[Message], registry: Registry) -> None:
    """Raise PeerError or SelectionError unless the reply can answer requests whose response class is `response`."""
    __tracebackhide__ = True
    if reply.message is not None and type(reply.message) is not response:
        raise PeerError(f"expected {response.__name__} as the response, got {type(reply.message).__name__}")
    if reply.version is not None and reply.version not in response.VERSIONS:
        raise PeerError(str(UnsupportedVersionError(response.NAME, reply.version, response.VERSIONS)))
    names = [*(row.name for row in registry.response_header.FIELDS), "unknown_tags"]
    for name in reply.header:
        if name not in names:
            raise PeerError(f"{registry.response_header.NAME} has no field {name!r}; its fields are {', '.join(names)}")
    for path in reply.fields:
        registry.select_response(response, path)


def frame_of(reply: Reply, request: RequestInfo, server: ServerConnection) -> bytes:
    """Return the bytes of an answer, including the frame size.

    Raises a TagwireError, usually EncodeError, if the answer can't be encoded.
    """
    message = reply.message
    if reply.raw is not None or message is None:
        return reply.raw or b""
    version = request.version if reply.version is None else reply.version
    if reply.unknown_tags:
        message = message.replace(unknown_tags={**message.unknown_tags, **reply.unknown_tags})
    data = server.send(message, request, version, reply.header)
    for path, value in reply.fields.items():
        selection = server.registry.select_response(type(message), path)
        frame = selection.rewrite(data[_SIZE_WIDTH:], version, lambda _, value=value: value)
        data = len(frame).to_bytes(_SIZE_WIDTH, "big") + frame
    return data


def actions_of(reply: Reply, frame: bytes) -> list[Action]:
    """Return the actions that send a frame and inject the faults of `reply`: wait, send, close."""
    actions: list[Action] = [Wait(reply.delay)] if reply.delay else []
    sent = frame if reply.cut_at is None else frame[: reply.cut_at]
    offsets = [at for at in takewhile(lambda at: at < len(sent), reply.split_at) if at]
    for start, end in zip([0, *offsets], [*offsets, len(sent)], strict=True):
        if start:
            actions.append(Wait(_PAUSE))
        if end > start:
            actions.append(Send(sent[start:end]))
    if reply.close or reply.cut_at is not None:
        actions.append(Close())
    return actions


def with_faults(answer: Answer, faults: Mapping[str, Any]) -> Reply:
    """Return the answer as a `Reply` with these faults added."""
    __tracebackhide__ = True
    reply = as_reply(answer)
    try:
        return replace(reply, **faults) if faults else reply
    except PeerError as error:
        raise error.with_traceback(None) from None  # omit the dataclass constructor from the traceback


@dataclass(eq=False, repr=False)
class AnswerRule:
    """The answers to certain requests of one API. Made by `MockPeer.on`."""

    request: type[Message]
    response: type[Message]
    versions: Versions
    """The versions that the rule answers."""
    _: KW_ONLY
    when: Callable[[Received], object] | None
    times: int | None
    """The maximum number of requests that the rule answers, or None for any number."""
    enact: Callable[[AnswerRule], None]
    """Called with the rule when its answers are set."""
    registry: Registry
    requests: list[Received] = field(default_factory=list["Received"], init=False)
    """The answered requests, in order."""
    _answers: Sequence[Any] = field(default=(), init=False)

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
        unknown = [name for name in faults if name not in _FAULTS]
        if unknown:
            raise PeerError(f"{self}: unknown fault {unknown[0]!r}; expected one of {', '.join(_FAULTS)}")
        # Check the faults now, because an answer function is called only when a request arrives.
        self._check(with_faults(None, faults))
        for each in answers:
            self._check(each)
        self._answers = [self._made(each, faults) for each in answers]
        self.enact(self)
        return self

    def matches(self, request: Received) -> bool:
        """Return whether the rule answers this request. Exceptions raised by `when` aren't caught."""
        if type(request.message) is not self.request or request.version not in self.versions:
            return False
        if self.times is not None and len(self.requests) >= self.times:
            return False
        return self.when is None or bool(self.when(request))

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
        reply = as_reply(answer)
        try:
            check_reply(reply, self.response, self.registry)
        except TagwireError as error:
            raise PeerError(f"{self}: {error}") from None

    def __repr__(self) -> str:
        return f"on({self.request.NAME})"
