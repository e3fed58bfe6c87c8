"""The result of decoding a frame: a message with its header."""

from __future__ import annotations

from tagwire.generics import Generic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import TypeVar  # type checkers find this package even if it is not installed

    M = TypeVar("M", default=Any)
    H = TypeVar("H", default=Any)
else:
    M, H = "M", "H"


class Frame(Generic[M, H]):
    """A decoded frame: the header (None for a record), the message, and its version.

    `Frame[M, H]` gives type checkers the classes of message and header, which are Any if only the bytes determine them.
    A tombstone record has no message and version -1: see `tagwire.frames.record_frames`.
    """

    __slots__ = ("header", "message", "version")
    __match_args__ = ("header", "message", "version")

    def __init__(self, header: H, message: M, version: int) -> None:
        self.header = header
        self.message = message
        self.version = version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frame):
            return NotImplemented
        return (self.header, self.message, self.version) == (other.header, other.message, other.version)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Frame(header={self.header!r}, message={self.message!r}, version={self.version})"
