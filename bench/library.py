"""The interface that every benchmarked library implements: how to build, encode and decode the benchmark messages.

Each library builds its messages from the same contents, the way its users would. If a library doesn't have the
benchmark's version of a message, it uses the closest version that it has.

The libraries are imported only when they are used, so these modules can be loaded and type-checked without them.
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
"""The benchmark's messages, and the version of each message."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One library's functions that build, encode and decode one benchmark message."""

    version: int | None
    """The message version, or None if the library has its own format, which has no versions."""
    make: Callable[[], Any]
    """Build the message from its content, as an application does before encoding."""
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    untracked: Callable[[bytes], Any] | None = None
    """A function that decodes to objects that the garbage collector does not track, or None if the library has none."""
    views: Callable[[bytes], Any] | None = None
    """A function that decodes without copying the contents of bytes fields, or None if the library has none."""


class Library:
    """A library that takes part in the benchmark. Creating an object of this class imports the library."""

    name: str
    """The library's name on PyPI."""

    @property
    def installed(self) -> str:
        """The installed version of the library."""
        return installed_version(self.name)

    def contenders(self) -> Mapping[str, Contender]:
        """Return the library's contender for each benchmark message that it supports."""
        raise NotImplementedError

    def fields(self, value: object) -> Callable[[Any], Sequence[Any]] | None:
        """Return a function that reads all fields of a struct, or None if `value` isn't a struct.

        The function accepts structs of the same type as `value`.
        """
        raise NotImplementedError
