"""A message as it came off a connection, or out of a log: what decoding a frame gives."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tagwire.message.base import Message

__all__ = ["Frame"]


class Frame:
    """A decoded frame: the header (None for a record), the message, and its version.

    A record that deletes has no message and version -1: see `tagwire.frames.record_frames`.
    """

    __slots__ = ("header", "message", "version")
    __match_args__ = ("header", "message", "version")

    def __init__(self, header: Message | None, message: Message | None, version: int) -> None:
        # Any: which classes they are depends on the bytes, and callers know their fields.
        self.header: Any = header
        self.message: Any = message
        self.version = version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frame):
            return NotImplemented
        return (self.header, self.message, self.version) == (other.header, other.message, other.version)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Frame(header={self.header!r}, message={self.message!r}, version={self.version})"
