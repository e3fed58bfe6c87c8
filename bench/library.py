"""One face for all libraries: how each builds, encodes and decodes the messages of the benchmark.

Each library builds its message from the same content, in the way that its own
users do. Where one lacks the version, it works in its nearest one, which is
said beside its figures: that is less work for each message, never more.

Peers are imported by name, so that these modules load, and type-check, where
the peers are not installed.
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
    """A library's way with one message."""

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
    """A library. A subclass imports it when it is made."""

    name: str
    """As the Python package index has it."""

    @property
    def installed(self) -> str:
        """The installed version."""
        return installed_version(self.name)

    def contenders(self) -> Mapping[str, Contender]:
        """Its contender for each message of the benchmark that it has."""
        raise NotImplementedError

    def fields(self, value: object) -> Callable[[Any], Sequence[Any]] | None:
        """What reads all fields of a struct of its kind; None for what is no struct. See `touching`."""
        raise NotImplementedError
