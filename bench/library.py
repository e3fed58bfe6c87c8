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
    """The version of the message that it speaks; None where it has the same content in a format of its own."""
    make: Callable[[], Any]
    """The message from its content: what an application does before it encodes."""
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    untracked: Callable[[bytes], Any] | None = None
    """Decoding to objects that the garbage collector does not watch, where the library can."""
    views: Callable[[bytes], Any] | None = None
    """Decoding without copying what is bytes, where the library can."""


class Library:
    """A library, imported when an object is created."""

    name: str
    """As the Python package index has it."""

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
