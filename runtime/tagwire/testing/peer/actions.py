"""The actions of a connection, in order, which the owner of the socket carries out or a test inspects.

Actions are plain values, so a delay needs no clock in a test, and a cut frame is just shorter bytes followed by a
`Close`.
"""

from typing import NamedTuple, TypeAlias


class Send(NamedTuple):
    """Write these bytes at once, without buffering."""

    data: bytes


class Wait(NamedTuple):
    """Do nothing for this time. All later actions wait as well, as on a connection to a broker."""

    seconds: float


class Close(NamedTuple):
    """Write everything sent before, then close the connection. No action follows."""


Action: TypeAlias = Send | Wait | Close
