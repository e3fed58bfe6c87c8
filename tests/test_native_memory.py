import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random
from threading import Barrier, Thread
from typing import Any

import pytest
from damage import damaged, samples
from growth import leaked_bytes
from mistaken_values import with_odd_value
from native_engine import Plan, native

import tagwire
import tagwire_messages as messages
from tagwire.message.field_table import layout_of
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire_messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic

pytestmark = native


def tries(seed: int, count: int) -> list[Callable[[], object]]:
    """Return functions that call the native engine with valid or invalid bytes and values."""
    random = Random(seed)
    calls: list[Callable[[], object]] = []
    for sample in random.sample(samples(), count):
        plan = Plan(layout_of(sample.cls, sample.version))
        message = plan.decode(sample.data)
        odd, bad = with_odd_value(message, random), damaged(sample, random)
        calls += [partial(plan.decode, data) for data in (sample.data, bad)]
        calls += [partial(plan.decode, data, views=True, gc=False) for data in (sample.data, bad)]
        calls += [partial(call, value) for value in (message, odd) for call in (plan.encode, plan.encoded_size)]
    return calls


def run(calls: list[Callable[[], object]], rounds: int) -> None:
    for _ in range(rounds):
        for call in calls:
            with suppress(tagwire.TagwireError):
                call()


@pytest.mark.slow
def test_nothing_leaks() -> None:
    calls = tries(1, 60)
    run(calls, 3)
    singletons = (NO_TAGS, (), "", b"", None, True, 0, 7, -1)
    gc.collect()
    counts = [sys.getrefcount(each) for each in singletons]
    assert leaked_bytes(lambda: run(calls, 1), 40) < 20_000, "bytes that 40 rounds left behind"
    moved = [sys.getrefcount(each) - count for each, count in zip(singletons, counts, strict=True)]
    assert all(abs(change) < 100 for change in moved), moved


def test_detects_a_leak() -> None:
    kept: list[Any] = []

    def leak() -> None:
        kept.append(messages.HeartbeatResponse.decode(bytes(7), 4, gc=False))
        kept.append(bytes(500))

    assert leaked_bytes(leak, 40) > 20_000


def test_classes_and_their_plans_are_freed() -> None:
    import weakref

    from tagwire.message.field_table import FieldRow
    from tagwire.versions import Versions

    class Gone(tagwire.Message):
        __slots__ = ("inner", "number", "unknown_tags")
        NAME = "Gone"
        VERSIONS = Versions(0, 3)
        FIELDS = (FieldRow("number", "Number", "int32", Versions.parse("0+"), default=0),)

        def __init__(self, *, number: int = 0, unknown_tags: Any = NO_TAGS) -> None:
            self.number = number
            self.unknown_tags = unknown_tags

    for version in range(4):
        assert Gone.decode(Gone(number=5).encode(version), version).number == 5
    reference = weakref.ref(Gone)
    del Gone
    gc.collect()
    assert reference() is None


