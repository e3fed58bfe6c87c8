"""Headers as Kafka has them: the client id keeps its int16 length in the flexible version."""

from collections.abc import Mapping

from sample_messages.base import Sample
from tagwire.message.field_table import FieldRow
from tagwire.versions import Versions
from tagwire.wire.unknown_tags import NO_TAGS


class RequestHeader(Sample):
    __slots__ = ("client_id", "correlation_id", "request_api_key", "request_api_version", "unknown_tags")

    NAME = "RequestHeader"
    KIND = "header"
    VERSIONS = Versions(0, 2)
    FLEXIBLE_VERSIONS = Versions.parse("2+")
    LATEST_STABLE = 2
    FIELDS = (
        FieldRow("request_api_key", "RequestApiKey", "int16", "0+", default=0),
        FieldRow("request_api_version", "RequestApiVersion", "int16", "0+", default=0),
        FieldRow("correlation_id", "CorrelationId", "int32", "0+", default=0),
        FieldRow("client_id", "ClientId", "string", "1+", default="", nullable="1+", ignorable=True, flexible="none"),
    )

    def __init__(
        self,
        *,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
        unknown_tags: Mapping[int, bytes] = NO_TAGS,
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.unknown_tags = unknown_tags


class ResponseHeader(Sample):
    __slots__ = ("correlation_id", "unknown_tags")

    NAME = "ResponseHeader"
    KIND = "header"
    VERSIONS = Versions(0, 1)
    FLEXIBLE_VERSIONS = Versions.parse("1+")
    LATEST_STABLE = 1
    FIELDS = (FieldRow("correlation_id", "CorrelationId", "int32", "0+", default=0),)

    def __init__(self, *, correlation_id: int = 0, unknown_tags: Mapping[int, bytes] = NO_TAGS) -> None:
        self.correlation_id = correlation_id
        self.unknown_tags = unknown_tags
