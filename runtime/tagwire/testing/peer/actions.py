"""The actions of a connection, such as "send these bytes". The owner of the socket carries them out in order.

Actions are plain values, so tests can check delays and truncated frames without a clock or a socket.
"""

from typing import NamedTuple, TypeAlias


class Send(NamedTuple):
    """Send these bytes immediately, in a separate write."""

    data: bytes


class Wait(NamedTuple):
    """Wait before the next action. Later answers wait as well, because a broker answers in order."""

    seconds: float


class Close(NamedTuple):
    """Close the connection after all bytes have been sent. Always the last action."""


Action: TypeAlias = Send | Wait | Close
