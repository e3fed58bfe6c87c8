"""The messages of a package by name and by API key, and whole frames of them.

A generated package has one `Registry`. It imports the module of a message on first use, so a
program loads only what it needs. A frame is a header and a body; on a connection, an int32
size comes before it. The message class knows its header (`Message.header_version`). Records
have no header; `tagwire.frames.record_frames` frames them.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from tagwire.errors import DecodeError, TagwireError, UnsupportedVersionError
from tagwire.frames.frame import Frame
from tagwire.frames.frame_headers import check_class, check_kind, completed_header, made_header
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.wire.buffers import as_bytes, held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, overload

    from typing_extensions import TypedDict, Unpack  # type checkers know it without the package

    from tagwire.frames.frame_selection import RequestSelection, ResponseSelection
    from tagwire.frames.releases import Spans
    from tagwire.message.base import Message

    M = TypeVar("M", bound=Message)

    class _How(TypedDict, total=False):
        """How to decode: what `Message.decode` takes."""

        strict: bool
        views: bool
        limits: Limits
        gc: bool


__all__ = ["Registry", "UnknownMessageError"]

Index = dict[str, tuple[str, str, "int | None", str]]
"""By message name: the module's name in the package, then KIND, API_KEY and COMPONENT of the class."""


class UnknownMessageError(TagwireError, LookupError):
    """The registry has no message of this name, API key or record type."""


