"""Benchmark tagwire's generated classes with all strict checks, once with the active engine and once in pure Python."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final

import contents
from library import VERSIONS, Contender, Library
from touching import attributes

__all__ = ["PureTagwire", "Tagwire"]


class Tagwire(Library):
    """Calls tagwire as its users do, with the active engine (native or pure Python)."""

    name = "tagwire"

    @property
    def installed(self) -> str:
        # Ask the module: if tagwire is on the import path but not installed, there is no package metadata.
        return str(import_module("tagwire").__version__)

    def contenders(self) -> Mapping[str, Contender]:
        package = import_module("tagwire_messages")
        return {name: self._contender(package.registry[name], version) for name, version in VERSIONS.items()}

    def fields(self, value: object) -> Callable[[Any], Sequence[Any]] | None:
        """Return a function that gets all attributes of a message."""
        rows = getattr(value, "FIELDS", None)
        return None if rows is None else attributes([row.name for row in rows])

    def _contender(self, cls: Any, version: int) -> Contender:
        return Contender(
            version,
            _maker(cls),
            lambda message: message.encode(version),
            lambda data: cls.decode(data, version),
            lambda data: cls.decode(data, version, gc=False),
            lambda data: cls.decode(data, version, views=True),
        )


class PureTagwire(Tagwire):
    """tagwire's generated classes with the pure Python engine."""

    name = "tagwire, pure"

    def _contender(self, cls: Any, version: int) -> Contender:
        serializer = import_module("tagwire.message.engines").python_serializer(cls, version)
        views = partial(serializer.decode, views=True)
        return Contender(version, _maker(cls), serializer.encode, serializer.decode, None, views)


def _maker(cls: Any) -> Callable[[], Any]:
    return _MAKERS[cls.NAME](import_module(cls.__module__))


def _api_versions(module: Any) -> Callable[[], Any]:
    error_code, api_keys, throttle_time_ms = contents.api_versions()
    return lambda: module.ApiVersionsResponse(
        error_code=error_code,
        api_keys=[module.ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in api_keys],
        throttle_time_ms=throttle_time_ms,
    )


def _metadata(module: Any) -> Callable[[], Any]:
    throttle_time_ms, brokers, cluster_id, controller_id, topics = contents.metadata()
    broker, topic, partition = (
        module.MetadataResponseBroker,
        module.MetadataResponseTopic,
        module.MetadataResponsePartition,
    )
    return lambda: module.MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=[broker(node_id=node, host=host, port=port, rack=rack) for node, host, port, rack in brokers],
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=[
            topic(
                error_code=error,
                name=name,
                topic_id=topic_id,
                is_internal=internal,
                partitions=[
                    partition(
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


def _produce(module: Any) -> Callable[[], Any]:
    transactional_id, acks, timeout_ms, topics = contents.produce()
    topic, partition = module.TopicProduceData, module.PartitionProduceData
    return lambda: module.ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            topic(name=name, partition_data=[partition(index=index, records=records) for index, records in partitions])
            for name, partitions in topics
        ],
    )


def _fetch(module: Any) -> Callable[[], Any]:
    throttle_time_ms, error_code, session_id, topics = contents.fetch()
    topic, partition = module.FetchableTopicResponse, module.PartitionData
    return lambda: module.FetchResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        session_id=session_id,
        responses=[
            topic(
                topic=name,
                partitions=[
                    partition(
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


def _offset_commit(module: Any) -> Callable[[], Any]:
    group, generation, member, instance, topics = contents.offset_commit()
    topic, partition = module.OffsetCommitRequestTopic, module.OffsetCommitRequestPartition
    return lambda: module.OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        topics=[
            topic(
                name=name,
                partitions=[
                    partition(
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


def _heartbeat(module: Any) -> Callable[[], Any]:
    throttle_time_ms, error_code = contents.heartbeat()
    return lambda: module.HeartbeatResponse(throttle_time_ms=throttle_time_ms, error_code=error_code)


_MAKERS: Final[dict[str, Callable[[Any], Callable[[], Any]]]] = {
    "ApiVersionsResponse": _api_versions,
    "MetadataResponse": _metadata,
    "ProduceRequest": _produce,
    "FetchResponse": _fetch,
    "OffsetCommitRequest": _offset_commit,
    "HeartbeatResponse": _heartbeat,
}
