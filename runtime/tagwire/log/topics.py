"""Decode the records of Kafka's internal topics as messages, and write these messages and their states as JSON.

Each record contains its type and version. Callers pass a registry, such as `tagwire_messages.registry`: the runtime
does not import generated packages. A state consists of dicts and lists that contain messages. Its JSON text is made
with `Message.to_json_text`, which is fast because it creates no dicts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from json import JSONEncoder
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.errors import DecodeError, UnsupportedVersionError
from tagwire.frames.frame_headers import unreadable
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.errors import LogError
from tagwire.log.scan import LogBatch
from tagwire.message.base import Message
from tagwire.message.field_table import layout_of
from tagwire.message.json import hidden_json
from tagwire.message.json_text import dumped, object_text
from tagwire.records import ControlRecord, Record, control_record
from tagwire.records.control import CONTROL_TYPES
from tagwire.sensitive import hides

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

INTERNAL_TOPICS: Final = {
    "__consumer_offsets": "group",
    "__transaction_state": "transaction",
    "__share_group_state": "share",
    "__cluster_metadata": "cluster",
    "__remote_log_metadata": "remote-log",
}
"""Maps each internal topic to the kind of its log. `Registry.decode_record` takes this kind as its argument `log`."""

_KEYED: Final = ("group", "transaction", "share")


class Entry(NamedTuple):
    """A record of an internal topic, decoded to messages."""

    name: str
    """The record's type: the name of its key's message, without the ending "Key".

    In logs without keys, it is the name of the value's message. For a marker, it is the marker's type.
    """
    key: Any
    """The message that the key encodes, or None for markers, and in logs whose records have no keys."""
    value: Any
    version: int
    """The value's version, or -1 if there is no value."""

    @property
    def is_tombstone(self) -> bool:
        return self.key is not None and self.value is None

    def to_json(self) -> dict[str, Any]:
        """Return a dict with type, version, key and value. For a tombstone, version and value are None."""
        key = None if self.key is None else self.key.to_json(self.key.VERSIONS.highest)
        if self.value is None:
            return {"type": self.name, "version": None, "key": key, "value": None}
        return {"type": self.name, "version": self.version, "key": key, "value": self.value.to_json(self.version)}

    def to_json_text(self) -> str:
        key = "null" if self.key is None else self.key.to_json_text(self.key.VERSIONS.highest)
        version, value = "null", "null"
        if self.value is not None:
            version, value = str(self.version), self.value.to_json_text(self.version)
        return object_text({"type": dumped(self.name), "version": version, "key": key, "value": value})


def decode_entry(
    record: Record, log: str, registry: "Registry", *, is_control: bool = False, limits: Limits = DEFAULT_LIMITS
) -> Entry:
    """Decode a record of an internal topic strictly. `log` is one of the values of `INTERNAL_TOPICS`.

    Raises UnsupportedVersionError for an unknown version, and DecodeError for invalid bytes. The error's offset is
    relative to the start of the key or, for an error in the value, to the start of the value.
    """
    if is_control:
        return _marker(control_record(record, registry))
    if log not in _KEYED:
        frame = registry.decode_record(record.value, log, limits=limits)
        return Entry(frame.message.NAME, None, frame.message, frame.version)
    if record.key is None:
        raise unreadable("record", None, "key", 0, "a null key", "a key that identifies the type of record")
    key = registry.decode_record(record.key, log, limits=limits).message
    frame = registry.decode_record(record.value, log, key, limits=limits)
    return Entry(key.NAME.removesuffix("Key"), key, frame.message, frame.version)


def entry_at(record: Record, log: str, registry: "Registry", batch: LogBatch, limits: Limits = DEFAULT_LIMITS) -> Entry:
    """Decode a record of `batch` as in `decode_entry`, but raise all errors as LogErrors for this batch."""
    try:
        return decode_entry(record, log, registry, is_control=batch.is_control, limits=limits)
    except DecodeError as error:
        name, version, path = error.message_name, error.version, error.path
        found, expected = f"{error.found} at byte {error.offset}", error.expected
    except UnsupportedVersionError as error:
        name, version, path = error.message_name, None, ""
        found, expected = f"version {error.version}", f"one of {error.supported}"
    raise LogError(
        batch.file,
        "TWL106",
        offset=batch.position,
        found=f"{found} of the record at offset {record.offset}",
        expected=expected,
        message_name=name,
        version=version,
        path=path,
    )


