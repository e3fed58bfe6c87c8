"""Which request a response answers: by correlation id where frames begin with one, otherwise by order.

Requests that get no response do not wait for one. Which these are is a row of `SILENT`.
Requests that wait are bounded in number: the oldest ones are forgotten.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final, NamedTuple

from tagwire.errors import TagwireError

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message

__all__ = ["Asked", "Pairing", "Silent", "has_leading_ids"]

SILENT: Final = (("ProduceRequest", "acks", 0),)
"""Requests that get no response: the message, a field, and its value."""

_MOST: Final = 10_000
"""Requests of a connection that wait; clients allow a handful."""


class Asked(NamedTuple):
    """What is known of a request, and of its response before it is read."""

    api_key: int
    version: int
    correlation_id: int | None
    """None in protocols whose frames do not begin with one."""
    client_id: str | None


class Pairing:
    """The requests of a connection that wait for their responses; those with the same id are answered in order."""

    def __init__(self, *, by_id: bool) -> None:
        self._by_id = by_id
        self._waiting: OrderedDict[int | None, deque[Asked]] = OrderedDict()
        self._number = 0

    def ask(self, asked: Asked) -> None:
        """Note a request."""
        self._waiting.setdefault(asked.correlation_id, deque()).append(asked)
        self._number += 1
        if self._number > _MOST:
            self._taken(next(iter(self._waiting)))

    def answer(self, head: bytes) -> Asked | None:
        """The request of the response that begins with these bytes; it waits no longer. None if there is none."""
        number = int.from_bytes(head[:4], "big", signed=True) if self._by_id else None
        return self._taken(number) if number in self._waiting else None

    def _taken(self, number: int | None) -> Asked:
        same = self._waiting[number]
        self._number -= 1
        asked = same.popleft()
        if not same:
            del self._waiting[number]
        return asked


class Silent:
    """Tells which requests of a package get no response."""

    def __init__(self, registry: Registry) -> None:
        self._rules = {
            registry[name].API_KEY: (registry.select_request(name, path), value)
            for name, path, value in SILENT
            if name in registry
        }

    def __call__(self, frame: bytes, api_key: int) -> bool:
        """Whether a request gets no response. One that can't be read may get one."""
        if api_key not in self._rules:
            return False
        selection, value = self._rules[api_key]
        try:
            return selection.read(frame) == [value]
        except TagwireError:
            return False


def has_leading_ids(registry: Registry) -> bool:
    """Whether correlation ids follow API key and version in requests, and begin responses, in all versions."""
    return _is_id(registry.request_header, 2) and _is_id(registry.response_header, 0)


def _is_id(header: type[Message], at: int) -> bool:
    if len(header.FIELDS) <= at:
        return False
    row = header.FIELDS[at]
    is_always = all(each in row.versions for each in (header.VERSIONS.lowest, header.VERSIONS.highest))
    return (row.name, row.type, bool(row.tagged)) == ("correlation_id", "int32", False) and is_always
