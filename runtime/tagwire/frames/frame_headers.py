"""The class of frames, and functions that make the header of a frame or check a header that the caller passes."""

from __future__ import annotations

from tagwire.errors import DecodeError, EncodeError
from tagwire.lazy import Generic
from tagwire.message.declarations import attributes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from typing_extensions import TypeVar, Unpack  # never imported at run time; type checkers bundle it

    from tagwire.limits import Limits
    from tagwire.message.base import Message

    M = TypeVar("M", default=Any)
    H = TypeVar("H", default=Any)

    class DecodeOptions(TypedDict, total=False):
        """The decoding options of `Message.decode`. At run time it is a plain dict, because `typing` loads slowly."""

        strict: bool
        views: bool
        limits: Limits
        gc: bool

else:
    M, H = "M", "H"

_NAMES = ("request_api_key", "request_api_version")


class Frame(Generic[M, H]):
    """A decoded frame: the header (None for a record), the message, and its version.

    `Frame[M, H]` tells type checkers the classes of message and header. A class that is known only after decoding is
    Any. A tombstone (a record with a null value) has no message, and its version is -1: see
    `tagwire.frames.record_frames`.
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


def made_header(message: Message, version: int, cls: type[Message], ids: dict[str, Any]) -> Message:
    """Return a header of class `cls` for a message. IDs for which the class has no field are left out."""
    fields = _api_of(message, version)
    for name, value in ids.items():
        if name in attributes_of(cls):
            header_version = message.header_version(version)
            if value is not None or any(row.name == name and header_version in row.versions for row in cls.FIELDS):
                fields[name] = value
        elif value:
            raise rejection(message, version, f"{name} is given, but the {cls.NAME} of this package has no such field")
    try:
        return cls(**fields)
    except TypeError:  # the class lacks one of these fields, or requires another
        fields = {name: value for name, value in fields.items() if name in attributes_of(cls)}
    for row in cls.FIELDS:
        if row.required and row.name not in fields:
            reason = f"the {cls.NAME} of this package requires {row.name}; set this field with header={cls.NAME}(...)"
            raise rejection(message, version, reason)
    return cls(**fields)


def _api_of(message: Message | type[Message], version: int) -> dict[str, Any]:
    """Return the header fields that name a request's API key and version, or {} for a response."""
    if message.KIND != "request":
        return {}
    return {"request_api_key": message.API_KEY, "request_api_version": version}


def check_names_request(cls: type[Message]) -> None:
    """Raise DecodeError unless every header version begins with the API key and version of the request."""
    if not names_request(cls):
        expected = (
            "a header whose versions all begin with the int16 fields request_api_key and request_api_version; "
            "instead, decode the header and the message with their classes"
        )
        found = "a header without the API key and version of its request"
        raise unreadable("RequestHeader", None, "", 0, found, expected)


def names_request(cls: type[Message]) -> bool:
    """Return whether every header version begins with the API key and version of the request."""
    return begins_with(cls, *((name, "int16") for name in _NAMES))


def begins_with(header: type[Message], *fields: tuple[str, str]) -> bool:
    """Return whether all versions of a header begin with these fields, given as (name, type). "" means any name."""
    if header.OPTIONAL_FIELDS is not None and header.OPTIONAL_FIELDS.versions & header.VERSIONS:
        return False  # as in KIP-482's first draft, headers begin with the optional fields
    ends = header.VERSIONS.lowest, header.VERSIONS.highest
    return len(header.FIELDS) >= len(fields) and all(
        row.name == (name or row.name)
        and row.type == type
        and not (row.nullable or row.tagged)
        and all(end in row.versions for end in ends)
        for row, (name, type) in zip(header.FIELDS, fields, strict=False)
    )


def check_kind(message: Any, version: int | None, kind: str) -> None:
    """Raise EncodeError unless the message has this kind, "request" or "response"."""
    found = getattr(message, "KIND", None)
    if found is None or isinstance(message, type):
        from tagwire.text_format import shown

        raise EncodeError(f"expected a {kind}, got {shown(message)}", message_name=kind, version=version, path="")
    if found != kind:
        from tagwire.text_format import a_kind

        raise rejection(message, version, f"expected a {kind}, got {a_kind(found)}")


def check_header(message: Message | type[Message], version: int, header: Any) -> None:
    """Raise EncodeError if a request header's API key or version differs from the message's."""
    for path, what, actual in zip(_NAMES, ("API key", "version"), (message.API_KEY, version), strict=True):
        stated = getattr(header, path, actual)  # some packages' header classes lack these fields
        if stated != actual:
            reason = f"expected {what} {actual} as in the message, got {stated}"
            raise EncodeError(reason, message_name=message.NAME, version=version, path=f"header.{path}")


def completed_header(message: Message, version: int, cls: type[Message], header: Any, ids: dict[str, Any]) -> Message:
    """Return `header` with the IDs that aren't None. If a request header does not name an API, add the message's API.

    Raises EncodeError if `header` is not of class `cls`, if it already has another value, or if the class has no field
    for an ID.
    """
    from tagwire.layout import fresh
    from tagwire.text_format import shown

    if not isinstance(header, cls):
        raise rejection(message, version, f"header: expected a {cls.NAME}, got {shown(header)}")
    defaults = fresh(type(header))
    changes = {name: value for name, value in ids.items() if value is not None}
    for name, value in changes.items():
        if name not in attributes_of(type(header)):
            raise rejection(message, version, f"{name} is given, but the {header.NAME} has no such field")
        stated = getattr(header, name)
        if stated not in (getattr(defaults, name), value):
            raise rejection(message, version, f"{name}: expected {stated!r} as in the header, got {value!r}")
    api = {name: value for name, value in _api_of(message, version).items() if name in attributes_of(type(header))}
    if all(getattr(header, name) == getattr(defaults, name) for name in api):
        changes |= api
    else:
        check_header(message, version, header)
    completed: Message = header.replace(**changes) if changes else header
    return completed


def rejection(message: Message, version: int | None, reason: str) -> EncodeError:
    """Return an EncodeError for a message that can't be encoded as a frame or record."""
    return EncodeError(reason, message_name=message.NAME, version=version, path="")


def read_rest(cls: type[Message], data: Any, version: int, start: int, **options: Unpack[DecodeOptions]) -> Message:
    """Decode the message from `start` to the end of `data`. Offsets in a DecodeError count from the start of `data`."""
    message, end = cls.decode_from(data, version, start, **options)
    left = memoryview(data).nbytes - end
    if left and options.get("strict", True):
        found = f"{left} byte{'' if left == 1 else 's'} after the message"
        raise unreadable(cls.NAME, version, "", end, found, "the end of the data")
    return message


def unreadable(name: str, version: int | None, path: str, offset: int, found: str, expected: str) -> DecodeError:
    """Return a DecodeError for unexpected bytes at `offset`."""
    return DecodeError(message_name=name, version=version, path=path, offset=offset, found=found, expected=expected)
