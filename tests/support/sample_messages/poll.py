"""A request with a field of every kind, its response with a fallback, and a request that has no body."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from sample_messages.base import Sample
from tagwire.layout import DEFAULT_STRUCT
from tagwire.message import Struct
from tagwire.message.field_table import FieldRow
from tagwire.versions import Versions
from tagwire.wire.unknown_tags import NO_TAGS

ZERO = UUID(int=0)


class PollTopic(Struct):
    __slots__ = ("name", "partitions", "topic_id", "unknown_tags")

    FIELDS = (
        FieldRow("name", "Name", "string", "0+", default="", nullable="3+"),
        FieldRow("topic_id", "TopicId", "uuid", "2+", default=ZERO, ignorable=True),
        FieldRow("partitions", "Partitions", "[]int32", "0+", default=()),
    )

    def __init__(
        self,
        *,
        name: str | None = "",
        topic_id: UUID = ZERO,
        partitions: Iterable[int] = (),
        unknown_tags: Mapping[int, bytes] = NO_TAGS,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = tuple(partitions)
        self.unknown_tags = unknown_tags


class Rack(Struct):
    __slots__ = ("label", "row", "unknown_tags")

    FIELDS = (
        FieldRow("label", "Label", "string", "2+", default=""),
        FieldRow("row", "Row", "int8", "2+", default=-1),
    )

    def __init__(self, *, label: str = "", row: int = -1, unknown_tags: Mapping[int, bytes] = NO_TAGS) -> None:
        self.label = label
        self.row = row
        self.unknown_tags = unknown_tags


class PollRequest(Sample):
    """v0: topics, urgent, ratio, payload; v1 adds max_wait_ms (ignorable), quota; v2 is flexible; v3 is unstable."""

    __slots__ = (
        "cursor",
        "max_wait_ms",
        "payload",
        "port",
        "quota",
        "rack",
        "ratio",
        "reason",
        "snapshot",
        "topics",
        "unknown_tags",
        "urgent",
        "weight",
    )

    NAME = "PollRequest"
    KIND = "request"
    API_KEY = 7
    COMPONENT = "clients"
    VERSIONS = Versions(0, 3)
    FLEXIBLE_VERSIONS = Versions.parse("2+")
    LATEST_STABLE = 2
    HEADER_VERSIONS = ((Versions(0, 0), 0), (Versions(1, 1), 1), (Versions.parse("2+"), 2))
    FIELDS = (
        FieldRow("topics", "Topics", "[]PollTopic", "0+", default=(), nullable="1+", struct=PollTopic),
        FieldRow("urgent", "Urgent", "bool", "0+", default=False),
        FieldRow("ratio", "Ratio", "float64", "0+", default=0.0),
        FieldRow("max_wait_ms", "MaxWaitMs", "int32", "1+", default=500, ignorable=True),
        FieldRow("quota", "Quota", "int64", "1+", default=0),
        FieldRow("port", "Port", "uint16", "0-1", default=9092),
        FieldRow("payload", "Payload", "bytes", "0+", default=b"", nullable="2+"),
        FieldRow("snapshot", "Snapshot", "records", "2+", default=None, nullable="2+"),
        FieldRow("cursor", "Cursor", "Rack", "2+", default=None, nullable="2+", struct=Rack),
        FieldRow("reason", "Reason", "string", "2+", default=None, nullable="2+", tag=0, tagged="2+", ignorable=True),
        FieldRow("rack", "RACK", "Rack", "2+", default=DEFAULT_STRUCT, tag=1, tagged="2+", struct=Rack),
        FieldRow("weight", "Weight", "float64", "3+", default=1.0, tag=2, tagged="3+"),
    )

    def __init__(
        self,
        *,
        topics: Iterable[PollTopic] | None = (),
        urgent: bool = False,
        ratio: float = 0.0,
        max_wait_ms: int = 500,
        quota: int = 0,
        port: int = 9092,
        payload: bytes | memoryview | None = b"",
        snapshot: bytes | memoryview | None = None,
        cursor: Rack | None = None,
        reason: str | None = None,
        rack: Rack | None = None,
        weight: float = 1.0,
        unknown_tags: Mapping[int, bytes] = NO_TAGS,
    ) -> None:
        self.topics = None if topics is None else tuple(topics)
        self.urgent = urgent
        self.ratio = ratio
        self.max_wait_ms = max_wait_ms
        self.quota = quota
        self.port = port
        self.payload = payload
        self.snapshot = snapshot
        self.cursor = cursor
        self.reason = reason
        self.rack = Rack() if rack is None else rack
        self.weight = weight
        self.unknown_tags = unknown_tags


class PollResponse(Sample):
    """Answers in version 0 with error 35 a version that the peer lacks; its header is always version 0."""

    __slots__ = ("error_code", "names", "unknown_tags")

    NAME = "PollResponse"
    KIND = "response"
    API_KEY = 7
    COMPONENT = "clients"
    VERSIONS = Versions(0, 3)
    FLEXIBLE_VERSIONS = Versions.parse("2+")
    LATEST_STABLE = 3
    HEADER_VERSIONS = ((Versions.parse("0+"), 0),)
    FALLBACK = (0, 35)
    FIELDS = (
        FieldRow("error_code", "ErrorCode", "int16", "0+", default=0),
        FieldRow("names", "Names", "[]string", "0+", default=()),
    )

    def __init__(
        self, *, error_code: int = 0, names: Iterable[str] = (), unknown_tags: Mapping[int, bytes] = NO_TAGS
    ) -> None:
        self.error_code = error_code
        self.names = tuple(names)
        self.unknown_tags = unknown_tags


class WipeRequest(Sample):
    """No fields, version 1 alone, and not stable."""

    __slots__ = ("unknown_tags",)

    NAME = "WipeRequest"
    KIND = "request"
    API_KEY = 8
    COMPONENT = "clients"
    VERSIONS = Versions(1, 1)
    LATEST_STABLE = -1
    HEADER_VERSIONS = ((Versions.parse("0+"), 1),)

    def __init__(self, *, unknown_tags: Mapping[int, bytes] = NO_TAGS) -> None:
        self.unknown_tags = unknown_tags
