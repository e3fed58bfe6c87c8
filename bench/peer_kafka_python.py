"""Benchmark kafka-python, which creates classes from JSON at run time."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import contents
from library import VERSIONS, Contender, Library
from touching import attributes

__all__ = ["KafkaPython"]


class KafkaPython(Library):
    """kafka-python, which has one class for all versions of a message."""

    name = "kafka-python"

    def contenders(self) -> Mapping[str, Contender]:
        client, producer = import_module("kafka.protocol.metadata"), import_module("kafka.protocol.producer")
        consumer = import_module("kafka.protocol.consumer")
        return {
            "ApiVersionsResponse": _contender(client.ApiVersionsResponse, _api_versions),
            "MetadataResponse": _contender(client.MetadataResponse, _metadata),
            "ProduceRequest": _contender(producer.ProduceRequest, _produce),
            "FetchResponse": _contender(consumer.FetchResponse, _fetch),
            "OffsetCommitRequest": _contender(consumer.OffsetCommitRequest, _offset_commit),
            "HeartbeatResponse": _contender(consumer.HeartbeatResponse, _heartbeat),
        }

    def fields(self, value: object) -> Callable[[Any], Sequence[Any]] | None:
        container = import_module("kafka.protocol.data_container").DataContainer
        return attributes(type(value).__slots__) if isinstance(value, container) else None


def _contender(cls: Any, make: Callable[[Any, int], Callable[[], Any]]) -> Contender:
    version = VERSIONS[cls.__name__]
    # Don't pass the version to `encode`: a decoded message rejects the argument.
    return Contender(
        version, make(cls, version), lambda message: message.encode(), lambda data: cls.decode(data, version=version)
    )


def _api_versions(cls: Any, version: int) -> Callable[[], Any]:
    error_code, api_keys, throttle_time_ms = contents.api_versions()
    key_class = cls.ApiVersion
    return lambda: cls(
        version=version,
        error_code=error_code,
        api_keys=[
            key_class(version=version, api_key=key, min_version=low, max_version=high) for key, low, high in api_keys
        ],
        throttle_time_ms=throttle_time_ms,
    )


def _metadata(cls: Any, version: int) -> Callable[[], Any]:
    throttle_time_ms, brokers, cluster_id, controller_id, topics = contents.metadata()
    broker, topic = cls.MetadataResponseBroker, cls.MetadataResponseTopic
    partition = topic.MetadataResponsePartition
    return lambda: cls(
        version=version,
        throttle_time_ms=throttle_time_ms,
        brokers=[
            broker(version=version, node_id=node, host=host, port=port, rack=rack) for node, host, port, rack in brokers
        ],
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=[
            topic(
                version=version,
                error_code=error,
                name=name,
                topic_id=topic_id,
                is_internal=internal,
                partitions=[
                    partition(
                        version=version,
                        error_code=code,
                        partition_index=index,
                        leader_id=leader,
                        leader_epoch=epoch,
                        replica_nodes=replicas,
                        isr_nodes=isr,
                        offline_replicas=offline,
                    )
                    for code, index, leader, epoch, replicas, isr, offline in partitions
                ],
            )
            for error, name, topic_id, internal, partitions in topics
        ],
    )


def _produce(cls: Any, version: int) -> Callable[[], Any]:
    transactional_id, acks, timeout_ms, topics = contents.produce()
    topic, partition = cls.TopicProduceData, cls.TopicProduceData.PartitionProduceData
    return lambda: cls(
        version=version,
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            topic(
                version=version,
                name=name,
                partition_data=[
                    partition(version=version, index=index, records=records) for index, records in partitions
                ],
            )
            for name, partitions in topics
        ],
    )


def _fetch(cls: Any, version: int) -> Callable[[], Any]:
    throttle_time_ms, error_code, session_id, topics = contents.fetch()
    topic, partition = cls.FetchableTopicResponse, cls.FetchableTopicResponse.PartitionData
    return lambda: cls(
        version=version,
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        session_id=session_id,
        responses=[
            topic(
                version=version,
                topic=name,
                partitions=[
                    partition(
                        version=version,
                        partition_index=index,
                        error_code=code,
                        high_watermark=high,
                        last_stable_offset=stable,
                        log_start_offset=start,
                        aborted_transactions=aborted,
                        preferred_read_replica=replica,
                        records=records,
                    )
                    for index, code, high, stable, start, aborted, replica, records in partitions
                ],
            )
            for name, partitions in topics
        ],
    )


def _offset_commit(cls: Any, version: int) -> Callable[[], Any]:
    group, generation, member, instance, topics = contents.offset_commit()
    topic, partition = cls.OffsetCommitRequestTopic, cls.OffsetCommitRequestTopic.OffsetCommitRequestPartition
    return lambda: cls(
        version=version,
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        topics=[
            topic(
                version=version,
                name=name,
                partitions=[
                    partition(
                        version=version,
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=epoch,
                        committed_metadata=metadata,
                    )
                    for index, offset, epoch, metadata in partitions
                ],
            )
            for name, partitions in topics
        ],
    )


def _heartbeat(cls: Any, version: int) -> Callable[[], Any]:
    throttle_time_ms, error_code = contents.heartbeat()
    return lambda: cls(version=version, throttle_time_ms=throttle_time_ms, error_code=error_code)
