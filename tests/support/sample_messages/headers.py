"""Headers as in Kafka: the client ID always has an int16 length."""

from __future__ import annotations

from sample_messages.base import Sample
from tagwire.message import data_class, field
from tagwire.versions import Versions


class RequestHeader(Sample, metaclass=data_class):
    request_api_key: int = field("RequestApiKey", "int16", "0+", default=0)
    request_api_version: int = field("RequestApiVersion", "int16", "0+", default=0)
    correlation_id: int = field("CorrelationId", "int32", "0+", default=0)
    client_id: str | None = field(
        "ClientId", "string", "1+", default="", nullable="1+", ignorable=True, flexible="none"
    )

    NAME = "RequestHeader"
    KIND = "header"
    VERSIONS = Versions(0, 2)
    FLEXIBLE_VERSIONS = Versions.parse("2+")
    LATEST_STABLE = 2


class ResponseHeader(Sample, metaclass=data_class):
    correlation_id: int = field("CorrelationId", "int32", "0+", default=0)

    NAME = "ResponseHeader"
    KIND = "header"
    VERSIONS = Versions(0, 1)
    FLEXIBLE_VERSIONS = Versions.parse("1+")
    LATEST_STABLE = 1
