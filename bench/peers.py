"""The peers behind one face: for each message of the benchmark, how they build, encode and decode it.

Each library builds its message from the same content, in the way that its own
users do. Where one lacks the version, it works in its nearest, which is said
beside its figures: that is less work for each message, never more.

The libraries are imported by name, so that this module type-checks and loads
where they are not installed.
"""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Any, Final

import contents

__all__ = ["PEERS", "AioKafka", "Contender", "KafkaPython", "Kio", "Library"]


@dataclass(frozen=True, slots=True)
class Contender:
    """A library's way with one message."""

    version: int
    """The version of the message that it speaks."""
    make: Callable[[], Any]
    """The message from its content: what an application does before it encodes."""
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


class Library:
    """A library: its name, its installed version, its contenders by message name."""

    name: str
    distribution: str

    @property
    def version(self) -> str:
        """The installed version."""
        return installed_version(self.distribution)

    def contenders(self) -> Mapping[str, Contender]:
        """By message name."""
        raise NotImplementedError


class Kio(Library):
    """kio: frozen dataclasses for each version, decoded in Rust, encoded in Python."""

    name = "kio"
    distribution = "kio"

    def __init__(self) -> None:
        serial = import_module("kio.serial")
        self._reader, self._writer = serial.entity_reader, serial.entity_writer
        self._error = import_module("kio.schema.errors").ErrorCode
        self._milliseconds = import_module("kio.static.primitive").i32Timedelta

    def contenders(self) -> Mapping[str, Contender]:
        return {
            "ApiVersionsResponse": self._contender("api_versions.v3.response", "ApiVersionsResponse", self._api_versions),
            "MetadataResponse": self._contender("metadata.v12.response", "MetadataResponse", self._metadata),
            "ProduceRequest": self._contender("produce.v9.request", "ProduceRequest", self._produce),
            "FetchResponse": self._contender("fetch.v12.response", "FetchResponse", self._fetch),
            "OffsetCommitRequest": self._contender("offset_commit.v8.request", "OffsetCommitRequest", self._offset_commit),
            "HeartbeatResponse": self._contender("heartbeat.v4.response", "HeartbeatResponse", self._heartbeat),
        }

    def _contender(self, module: str, name: str, make: Callable[[Any], Callable[[], Any]]) -> Contender:
        schema = import_module(f"kio.schema.{module}")
        cls = getattr(schema, name)
        read, write = self._reader(cls), self._writer(cls)

        def encode(message: Any) -> bytes:
            out = io.BytesIO()
            write(out, message)
            return out.getvalue()

        return Contender(int(cls.__version__), make(schema), encode, lambda data: read(data, 0)[0])

    def _duration(self, milliseconds: int) -> Any:
        return self._milliseconds.parse(timedelta(milliseconds=milliseconds))

    def _api_versions(self, schema: Any) -> Callable[[], Any]:
        content = contents.api_versions()
        return lambda: schema.ApiVersionsResponse(
            error_code=self._error(content.error_code),
            api_keys=tuple(
                schema.ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in content.api_keys
            ),
            throttle_time=self._duration(content.throttle_time_ms),
        )

    def _metadata(self, schema: Any) -> Callable[[], Any]:
        content = contents.metadata()
        return lambda: schema.MetadataResponse(
            throttle_time=self._duration(content.throttle_time_ms),
            brokers=tuple(schema.MetadataResponseBroker(**broker._asdict()) for broker in content.brokers),
            cluster_id=content.cluster_id,
            controller_id=content.controller_id,
            topics=tuple(self._topic(schema, topic) for topic in content.topics),
        )

    def _topic(self, schema: Any, topic: contents.Topic) -> Any:
        error, make = self._error, schema.MetadataResponsePartition
        return schema.MetadataResponseTopic(
            error_code=error(topic.error_code),
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=tuple(
                make(
                    error_code=error(each.error_code),
                    partition_index=each.partition_index,
                    leader_id=each.leader_id,
                    leader_epoch=each.leader_epoch,
                    replica_nodes=tuple(each.replica_nodes),
                    isr_nodes=tuple(each.isr_nodes),
                    offline_replicas=tuple(each.offline_replicas),
                )
                for each in topic.partitions
            ),
        )
