"""The base class of generated serializers. Each message version has its own class.

A generated class has `read` and `write`, which do not track error positions. This module does everything else: it
accepts any bytes-like type, rejects remaining bytes, enforces limits, and calls the layout interpreter to find the
position of an error. Two rare cases always use the interpreter: lenient reading, and input that may exceed the limits.
"""

from struct import error as struct_error
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar, cast

from tagwire.limits import DEFAULT_LIMITS, Limits, check_limits
from tagwire.message.field_table import layout_of
from tagwire.wire.buffers import ByteCount, as_bytes, bytes_and_view
from tagwire.wire.scalars import UnreadableBytes, UnwritableValue

if TYPE_CHECKING:
    from tagwire.layout import Layout
    from tagwire.message.base import Message

    M = TypeVar("M", bound=Message)
else:
    M = TypeVar("M")  # no quoted bound: for one, Python 3.14 imports the slow modules annotationlib and ast

READ_ERRORS: Final = (ValueError, struct_error, IndexError, OverflowError)
"""The exceptions that `read` may raise on invalid bytes. ValueError includes UnreadableBytes and UnicodeDecodeError."""
WRITE_ERRORS: Final = (ValueError, struct_error, TypeError, AttributeError, KeyError, OverflowError, BufferError)
"""The exceptions that `write` may raise on a bad value. ValueError includes UnwritableValue and UnicodeEncodeError."""


class Serializer(Generic[M]):
    """Base class of the serializers. Each subclass encodes and decodes one version of one message."""

    __slots__ = ()

    MESSAGE: ClassVar[type[Any]]
    """The message's data class."""
    VERSION: ClassVar[int]

    @staticmethod
    def read(buf: bytes, raw: Any, pos: int) -> tuple[Any, int]:
        """Read the message at `pos` of `buf`. Return it and the position after it. Bytes fields are slices of `raw`."""
        raise NotImplementedError

    @staticmethod
    def write(m: Any, out: bytearray) -> None:
        """Append the message to `out`."""
        raise NotImplementedError

    @classmethod
    def layout(cls) -> "Layout":
        """Return the layout that this class was generated from."""
        return layout_of(cls.MESSAGE, cls.VERSION)

    @classmethod
    def encode(cls, message: M) -> bytes:
        """Encode the message. Raises EncodeError for a value that this version can't represent."""
        out = bytearray()
        try:
            cls.write(message, out)
            return bytes(out)
        except WRITE_ERRORS:
            pass  # raise the error outside this handler: `__context__` would reveal the value, which may be secret
        from tagwire.interpreter.writer import encode

        return encode(cls.layout(), message)

    @classmethod
    def encoded_size(cls, message: M) -> int:
        """Return the number of bytes that `encode` would return. Raises the same errors as `encode`."""
        out = ByteCount()
        try:
            cls.write(message, cast(bytearray, out))
            return out.size
        except WRITE_ERRORS:
            pass
        from tagwire.interpreter.writer import encoded_size

        return encoded_size(cls.layout(), message)

    @classmethod
    def decode(cls, data: Any, *, strict: bool = True, views: bool = False, limits: Limits = DEFAULT_LIMITS) -> M:
        """Decode the message in `data`, which must contain nothing else.

        With `strict=False`, accepts what Kafka's own reader accepts, including bytes after the message. Raises
        DecodeError, or LimitError if `data` exceeds `limits`.
        """
        return cls._decoded(data, 0, True, strict, views, limits)[0]

    @classmethod
    def decode_from(
        cls, data: Any, offset: int = 0, *, strict: bool = True, views: bool = False, limits: Limits = DEFAULT_LIMITS
    ) -> tuple[M, int]:
        """Decode the message at `offset`, as `decode` does. Return the message and the offset after it."""
        return cls._decoded(data, offset, False, strict, views, limits)

    @classmethod
    def _decoded(cls, data: Any, offset: int, whole: bool, strict: bool, views: bool, limits: Limits) -> tuple[M, int]:
        raw: Any
        if views:
            buf, raw = bytes_and_view(data)
        else:
            buf = raw = data if type(data) is bytes else as_bytes(data)
        if limits is not DEFAULT_LIMITS:
            check_limits(limits)
        if (
            strict
            and 0 <= offset <= len(buf)
            and (limits is DEFAULT_LIMITS or limits.allow_all_of(len(buf) - offset, cls.layout().root.depth))
        ):
            try:
                message, end = cls.read(buf, raw, offset)
                # Generated code does not check whether a string is complete, so `end` can lie beyond the end of `buf`.
                if end == len(buf) or (end < len(buf) and not whole):
                    return message, end
                del message  # free the message's memory before the interpreter decodes the bytes again
            except READ_ERRORS:
                pass
        from tagwire.interpreter.reader import decode

        return decode(cls.layout(), buf, raw=raw, offset=offset, whole=whole, strict=strict, limits=limits)


class LayoutSerializer(Serializer[M]):
    """A serializer that uses the layout interpreter, for message classes without generated serializers."""

    __slots__ = ()

    @staticmethod
    def read(buf: bytes, raw: Any, pos: int) -> tuple[Any, int]:
        raise UnreadableBytes

    @staticmethod
    def write(m: Any, out: bytearray) -> None:
        raise UnwritableValue
