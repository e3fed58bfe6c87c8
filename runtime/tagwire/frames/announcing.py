"""How peers announce the versions that they support, in protocols with a request such as Kafka's ApiVersions.

Each of these protocols has a row in `ANNOUNCEMENTS`, with the names of the request and of its response's fields. All
other information is in the specs. If a peer does not support the version of an ApiVersions request, it sends a fallback
response. The attribute `FALLBACK` of the response's class specifies the version and the error code of that response. A
newer client can then ask again (KIP-511).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message
    from tagwire.versions import Versions


class Announcement(NamedTuple):
    """How servers of a protocol announce their versions: a request's name, and field names of its response."""

    request: str
    entries: str
    api_key: str
    lowest: str
    highest: str


ANNOUNCEMENTS: Final = (Announcement("ApiVersionsRequest", "api_keys", "api_key", "min_version", "max_version"),)


def announcement_of(registry: Registry) -> Announcement | None:
    """Return how a registry's protocol announces versions; None if it has no request such as ApiVersionsRequest."""
    return next((row for row in ANNOUNCEMENTS if row.request in registry), None)


def announcing_message(how: Announcement, registry: Registry, offered: Mapping[int, Versions]) -> Message:
    """Return a response that announces the versions in `offered`, a dict from API keys to version ranges."""
    request = registry[how.request]
    assert request.API_KEY is not None
    cls = registry.response(request.API_KEY)
    entry = next(row.struct for row in cls.FIELDS if row.name == how.entries)
    assert entry is not None
    entries = [
        entry(**{how.api_key: key, how.lowest: versions.lowest, how.highest: versions.highest})
        for key, versions in offered.items()
    ]
    return cls(**{how.entries: entries})


def announced_versions(how: Announcement, response: Message) -> dict[int, Versions]:
    """Return the versions that a response announces, as a dict from API keys to version ranges."""
    from tagwire.versions import Versions

    return {
        getattr(entry, how.api_key): Versions(max(getattr(entry, how.lowest), 0), getattr(entry, how.highest))
        for entry in getattr(response, how.entries)
    }


def fallback_message(
    registry: Registry, response: type[Message], offered: Versions, how: Announcement | None
) -> tuple[Message, int] | None:
    """Return the response to a request in an unknown version, and its version; None if the message has no fallback.

    As in Kafka, the fallback response to ApiVersions lists only the supported versions of ApiVersions.
    """
    if response.FALLBACK is None:
        return None
    version, error_code = response.FALLBACK
    message: Message = response()
    if how is not None and response.API_KEY == registry[how.request].API_KEY:
        message = announcing_message(how, registry, {response.API_KEY or 0: offered})
    return message.replace(**{response.FIELDS[0].name: error_code}), version
