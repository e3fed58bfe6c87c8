"""The messages of a package, by name and API key, and methods that encode and decode whole frames.

A generated package has one `Registry`. It imports the module of a message on first use, so a program loads only what it
needs. A frame is a header and a body; on a connection, an int32 size precedes it. The message class determines the
header version (`Message.header_version`). Records have no header: see `tagwire.frames.record_frames`.
"""

from __future__ import annotations

from contextlib import suppress

from tagwire.errors import DecodeError, UnsupportedVersionError
from tagwire.frames.frame_headers import (
    Frame,
    check_kind,
    check_names_request,
    completed_header,
    made_header,
    read_rest,
    unreadable,
)
from tagwire.frames.message_index import MessageIndex, UnknownMessageError
from tagwire.lazy import Generic
from tagwire.message.binding import engine_methods, first_use
from tagwire.wire.buffers import as_bytes, held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, overload

    # Type checkers bundle `typing_extensions`.
    from typing_extensions import TypeVar, Unpack

    from tagwire._engine import FramePlan
    from tagwire.frames.error_codes import ErrorFound
    from tagwire.frames.frame_headers import DecodeOptions
    from tagwire.frames.frame_selection import RequestSelection, ResponseSelection
    from tagwire.message.base import Message

    M = TypeVar("M", bound=Message)
    RequestH = TypeVar("RequestH", bound=Message, default=Any)
    ResponseH = TypeVar("ResponseH", bound=Message, default=Any)

else:
    RequestH, ResponseH = "RequestH", "ResponseH"


