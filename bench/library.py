"""A common interface of all libraries: how each builds, encodes and decodes the benchmark messages.

Each library builds its message from the same content, as its users would. A library without the version uses its
closest one, which the results mention; that is less work per message, never more.

Peers are imported by name, so that these modules load and type-check without them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from typing import Any, Final

__all__ = ["VERSIONS", "Contender", "Library"]

VERSIONS: Final = {
    "ApiVersionsResponse": 3,
    "MetadataResponse": 12,
    "ProduceRequest": 9,
    "FetchResponse": 12,
    "OffsetCommitRequest": 8,
    "HeartbeatResponse": 4,
}
"""The messages of the benchmark, and the version of each."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A library's implementation for one message."""

    version: int | None
    """The message version; None if the library has the same content in its own format."""
    make: Callable[[], Any]
    """Make the message from its content, as an application does before encoding."""
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    untracked: Callable[[bytes], Any] | None = None
    """Decode to objects that the garbage collector does not track, if supported."""
    views: Callable[[bytes], Any] | None = None
    """Decode without copying bytes fields, if supported."""


class Library:
    """A library, imported when an object is created."""

    name: str
    """The name on the Python package index."""

    @property
    def installed(self) -> str:
        """Return the installed version."""
        return installed_version(self.name)

    def contenders(self) -> Mapping[str, Contender]:
        """Return the library's contender for each benchmark message that it supports."""
        raise NotImplementedError

    def fields(self, value: object) -> Callable[[Any], Sequence[Any]] | None:
        """Return a function that reads all fields of such a struct, or None for other values. See `touching`."""
        raise NotImplementedError
