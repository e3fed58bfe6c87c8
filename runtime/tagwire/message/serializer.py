"""The base of generated serializer classes: one class a version, one straight way through its bytes.

A generated class has `read` and `write`, which know no error places. Here is
what surrounds them: input of any bytes-like kind, the whole of it, limits, and
the walk by layout that finds the place of a fault. Lenient reading and narrow
limits take that walk from the start: they are not worth a second set of
generated code.
"""

from struct import error as struct_error
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar, cast

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.field_table import layout_of
from tagwire.wire.buffers import as_bytes, bytes_and_view
from tagwire.wire.byte_count import ByteCount
from tagwire.wire.scalars import UnreadableBytes, UnwritableValue

if TYPE_CHECKING:
    from tagwire.layout import Layout
    from tagwire.message.base import Message

__all__ = ["READ_FAULTS", "WRITE_FAULTS", "LayoutSerializer", "Serializer"]

M = TypeVar("M", bound="Message")

READ_FAULTS: Final = (ValueError, struct_error, IndexError, OverflowError)
"""What `read` may raise on bad bytes: UnreadableBytes and UnicodeDecodeError are ValueErrors."""
WRITE_FAULTS: Final = (ValueError, struct_error, TypeError, AttributeError, KeyError, OverflowError, BufferError)
"""What `write` may raise on a bad value: UnwritableValue and UnicodeEncodeError are ValueErrors."""


def _taken(data: Any, views: bool) -> tuple[bytes, Any]:
    """What is read, and what fields of bytes are slices of."""
    if views:
        return bytes_and_view(data)
    buf = data if type(data) is bytes else as_bytes(data)
    return buf, buf


class Serializer(Generic[M]):
    """One version of one message."""

    __slots__ = ()

    MESSAGE: ClassVar[type[Any]]
    """The message's data class."""
    VERSION: ClassVar[int]

    @staticmethod
    def read(buf: bytes, raw: Any, pos: int) -> tuple[Any, int]:
        """The message at `pos` of `buf`, and where it ends; bytes fields are slices of `raw`."""
        raise NotImplementedError

    @staticmethod
    def write(m: Any, out: bytearray) -> None:
        """Append the message to `out`."""
        raise NotImplementedError

    @classmethod
    def layout(cls) -> "Layout":
        """The layout that this class was generated from."""
        return layout_of(cls.MESSAGE, cls.VERSION)

    @classmethod
    def encode(cls, message: M) -> bytes:
        """The message as bytes. Raises EncodeError for a value that this version can't carry."""
        out = bytearray()
        try:
            cls.write(message, out)
            return bytes(out)
        except WRITE_FAULTS:
            pass  # the writer runs outside this handler: what was raised here may hold a secret
        from tagwire.interpreter.writer import encode

        return encode(cls.layout(), message)

    @classmethod
    def encoded_size(cls, message: M) -> int:
        """The length of what `encode` gives, in bytes; raises the same errors."""
        out = ByteCount()
        try:
            cls.write(message, cast(bytearray, out))
            return out.size
        except WRITE_FAULTS:
            pass
        from tagwire.interpreter.writer import encoded_size

        return encoded_size(cls.layout(), message)

    @classmethod
    def decode(cls, data: Any, *, strict: bool = True, views: bool = False, limits: Limits = DEFAULT_LIMITS) -> M:
        """The message that `data` holds, from its first byte to its last.

        Raises DecodeError (LimitError where `limits` stop it). With `strict=False`
        it takes what Kafka's own reader takes, bytes behind the message too.
        """
        buf, raw = _taken(data, views)
        if strict and (limits is DEFAULT_LIMITS or limits.allow_all_of(len(buf), cls.layout().root.depth)):
            try:
                message, end = cls.read(buf, raw, 0)
                # Past the end as well: straight-line code checks no string against the end of the input.
                if end == len(buf):
                    return message  # type: ignore[no-any-return]
                del message  # or it would take its memory beside what the layout's walk reads again
            except READ_FAULTS:
                pass
        message, _ = cls._by_layout(buf, raw, 0, True, strict, limits)
        return message  # type: ignore[no-any-return]

    @classmethod
    def decode_from(
        cls, data: Any, offset: int = 0, *, strict: bool = True, views: bool = False, limits: Limits = DEFAULT_LIMITS
    ) -> tuple[M, int]:
        """The message that begins at `offset`, and the offset of the byte behind it; else as `decode`."""
        buf, raw = _taken(data, views)
        if (
            strict
            and 0 <= offset <= len(buf)
            and (limits is DEFAULT_LIMITS or limits.allow_all_of(len(buf) - offset, cls.layout().root.depth))
        ):
            try:
                message, end = cls.read(buf, raw, offset)
                if end <= len(buf):
                    return message, end
                del message
            except READ_FAULTS:
                pass
        return cls._by_layout(buf, raw, offset, False, strict, limits)

    @classmethod
    def _by_layout(
        cls, buf: bytes, raw: Any, offset: int, whole: bool, strict: bool, limits: Limits
    ) -> tuple[Any, int]:
        from tagwire.interpreter.reader import decode

        return decode(cls.layout(), buf, raw=raw, offset=offset, whole=whole, strict=strict, limits=limits)


class LayoutSerializer(Serializer[M]):
    """For message classes that have no generated serializers, such as those written by hand: all is done by layout."""

    __slots__ = ()

    @staticmethod
    def read(buf: bytes, raw: Any, pos: int) -> tuple[Any, int]:
        raise UnreadableBytes

    @staticmethod
    def write(m: Any, out: bytearray) -> None:
        raise UnwritableValue
