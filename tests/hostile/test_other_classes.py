"""Writers must reject a struct of another class, because that class's additional fields would be lost."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import tagwire_messages as messages
from tagwire import EncodeError
from tagwire.message import Message, Struct
from tagwire.message.field_table import FieldRow
from tagwire.versions import Versions
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire_messages.metadata_request import MetadataRequestTopic
from tagwire_messages.offset_commit_request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from tagwire_records.record_batch_v2 import Header, Record, RecordBatchV2

pytestmark = pytest.mark.usefixtures("each_engine")

OTHER: Any = OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition(committed_offset=7)])
WRITERS: dict[str, Callable[[Any, int], object]] = {
    "encode": lambda message, version: message.encode(version),
    "encoded_size": lambda message, version: message.encoded_size(version),
    "to_json": lambda message, version: message.to_json(version),
    "serializer": lambda message, version: type(message).serializer(version).encode(message),
}


class Below(MetadataRequestTopic):
    __slots__ = ("note",)


class Renamed(MetadataRequestTopic):
    """A struct with a property `name` instead of a slot."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def name(self) -> str:
        return "renamed"

    @name.setter
    def name(self, value: str | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        pass


class Disguised:
    """An object with a fake `__class__`, for which `isinstance(x, MetadataRequestTopic)` is true."""

    name, topic_id, unknown_tags = "t", None, NO_TAGS
    __class__ = MetadataRequestTopic  # type: ignore[assignment]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("version", [4, 12])
@pytest.mark.parametrize(
    "value",
    [OTHER, SimpleNamespace(name="t", topic_id=None, unknown_tags={}), Disguised(), {"name": "t"}, "t", None],
    ids=lambda value: type(value).__name__,
)
def test_an_element_of_another_class(writer: str, version: int, value: Any) -> None:
    message = messages.MetadataRequest(topics=[MetadataRequestTopic(name="t"), value])
    with pytest.raises(EncodeError) as caught:
        WRITERS[writer](message, version)
    assert caught.value.path == "topics[1]"
    if value is not None:
        assert caught.value.reason.startswith("expected a MetadataRequestTopic, got ")
    assert [(loss.path, loss.ignorable) for loss in message.losses(version)] == [("topics[1]", False)]
    assert not message.supported_versions()


@pytest.mark.parametrize("writer", WRITERS)
def test_a_struct_of_another_class(writer: str) -> None:
    value: Any = messages.HeartbeatRequest()
    partition = messages.fetch_response.PartitionData(current_leader=value)
    topic = messages.fetch_response.FetchableTopicResponse(partitions=[partition])
    with pytest.raises(EncodeError, match="expected a LeaderIdAndEpoch"):
        WRITERS[writer](messages.FetchResponse(responses=[topic]), 12)


def test_a_message_of_another_class() -> None:
    other: Any = messages.HeartbeatRequest()
    for call in ("encode", "encoded_size"):
        with pytest.raises(EncodeError, match="expected a MetadataRequest, got a HeartbeatRequest"):
            getattr(messages.MetadataRequest.serializer(12), call)(other)


@pytest.mark.parametrize("writer", WRITERS)
def test_subclasses(writer: str) -> None:
    plain = messages.MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    renamed = messages.MetadataRequest(topics=[MetadataRequestTopic(name="renamed")])
    write = WRITERS[writer]
    assert write(messages.MetadataRequest(topics=[Below(name="t")]), 12) == write(plain, 12)
    assert write(messages.MetadataRequest(topics=[Renamed(name="t")]), 12) == write(renamed, 12)


def message_of(module: str) -> type[Message]:
    def __init__(self: Any, **fields: Any) -> None:
        for name in self.__slots__:
            setattr(self, name, fields.get(name, {} if name == "unknown_tags" else ()))

    slots: dict[str, Any] = {"__slots__": ("x", "unknown_tags"), "__init__": __init__, "__module__": module}
    point = type("Point", (Struct,), slots | {"FIELDS": (FieldRow("x", "X", "[]int32", Versions.parse("0+")),)})
    rows = (FieldRow("x", "X", "[]Point", Versions.parse("0+"), struct=point),)
    named = {"NAME": "Shape", "KIND": "data", "VERSIONS": Versions(0, 0), "FIELDS": rows}
    return type("Shape", (Message,), slots | named)


@pytest.mark.parametrize("writer", ["encode", "encoded_size"])
def test_two_classes_of_one_name(writer: str) -> None:
    one, other, again = message_of("one"), message_of("other"), message_of("one")
    point = other.FIELDS[0].struct
    assert point is not None
    with pytest.raises(EncodeError, match=r"expected a one\.Point, got a other\.Point"):
        WRITERS[writer](one(x=[point()]), 0)
    with pytest.raises(EncodeError, match=r"expected a one\.Point, got one of another class of that name"):
        WRITERS[writer](again(x=[one.FIELDS[0].struct()]), 0)  # type: ignore[misc]


@pytest.mark.parametrize("call", ["encode", "encoded_size"])
def test_record_formats(call: str) -> None:
    header: Any = Header(key="h", value=b"x")
    assert getattr(RecordBatchV2(records=[Record(headers=[header])]), call)()
    for records in ([header], [Record(headers=[Record()])], [OTHER]):  # type: ignore[list-item]
        with pytest.raises(EncodeError, match=r"expected a (Record|Header)"):
            getattr(RecordBatchV2(records=records), call)()