class Meddler:
    """A field value that changes its message when the encoder converts the value to an int."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        self.meddle = meddle

    def __index__(self) -> int:
        self.meddle()
        return 1


def metadata(number: Any) -> Any:
    partition = MetadataResponsePartition(partition_index=5)
    partition.replica_nodes = [1, number, 2]
    partition.isr_nodes = [number]
    topic = MetadataResponseTopic(name="t" * 3, partitions=[partition])
    message = messages.MetadataResponse(topics=[topic])
    message.topics = [topic, topic]
    return message


def first_partition(message: Any) -> Any:
    return message.topics[0].partitions[0] if message.topics and message.topics[0].partitions else metadata(0)


def rename_topics(message: Any) -> None:
    for topic in message.topics:
        topic.name = "other" * 100


def forget_brokers(message: Any) -> None:
    with suppress(AttributeError):
        del message.brokers


MEDDLES: dict[str, Callable[[Any], object]] = {
    "list of numbers": lambda m: setattr(first_partition(m), "replica_nodes", [1] * 1000),
    "numbers": lambda m: setattr(first_partition(m), "replica_nodes", ()),
    "partitions": lambda m: setattr(m.topics[0], "partitions", ()) if m.topics else None,
    "list of topics": lambda m: m.topics.clear(),
    "topics": lambda m: setattr(m, "topics", []),
    "texts": rename_topics,
    "tags": lambda m: setattr(m, "unknown_tags", {5: b"x"}),
    "deleted": forget_brokers,
    "collected": lambda m: gc.collect(1),  # generation 1 includes the message and its objects
}


@pytest.mark.parametrize("name", MEDDLES)
@pytest.mark.parametrize("call", ["encode", "encoded_size"])
def test_message_changed_while_it_is_encoded(name: str, call: str) -> None:
    """Check that nothing crashes. Only AddressSanitizer can find all unsafe memory accesses."""
    for _ in range(20):
        message = metadata(0)
        meddler = Meddler(partial(MEDDLES[name], message))
        partition = message.topics[0].partitions[0]
        partition.replica_nodes = [1, meddler, 2]
        partition.isr_nodes = [meddler] * 5
        with suppress(tagwire.TagwireError, RuntimeError):
            getattr(message, call)(12)


class Disguise(MetadataResponsePartition):
    """A partition that removes itself from the message when a field is read."""

    __slots__ = ("message",)

    def __init__(self, message: Any) -> None:
        super().__init__()
        self.message = message

    def __getattribute__(self, name: str) -> Any:
        if name in MetadataResponsePartition.__slots__:
            object.__getattribute__(self, "message").topics = ()
        return object.__getattribute__(self, name)


def test_value_that_removes_itself() -> None:
    message = metadata(1)
    topic: Any = MetadataResponseTopic(partitions=[MetadataResponsePartition()])
    topic.partitions = [Disguise(message)]
    message.topics = [topic]
    data = message.encode(12)
    assert messages.MetadataResponse.decode(data, 12).topics[0].partitions == (MetadataResponsePartition(),)


def test_default_comparisons_that_change_the_message() -> None:
    class Odd:
        def __init__(self, message: Any) -> None:
            self.message = message

        def __ne__(self, other: object) -> bool:
            self.message.node_endpoints = ()
            self.message.unknown_tags = NO_TAGS
            return False

    message = messages.FetchResponse()
    message.node_endpoints = Odd(message)  # type: ignore[assignment]
    assert message.encode(16) == messages.FetchResponse().encode(16)


def test_threads_use_a_new_class_at_the_same_moment() -> None:
    for _ in range(20):
        cls: Any = type("Fresh", (messages.MetadataResponse,), {"__slots__": ()})
        data = metadata(3).encode(12)
        barrier = Barrier(8)
        found: list[bool] = []

        def work(cls: Any = cls, data: bytes = data, barrier: Barrier = barrier, found: list[bool] = found) -> None:
            barrier.wait()
            for _ in range(5):
                message = cls.decode(data, 12)
                found.append(type(message) is cls and message.encode(12) == data)

        threads = [Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [True] * 40


def test_views_live_as_long_as_they_are_held() -> None:
    records = bytes(range(256)) * 20
    produced = messages.produce_request.PartitionProduceData(records=records)
    request = messages.ProduceRequest(
        topic_data=[messages.produce_request.TopicProduceData(name="t", partition_data=[produced])]
    )
    data = bytearray(request.encode(9))
    message: Any = messages.ProduceRequest.decode(data, 9, views=True)
    view = message.topic_data[0].partition_data[0].records
    assert isinstance(view, memoryview) and view.obj is data and view.readonly is False
    assert view == records and view[5:9] == records[5:9] and view.tobytes() == records
    assert message.encode(9) == data
    with pytest.raises(BufferError):
        data.clear()
    del message, view
    gc.collect()
    data.clear()
