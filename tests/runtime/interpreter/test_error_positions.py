"""Check that the native engine finds the position of each error itself.

These tests compare its errors with those of the layout interpreter. Normally, the interpreter searches for errors that
the engine can't locate. The tests disable this fallback for decoding.
"""

from random import Random
from typing import Any

import pytest
from compared_errors import (
    BOUNDS,
    NO_LIMITS,
    any_limits,
    closed_way,
    facts,
    place_differs,
    trace_differs,
    writing_differs,
)
from damage import Sample, damaged, samples
from mistaken_values import with_odd_value
from native_engine import in_use

import tagwire
import tagwire_messages as messages
from tagwire import DecodeError, EncodeError, Limits
from tagwire.interpreter import reader, writer
from tagwire.message.field_table import layout_of
from tagwire_messages.metadata_response import MetadataResponsePartition as Partition
from tagwire_messages.metadata_response import MetadataResponseTopic as Topic

pytestmark = in_use


@pytest.mark.parametrize("limit", BOUNDS)
def test_every_prefix_of_a_message(limit: str) -> None:
    """Compare the errors of the engine and the interpreter for each prefix of a message, with one limit set low.

    The limit `bytes` is never set, because it is checked before decoding.
    """
    message = messages.MetadataResponse(
        cluster_id="é",
        topics=[Topic(name="a", partitions=[Partition(isr_nodes=[1, 2]), Partition(unknown_tags={7: b"xy"})]), Topic()],
    )
    data = message.encode(12)
    sample = Sample(messages.MetadataResponse, 12, data)
    for size in range(len(data) + 2):
        limits = Limits(**{limit: size % 7}) if limit != "bytes" else NO_LIMITS
        assert place_differs(sample, (data + b"x")[:size], limits, offset=size % 3) is None, size


@pytest.mark.slow
def test_damaged_bytes() -> None:
    random = Random(20)
    rejected = 0
    differences = []
    for number in range(10_000):
        sample = samples()[number % len(samples())]
        data = damaged(sample, random)
        limits = any_limits(random) if number % 4 == 0 else NO_LIMITS
        what = place_differs(sample, data, limits, offset=number % 3 // 2)
        rejected += facts(sample.cls.decode, data, sample.version) is not None
        if what:
            differences.append((str(sample), data.hex(), limits, what))
    assert not differences, f"{len(differences)} differ, such as {differences[:3]}"
    assert 3_500 < rejected < 9_500


def test_only_the_field_with_the_error_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    read = reader.LayoutReader.value

    def noted(self: Any, *args: Any) -> Any:
        seen.append(self.path[-1])
        return read(self, *args)

    monkeypatch.setattr(reader.LayoutReader, "value", noted)
    data = messages.MetadataResponse(topics=[Topic(name=f"t{number}") for number in range(500)]).encode(12)
    for cut, path in ((1, ""), (3, "topics[499].topic_authorized_operations")):
        seen.clear()
        with pytest.raises(DecodeError) as rejected:
            messages.MetadataResponse.decode(data[:-cut], 12)
        assert rejected.value.path == path
        assert len(seen) <= 1, seen


def test_depth_limit_rejects_deep_messages_only() -> None:
    flat, deep = messages.MetadataResponse(), messages.MetadataResponse(topics=[Topic()])
    limits = Limits(depth=1)
    with closed_way():
        assert messages.MetadataResponse.decode(flat.encode(12), 12, limits=limits) == flat
    assert place_differs(Sample(messages.MetadataResponse, 12, b""), deep.encode(12), limits) is None


@pytest.mark.slow
def test_odd_values() -> None:
    random = Random(20)
    rejected = 0
    differences = []
    for number in range(8_000):
        sample = samples()[number % len(samples())]
        message = with_odd_value(sample.cls.decode(sample.data, sample.version), random)
        rejected += facts(writer.encode, layout_of(sample.cls, sample.version), message) is not None
        what = writing_differs(sample, message)
        if what:
            differences.append((sample.cls.NAME, sample.version, what))
    assert not differences, f"{len(differences)} differ, such as {differences[:3]}"
    assert 2_000 < rejected < 7_600


def test_missing_attribute_is_reported_before_errors_in_nested_structs() -> None:
    """Encoding must read all attributes of a struct before it checks values."""
    broken: Any = Topic(name=5)  # type: ignore[arg-type]
    del broken.is_internal
    message = messages.MetadataResponse(topics=[Topic(), broken])
    assert writing_differs(Sample(messages.MetadataResponse, 12, b""), message) is None
    with pytest.raises(EncodeError) as rejected:
        message.encode(12)
    assert rejected.value.path == "topics[1]"


def test_deleted_struct_is_reported_as_missing() -> None:
    """Encoding must fail for a deleted struct, but not for a default struct that was never accessed.

    The encoder must distinguish them, although the attribute's slot is empty in both cases.
    """
    fetch = messages.fetch_response
    broken = fetch.PartitionData(partition_index=1 << 40)
    del broken.snapshot_id
    message = messages.FetchResponse(responses=[fetch.FetchableTopicResponse(partitions=[broken])])
    assert writing_differs(Sample(messages.FetchResponse, 12, b""), message) is None


def test_several_bad_values_name_the_first() -> None:
    bad: Any = [
        Topic(unknown_tags={True: b""}),
        Topic(partitions=[Partition(isr_nodes=[1, "x"])], unknown_tags=7),  # type: ignore[list-item, arg-type]
        Topic(topic_id="x", name=None),  # type: ignore[arg-type]
        Topic(name="\ud800"),
        None,
    ]
    for first in range(len(bad)):
        for version in messages.MetadataResponse.VERSIONS:
            sample = Sample(messages.MetadataResponse, 12, b"")
            sample.version = version
            assert writing_differs(sample, messages.MetadataResponse(topics=[Topic(), *bad[first:]])) is None


@pytest.mark.slow
def test_traces_of_damaged_bytes() -> None:
    random = Random(20)
    for number in range(2_000):
        sample = samples()[number % len(samples())]
        data = damaged(sample, random) if number % 4 else sample.data
        limits = any_limits(random) if number % 5 == 0 else NO_LIMITS
        strict = number % 3 > 0
        assert not trace_differs(
            sample, data, strict=strict, limits=limits
        ), f"{sample}: {data.hex()} {strict} {limits}"


def test_fixed_width_elements_are_created_lazily() -> None:
    data = messages.ListOffsetsRequest(replica_id=1).encode(6)
    trace = tagwire.trace(messages.ListOffsetsRequest, data, 6)
    assert trace.root.children[0].value == 1
    numbers = messages.FetchRequest(
        forgotten_topics_data=[messages.fetch_request.ForgottenTopic(topic="t", partitions=[5, -6, 7])]
    ).encode(12)
    (array,) = [
        node
        for node in tagwire.trace(messages.FetchRequest, numbers, 12).root.walk()
        if node.path.endswith("partitions")
    ]
    expected = [("[0]", 5, 4), ("[1]", -6, 4), ("[2]", 7, 4)]
    assert [(each.path[-3:], each.value, each.length) for each in array.children] == expected
    assert array.value == 3 and (array.header_length, array.trailer_length) == (1, 0)
    assert [each.offset for each in array.children] == [array.offset + 1 + 4 * index for index in range(3)]
    assert array.children[1] in list(array.walk()) and array.children[1] is array.children[1]