def _marker(marker: ControlRecord) -> Entry:
    name = marker.type if marker.number in CONTROL_TYPES else f"control record {marker.number}"
    if marker.message is None:
        return Entry(name, None, None, -1)
    first = int.from_bytes((marker.value or b"")[:2], "big", signed=True)
    versions = marker.message.VERSIONS
    return Entry(name, None, marker.message, min(max(first, versions.lowest), versions.highest))


_INDENT: Final = 2
_scalar: Final = JSONEncoder(ensure_ascii=False, allow_nan=False).encode
"""Formats a scalar as JSON. Faster than `json.dumps`, which creates an encoder for each call."""
_MEMBER: Final = "\n" + " " * _INDENT


@dataclass(frozen=True, slots=True)
class StateMessage:
    """A message that is part of a state, and its version. Sensitive values are hidden."""

    message: Any
    version: int
    ahead: Mapping[str, Any] = field(default_factory=dict)
    """JSON members that are added before the message's own members."""
    without: str = ""
    """The JSON name of a member to leave out. Its value must not be an object or an array."""

    def to_json(self) -> dict[str, Any]:
        members: dict[str, Any] = self.message.to_json(self.version)
        members.pop(self.without, None)
        if self._hides():
            hidden_json(self.message, members)
        return {**self.ahead, **members}

    def to_json_text(self) -> str:
        message: Any = type(self.message)
        # If a value is hidden, or a member of `ahead` replaces one of the message's members, its text can't be used.
        if self._hides() or not _names(message).isdisjoint(self.ahead):
            return dumped(self.to_json(), _INDENT)
        text: str = self.message.to_json_text(self.version, indent=_INDENT)
        if self.without:
            text = _text_without(text, self.without)
        if not self.ahead:
            return text
        ahead = _members(self.ahead)
        return f"{{{ahead}\n}}" if text == "{}" else f"{{{ahead},{text[1:]}"

    def _hides(self) -> bool:
        message: Any = type(self.message)
        return hides() and _has_sensitive(message, self.version)


def state_values(tree: Any) -> Any:
    """Convert nested dicts and lists that contain `StateMessage` objects to values for `json.dumps`."""
    if isinstance(tree, StateMessage):
        return tree.to_json()
    if isinstance(tree, dict):
        return {name: state_values(value) for name, value in tree.items()}
    return [state_values(value) for value in tree] if isinstance(tree, list) else tree


def state_text(tree: Any) -> str:
    """Return `json.dumps(state_values(tree), indent=2, ensure_ascii=False)`."""
    if isinstance(tree, StateMessage):
        return tree.to_json_text()
    if isinstance(tree, dict) and tree:
        return f"{{{_members(tree)}\n}}"
    if isinstance(tree, list) and tree:
        elements = ",\n".join(map(state_text, tree)).replace("\n", _MEMBER)
        return f"[{_MEMBER}{elements}\n]"
    return str(tree) if type(tree) is int else _scalar(tree)


def _members(members: Mapping[str, Any]) -> str:
    lines = ",\n".join([f"{_scalar(name)}: {state_text(value)}" for name, value in members.items()])
    return _MEMBER + lines.replace("\n", _MEMBER)  # indents each line


@lru_cache
def _names(message: type[Message]) -> frozenset[str]:
    return frozenset(row.json_name for row in message.FIELDS)


@lru_cache
def _has_sensitive(message: type[Message], version: int) -> bool:
    return layout_of(message, version).root.has_sensitive


def _text_without(text: str, name: str) -> str:
    """Remove a member from the text of a JSON object. The member must be on a line of its own."""
    begin = text.find(f'{_MEMBER}"{name}": ')
    if begin < 0:
        return text
    end = text.index("\n", begin + 1)
    if text[end - 1] == ",":
        return text[:begin] + text[end:]
    kept = text[:begin].removesuffix(",")
    return "{}" if kept == "{" else kept + text[end:]
