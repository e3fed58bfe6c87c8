"""What a reader by layout tells of its way: the calls that a trace is built from (`tagwire.explain.trace.Recorder`)."""

from typing import Any, Protocol

__all__ = ["Recorder"]


class Recorder(Protocol):
    """Is told where something begins, what it holds, and where it ends. Calls nest as the bytes do."""

    def open(self, path: str, type: str, offset: int) -> None:
        """Something begins: a field, an element, a struct, a tag section."""

    def note(self, value: Any) -> None:
        """What the innermost one holds."""

    def close(self, end: int) -> None:
        """The innermost one ends."""

    def unpack(self, data: bytes, end: int) -> None:
        """The innermost one has packed bytes, which end at `end`; what opens in it are places in `data`."""
