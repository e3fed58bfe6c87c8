"""Convert a state (dicts and lists that contain messages) to JSON values or a JSON string.

The string is written with `Message.to_json_text`, which is fast because it creates no dicts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from json import JSONEncoder
from typing import Any, Final

from tagwire.message.base import Message
from tagwire.message.field_table import layout_of
from tagwire.message.json import hidden_json
from tagwire.message.json_text import dumped
from tagwire.sensitive import hides

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
        if self._is_changed():
            return dumped(self.to_json(), _INDENT)
        text: str = self.message.to_json_text(self.version, indent=_INDENT)
        if self.without:
            text = _text_without(text, self.without)
        if not self.ahead:
            return text
        ahead = _members(self.ahead)
        return f"{{{ahead}\n}}" if text == "{}" else f"{{{ahead},{text[1:]}"

    def _is_changed(self) -> bool:
        """Return whether the message's JSON text needs a change other than adding and removing members.

        This is so if a value is hidden, or if a member of `ahead` has the same name as a field of the message.
        """
        message: Any = type(self.message)
        return self._hides() or not _names(message).isdisjoint(self.ahead)

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
