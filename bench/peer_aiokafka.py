"""Benchmark aiokafka, which interprets schemas at run time.

aiokafka has no flexible versions, so older versions of the messages are used.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import contents
from library import Contender, Library
from touching import attributes

__all__ = ["AioKafka"]


class AioKafka(Library):
    """aiokafka, whose messages are plain tuples."""

    name = "aiokafka"

    def contenders(self) -> Mapping[str, Contender]:
        return {
            "ApiVersionsResponse": _contender("admin", "ApiVersionResponse", 2, _api_versions),
            "MetadataResponse": _contender("metadata", "MetadataResponse", 5, _metadata),
            "ProduceRequest": _contender("produce", "ProduceRequest", 8, _produce),
            "FetchResponse": _contender("fetch", "FetchResponse", 11, _fetch),
            "OffsetCommitRequest": _contender("commit", "OffsetCommitRequest", 3, _offset_commit),
            "HeartbeatResponse": _contender("group", "HeartbeatResponse", 1, _heartbeat),
        }

    def fields(self, value: object) -> Callable[[Any], Sequence[Any]] | None:
        if isinstance(value, tuple):  # aiokafka decodes structs to tuples, and arrays to lists
            return tuple
        schema = getattr(value, "SCHEMA", None)
        return None if schema is None else attributes(schema.names)


def _contender(module: str, name: str, version: int, make: Callable[[Any], Callable[[], Any]]) -> Contender:
    cls = getattr(import_module(f"aiokafka.protocol.{module}"), f"{name}_v{version}")
    return Contender(version, make(cls), lambda message: bytes(message.encode()), cls.decode)


def _api_versions(cls: Any) -> Callable[[], Any]:
    error_code, api_keys, throttle_time_ms = contents.api_versions()
    return lambda: cls(error_code, list(api_keys), throttle_time_ms)


def _metadata(cls: Any) -> Callable[[], Any]:
    """Return a function that builds MetadataResponse version 5, which has no topic ID and no leader epoch."""
    throttle_time_ms, brokers, cluster_id, controller_id, topics = contents.metadata()
    return lambda: cls(
        throttle_time_ms,
        [tuple(broker) for broker in brokers],
        cluster_id,
        controller_id,
        [
            (
                error,
                name,
                internal,
                [
                    (code, index, leader, replicas, isr, offline)
                    for code, index, leader, _, replicas, isr, offline in partitions
                ],
            )
            for error, name, _, internal, partitions in topics
        ],
    )


def _produce(cls: Any) -> Callable[[], Any]:
    transactional_id, acks, timeout_ms, topics = contents.produce()
    return lambda: cls(transactional_id, acks, timeout_ms, [(name, list(partitions)) for name, partitions in topics])


def _fetch(cls: Any) -> Callable[[], Any]:
    throttle_time_ms, error_code, session_id, topics = contents.fetch()
    return lambda: cls(
        throttle_time_ms,
        error_code,
        session_id,
        [(name, [tuple(partition) for partition in partitions]) for name, partitions in topics],
    )


def _offset_commit(cls: Any) -> Callable[[], Any]:
    """Return a function that builds OffsetCommitRequest version 3, with a retention time but no leader epoch."""
    group, generation, member, _, topics = contents.offset_commit()
    return lambda: cls(
        group,
        generation,
        member,
        -1,
        [(name, [(index, offset, text) for index, offset, _, text in partitions]) for name, partitions in topics],
    )


def _heartbeat(cls: Any) -> Callable[[], Any]:
    throttle_time_ms, error_code = contents.heartbeat()
    return lambda: cls(throttle_time_ms, error_code)