class Registry(MessageIndex, Generic[RequestH, ResponseH]):
    """The message classes of one package, with methods that encode and decode whole frames.

    `Registry[RequestH, ResponseH]` tells type checkers the header classes. They are Any if a package has no headers.
    """

    _header_names_request = False
    """True once `request_class` has checked that request headers begin with API key and version."""

    def __reduce__(self) -> tuple[object, ...]:
        from tagwire.frames.known_packages import registry_of

        return registry_of, (self.package,)

    def __repr__(self) -> str:
        return f"<registry of {self.package}: {len(self)} messages>"

    @property
    def request_header(self) -> type[RequestH]:
        """The class of request headers. Raises UnknownMessageError if the package has none."""
        found: type[RequestH] = self._header_class("RequestHeader")
        return found

    @property
    def response_header(self) -> type[ResponseH]:
        """The class of response headers. Raises UnknownMessageError if the package has none."""
        found: type[ResponseH] = self._header_class("ResponseHeader")
        return found

    def _header_class(self, name: str) -> Any:
        if name not in self:
            raise UnknownMessageError(
                f"{self.package} defines no {name}, so it can't read or write frames; encode and decode messages "
                f"without headers, or add a spec with type `header` and name `{name}`"
            )
        return self[name]

    @first_use(engine_methods)
    def encode_request(
        self,
        message: Message,
        version: int,
        *,
        correlation_id: int | None = None,
        client_id: str | None = None,
        header: RequestH | None = None,
    ) -> bytes:
        """Encode the header and the body of a request, without the frame size.

        If `header` is given, its fields and unknown tags are kept; missing API key and version come from the message.
        `correlation_id` (default 0) and `client_id` (default null) may be given with or without `header`. Raises
        EncodeError for an invalid value, and for a header with another API key, version or correlation ID.
        """
        check_kind(message, version, "request")
        ids = {"correlation_id": correlation_id, "client_id": client_id}
        return self._encoded(message, version, self.request_header, header, ids, self._request_writers)

    def _encoded(
        self,
        message: Message,
        version: int,
        cls: type[Message],
        header: Message | None,
        ids: dict[str, Any],
        plans: dict[Any, FramePlan],
    ) -> bytes:
        """Encode a header of class `cls` and a body. If `header` is None, store a plan for later calls in `plans`."""
        header_version = message.header_version(version)
        if header is not None:
            written = completed_header(message, version, cls, header, ids)
            return written.encode(header_version) + message.encode(version)
        ids["correlation_id"] = ids["correlation_id"] or 0
        written = made_header(message, version, cls, ids)
        data = written.encode(header_version) + message.encode(version)
        self._plan_frames(plans, (type(message), version), type(message), version, written)
        return data

    def request_class(self, data: Any) -> tuple[type[Message], int]:
        """Return the class and version of the request in a frame. Reads only the first four bytes.

        The version may be unknown to the class. Raises DecodeError for an unreadable frame, and if the request headers
        of the package do not begin with API key and version.
        """
        header = self.request_header
        if not self._header_names_request:
            check_names_request(header)
            self._header_names_request = True
        data = as_bytes(data)
        start = data[:4]
        if len(start) < 4:
            # The frame is too short for a header: let `decode_from` raise the DecodeError.
            header.decode_from(start, header.VERSIONS.lowest)
        api_key = int.from_bytes(start[:2], "big", signed=True)
        version = int.from_bytes(start[2:], "big", signed=True)
        is_known = ("request", "", api_key) in self._by_key
        # The size of a frame, which precedes it on a connection, looks like an API key and a version.
        if int.from_bytes(start) == len(data) - 4 and not (is_known and version in self.request(api_key).VERSIONS):
            expected = "a frame without its size; remove the first 4 bytes, or read a stream of frames"
            raise unreadable("RequestHeader", None, "", 0, "the size of the frame", expected)
        if not is_known:
            raise unreadable(
                "RequestHeader", None, "request_api_key", 0, f"API key {api_key}", f"one of {self.keys('request')}"
            )
        if version < 0:
            raise unreadable(
                "RequestHeader", None, "request_api_version", 2, f"version {version}", "a version of 0 or more"
            )
        return self.request(api_key), version

    def decode_header(self, data: Any, **options: Unpack[DecodeOptions]) -> tuple[RequestH, int]:
        """Decode the header of a request frame; return it and the offset of the body.

        The options work as in `Message.decode`. Also works for an unknown version, so that a broker can still answer.
        For an unknown API key, only the fields that all header versions have are decoded, and the returned offset is
        the end of these fields. Raises DecodeError for an invalid header.
        """
        header = self.request_header
        try:
            cls, version = self.request_class(data)
        except DecodeError as error:
            if error.path != "request_api_key":
                raise
            used = max(set(header.VERSIONS) - set(header.FLEXIBLE_VERSIONS), default=header.VERSIONS.lowest)
        else:
            used = cls.header_version(version)
        return header.decode_from(data, used, **options)

    if TYPE_CHECKING:

        @overload
        def decode_request(
            self, data: Any, message: type[M], **options: Unpack[DecodeOptions]
        ) -> Frame[M, RequestH]: ...
        @overload
        def decode_request(
            self, data: Any, message: str | int | None = None, **options: Unpack[DecodeOptions]
        ) -> Frame[Any, RequestH]: ...

    @first_use(engine_methods)
    def decode_request(
        self, data: Any, message: type[Message] | str | int | None = None, **options: Unpack[DecodeOptions]
    ) -> Frame[Any, RequestH]:
        """Decode the request in a frame, given without its size prefix. The options work as in `Message.decode`.

        `message` is the expected class, which tells type checkers the type of the result, or its name or API key.
        Raises DecodeError for invalid bytes, with an offset from the start of the frame. Raises UnsupportedVersionError
        for an unknown version; `decode_header` can then still read the header.
        """
        data = held(data) if options.get("views") else as_bytes(data)
        cls, version = self.request_class(data)
        header, start = self.request_header.decode_from(data, cls.header_version(version), **options)
        if message is not None and cls is not (required := self._of_kind(message, "request")):
            found, expected = (f"API key {each.API_KEY} ({each.NAME})" for each in (cls, required))
            raise unreadable("RequestHeader", None, "request_api_key", 0, found, expected)
        request = read_rest(cls, data, version, start, **options)
        self._plan_frames(self._request_readers, int.from_bytes(data[:4]), cls, version, header)
        return Frame(header, request, version)

    @first_use(engine_methods)
    def encode_response(
        self,
        message: Message,
        version: int,
        *,
        correlation_id: int | None = None,
        header: ResponseH | None = None,
    ) -> bytes:
        """Encode the header and the body of a response, without the frame size.

        If `header` is given, its fields and unknown tags are kept. `correlation_id` may be given with or without
        `header`, and defaults to 0. Raises EncodeError for an invalid value.
        """
        check_kind(message, version, "response")
        ids = {"correlation_id": correlation_id}
        return self._encoded(message, version, self.response_header, header, ids, self._response_writers)

    if TYPE_CHECKING:

        @overload
        def decode_response(
            self, data: Any, api_key: type[M], version: int, **options: Unpack[DecodeOptions]
        ) -> Frame[M, ResponseH]: ...
        @overload
        def decode_response(
            self, data: Any, api_key: int, version: int, **options: Unpack[DecodeOptions]
        ) -> Frame[Any, ResponseH]: ...

    @first_use(engine_methods)
    def decode_response(
        self, data: Any, api_key: int | type[Message], version: int, **options: Unpack[DecodeOptions]
    ) -> Frame[Any, ResponseH]:
        """Decode the response to a request of this API and version. `data` is the frame without its size.

        Instead of `api_key`, you can pass the response class, which tells type checkers the type of the result. A
        broker that doesn't know the requested version of ApiVersions answers in version 0, with error 35 (see
        `Message.FALLBACK`); `Frame.version` is the version of the answer. Raises UnsupportedVersionError for an unknown
        version, and DecodeError for invalid bytes, with an offset from the start of the frame.
        """
        cls = self._of_kind(api_key, "response")
        data = held(data) if options.get("views") else as_bytes(data)

        def read(version: int) -> Frame[Any, ResponseH]:
            header_version = cls.header_version(version)
            header, start = self.response_header.decode_from(data, header_version, **options)
            message = read_rest(cls, data, version, start, **options)
            if cls.FALLBACK is None:
                self._plan_frames(self._response_readers, (api_key, version), cls, version, header)
            return Frame(header, message, version)

        try:
            return read(version)
        except (DecodeError, UnsupportedVersionError):
            if cls.FALLBACK is None:
                raise
            fallback_version, error_code = cls.FALLBACK
            try:
                frame = read(fallback_version)
            except DecodeError:
                pass
            else:
                if getattr(frame.message, cls.FIELDS[0].name) == error_code:
                    return frame
            raise

    def _plan_frames(
        self, plans: dict[Any, FramePlan], key: object, cls: type[Message], version: int, header: Message
    ) -> None:
        """Make a `FramePlan` for frames with this header and message version, and store it in `plans` for later calls.

        With this plan, the native engine reads or writes the header and the message of a frame in one call.
        """
        plans_of: Any = (header._serializers, cls._serializers)  # pyright: ignore[reportPrivateUsage]
        parts = plans_of[0].get(cls.header_version(version)), plans_of[1].get(version)
        if key in plans or None in parts or any(isinstance(part, type) for part in parts):
            return
        if cls.NAME in self and self[cls.NAME] is cls:
            from tagwire._engine import FramePlan, NotNative

            with suppress(NotNative):
                plans[key] = FramePlan(Frame, *parts, header)

    def select_request(self, message: type[Message] | str | int, *paths: str) -> RequestSelection:
        """Select fields of whole requests, such as `header.client_id` and `topics[].name`: see `tagwire.select`.

        `message` is a class, a name or an API key. Raises SelectionError for invalid paths, and UnknownMessageError for
        an unknown message.
        """
        from tagwire.frames.frame_selection import RequestSelection

        return RequestSelection(self, self._of_kind(message, "request"), paths)

    def select_response(self, message: type[Message] | str | int, *paths: str) -> ResponseSelection:
        """Select fields of whole responses, like `select_request`."""
        from tagwire.frames.frame_selection import ResponseSelection

        return ResponseSelection(self, self._of_kind(message, "response"), paths)

    def _of_kind(self, message: type[Message] | str | int, kind: str) -> type[Message]:
        if isinstance(message, int):
            return self.find(kind, message)
        cls = self[message] if isinstance(message, str) else message
        if kind != getattr(cls, "KIND", None):
            from tagwire.message.base import Message
            from tagwire.text_format import a_kind, got

            if not (isinstance(cls, type) and issubclass(cls, Message)):
                raise UnknownMessageError(f"expected the class, name or API key of a {kind}, got {got(message)}")
            raise UnknownMessageError(f"{cls.NAME}: expected a {kind}, got {a_kind(cls.KIND)}")
        return cls

    def errors(self, message: Message) -> tuple[ErrorFound, ...]:
        """Return the nonzero error codes in a response, each with its path.

        An unknown code from a newer peer becomes a new enum member (`Register.of`). The result is empty if the
        package has no enum of error codes.
        """
        from tagwire.frames.error_codes import errors_in

        check_kind(message, None, "response")
        return errors_in(message, self)

    def encode_record(self, message: Message, version: int) -> bytes:
        """Encode a record with the prefix that its log requires: see `tagwire.frames.record_frames`."""
        from tagwire.frames.record_frames import encode_record

        return encode_record(message, version)

    def encode_prefixed(self, message: Message, version: int) -> bytes:
        """Encode a message, preceded by its version as an int16, as in a group member's metadata and assignment.

        Raises EncodeError for an invalid value.
        """
        from tagwire.frames.record_frames import encode_prefixed

        return encode_prefixed(message, version)

    def decode_prefixed(self, message: type[Message] | str, data: Any, **options: Unpack[DecodeOptions]) -> Frame:
        """Decode a message preceded by its version, such as a ConsumerProtocolSubscription; `Frame.header` is None.

        `message` is a class or a name. With `strict=False`, a newer version is read as if it were the highest known
        version, as in Kafka's consumer. Raises DecodeError for invalid bytes, UnsupportedVersionError for an unknown
        version, and UnknownMessageError for an unknown message.
        """
        from tagwire.frames.record_frames import decode_prefixed

        cls = self[message] if isinstance(message, str) else message
        return decode_prefixed(cls, data, options)

    def decode_record(self, data: Any, log: str, key: Any = None, **options: Unpack[DecodeOptions]) -> Frame:
        """Decode a record of a log ("group", "transaction", "share", "cluster", "remote-log"): see `record_frames`."""
        from tagwire.frames.record_frames import decode_record

        return decode_record(self, data, log, key, options)
