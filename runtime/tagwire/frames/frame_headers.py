"""The header of a frame to write: made for its message, or given by the caller and checked."""

from __future__ import annotations

from tagwire.errors import EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tagwire.message.base import Message

__all__ = ["check_class", "check_header", "check_kind", "completed_header", "made_header"]


def made_header(message: Message, version: int, cls: type[Message], fields: dict[str, Any], **optional: Any) -> Message:
    """A header of these fields. A package's own header may lack the optional ones, unless they are given.

    Raises EncodeError.
    """
    for name, value in optional.items():
        if name in cls.__slots__:
            fields[name] = value
        elif value:
            raise _refusal(message, version, f"{name} is given, but the {cls.NAME} of this package has no such field")
    return cls(**fields)


def check_kind(message: Any, version: int, kind: str) -> None:
    """Raise EncodeError unless it is a message of this kind, "request" or "response"."""
    found = getattr(message, "KIND", None)
    if found is None:
        from tagwire.text_format import shown

        raise EncodeError(f"{shown(message)} was given, not a {kind}", message_name=kind, version=version, path="")
    if found != kind:
        raise _refusal(message, version, f"is a {found}, not a {kind}")


def check_class(message: Message, version: int, header: object, expected: type[Message]) -> None:
    """Refuse a header that is not of the package's class. Raises EncodeError."""
    if not isinstance(header, expected):
        raise _refusal(message, version, f"header is a {type(header).__name__}; a {expected.NAME} was expected")


def check_header(message: Message | type[Message], version: int, header: Any) -> None:
    """Refuse the header of a request that names another API or version than the message has. Raises EncodeError."""
    facts = (
        ("request_api_key", "API key", header.request_api_key, message.API_KEY),
        ("request_api_version", "version", header.request_api_version, version),
    )
    for path, what, stated, actual in facts:
        if stated != actual:
            reason = f"the header says {what} {stated}, the message to be written has {what} {actual}"
            raise EncodeError(reason, message_name=message.NAME, version=version, path=f"header.{path}")


def completed_header(message: Message, version: int, header: Any, **given: object) -> Message:
    """The header with what is given beside it, and with the API key and the version of its request if it says neither.

    Raises EncodeError for a value that the header has in another way, or has no field for.
    """
    from tagwire.layout import fresh

    defaults = fresh(type(header))
    changes = {name: value for name, value in given.items() if value is not None}
    for name, value in changes.items():
        if name not in header.__slots__:
            raise _refusal(message, version, f"{name} is given, but the {header.NAME} has no such field")
        stated = getattr(header, name)
        if stated not in (getattr(defaults, name), value):
            raise _refusal(message, version, f"{name} {value!r} is given, but the header has {stated!r}")
    if message.KIND == "request":
        named = ("request_api_key", "request_api_version")
        if all(getattr(header, name) == getattr(defaults, name) for name in named):
            changes |= {"request_api_key": message.API_KEY, "request_api_version": version}
        else:
            check_header(message, version, header)
    completed: Message = header.replace(**changes) if changes else header
    return completed


def _refusal(message: Message, version: int, reason: str) -> EncodeError:
    return EncodeError(reason, message_name=message.NAME, version=version, path="")
