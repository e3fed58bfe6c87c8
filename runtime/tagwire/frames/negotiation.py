"""Which version to speak with a peer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tagwire.errors import UnsupportedVersionError
from tagwire.versions import NONE, Versions

if TYPE_CHECKING:
    from tagwire.message.base import Message

__all__ = ["NoCommonVersionError", "negotiate"]


class NoCommonVersionError(UnsupportedVersionError):
    """The two sides have no version of an API in common. `ours` and `theirs` are their ranges."""

    def __init__(self, message_name: str, ours: Versions, theirs: Versions) -> None:
        super().__init__(message_name, theirs.highest, ours)
        self.ours = ours
        self.theirs = theirs

    def __str__(self) -> str:
        theirs = f"the peer has {self.theirs}" if self.theirs else "the peer lacks the API"
        return f"{self.message_name}: no common version: stable versions here are {self.ours}, {theirs}"


def negotiate(cls: "type[Message]", peer: Any) -> int:
    """Return the highest stable version of a request or response that both sides have.

    `peer` is an ApiVersionsResponse, or what it comes to: {api_key: (lowest, highest)}.
    Raises NoCommonVersionError, an UnsupportedVersionError that names both ranges.
    """
    ours = cls.VERSIONS & Versions(cls.VERSIONS.lowest, cls.LATEST_STABLE)
    theirs = _range_of(cls.API_KEY, peer)
    common = ours & theirs
    if not common:
        raise NoCommonVersionError(cls.NAME, ours, theirs)
    return common.highest


def _range_of(api_key: int | None, peer: Any) -> Versions:
    if isinstance(peer, Mapping):
        lowest, highest = peer.get(api_key, (0, -1))
        return _versions(lowest, highest)
    for api in peer.api_keys:
        if api.api_key == api_key:
            return _versions(api.min_version, api.max_version)
    return NONE


def _versions(lowest: int, highest: int) -> Versions:
    """A peer's range; numbers below zero are not versions."""
    return Versions(max(lowest, 0), highest)
