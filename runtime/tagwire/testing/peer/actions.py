"""The actions that a connection asks for. The owner of the socket carries them out in order, or a test inspects them.

Actions are plain values: testing a delay needs no clock, and a truncated frame is just fewer bytes and then a `Close`.
"""

from typing import NamedTuple, TypeAlias


class Send(NamedTuple):
    """Write these bytes immediately, without collecting more of them first."""

    data: bytes


class Wait(NamedTuple):
    """Do nothing for this time. Later actions wait too, because answers on a connection to a broker stay in order."""

    seconds: float


class Close(NamedTuple):
    """Write everything that was sent before, and close the connection. This is always the last action."""


Action: TypeAlias = Send | Wait | Close
