"""The base class of generated messages, with the methods that users call.

The native engine replaces `encode`, `decode` and similar methods in each class (`tagwire.message.binding`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType

from tagwire.errors import UnsupportedVersionError
from tagwire.lazy import Generic
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.binding import FirstUse, engine_methods, first_use, inherit_calls, message_calls
from tagwire.message.struct_class import Struct, owned, same
from tagwire.versions import NONE, Versions

__all__ = ["Message", "Struct", "decoded", "owned", "same"]  # the names that the native engine imports from here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Literal

    from typing_extensions import TypeVar  # type checkers bundle it

    from tagwire.frames.frame_headers import Frame
    from tagwire.layout import Layout
    from tagwire.message.field_table import OptionalFields
    from tagwire.message.losses import Loss, Projection
    from tagwire.message.serializer import Serializer

    M = TypeVar("M", bound="Message")
    H = TypeVar("H", default=Any)

else:
    from tagwire.lazy import ClassVar

    H = "H"


class _OnObjectOrClass:
    """Lets `supported_versions()` be called on a message or on its class.

    For a message, it returns the versions that can represent this message; for a class, all versions.
    """

    def __get__(self, message: Message | None, cls: type[Message]) -> Callable[[], Versions]:
        from tagwire.message.losses import supported_versions

        return MethodType(supported_versions, cls if message is None else message)


class Message(Struct, Generic[H]):
    """A message: a request, a response, a header, or a record.

    `Message[H]` tells type checkers the class of the header, which is Any for a message without a header.

    All methods that take a version raise UnsupportedVersionError if it is not an int, or not in `VERSIONS`.
    """

    __slots__ = ()

    NAME: ClassVar[str]
    """The message's name in its spec."""
    KIND: ClassVar[str]
    """The kind: request, response, header, metadata, data, coordinator-key or coordinator-value."""
    API_KEY: ClassVar[int | None] = None
    """The API key or the record type, or None for headers and data."""
    COMPONENT: ClassVar[str] = ""
    """The part of Kafka that uses the message, such as "group".

    Two components may use the same `API_KEY` for different records.
    """
    VERSIONS: ClassVar[Versions]
    FLEXIBLE_VERSIONS: ClassVar[Versions] = NONE
    """The versions with tagged fields and compact lengths."""
    LATEST_STABLE: ClassVar[int]
    """The highest version that is not marked unstable, or -1 if there is none."""
    HEADER_VERSIONS: ClassVar[tuple[tuple[Versions, int], ...]] = ()
    """The header version for each range of the message's versions. Only requests and responses have one."""
    FALLBACK: ClassVar[tuple[int, int] | None] = None
    """How to answer a request in an unsupported version: the version of the response, and its error code."""

    if TYPE_CHECKING:
        OPTIONAL_FIELDS: ClassVar[OptionalFields | None]
        """How the message encodes optional fields (first draft of KIP-482), or None if it has no such fields."""
        _layouts: ClassVar[dict[int, Layout]]
        _serializers: ClassVar[dict[int, type[Serializer[Any]]]]
        _codec: ClassVar[Any]
        _bound: ClassVar[frozenset[str]]

        def __init__(self, **fields: Any) -> None: ...

    else:
        OPTIONAL_FIELDS = None
        __reduce__ = FirstUse(Struct.__reduce__, engine_methods)

    def __init_subclass__(cls) -> None:
        cls._layouts = {}
        cls._serializers = {}
        if cls.__base__ is not Message:
            inherit_calls(cls, Message)

    @classmethod
    def serializer(cls: type[M], version: int) -> type[Serializer[M]]:
        """Return the serializer of a version: a generated class, or an object of the native engine."""
        found = cls._serializers.get(version) if isinstance(version, int) else None  # 9.0 equals the key 9
        if found is None:
            if version not in cls.VERSIONS:
                raise UnsupportedVersionError(cls.NAME, version, cls.VERSIONS)
            from tagwire.message.engines import serializer_of

            version = int(version)  # a bool or an enum member becomes an int
            # `setdefault`, because all threads must use the same serializer.
            found = cls._serializers.setdefault(version, serializer_of(cls, version))
        return found

    @first_use(message_calls)
    def encode(self, version: int, *, on_loss: Literal["drop", "error"] = "drop") -> bytes:
        """Encode the message. Raises EncodeError for a value that this version can't represent.

        Values of ignorable fields that this version lacks are dropped. With `on_loss="error"`, they raise EncodeError.
        """
        if on_loss != "drop":
            from tagwire.message.losses import encode_with

            return encode_with(self, version, on_loss=on_loss)
        serializer = (isinstance(version, int) and self._serializers.get(version)) or self.serializer(version)
        return serializer.encode(self)

    @first_use(message_calls)
    def encoded_size(self, version: int) -> int:
        """Return the number of bytes that `encode` would return. Raises the same errors as `encode`."""
        return self.serializer(version).encoded_size(self)

    @first_use(message_calls)
    @classmethod
    def decode(
        cls: type[M],
        data: Any,
        version: int,
        *,
        strict: bool = True,
        views: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        gc: bool = True,
    ) -> M:
        """Decode all of `data` (any bytes-like object).

        With `views`, values of type bytes and records are memoryviews of `data` instead of copies. With `strict=False`,
        accepts everything that Kafka's own reader accepts. `gc=False` is faster with the native engine, but objects in
        reference cycles are never freed. Raises DecodeError, or LimitError if `data` exceeds `limits`.
        """
        serializer = (isinstance(version, int) and cls._serializers.get(version)) or cls.serializer(version)
        return serializer.decode(data, strict=strict, views=views, limits=limits)

    @first_use(message_calls)
    @classmethod
    def decode_from(
        cls: type[M],
        data: Any,
        version: int,
        offset: int = 0,
        *,
        strict: bool = True,
        views: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        gc: bool = True,
    ) -> tuple[M, int]:
        """Like `decode`, but decode the message that begins at `offset`, and return it and the offset after it."""
        return cls.serializer(version).decode_from(data, offset, strict=strict, views=views, limits=limits)

    @classmethod
    def decode_frame(
        cls: type[M],
        data: Any,
        version: int | None = None,
        *,
        strict: bool = True,
        views: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        gc: bool = True,
    ) -> Frame[M, H]:
        """Decode a frame that contains this message. `data` is the frame without its size prefix.

        For a response, `version` is the version of its request. Raises DecodeError for invalid bytes, and for a frame
        that belongs to another request.
        """
        from importlib import import_module

        registry = import_module(cls.__module__.rpartition(".")[0]).registry
        how = {"strict": strict, "views": views, "limits": limits, "gc": gc}
        if cls.KIND == "request":
            frame: Frame[M, H] = registry.decode_request(data, cls, **how)
            return frame
        if version is None:
            from tagwire.text_format import a_kind

            raise TypeError(f"{cls.NAME} is {a_kind(cls.KIND)}, so pass `version`, the version of the request")
        frame = registry.decode_response(data, cls, version, **how)
        return frame

    @classmethod
    def header_version(cls, version: int) -> int:
        """Return the header version that belongs to a version of this request or response.

        A version above `VERSIONS` has the header version of the highest known version, because a broker must be able to
        read the header. Raises UnsupportedVersionError if the message has no header.
        """
        for versions, header_version in cls.HEADER_VERSIONS:
            if version in versions:
                return header_version
        if cls.HEADER_VERSIONS:
            raise UnsupportedVersionError(cls.NAME, version, cls.VERSIONS)
        raise UnsupportedVersionError(f"the header of {cls.NAME}", version, NONE)

    def to_json(self, version: int, *, style: str = "lossless") -> dict[str, Any]:
        """Return the message in Kafka's JSON form. Raises EncodeError for a value that this version can't represent.

        By default, records are base64, and unknown tagged fields are under `_unknownTags`. `style="kafka"` returns
        exactly what Kafka's own converters print, without records and unknown fields.
        """
        from tagwire.message.json import to_json

        return to_json(self, version, style)

    @classmethod
    def from_json(cls: type[M], obj: Mapping[str, Any], version: int) -> M:
        """Make a message from `obj`, its JSON form in this version. Raises EncodeError for invalid input."""
        from tagwire.message.json import from_json

        return from_json(cls, obj, version)

    def to_json_text(self, version: int, *, style: str = "lossless", indent: int | None = None) -> str:
        """Return the result of `to_json` as a JSON string, on one line or indented."""
        from tagwire.message.json_text import to_json_text

        return to_json_text(self, version, style, indent)

    @classmethod
    def from_json_text(cls: type[M], text: str | bytes, version: int) -> M:
        """Parse a JSON message, a string or UTF-8 bytes.

        Raises EncodeError for invalid JSON, with the position, and for an invalid value, with the field's path.
        """
        from tagwire.message.json_text import from_json_text

        return from_json_text(cls, text, version)

    supported_versions = _OnObjectOrClass()

    def losses(self, version: int) -> tuple[Loss, ...]:
        """Return the values that `version` can't represent.

        Encoding would drop such values in ignorable fields, and reject them in other fields.
        """
        from tagwire.message.losses import losses

        return losses(self, version)

    def for_version(self, version: int) -> Projection:
        """Return a copy that `version` can represent, and the list of lost values.

        Raises EncodeError for an invalid value that no default can replace.
        """
        from tagwire.message.losses import for_version

        return for_version(self, version)


def check_message_class(message: object) -> None:
    """Raise TypeError unless `message` is a message class, for example because it is the name of a message."""
    if not isinstance(message, type) or not hasattr(message, "VERSIONS"):
        from tagwire.text_format import shown

        raise TypeError(f"expected a message class, such as MetadataRequest, got {shown(message)}")


def decoded(message: type[M], version: int, data: bytes) -> M:
    """Recreate a pickled message from its encoded bytes, which both engines can decode."""
    return message.decode(data, version)