class Registry:
    """The message classes of one package. Iteration gives their names, in order.

    `aliases` are older names of messages: `registry[alias]`, `alias in registry`
    and attributes of the package know them, `names()` and iteration do not.
    `registers` are the classes of constants that the package has beside its
    messages, with their modules; `structs` are those of the structs that messages
    share.
    """

    def __init__(
        self,
        package: str,
        index: Index,
        *,
        aliases: dict[str, str] | None = None,
        registers: dict[str, str] | None = None,
        structs: dict[str, str] | None = None,
    ) -> None:
        self._package = package
        self.registers = registers or {}
        self.structs = structs or {}
        self._index = index
        self._aliases = aliases or {}
        self._by_key: dict[tuple[str, str, int], str] = {}
        for name, (_, kind, api_key, component) in index.items():
            if api_key is not None:
                self._by_key[kind, _scope(kind, component), api_key] = name

    # ------------------------------------------------------------ the classes

    def names(self) -> list[str]:
        """Every message name, sorted."""
        return sorted(self._index)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, name: object) -> bool:
        return name in self._index or name in self._aliases

    def __getitem__(self, name: str) -> type[Message]:
        """The class of a message, by its name or an older one. Raises UnknownMessageError."""
        name = self._aliases.get(name, name)
        if name not in self._index:
            from tagwire.text_format import near

            raise UnknownMessageError(f"{self._package} has no message {name!r}{near(name, list(self._index))}")
        module = import_module(f"{self._package}.{self._index[name][0]}")
        found: type[Message] = getattr(module, name)
        return found

    def attribute(self, name: str) -> Any:
        """An attribute of the package, imported now: the class of a message, register or shared struct, or `ApiKey`.

        The modules of these are attributes too. The `__getattr__` of generated packages. Raises AttributeError.
        """
        if name in self:
            return self[name]
        if name == "ApiKey":
            return import_module(f"{self._package}.api_key").ApiKey
        others = {**self.registers, **self.structs}
        if name in others:
            return getattr(import_module(f"{self._package}.{others[name]}"), name)
        if name in others.values() or any(module == name for module, *_ in self._index.values()):
            return import_module(f"{self._package}.{name}")
        raise AttributeError(f"module {self._package!r} has no attribute {name!r}")

    def request(self, api_key: int) -> type[Message]:
        """The request of an API. Raises UnknownMessageError."""
        return self.find("request", api_key)

    def response(self, api_key: int) -> type[Message]:
        """The response of an API. Raises UnknownMessageError."""
        return self.find("response", api_key)

    def find(self, kind: str, api_key: int, component: str = "") -> type[Message]:
        """The message of a kind with an API key; `component` where it is a record's, since those keys repeat.

        Raises UnknownMessageError.
        """
        name = self._by_key.get((kind, _scope(kind, component), api_key))
        if name is None:
            where = f" of component {component!r}" if component else ""
            keys = self.keys(kind, component)
            raise UnknownMessageError(f"{self._package} has no {kind}{where} with API key {api_key}; it has {keys}")
        return self[name]

    def keys(self, kind: str, component: str = "") -> str:
        """The API keys that `find` knows, as a text."""
        from tagwire.text_format import ranges

        scope = _scope(kind, component)
        return ranges(sorted(key for k, s, key in self._by_key if k == kind and s == scope))

    @property
    def request_header(self) -> type[Message]:
        """The class of the headers of requests."""
        return self._header_class("RequestHeader")

    @property
    def response_header(self) -> type[Message]:
        """The class of the headers of responses."""
        return self._header_class("ResponseHeader")

    def _header_class(self, name: str) -> type[Message]:
        if name not in self:
            raise UnknownMessageError(
                f"{self._package} has no {name}: its specs describe no headers, so it has no frames; encode and decode "
                f"messages alone, or add a spec of type header named {name}"
            )
        return self[name]

    def releases(self, name: str) -> dict[int, Spans]:
        """For each version of a message, the releases that have it: see `tagwire.frames.releases`.

        Empty for packages whose specs do not come from releases. Raises UnknownMessageError.
        """
        from tagwire.frames.releases import parse_releases

        name = self[name].NAME
        try:
            module = import_module(f"{self._package}.releases")
        except ModuleNotFoundError:
            return {}
        texts: dict[str, str] = module.RELEASES
        return parse_releases(texts[name]) if name in texts else {}

    def aliases(self) -> dict[str, str]:
        """Older names of messages, each with the name of today."""
        return dict(self._aliases)

    def __repr__(self) -> str:
        return f"<registry of {self._package}: {len(self)} messages>"

    # ------------------------------------------------------------ requests

    def encode_request(
        self,
        message: Message,
        version: int,
        *,
        correlation_id: int | None = None,
        client_id: str | None = None,
        header: Message | None = None,
    ) -> bytes:
        """Header and body of a request, without the size before them.

        `header` keeps its own fields and unknown tags; if it names no API and version,
        it gets those of the message. `correlation_id` and `client_id` are its fields,
        and may be given beside it. Without a header they are 0 and null. Raises
        EncodeError, also for a header that names another API, version or id.
        """
        check_kind(message, version, "request")
        header_version = message.header_version(version)
        if header is None:
            fields = {"request_api_key": message.API_KEY, "request_api_version": version}
            ids = {"correlation_id": correlation_id or 0, "client_id": client_id}
            header = made_header(message, version, self.request_header, fields, **ids)
        else:
            check_class(message, version, header, self.request_header)
            given = {"correlation_id": correlation_id, "client_id": client_id}
            header = completed_header(message, version, header, **given)
        return header.encode(header_version) + message.encode(version)

    def request_class(self, data: Any) -> tuple[type[Message], int]:
        """Class and version of the request in a frame: its first four bytes, which no header version moves.

        The version need not be one that the class has. Raises DecodeError.
        """
        header = self.request_header
        head = as_bytes(data)[:4]
        if len(head) < 4:
            header.decode_from(head, header.VERSIONS.lowest)  # says what is missing
        api_key = int.from_bytes(head[:2], "big", signed=True)
        version = int.from_bytes(head[2:], "big", signed=True)
        if ("request", "", api_key) not in self._by_key:
            raise unreadable(
                "RequestHeader", None, "request_api_key", 0, f"API key {api_key}", f"one of {self.keys('request')}"
            )
        if version < 0:
            raise unreadable(
                "RequestHeader", None, "request_api_version", 2, f"version {version}", "a version from 0 on"
            )
        return self.request(api_key), version

    def decode_header(
        self,
        data: Any,
        *,
        strict: bool = True,
        views: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        gc: bool = True,
    ) -> tuple[Any, int]:
        """The header of a request frame, and where the body begins.

        Works for versions that the request lacks, so that a broker can answer them.
        Raises DecodeError.
        """
        cls, version = self.request_class(data)
        header_version = cls.header_version(version)
        return self.request_header.decode_from(data, header_version, strict=strict, views=views, limits=limits, gc=gc)

    if TYPE_CHECKING:

        @overload
        def decode_request(self, data: Any, message: type[M], **how: Unpack[_How]) -> Frame[M]: ...
        @overload
        def decode_request(self, data: Any, message: None = None, **how: Unpack[_How]) -> Frame: ...

    def decode_request(
        self,
        data: Any,
        message: type[Message] | None = None,
        *,
        strict: bool = True,
        views: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        gc: bool = True,
    ) -> Frame:
        """The request in a frame without its size; `strict` and what follows it are those of `Message.decode`.

        With `message`, the class that it must be, type checkers know what it is.
        Raises DecodeError, whose offset counts from the start of the frame, and
        UnsupportedVersionError (`decode_header` still reads such a frame's header).
        """
        data = held(data) if views else as_bytes(data)
        header, start = self.decode_header(data, strict=strict, views=views, limits=limits, gc=gc)
        cls, version = self.request_class(data)
        if message is not None and cls is not message:
            found, expected = (f"API key {each.API_KEY} ({each.NAME})" for each in (cls, message))
            raise unreadable("RequestHeader", None, "request_api_key", 0, found, expected)
        request = read_rest(cls, data, version, start, strict=strict, views=views, limits=limits, gc=gc)
        return Frame(header, request, version)

    # ------------------------------------------------------------ responses

    def encode_response(
        self,
        message: Message,
        version: int,
        *,
        correlation_id: int | None = None,
        header: Message | None = None,
    ) -> bytes:
        """Header and body of a response, without the size before them.

        `header` keeps its own fields and unknown tags; `correlation_id` may be given
        beside it, and is 0 without it. Raises EncodeError.
        """
        check_kind(message, version, "response")
        header_version = message.header_version(version)
        if header is None:
            header = made_header(message, version, self.response_header, {}, correlation_id=correlation_id or 0)
        else:
            check_class(message, version, header, self.response_header)
            header = completed_header(message, version, header, correlation_id=correlation_id)
        return header.encode(header_version) + message.encode(version)

    if TYPE_CHECKING:

        @overload
        def decode_response(self, data: Any, api_key: type[M], version: int, **how: Unpack[_How]) -> Frame[M]: ...
        @overload
        def decode_response(self, data: Any, api_key: int, version: int, **how: Unpack[_How]) -> Frame: ...

    def decode_response(
        self,
        data: Any,
        api_key: int | type[Message],
        version: int,
        *,
        strict: bool = True,
        views: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        gc: bool = True,
    ) -> Frame:
        """The response, in a frame without its size, to a request of this API and version.

        `api_key` may be the class of the response, which type checkers then know.
        Where the response has a fallback (`Message.FALLBACK`: a broker that lacks
        the version of an ApiVersionsRequest answers in version 0, with error 35),
        `Frame.version` says in which version the answer came. Raises DecodeError,
        whose offset counts from the start of the frame, and UnsupportedVersionError.
        """
        cls = self._of_kind(api_key, "response")
        data = held(data) if views else as_bytes(data)

        def read(version: int) -> Frame:
            header_version = cls.header_version(version)
            header, start = self.response_header.decode_from(
                data, header_version, strict=strict, views=views, limits=limits, gc=gc
            )
            message = read_rest(cls, data, version, start, strict=strict, views=views, limits=limits, gc=gc)
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

    # ------------------------------------------------------------ single fields of frames

    def select_request(self, message: type[Message] | str | int, *paths: str) -> RequestSelection:
        """Chosen fields of whole requests, such as `header.client_id` and `topics[].name`: see `tagwire.select`.

        `message` is a class, a name or an API key. Raises SelectionError,
        UnknownMessageError.
        """
        from tagwire.frames.frame_selection import RequestSelection

        return RequestSelection(self, self._of_kind(message, "request"), paths)

    def select_response(self, message: type[Message] | str | int, *paths: str) -> ResponseSelection:
        """Chosen fields of whole responses; else as `select_request`."""
        from tagwire.frames.frame_selection import ResponseSelection

        return ResponseSelection(self, self._of_kind(message, "response"), paths)

    def _of_kind(self, message: type[Message] | str | int, kind: str) -> type[Message]:
        if isinstance(message, int):
            return self.find(kind, message)
        cls = self[message] if isinstance(message, str) else message
        if kind != cls.KIND:
            raise UnknownMessageError(f"{cls.NAME} is a {cls.KIND}; a {kind} was expected")
        return cls

    # ------------------------------------------------------------ records

    def encode_record(self, message: Message, version: int) -> bytes:
        """A record in the form of its log: see `tagwire.frames.record_frames`."""
        from tagwire.frames.record_frames import encode_record

        return encode_record(message, version)

    def decode_record(
        self,
        data: Any,
        log: str,
        key: Any = None,
        *,
        strict: bool = True,
        views: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        gc: bool = True,
    ) -> Frame:
        """A record of a log, one of "group", "transaction", "share", "cluster", "remote-log": see `record_frames`."""
        from tagwire.frames.record_frames import decode_record

        return decode_record(self, data, log, key, {"strict": strict, "views": views, "limits": limits, "gc": gc})


def read_rest(
    cls: type[Message], data: Any, version: int, start: int, *, strict: bool, views: bool, limits: Limits, gc: bool
) -> Message:
    """The message from `start` to the end of `data`. Raises DecodeError, with offsets in `data`."""
    message, end = cls.decode_from(data, version, start, strict=strict, views=views, limits=limits, gc=gc)
    left = memoryview(data).nbytes - end
    if left and strict:
        found = f"{left} byte{'' if left == 1 else 's'} after the message"
        raise unreadable(cls.NAME, version, "", end, found, "its end")
    return message


def _scope(kind: str, component: str) -> str:
    """What tells API keys apart beside the kind: those of RPCs are one space, those of records one a component."""
    return "" if kind in ("request", "response") else component


def unreadable(name: str, version: int | None, path: str, offset: int, found: str, expected: str) -> DecodeError:
    return DecodeError(message_name=name, version=version, path=path, offset=offset, found=found, expected=expected)
