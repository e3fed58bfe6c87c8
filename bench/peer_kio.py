"""Benchmark kio, which has a frozen dataclass per message version.

A Rust extension decodes messages, and Python code encodes them.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any

import contents
from library import Contender, Library
from touching import attributes

__all__ = ["Kio"]

Make = Callable[[Any], Callable[[], Any]]


class Kio(Library):
    """The kio library, which has a module for each version of each message."""

    name = "kio"

    def __init__(self) -> None:
        serial = import_module("kio.serial")
        self._reader, self._writer = serial.entity_reader, serial.entity_writer
        self._error = import_module("kio.schema.errors").ErrorCode
        self._duration = import_module("kio.static.primitive").i32Timedelta

    def contenders(self) -> Mapping[str, Contender]:
        return {
            "ApiVersionsResponse": self._contender(
                "api_versions.v3.response", "ApiVersionsResponse", self._api_versions
            ),
            "MetadataResponse": self._contender("metadata.v12.response", "MetadataResponse", self._metadata),
            "ProduceRequest": self._contender("produce.v9.request", "ProduceRequest", self._produce),
            "FetchResponse": self._contender("fetch.v12.response", "FetchResponse", self._fetch),
            "OffsetCommitRequest": self._contender("offset_commit.v8.request", "OffsetCommitRequest", _offset_commit),
            "HeartbeatResponse": self._contender("heartbeat.v4.response", "HeartbeatResponse", self._heartbeat),
        }

    def fields(self, value: object) -> Callable[[Any], Sequence[Any]] | None:
        return attributes([field.name for field in fields(value)]) if is_dataclass(value) else None

    def _contender(self, module: str, name: str, make: Make) -> Contender:
        schema = import_module(f"kio.schema.{module}")
        cls = getattr(schema, name)
        read, write = self._reader(cls), self._writer(cls)

        def encode(message: Any) -> bytes:
            out = io.BytesIO()
            write(out, message)
            return out.getvalue()

        return Contender(int(cls.__version__), make(schema), encode, lambda data: read(data, 0)[0])

    def _milliseconds(self, count: int) -> Any:
        return self._duration.parse(timedelta(milliseconds=count))

    def _api_versions(self, schema: Any) -> Callable[[], Any]:
        error_code, api_keys, throttle_time_ms = contents.api_versions()
        return lambda: schema.ApiVersionsResponse(
            error_code=self._error(error_code),
            api_keys=tuple(
                schema.ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in api_keys
            ),
            throttle_time=self._milliseconds(throttle_time_ms),
        )

    def _metadata(self, schema: Any) -> Callable[[], Any]:
        throttle_time_ms, brokers, cluster_id, controller_id, topics = contents.metadata()
        broker, topic, error = schema.MetadataResponseBroker, schema.MetadataResponseTopic, self._error
        return lambda: schema.MetadataResponse(
            throttle_time=self._milliseconds(throttle_time_ms),
            brokers=tuple(broker(node_id=node, host=host, port=port, rack=rack) for node, host, port, rack in brokers),
            cluster_id=cluster_id,
            controller_id=controller_id,
            topics=tuple(
                topic(
                    error_code=error(code),
                    name=name,
                    topic_id=topic_id,
                    is_internal=internal,
                    partitions=self._partitions(schema.MetadataResponsePartition, partitions),
                )
                for code, name, topic_id, internal, partitions in topics
            ),
        )

    def _partitions(self, make: Any, partitions: list[contents.Partition]) -> tuple[Any, ...]:
        error = self._error
        return tuple(
            make(
                error_code=error(code),
                partition_index=index,
                leader_id=leader,
                leader_epoch=epoch,
                replica_nodes=tuple(replicas),
                isr_nodes=tuple(isr),
                offline_replicas=tuple(offline),
            )
            for code, index, leader, epoch, replicas, isr, offline in partitions
        )

    def _produce(self, schema: Any) -> Callable[[], Any]:
        transactional_id, acks, timeout_ms, topics = contents.produce()
        topic, partition = schema.TopicProduceData, schema.PartitionProduceData
        return lambda: schema.ProduceRequest(
            transactional_id=transactional_id,
            acks=acks,
            timeout=self._milliseconds(timeout_ms),
            topic_data=tuple(
                topic(
                    name=name,
                    partition_data=tuple(partition(index=index, records=records) for index, records in partitions),
                )
                for name, partitions in topics
            ),
        )

    def _fetch(self, schema: Any) -> Callable[[], Any]:
        throttle_time_ms, error_code, session_id, topics = contents.fetch()
        topic, partition, error = schema.FetchableTopicResponse, schema.PartitionData, self._error
        return lambda: schema.FetchResponse(
            throttle_time=self._milliseconds(throttle_time_ms),
            error_code=error(error_code),
            session_id=session_id,
            responses=tuple(
                topic(
                    topic=name,
                    partitions=tuple(
                        partition(
                            partition_index=index,
                            error_code=error(code),
                            high_watermark=high,
                            last_stable_offset=stable,
                            log_start_offset=start,
                            aborted_transactions=aborted,
                            preferred_read_replica=replica,
                            records=records,
                        )
                        for index, code, high, stable, start, aborted, replica, records in partitions
                    ),
                )
                for name, partitions in topics
            ),
        )

    def _heartbeat(self, schema: Any) -> Callable[[], Any]:
        throttle_time_ms, error_code = contents.heartbeat()
        return lambda: schema.HeartbeatResponse(
            throttle_time=self._milliseconds(throttle_time_ms), error_code=self._error(error_code)
        )


def _offset_commit(schema: Any) -> Callable[[], Any]:
    group, generation, member, instance, topics = contents.offset_commit()
    topic, partition = schema.OffsetCommitRequestTopic, schema.OffsetCommitRequestPartition
    return lambda: schema.OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        topics=tuple(
            topic(
                name=name,
                partitions=tuple(
                    partition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=epoch,
                        committed_metadata=metadata,
                    )
                    for index, offset, epoch, metadata in partitions
                ),
            )
            for name, partitions in topics
        ),
    )
