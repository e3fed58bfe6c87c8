"""The common part of both drivers: errors and retries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tagwire.addresses import Address
from tagwire.errors import TagwireError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tagwire.connection import Answer, Connection
    from tagwire.frames.known_packages import ErrorFound

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0
_MOST_SHOWN: Final = 3
READ_SIZE: Final = 1 << 18
"""The maximum number of bytes to read at once."""
HANDSHAKES: Final = 3
"""How often to ask a peer for its versions: the peer may not have the version of the first request."""


class PeerConnectionError(TagwireError):
    """Raised if a peer can't be reached, does not answer in time, or has closed the connection."""


class AnswerError(TagwireError):
    """An answer with error codes. `errors` are the codes with their paths, and `answer` is the whole response."""

    def __init__(self, answer: Any, errors: Sequence[ErrorFound]) -> None:
        more = f" and {len(errors) - _MOST_SHOWN} more" if len(errors) > _MOST_SHOWN else ""
        super().__init__(f"{answer.NAME}: {', '.join(map(str, errors[:_MOST_SHOWN]))}{more}")
        self.answer = answer
        self.errors = tuple(errors)


def address_of(address: str | tuple[str, int]) -> Address:
    """Return the host and port of an address. Raises AddressError."""
    return Address.parse(address) if isinstance(address, str) else Address(*address)


def unreachable(host: str, port: int, error: OSError) -> PeerConnectionError:
    """Return the error for a connection that could not be made."""
    reason = error.strerror or str(error) or "it did not answer in time"
    return PeerConnectionError(f"{Address(host, port)} can't be reached: {reason}")


def check_handshake(connection: Connection, answer: Answer, tries: int) -> None:
    """Raise AnswerError if a peer has not announced its versions and further requests won't help."""
    if connection.has_versions:
        return
    errors = connection.registry.errors(answer.message)
    is_retry = answer.version != answer.request.version and tries < HANDSHAKES
    if not is_retry:
        raise AnswerError(answer.message, errors)


def is_tried_again(connection: Connection, answer: Any, pause: float, *, check: bool) -> bool:
    """Whether to send a request again after the pause: its answer has errors, and all of them are retriable.

    With `check`, raises AnswerError for errors that are not retried.
    """
    errors = connection.registry.errors(answer) if answer is not None and (check or pause) else ()
    if errors and pause and all(each.is_retriable for each in errors):
        return True
    if errors and check:
        raise AnswerError(answer, errors)
    return False


def pauses(seconds: float) -> Iterator[float]:
    """Yield the pause after each attempt, up to `seconds` in all, and 0 after the last attempt."""
    pause = _FIRST_PAUSE
    while seconds > 0:
        yield min(pause, seconds)
        seconds -= pause
        pause = min(2 * pause, _LONGEST_PAUSE)
    yield 0.0
