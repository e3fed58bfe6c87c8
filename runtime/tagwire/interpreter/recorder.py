"""The interface by which a layout reader reports fields. `tagwire.explain.spans.SpanRecorder` makes traces of them."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tagwire.layout import Type
    from tagwire.layout.parts import Bits


class Recorder(Protocol):
    """Called where a part begins, for its content, and where it ends. Calls nest like the bytes."""

    def open(self, path: "list[str | int]", what: "Type | str", offset: int) -> None:
        """Begin a part: a field, an element, a struct, or a tag section."""

    def note(self, value: Any) -> None:
        """Set the content of the innermost part."""

    def name_bits(self, bits: "tuple[Bits, ...]") -> None:
        """Set the names of the bits of the part that was closed last."""

    def close(self, end: int) -> None:
        """End the innermost part."""

    def unpack(self, data: bytes, end: int) -> None:
        """Note that the innermost part is compressed and ends at `end`; inner positions refer to `data`."""
