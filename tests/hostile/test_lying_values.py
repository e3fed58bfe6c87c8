import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import tagwire_messages as messages
from tagwire import TagwireError
from tagwire_messages.fetch_response import FetchableTopicResponse, PartitionData
from tagwire_messages.metadata_request import MetadataRequestTopic
from tagwire_messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic
from tagwire_records.record_batch_v2 import Record, RecordBatchV2

pytestmark = pytest.mark.usefixtures("each_engine")


class Lying(list[Any]):
    """A list that reports a false length."""

    claimed = 3

    def __len__(self) -> int:
        return self.claimed


class LyingTuple(tuple[Any, ...]):
    __slots__ = ()

    def __len__(self) -> int:
        return 3


@pytest.mark.parametrize("kind", [Lying, LyingTuple])
@pytest.mark.parametrize("version", [4, 12])
def test_sequences_that_misreport_their_length(kind: Any, version: int) -> None:
    message = messages.MetadataRequest()
    message.topics = kind([MetadataRequestTopic(name="a")])
    right = messages.MetadataRequest(topics=[MetadataRequestTopic(name="a")])
    assert message.encode(version) == right.encode(version)
    assert message.encoded_size(version) == len(right.encode(version))
    partition = MetadataResponsePartition()
    partition.replica_nodes = kind([1, 2, 3, 4])
    answer = messages.MetadataResponse(topics=[MetadataResponseTopic(partitions=[partition])])
    found = messages.MetadataResponse.decode(answer.encode(version), version)
    assert found.topics[0].partitions[0].replica_nodes == (1, 2, 3, 4)


@pytest.mark.parametrize("kind", [Lying, LyingTuple])
def test_counts_of_record_formats(kind: Any) -> None:
    batch = RecordBatchV2()
    batch.records = kind([Record()])
    assert batch.encode() == RecordBatchV2(records=[Record()]).encode()


class Growing(int):
    """A number that appends to a list whenever the encoder compares or converts it."""

    records: list[Any]

    def __index__(self) -> int:
        self.records.append(Record())
        return 1

    def __le__(self, other: object) -> bool:
        self.records.append(Record())
        return True

    __ge__ = __le__


def test_a_list_that_grows_while_it_is_written() -> None:
    batch = RecordBatchV2()
    number = Growing(1)
    number.records = records = [Record(offset_delta=number), Record()]
    batch.records = records
    try:
        data = batch.encode()
    except TagwireError:
        return
    assert len(RecordBatchV2.decode(data).records) in (2, len(records))


class Fooling:
    """An object that claims to be a `PartitionData` by its `__class__`, but has another type and size."""

    __slots__ = ()

    __class__ = PartitionData  # type: ignore[assignment]


def test_properties_reject_objects_of_other_classes() -> None:
    """Check that native properties, which read memory at fixed offsets, reject objects of other classes."""
    messages.FetchResponse().encode(12)  # installs the native properties
    for name in ("diverging_epoch", "current_leader", "snapshot_id"):
        attribute: Any = getattr(PartitionData, name)
        for false in (Fooling(), object(), messages.FetchResponse()):
            with pytest.raises(TypeError):
                attribute.__get__(false, PartitionData)
            with pytest.raises(TypeError):
                attribute.__set__(false, None)
            with pytest.raises(TypeError):
                attribute.__delete__(false)


class Meddling:
    """An object that resets all fields of a message when it is compared."""

    def __init__(self, message: Any) -> None:
        self.message = message

    def __eq__(self, other: object) -> bool:
        for name in self.message.__slots__:
            setattr(self.message, name, getattr(type(self.message)(), name))
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("cls", [PartitionData, messages.MetadataResponse, messages.FetchResponse])
def test_fields_that_change_when_they_are_compared(cls: Any) -> None:
    for name in cls.__slots__:
        one, other = cls(), cls()
        setattr(one, name, Meddling(one))
        with suppress(TagwireError, TypeError, AttributeError):
            assert one == other
        repr(one)
        if cls is PartitionData:
            with suppress(TagwireError):
                messages.FetchResponse(responses=[FetchableTopicResponse(partitions=[one])]).encode(12)
        else:
            with suppress(TagwireError):
                one.encode(12)  # pyright: ignore[reportAttributeAccessIssue]


def changes(message: Any, stop: threading.Event) -> Iterator[None]:
    topic: Any = MetadataResponseTopic(partitions=[MetadataResponsePartition(replica_nodes=[1, 2])])
    while not stop.is_set():
        message.topics = [topic] * 50
        yield
        del message.topics[10:]
        topic.partitions = [MetadataResponsePartition()] * 3
        yield
        message.topics.clear()
        topic.unknown_tags = {7: bytearray(b"x" * 100)}
        yield
        message.topics = ()
        topic.unknown_tags = {}
        yield


def test_another_thread_changes_the_message_while_it_is_encoded() -> None:
    """Whatever another thread changes, encoding must either succeed or raise a TagwireError."""
    message = messages.MetadataResponse()
    message.topics = ()
    stop = threading.Event()

    def work() -> None:
        for _ in changes(message, stop):
            pass

    worker = threading.Thread(target=work)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    worker.start()
    try:
        for _ in range(500):
            for call in (message.encode, message.encoded_size, message.losses, message.to_json):
                with suppress(TagwireError):
                    call(12)
            assert message.replace() is not message
    finally:
        stop.set()
        worker.join()
        sys.setswitchinterval(before)
