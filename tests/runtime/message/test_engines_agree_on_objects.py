"""Compare both engines' objects and JSON, for valid messages and for messages with one invalid value."""

import copy
from array import array
from random import Random
from typing import Any

import pytest
from compared_json import json_differs
from compared_objects import PYTHON, objects_differ
from damage import Sample, samples
from mistaken_values import with_odd_value
from native_engine import native

from tagwire_messages import FetchResponse, MetadataResponse, SyncGroupResponse
from tagwire_messages.fetch_response import PartitionData


@native
def test_on_samples() -> None:
    random = Random(20)
    differences = []
    for sample in random.sample(samples(), min(500, len(samples()))):
        message, equal = (sample.cls.decode(sample.data, sample.version) for _ in range(2))
        what = objects_differ(message, equal, random) or json_differs(sample, message)
        what = what or json_differs(sample, with_odd_value(message, random))
        if what:
            differences.append((str(sample), what))
    assert not differences, f"{len(differences)} differ, such as {differences[:3]}"


@native
@pytest.mark.parametrize(
    ("message", "version"),
    [
        (SyncGroupResponse().replace(assignment=array("d", [1.5])), 3),
        (SyncGroupResponse().replace(assignment=memoryview(b"abcdef")[::2]), 3),
        (MetadataResponse().replace(topics=[MetadataResponse()]), 12),
        (MetadataResponse().replace(controller_id=True), 12),
    ],
)
def test_json_of_values_of_other_types(message: Any, version: int) -> None:
    assert json_differs(Sample(type(message), version, type(message)().encode(version)), message) is None


class TestDeletedDefaults:
    """Default structs such as `diverging_epoch` must be created on first access, but not again after `del`."""

    @pytest.fixture
    def partition(self) -> Any:
        FetchResponse.decode(FetchResponse().encode(17), 17)  # from now on, default structs are created on access
        result = PartitionData()
        del result.diverging_epoch
        return result

    def test_each_method_raises_what_python_raises(self, partition: Any) -> None:
        other = PartitionData()
        del other.diverging_epoch
        for call in (
            repr,
            copy.copy,
            copy.deepcopy,
            lambda one: one == other,
            lambda one: one.replace(partition_index=1),
        ):
            with pytest.raises(AttributeError, match="diverging_epoch"):
                call(partition)

    def test_default_struct_can_be_restored_with_replace(self, partition: Any) -> None:
        whole = PartitionData()
        replaced = partition.replace(diverging_epoch=whole.diverging_epoch)
        assert replaced == whole == PYTHON["replace"](partition, diverging_epoch=whole.diverging_epoch)


@pytest.mark.parametrize(
    "deep_copy", [copy.deepcopy, lambda one: PYTHON["__deepcopy__"](one, {})], ids=["engine", "Python"]
)
def test_deep_copies_keep_types_and_leave_views(deep_copy: Any) -> None:
    sync = SyncGroupResponse(throttle_time_ms=False, error_code=0.0)  # type: ignore[arg-type]
    copied = deep_copy(sync)
    assert copied.throttle_time_ms is False and type(copied.error_code) is float
    response: Any = MetadataResponse()
    response.topics = [memoryview(b"ab"), [memoryview(b"c")]]
    assert deep_copy(response).topics == (b"ab", (b"c",))
