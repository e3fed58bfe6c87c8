"""Choose the version in which to send a message to a peer, such as a broker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire import __version__
from tagwire.arguments import check_type
from tagwire.errors import EncodeError, UnsupportedVersionError, VersionsError
from tagwire.layout.types import nested_struct
from tagwire.message.base import check_message_class
from tagwire.text_format import shown
from tagwire.versions import NONE, Versions

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.layout import StructLayout
    from tagwire.message.base import Message
    from tagwire.message.losses import Loss


class NoCommonVersionError(UnsupportedVersionError):
    """Raised if two sides have no version of an API in common. `ours` and `theirs` are the two version ranges."""

    def __init__(self, message_name: str, ours: Versions, theirs: Versions) -> None:
        super().__init__(message_name, theirs.highest, ours)
        self.ours = ours
        self.theirs = theirs
        found = f"the peer has {theirs}" if theirs else "the peer does not have the API"
        self.args = (f"{message_name}: no common version: stable versions here are {ours}, {found}",)


class LossyVersionsError(NoCommonVersionError):
    """Raised if every common version would lose some of the message's values.

    `losses` are the values that the highest common version would lose. `problem` is the error that the first of them
    causes in this version, or "" if it would be dropped. It shows whether the value is invalid in all versions.
    """

    def __init__(
        self, message_name: str, ours: Versions, theirs: Versions, losses: tuple[Loss, ...], problem: str = ""
    ) -> None:
        super().__init__(message_name, ours, theirs)
        self.losses = losses
        self.problem = problem
        common = ours & theirs
        lost = f"; version {common.highest} would lose {', '.join(loss.path for loss in losses)}; leave these out"
        reason = f": {problem}; correct this value, or leave it out" if problem else lost
        text = f"the common versions {common} can't represent all of this message{reason}, or choose a version yourself"
        self.args = (f"{message_name}: {text}",)


def negotiate(message: type[Message] | Message, peer: Any) -> int:
    """Return the highest stable version that both sides have and that can represent the whole message.

    If `message` is a class, only the version ranges matter. `peer` is an ApiVersionsResponse, or a dict from API keys
    to (lowest, highest) or `Versions`. Raises NoCommonVersionError (an UnsupportedVersionError), or its subclass
    LossyVersionsError.
    """
    cls: Any = type(message) if hasattr(type(message), "VERSIONS") else message
    check_message_class(cls)
    return best_version(message, _range_of(cls.API_KEY, peer))


def best_version(message: type[Message] | Message, theirs: Versions) -> int:
    """Return the version that `negotiate` chooses for a peer that supports the message versions `theirs`."""
    cls = message if isinstance(message, type) else type(message)
    ours = cls.VERSIONS & Versions(cls.VERSIONS.lowest, cls.LATEST_STABLE)
    common = ours & theirs
    if not common:
        raise NoCommonVersionError(cls.NAME, ours, theirs)
    if isinstance(message, type):
        return common.highest
    for version in reversed(list(common)):
        if not message.losses(version):
            return version
    problem = ""
    try:
        message.encode(common.highest)
    except EncodeError as error:
        problem = str(error)
    raise LossyVersionsError(cls.NAME, ours, theirs, message.losses(common.highest), problem)


@cache
def drops_nothing(cls: type[Message], version: int) -> bool:
    """Return whether encoding in this version rejects every value that it can't represent, and never just drops it."""
    from tagwire.message.field_table import layout_of

    return _rejects(layout_of(cls, version).root)


def _rejects(struct: StructLayout) -> bool:
    inner = (nested_struct(item.type) for item in struct.fields)
    return not any(each.ignorable for each in struct.missing) and all(each is None or _rejects(each) for each in inner)


def _range_of(api_key: int | None, peer: Any) -> Versions:
    if isinstance(peer, Mapping):
        found = peer.get(api_key, NONE)
        if isinstance(found, Versions):
            return found
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise VersionsError(f"peer[{api_key}]: expected a pair such as (0, 4), or a Versions, got {shown(found)}")
        return _versions(*found)
    if not hasattr(peer, "api_keys"):
        check_type("peer", peer, Mapping, "an ApiVersionsResponse, or a dict from API keys to versions")
    return next((_versions(api.min_version, api.max_version) for api in peer.api_keys if api.api_key == api_key), NONE)


def _versions(lowest: int, highest: int) -> Versions:
    return Versions(0 if isinstance(lowest, int) and lowest < 0 else lowest, highest)


# How peers announce the versions that they support, in protocols with a request such as Kafka's ApiVersions.
#
# If a peer does not support the version of an ApiVersions request, it sends a fallback response, so that a newer client
# can ask again (KIP-511). The attribute `FALLBACK` of the response's class specifies that response's version and error
# code.


class Announcement(NamedTuple):
    """Names the request by which a client asks a server for its versions, and the fields of the response."""

    request: str
    entries: str
    api_key: str
    lowest: str
    highest: str


_SOFTWARE: Final = {"client_software_name": "tagwire", "client_software_version": __version__}
ANNOUNCEMENTS: Final = (Announcement("ApiVersionsRequest", "api_keys", "api_key", "min_version", "max_version"),)


def check_registry(registry: object) -> None:
    """Raise TypeError unless `registry` is a Registry, for example because it is the package instead."""
    from tagwire.frames.registry import Registry

    if not isinstance(registry, Registry):
        inner = getattr(registry, "registry", None)
        remedy = f"; pass its attribute `registry`: {inner!r}" if isinstance(inner, Registry) else ""
        raise TypeError(f"registry: expected the registry of a generated package, got {registry!r:.100}{remedy}")


def announcement_of(registry: Registry) -> Announcement | None:
    """Return the `Announcement` whose request is in the registry, or None if the registry has no such request."""
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


def version_request(cls: type[Message], theirs: Versions) -> tuple[Message, int]:
    """Return a request for the peer's versions, and the version to send it in.

    `theirs` are the versions of this request that the peer is known or assumed to support.
    """
    version = best_version(cls, theirs)
    names = {row.name for row in cls.FIELDS}
    request: Any = cls(**{name: value for name, value in _SOFTWARE.items() if name in names})
    return request.for_version(version).message, version


def announced_versions(how: Announcement, response: Message) -> dict[int, Versions]:
    """Return the versions that a response announces, as a dict from API keys to version ranges.

    A fallback response may leave out its own API. All peers support version 0 of this API (KIP-511), so it is added.
    """
    found: dict[int, Versions] = {
        getattr(entry, how.api_key): _versions(getattr(entry, how.lowest), getattr(entry, how.highest))
        for entry in getattr(response, how.entries)
    }
    if response.API_KEY is not None and is_fallback(response):
        found.setdefault(response.API_KEY, Versions(0, 0))
    return found


def is_fallback(response: Message) -> bool:
    """Return whether a response is the answer to a request in a version that the peer does not support."""
    fallback = response.FALLBACK
    return fallback is not None and bool(getattr(response, response.FIELDS[0].name) == fallback[1])


def fallback_message(
    registry: Registry, response: type[Message], offered: Versions, how: Announcement | None
) -> tuple[Message, int] | None:
    """Return (response, version) for a request in an unsupported version, or None if the message has no fallback.

    As in Kafka, the fallback response to ApiVersions lists only the supported versions of ApiVersions.
    """
    if response.FALLBACK is None:
        return None
    version, error_code = response.FALLBACK
    message: Message = response()
    if how is not None and response.API_KEY == registry[how.request].API_KEY:
        message = announcing_message(how, registry, {response.API_KEY or 0: offered})
    return message.replace(**{response.FIELDS[0].name: error_code}), version
