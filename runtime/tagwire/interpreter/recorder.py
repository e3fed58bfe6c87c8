"""What a reader by layout reports: `tagwire.explain.spans.SpanRecorder` makes traces of these calls."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tagwire.layout import Type
    from tagwire.layout.parts import Bits


class Recorder(Protocol):
    """Called where a part begins, for its content, and where it ends. Calls nest like the bytes."""

    def open(self, path: "list[str | int]", what: "Type | str", offset: int) -> None:
        """Something begins: a field, an element, a struct, a tag section."""

    def note(self, value: Any) -> None:
        """What the innermost one holds."""

    def name_bits(self, bits: "tuple[Bits, ...]") -> None:
        """What the bits of the one that was closed last are called."""

    def close(self, end: int) -> None:
        """The innermost one ends."""

    def unpack(self, data: bytes, end: int) -> None:
        """The innermost one has packed bytes, which end at `end`; what opens in it are places in `data`."""
