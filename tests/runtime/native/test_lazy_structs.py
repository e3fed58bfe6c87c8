"""Check that default structs that are created on first access behave like those created with their message."""

import copy
import pickle
from typing import Any, cast

import pytest
from native_engine import native

import tagwire
import tagwire_messages as messages
from tagwire_messages.fetch_response import EpochEndOffset, FetchableTopicResponse, PartitionData, SnapshotId


def partitions(version: int, **fields: Any) -> tuple[PartitionData, PartitionData]:
    both = [PartitionData(partition_index=1, **fields), PartitionData(partition_index=1, **fields)]
    message = messages.FetchResponse(responses=[FetchableTopicResponse(partitions=both)])
    one, other = messages.FetchResponse.decode(message.encode(version), version).responses[0].partitions
    return one, other


@pytest.mark.parametrize("version", [11, 12])
def test_defaults_are_equal_and_not_shared(version: int) -> None:
    one, other = partitions(version)
    assert one.snapshot_id == SnapshotId() == other.snapshot_id
    assert one.snapshot_id is one.snapshot_id
    assert one.snapshot_id is not other.snapshot_id
    one.snapshot_id.epoch = 7
    assert (one.snapshot_id.epoch, other.snapshot_id.epoch) == (7, -1)
    assert one != other


def test_unread_defaults() -> None:
    one, other = partitions(12)
    assert one == other == PartitionData(partition_index=1)
    assert repr(one) == "PartitionData(partition_index=1)"
    for copied in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), one.replace()):
        assert copied == one
        assert copied.current_leader is not other.current_leader
    assert PartitionData(partition_index=1).diverging_epoch == EpochEndOffset()


@pytest.mark.parametrize(
    ("name", "member"), [("diverging_epoch", "epoch"), ("current_leader", "leader_epoch"), ("snapshot_id", "epoch")]
)
def test_encoding_of_accessed_default_structs(name: str, member: str) -> None:
    """Reading a default struct must not change the encoded bytes. Changing it must do so, or encoding must fail."""

    def encoded(partition: PartitionData, version: int) -> bytes:
        return messages.FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])]).encode(version)

    for version in (11, 12):
        one, other = partitions(version)
        plain = encoded(other, version)
        assert getattr(one, name) == type(getattr(one, name))()
        assert encoded(one, version) == plain
    setattr(getattr(one, name), member, 5)
    assert len(encoded(one, 12)) > len(plain)
    again = messages.FetchResponse.decode(encoded(one, 12), 12)
    assert again.responses[0].partitions[0] == one
    with pytest.raises(tagwire.EncodeError, match=name):
        encoded(one, 11)


def test_set_and_deleted() -> None:
    one, _ = partitions(12)
    mine = SnapshotId(epoch=9)
    one.snapshot_id = mine
    assert one.snapshot_id is mine
    del one.snapshot_id
    for _ in range(2):
        with pytest.raises(AttributeError, match="snapshot_id"):
            _ = one.snapshot_id
        with pytest.raises(AttributeError):
            del one.snapshot_id
    message = messages.FetchResponse(responses=[FetchableTopicResponse(partitions=[one])])
    with pytest.raises(tagwire.EncodeError, match="a PartitionData has no snapshot_id; this field was deleted"):
        message.encode(12)
    one.snapshot_id = mine
    assert one.snapshot_id is mine
    other, _ = partitions(12)
    del other.snapshot_id
    assert not hasattr(other, "snapshot_id"), "deleted before anybody looked"


@native
def test_only_objects_of_the_class_have_the_attribute() -> None:
    partitions(12)
    attribute = vars(PartitionData)["snapshot_id"]
    assert cast(Any, PartitionData).snapshot_id is attribute
    assert attribute.__name__ == "snapshot_id" and attribute.__objclass__ is PartitionData
    for call in (attribute.__get__, attribute.__delete__):
        with pytest.raises(TypeError):
            call(object())
    with pytest.raises(TypeError):
        attribute.__set__(object(), SnapshotId())


def test_garbage_collector_sees_defaults() -> None:
    import gc
    import weakref

    class Watched(SnapshotId):
        __slots__ = ("__weakref__",)

    one, _ = partitions(12)
    one.snapshot_id = Watched()
    one.snapshot_id.epoch = one  # type: ignore[assignment]
    reference = weakref.ref(one.snapshot_id)
    del one
    gc.collect()
    assert reference() is None
