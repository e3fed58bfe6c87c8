"""Benchmark protobuf, which encodes the same data in its own format, with its C library.

The format has no versions. protobuf creates the Python object for a field only when the field is accessed. The message
types are defined here in Python, so no .proto compiler is needed.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import contents
from library import Contender, Library
from touching import attributes

__all__ = ["Protobuf"]

_METADATA: Final = {
    "Broker": "node_id:int32 host:string port:int32 rack:string",
    "Partition": "error_code:int32 index:int32 leader_id:int32 leader_epoch:int32 "
    "replicas:[]int32 isr:[]int32 offline:[]int32",
    "Topic": "error_code:int32 name:string topic_id:bytes is_internal:bool partitions:[]Partition operations:int32",
    "Metadata": "throttle_time_ms:int32 brokers:[]Broker cluster_id:string controller_id:int32 topics:[]Topic",
}
_OFFSET_COMMIT: Final = {
    "Partition": "index:int32 offset:int64 epoch:int32 metadata:string",
    "Topic": "name:string partitions:[]Partition",
    "OffsetCommit": "group:string generation:int32 member:string instance:string topics:[]Topic",
}
_HEARTBEAT: Final = {"Heartbeat": "throttle_time_ms:int32 error_code:int32"}


class Protobuf(Library):
    """protobuf, which has its own format."""

    name = "protobuf"

    def __init__(self) -> None:
        self._descriptors = import_module("google.protobuf.descriptor_pb2")
        self._pools = import_module("google.protobuf.descriptor_pool")
        self._classes = import_module("google.protobuf.message_factory").GetMessageClass

    def contenders(self) -> Mapping[str, Contender]:
        return {
            "MetadataResponse": self._contender(_METADATA, _metadata),
            "OffsetCommitRequest": self._contender(_OFFSET_COMMIT, _offset_commit),
            "HeartbeatResponse": self._contender(_HEARTBEAT, _heartbeat),
        }

    def fields(self, value: object) -> Callable[[Any], Sequence[Any]] | None:
        descriptor = getattr(value, "DESCRIPTOR", None)
        return None if descriptor is None else attributes([field.name for field in descriptor.fields])

    def _contender(self, shapes: Mapping[str, str], fill: Callable[[Any], None]) -> Contender:
        cls = self._class(shapes)

        def make() -> Any:
            message = cls()
            fill(message)
            return message

        return Contender(None, make, lambda message: message.SerializeToString(), lambda data: cls.FromString(data))

    def _class(self, shapes: Mapping[str, str]) -> Any:
        file = self._descriptors.FileDescriptorProto(name=f"{list(shapes)[-1]}.proto", package="bench", syntax="proto3")
        for name, fields in shapes.items():
            message = file.message_type.add(name=name)
            for number, text in enumerate(fields.split(), 1):
                field, _, type_ = text.partition(":")
                self._add(message, field, number, type_)
        pool = self._pools.DescriptorPool()
        pool.Add(file)
        return self._classes(pool.FindMessageTypeByName(f"bench.{list(shapes)[-1]}"))

    def _add(self, message: Any, name: str, number: int, type_: str) -> None:
        kinds = self._descriptors.FieldDescriptorProto
        label = kinds.LABEL_REPEATED if type_.startswith("[]") else kinds.LABEL_OPTIONAL
        bare = type_.removeprefix("[]")
        field = message.field.add(name=name, number=number, label=label)
        if bare[0].isupper():
            field.type, field.type_name = kinds.TYPE_MESSAGE, f".bench.{bare}"
        else:
            field.type = getattr(kinds, f"TYPE_{bare.upper()}")


def _heartbeat(message: Any) -> None:
    message.throttle_time_ms, message.error_code = contents.heartbeat()


def _offset_commit(message: Any) -> None:
    message.group, message.generation, message.member, instance, topics = contents.offset_commit()
    if instance is not None:
        message.instance = instance
    for name, partitions in topics:
        topic = message.topics.add(name=name)
        for index, offset, epoch, metadata in partitions:
            topic.partitions.add(index=index, offset=offset, epoch=epoch, metadata=metadata)


def _metadata(message: Any) -> None:
    message.throttle_time_ms, brokers, message.cluster_id, message.controller_id, topics = contents.metadata()
    for node_id, host, port, rack in brokers:
        message.brokers.add(node_id=node_id, host=host, port=port, rack=rack)
    for error, name, topic_id, is_internal, partitions in topics:
        topic = message.topics.add(error_code=error, name=name, topic_id=topic_id.bytes, is_internal=is_internal)
        topic.operations = -(1 << 31)
        for found in partitions:
            names = ("error_code", "index", "leader_id", "leader_epoch", "replicas", "isr", "offline")
            topic.partitions.add(**dict(zip(names, found, strict=True)))
