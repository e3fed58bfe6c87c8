"""Encode and decode records of Kafka's internal topics and metadata logs.

These records have no header. Instead, they have one of three prefixes:

    key        the key of a record in a coordinator log: int16 record type, then the body, always in version 0
    value      the value of a record in a coordinator log: int16 version, then the body; the type is in the key
    metadata   a record in a metadata log: uvarint frame version (1), uvarint API key, uvarint version, then the body

Different coordinators use the same record types for different messages, so readers must know from which log a record
comes. A tombstone is a coordinator record with a null value: it deletes the record with its key.
Sources: Kafka's coordinator record serializers and KIP-631.
"""

from __future__ import annotations

from tagwire.arguments import check_type
from tagwire.errors import TagwireError
from tagwire.frames.frame_headers import Frame, read_rest, rejection, unreadable
from tagwire.interpreter.reader import LayoutReader
from tagwire.interpreter.writer import encode
from tagwire.layout import Fixed, Item, Layout, StructLayout, Varint
from tagwire.limits import DEFAULT_LIMITS
from tagwire.message.base import Message, check_message_class
from tagwire.wire.buffers import as_bytes, held
from tagwire.wire.types import WIRE_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from tagwire.frames.frame_headers import DecodeOptions
    from tagwire.frames.registry import Registry

COORDINATOR_LOGS: Final = ("group", "transaction", "share")
METADATA_LOGS: Final = ("cluster", "remote-log")
FRAME_VERSION: Final = 1
KEY_VERSION: Final = 0
"""The only version of coordinator keys."""
NO_VERSION: Final = -1
"""The `version` of a `Frame` for a tombstone, because a tombstone contains no message."""


def _frame(name: str, *items: Item) -> Layout:
    return Layout(name, None, StructLayout(name, items))


_INT16 = Fixed(WIRE_TYPES["int16"])
_UVARINT = Varint(32, zigzag=False)
_KEY = _frame("coordinator key", Item("record_type", _INT16))
_VALUE = _frame("coordinator value", Item("version", _INT16))
_PREFIXED = _frame("message with a version", Item("version", _INT16))
_METADATA = _frame("metadata record", *(Item(name, _UVARINT) for name in ("frame_version", "api_key", "version")))


def encode_record(message: Message, version: int) -> bytes:
    """Encode a message as a record of its log. Raises EncodeError for a message that is invalid or not a record."""
    check_type("message", message, Message, "a message")
    body = message.encode(version)
    if message.KIND == "coordinator-key":
        return encode(_KEY, {"record_type": message.API_KEY}) + body
    if message.KIND == "coordinator-value":
        return encode(_VALUE, {"version": version}) + body
    if message.KIND == "metadata":
        fields = {"frame_version": FRAME_VERSION, "api_key": message.API_KEY, "version": version}
        return encode(_METADATA, fields) + body
    expected = "'coordinator-key', 'coordinator-value' or 'metadata'"
    raise rejection(message, version, f"expected kind {expected}, got {message.KIND!r}")


def encode_prefixed(message: Message, version: int) -> bytes:
    """Encode a message, preceded by its version as an int16. Raises EncodeError for an invalid value."""
    check_type("message", message, Message, "a message")
    body = message.encode(version)  # raises the error for an unknown version
    return encode(_VALUE, {"version": version}) + body


def decode_prefixed(cls: type[Message], data: Any, options: DecodeOptions) -> Frame:
    """Decode a message that is preceded by its version (see `Registry.decode_prefixed`). `Frame.header` is None."""
    check_message_class(cls)
    data, prefix, start = _opened(_PREFIXED, data, options)
    version = prefix["version"]
    if version > cls.VERSIONS.highest and not options.get("strict", True):
        version = cls.VERSIONS.highest  # newer versions only add fields at the end, and these are ignored
    return _frame_of(cls, data, version, start, options)


def _opened(layout: Layout, data: Any, options: DecodeOptions) -> tuple[Any, dict[str, Any], int]:
    """Return the data to decode, the fields of the prefix at its start, and the offset at which the body begins."""
    data = held(data) if options.get("views") else as_bytes(data)
    strict, limits = options.get("strict", True), options.get("limits", DEFAULT_LIMITS)
    reader = LayoutReader(layout, data, strict=strict, limits=limits)
    return data, reader.message(whole=False), reader.pos


def _frame_of(cls: type[Message], data: Any, version: int, start: int, options: DecodeOptions) -> Frame:
    return Frame(None, read_rest(cls, data, version, start, **options), version)


def decode_record(registry: Registry, data: Any, log: str, key: Any, options: DecodeOptions) -> Frame:
    """Decode a record of a log; `Frame.header` is None.

    In the coordinator logs ("group", "transaction", "share"), `data` is a record's key if `key` is None. If `key` is
    given (as bytes or message), `data` is the record's value. If this value is None (a tombstone), the Frame
    has message None and version -1. Raises DecodeError for invalid bytes and for None in a log without tombstones,
    UnsupportedVersionError for an unknown version, and TagwireError for an unknown log or a `key` of another log.
    """
    if log in METADATA_LOGS:
        return _decode_named(registry, "metadata", data, log, options)
    if log not in COORDINATOR_LOGS:
        from tagwire.text_format import near, shown

        logs = [*COORDINATOR_LOGS, *METADATA_LOGS]
        raise TagwireError(f"log: expected one of {', '.join(map(repr, logs))}, got {shown(log)}{near(log, logs)}")
    if key is None:
        return _decode_named(registry, "coordinator-key", data, log, options)
    if isinstance(key, bytes | bytearray | memoryview):
        key = decode_record(registry, key, log, None, {**options, "views": False}).message
    if getattr(key, "KIND", "") != "coordinator-key" or log != key.COMPONENT:
        from tagwire.text_format import shown

        raise TagwireError(f"key: expected a key of the {log!r} log as a message or bytes, got {shown(key)}")
    if data is None:
        return Frame(None, None, NO_VERSION)
    data, prefix, start = _opened(_VALUE, data, options)
    return _frame_of(registry.find("coordinator-value", key.API_KEY, log), data, prefix["version"], start, options)


def _decode_named(registry: Registry, kind: str, data: Any, log: str, options: DecodeOptions) -> Frame:
    """Decode a record whose prefix names its type: a "coordinator-key", or a "metadata" record."""
    from tagwire.frames.message_index import UnknownMessageError

    layout, path, offset = (_KEY, "record_type", 0) if kind == "coordinator-key" else (_METADATA, "api_key", 1)
    if data is None:
        expected = "bytes (only the value of a coordinator record can be null)"
        raise unreadable(layout.name, None, "", 0, "null", expected)
    data, prefix, start = _opened(layout, data, options)
    frame_version = prefix.get("frame_version", FRAME_VERSION)
    if frame_version != FRAME_VERSION:
        raise unreadable(layout.name, None, "frame_version", 0, str(frame_version), str(FRAME_VERSION))
    try:
        cls = registry.find(kind, prefix[path], log)
    except UnknownMessageError:
        expected = f"a record type of the {log!r} log ({registry.keys(kind, log)})"
        raise unreadable(layout.name, None, path, offset, str(prefix[path]), expected) from None
    return _frame_of(cls, data, prefix.get("version", KEY_VERSION), start, options)
