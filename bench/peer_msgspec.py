"""Benchmark msgspec, which encodes the same contents as MessagePack arrays. Its structs are implemented in C.

msgspec has no message versions.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import contents
from library import Contender, Library
from touching import attributes

__all__ = ["Msgspec"]


class Msgspec(Library):
    """msgspec, which encodes structs as MessagePack."""

    name = "msgspec"

    def __init__(self) -> None:
        self._msgspec = import_module("msgspec")
        self._encode = self._msgspec.msgpack.Encoder(uuid_format="bytes").encode

    def contenders(self) -> Mapping[str, Contender]:
        return {
            "MetadataResponse": self._contender(self._metadata),
            "OffsetCommitRequest": self._contender(self._offset_commit),
            "HeartbeatResponse": self._contender(self._heartbeat),
        }

    def fields(self, value: object) -> Callable[[Any], Sequence[Any]] | None:
        names = getattr(value, "__struct_fields__", None)
        return None if names is None else attributes(names)

    def _contender(self, shape: Callable[[bool], tuple[Any, Callable[[], Any]]]) -> Contender:
        cls, make = shape(True)
        untracked, _ = shape(False)
        decode, decode_untracked = (self._msgspec.msgpack.Decoder(each).decode for each in (cls, untracked))
        # Use lambdas, as for the other libraries, because the extra call takes as long as encoding a small message.
        return Contender(
            None,
            make,
            lambda message: self._encode(message),
            lambda data: decode(data),
            lambda data: decode_untracked(data),
        )

    def _struct(self, name: str, gc: bool, /, **fields: Any) -> Any:
        return self._msgspec.defstruct(name, list(fields.items()), array_like=True, gc=gc)

    def _heartbeat(self, gc: bool) -> tuple[Any, Callable[[], Any]]:
        cls = self._struct("Heartbeat", gc, throttle_time_ms=int, error_code=int)
        return cls, lambda: cls(*contents.heartbeat())

    def _offset_commit(self, gc: bool) -> tuple[Any, Callable[[], Any]]:
        partition = self._struct("Partition", gc, index=int, offset=int, epoch=int, metadata=str | None)
        topic = self._struct("Topic", gc, name=str, partitions=list[partition])
        cls = self._struct(
            "OffsetCommit", gc, group=str, generation=int, member=str, instance=str | None, topics=list[topic]
        )
        *head, topics = contents.offset_commit()
        return cls, lambda: cls(*head, [topic(name, [partition(*each) for each in found]) for name, found in topics])

    def _metadata(self, gc: bool) -> tuple[Any, Callable[[], Any]]:
        numbers = list[int]
        broker = self._struct("Broker", gc, node_id=int, host=str, port=int, rack=str | None)
        partition = self._struct(
            "Partition",
            gc,
            error_code=int,
            index=int,
            leader_id=int,
            leader_epoch=int,
            replicas=numbers,
            isr=numbers,
            offline=numbers,
        )
        topic = self._struct(
            "Topic",
            gc,
            error_code=int,
            name=str,
            topic_id=import_module("uuid").UUID,
            is_internal=bool,
            partitions=list[partition],
            operations=int,
        )
        cls = self._struct(
            "Metadata",
            gc,
            throttle_time_ms=int,
            brokers=list[broker],
            cluster_id=str,
            controller_id=int,
            topics=list[topic],
        )
        throttle_time_ms, brokers, cluster_id, controller_id, topics = contents.metadata()
        return cls, lambda: cls(
            throttle_time_ms,
            [broker(*each) for each in brokers],
            cluster_id,
            controller_id,
            [
                topic(error, name, topic_id, internal, [partition(*each) for each in partitions], -(1 << 31))
                for error, name, topic_id, internal, partitions in topics
            ],
        )
