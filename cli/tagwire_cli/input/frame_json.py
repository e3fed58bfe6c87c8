"""Convert whole frames to and from JSON, for `decode --frames` and `encode --frames`.

A frame is an object that contains everything `encode` needs:

    {"message": "MetadataRequest", "version": 12, "header": {...}, "body": {...}}

`header` may be omitted or incomplete. A missing API key or version follows from the message, and other missing fields
get their defaults. A frame that could not be decoded is `{"raw": base64, "error": text}`, and `encode` writes its raw
bytes unchanged. A frame of kind `message` has no header, and its JSON is only the body.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.layout import fresh
from tagwire.message.json_text import dumped, object_text
from tagwire.text_format import a_kind, shown, suggestion

if TYPE_CHECKING:
    from tagwire.captures import CapturedFrame
    from tagwire.frames.frame_headers import Frame
    from tagwire.frames.registry import Registry
    from tagwire.limits import Limits
    from tagwire.message import Message

    Decoder = Callable[[bytes], str]
    """Converts a frame, without its size, to JSON text. Raises TagwireError."""
    Encoder = Callable[[Any], bytes]
    """Converts a JSON value to a frame without its size. Raises TagwireError."""


_KEYS: Final = ("message", "version", "header", "body")


class JsonOptions(NamedTuple):
    """The options for decoding messages and for printing them as JSON."""

    style: str
    strict: bool
    limits: "Limits"
    indent: int | None
    """The number of spaces by which each level is indented, or None to print the JSON on a single line."""


def request_decoder(registry: "Registry", how: JsonOptions) -> "Decoder":
    """Return a function that converts requests to JSON. Each request's header determines its class and version."""
    return lambda data: _frame_text(registry.decode_request(data, strict=how.strict, limits=how.limits), how)


def response_decoder(registry: "Registry", api_of: "Callable[[bytes], tuple[int, int]]", how: JsonOptions) -> "Decoder":
    """Return a function that converts responses to JSON. `api_of` finds a response's API key and version."""
    return lambda data: _frame_text(
        registry.decode_response(data, *api_of(data), strict=how.strict, limits=how.limits), how
    )


def captured_decoder(frame: "CapturedFrame", how: JsonOptions) -> "Decoder":
    """Return a function that converts a captured frame to JSON."""
    row = {"frame": frame.number, "connection": frame.connection, "time": frame.time}
    members = {name: dumped(value) for name, value in row.items()}
    return lambda data: _frame_text(frame.decode(strict=how.strict, limits=how.limits), how, members)


def message_decoder(message: "type[Message]", version: int, how: JsonOptions) -> "Decoder":
    """Return a function that converts messages of this class and version to JSON. The messages have no headers."""

    def decode(data: bytes) -> str:
        found = message.decode(data, version, strict=how.strict, limits=how.limits)
        return found.to_json_text(version, style=how.style, indent=how.indent)

    return decode


def raw_text(data: bytes, error: TagwireError, indent: int | None) -> str:
    """Return the JSON form of a frame that could not be decoded."""
    from base64 import b64encode

    return dumped({"raw": b64encode(data).decode(), "error": str(error)}, indent)


def message_encoder(message: "type[Message]", version: int) -> "Encoder":
    """Return a function that converts JSON to messages of this class and version. The messages get no headers."""
    return lambda value: message.from_json(value, version).encode(version)


def body_encoder(registry: "Registry", message: "type[Message]", version: int) -> "Encoder":
    """Return a function that converts JSON bodies of one class and version to frames with default headers."""
    return lambda value: _encoded(registry, message, version, {}, value)


def frame_encoder(registry: "Registry", kind: str) -> "Encoder":
    """Return a function that converts JSON to requests or responses."""

    def encode(value: Any) -> bytes:
        if not isinstance(value, dict):
            raise TagwireError(f"expected a frame (an object with the keys {', '.join(_KEYS)}), got {shown(value)}")
        if "raw" in value:
            return _raw(value["raw"])
        _check_keys(value)
        message = _message(registry, kind, value["message"])
        version = _version(message, value["version"])
        return _encoded(registry, message, version, value.get("header", {}), value["body"])

    return encode


def _frame_text(frame: "Frame[Any, Any]", how: JsonOptions, first: "Mapping[str, str] | None" = None) -> str:
    """Return a frame as JSON text. The keys in `first` come before the frame's own keys."""
    message, version = frame.message, frame.version
    members = {
        **(first or {}),
        "message": dumped(message.NAME),
        "version": str(version),
        "header": frame.header.to_json_text(message.header_version(version), indent=how.indent),
        "body": message.to_json_text(version, style=how.style, indent=how.indent),
    }
    return object_text(members, how.indent)


def _encoded(registry: "Registry", message: "type[Message]", version: int, fields: Any, value: Any) -> bytes:
    header_version = message.header_version(version)
    if message.KIND == "request":
        facts = {"requestApiKey": message.API_KEY, "requestApiVersion": version}
        header = _header(registry.request_header, header_version, facts, fields)
        return registry.encode_request(message.from_json(value, version), version, header=header)
    header = _header(registry.response_header, header_version, {}, fields)
    return registry.encode_response(message.from_json(value, version), version, header=header)


def _header(cls: "type[Message]", version: int, facts: dict[str, Any], fields: Any) -> "Message":
    """Make a header from JSON `fields`. Missing fields get values from `facts` (such as the API key) or defaults."""
    if not isinstance(fields, dict):
        raise TagwireError(f"header: expected a JSON object, got {shown(fields)}")
    defaults = fresh(cls).to_json(version)
    known = {name: value for name, value in facts.items() if name in defaults}
    return cls.from_json({**defaults, **known, **fields}, version)


def _check_keys(value: dict[str, Any]) -> None:
    for key in value:
        if key not in _KEYS:
            known = f"its keys are {', '.join(_KEYS)}"
            raise TagwireError(f"unknown key {shown(key)} in a frame; {suggestion(key, _KEYS, known)}")
    for key in ("message", "version", "body"):
        if key not in value:
            raise TagwireError(f"the key {key!r} is missing; the keys of a frame are {', '.join(_KEYS)}")


def _message(registry: "Registry", kind: str, name: Any) -> "type[Message]":
    if not isinstance(name, str):
        raise TagwireError(f"message: expected a name, got {shown(name)}")
    message = registry[name]
    if kind != message.KIND:
        raise TagwireError(f"{message.NAME} is {a_kind(message.KIND)}, but --frames {kind} can only write {kind}s")
    return message


def _version(message: "type[Message]", version: Any) -> int:
    if not isinstance(version, int) or isinstance(version, bool):
        raise TagwireError(f"version: expected a version number, got {shown(version)}")
    if version not in message.VERSIONS:
        raise TagwireError(f"{message.NAME} has no version {shown(version)}; supported versions are {message.VERSIONS}")
    return version


def _raw(text: Any) -> bytes:
    from base64 import b64decode

    try:
        return b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise TagwireError(f"raw: expected base64, got {shown(text)}") from None
