"""The actions of a connection. The owner of the socket carries them out in order, or a test inspects them.

Actions are plain values, so testing a delay needs no clock, and a truncated frame is just shorter, before a `Close`.
"""

from typing import NamedTuple, TypeAlias


class Send(NamedTuple):
    """Write these bytes at once, without collecting more."""

    data: bytes


class Wait(NamedTuple):
    """Do nothing for this time. Later actions wait too, as a broker answers in order."""

    seconds: float


class Close(NamedTuple):
    """Write everything sent before, then close the connection. Always the last action."""


Action: TypeAlias = Send | Wait | Close
