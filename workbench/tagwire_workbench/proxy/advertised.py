"""Rewrite the addresses and API versions that servers advertise, so that clients stay connected through the proxy.

A struct contains an address if it has a string `host`, an integer `port`, and a field whose name ends with `_id`. If
the responses of an API contain addresses, the proxy hides from clients the versions that the package doesn't
have, because it couldn't rewrite the addresses in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

from tagwire.frames.frame_selection import ResponseSelection
from tagwire.frames.message_index import UnknownMessageError
from tagwire.frames.negotiation import announcement_of
from tagwire.frames.registry import Registry
from tagwire.message.base import Message
from tagwire.message.struct_class import Struct
from tagwire.selection.selection import DROP
from tagwire.versions import Versions

Moved = Callable[[str, int], tuple[str, int]]
"""Maps the address of an advertised server to the address that clients use instead."""

_PORTS: Final = range(1, 1 << 16)
_INTEGERS: Final = ("uint16", "int32", "uint32", "int64")


class Advertised:
    """Rewrites the addresses and API versions in responses."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._announcement = how = announcement_of(registry)
        self._announcing_key = None if how is None else registry[how.request].API_KEY
        self._selections: dict[tuple[int, int], list[ResponseSelection]] = {}

    def is_changed(self, api_key: int, version: int) -> bool:
        """Return whether responses of this API and version may contain addresses or API versions to rewrite."""
        return api_key == self._announcing_key or bool(self._addresses(api_key, version))

    def changed(self, frame: bytes, api_key: int, version: int, moved: Moved) -> bytes:
        """Return the response with all addresses replaced. Raises TagwireError if the response can't be read."""

        def move(host: str, port: int) -> tuple[str, int]:
            return moved(host, port) if host and port in _PORTS else (host, port)  # an empty host or invalid port stays

        if api_key == self._announcing_key:
            frame = self._announced.rewrite(frame, version, self._offered)
        for selection in self._addresses(api_key, version):
            frame = selection.rewrite(frame, version, move)
        return frame

    @cached_property
    def _announced(self) -> ResponseSelection:
        how = self._announcement
        assert how is not None
        fields = (f"{how.entries}[].{each}" for each in (how.api_key, how.lowest, how.highest))
        return self._registry.select_response(self._announcing_key or 0, *fields)

    def _offered(self, api_key: int, lowest: int, highest: int) -> Any:
        """Return the API's key and the versions to advertise, or DROP if clients must not see the API."""
        response = self._response(api_key)
        if response is None or next(address_structs(response), None) is None:
            return api_key, lowest, highest
        known = response.VERSIONS
        both = Versions(max(lowest, 0), highest) & known
        return (api_key, both.lowest, both.highest) if both else DROP

    def _response(self, api_key: int) -> type[Message] | None:
        try:
            return self._registry.response(api_key)
        except UnknownMessageError:
            return None

    def _addresses(self, api_key: int, version: int) -> list[ResponseSelection]:
        """Return one selection of `host` and `port` for each struct of the response that contains an address."""
        found = self._selections.get((api_key, version))
        if found is None:
            response = self._response(api_key)
            if response is None or version not in response.VERSIONS:
                return []
            found = self._selections[api_key, version] = [
                self._registry.select_response(api_key, f"{path}host", f"{path}port")
                for path in address_structs(response, version)
            ]
        return found


def address_structs(cls: type[Struct], version: int | None = None, path: str = "") -> Iterator[str]:
    """Yield the path of each struct that has an address, such as `brokers[].`. By default, search all versions."""
    rows = {row.name: row for row in cls.FIELDS if version is None or version in row.versions}
    host, port = (rows[name].type if name in rows else "" for name in ("host", "port"))
    if host == "string" and port in _INTEGERS and any(name.endswith("_id") for name in rows):
        yield path
    for row in rows.values():
        if row.struct is not None and not row.type.startswith("[][]"):
            inner = f"{path}{row.name}{'[]' if row.type.startswith('[]') else ''}."
            yield from address_structs(row.struct, None if version is None else row.struct_version(version), inner)
