"""What a connection wants done, in order. Whoever has the socket does it; a test without one looks at it.

Actions are plain values, so a delay needs no clock in a test, and a cut frame is just
shorter bytes with a `Close` behind them.
"""

from typing import NamedTuple, TypeAlias


class Send(NamedTuple):
    """Write these bytes, and don't hold them back for others."""

    data: bytes


class Wait(NamedTuple):
    """Do nothing for so long. Everything behind it waits too, as on a connection to a broker."""

    seconds: float


class Close(NamedTuple):
    """Write what was sent before, then close the connection. It is the last action."""


Action: TypeAlias = Send | Wait | Close
