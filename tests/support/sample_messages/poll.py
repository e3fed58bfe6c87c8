"""A request with fields of every kind, a response with a fallback version, and a request without fields."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from sample_messages.base import Sample
from tagwire.message import Struct, data_class, field
from tagwire.versions import Versions

if TYPE_CHECKING:
    from tagwire.message import Array, ArrayOrNone

ZERO = UUID(int=0)


class PollTopic(Struct, metaclass=data_class):
    name: str | None = field("Name", "string", "0+", default="", nullable="3+")
    topic_id: UUID = field("TopicId", "uuid", "2+", default=ZERO, ignorable=True)
    partitions: Array[int] = field("Partitions", "[]int32", "0+", default=())


class Rack(Struct, metaclass=data_class):
    label: str = field("Label", "string", "2+", default="")
    row: int = field("Row", "int8", "2+", default=-1)


class PollRequest(Sample, metaclass=data_class):
    """A request with four versions. Version 1 adds fields, version 2 is flexible, and version 3 is unstable."""

    topics: ArrayOrNone[PollTopic] = field("Topics", "[]PollTopic", "0+", default=(), nullable="1+")
    urgent: bool = field("Urgent", "bool", "0+", default=False)
    ratio: float = field("Ratio", "float64", "0+", default=0.0)
    max_wait_ms: int = field("MaxWaitMs", "int32", "1+", default=500, ignorable=True)
    quota: int = field("Quota", "int64", "1+", default=0)
    port: int = field("Port", "uint16", "0-1", default=9092)
    payload: bytes | memoryview | None = field("Payload", "bytes", "0+", default=b"", nullable="2+")
    snapshot: bytes | memoryview | None = field("Snapshot", "records", "2+", default=None, nullable="2+")
    cursor: Rack | None = field("Cursor", "Rack", "2+", default=None, nullable="2+")
    reason: str | None = field(
        "Reason", "string", "2+", default=None, nullable="2+", tag=0, tagged="2+", ignorable=True
    )
    rack: Rack = field("RACK", "Rack", "2+", factory=Rack, tag=1, tagged="2+")
    weight: float = field("Weight", "float64", "3+", default=1.0, tag=2, tagged="3+")

    NAME = "PollRequest"
    KIND = "request"
    API_KEY = 7
    COMPONENT = "clients"
    VERSIONS = Versions(0, 3)
    FLEXIBLE_VERSIONS = Versions.parse("2+")
    LATEST_STABLE = 2
    HEADER_VERSIONS = ((Versions(0, 0), 0), (Versions(1, 1), 1), (Versions.parse("2+"), 2))


class PollResponse(Sample, metaclass=data_class):
    """A response that always has header version 0. Unknown versions are answered in version 0, with error 35."""

    error_code: int = field("ErrorCode", "int16", "0+", default=0)
    names: Array[str] = field("Names", "[]string", "0+", default=())

    NAME = "PollResponse"
    KIND = "response"
    API_KEY = 7
    COMPONENT = "clients"
    VERSIONS = Versions(0, 3)
    FLEXIBLE_VERSIONS = Versions.parse("2+")
    LATEST_STABLE = 3
    HEADER_VERSIONS = ((Versions.parse("0+"), 0),)
    FALLBACK = (0, 35)


class WipeRequest(Sample, metaclass=data_class):
    """A request without fields. Its only version, 1, is unstable."""

    NAME = "WipeRequest"
    KIND = "request"
    API_KEY = 8
    COMPONENT = "clients"
    VERSIONS = Versions(1, 1)
    LATEST_STABLE = -1
    HEADER_VERSIONS = ((Versions.parse("0+"), 1),)
