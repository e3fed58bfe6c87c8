"""The garbage collector need not know a struct of numbers, texts and bytes, until it is given something else."""

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import tagwire
from tagwire_messages import MetadataResponse
from tagwire_messages.metadata_response import MetadataResponsePartition as Partition
from tagwire_messages.metadata_response import MetadataResponseTopic as Topic
from tagwire_messages.sasl_authenticate_request import SaslAuthenticateRequest

native = pytest.mark.skipif(tagwire.engine() != "native", reason="the pure engine leaves tracking to Python")
DATA = MetadataResponse(topics=[Topic(name="a", partitions=[Partition(leader_id=3, replica_nodes=[3, 1000])])]).encode(
    12
)


def decoded() -> Partition:
    return MetadataResponse.decode(DATA, 12).topics[0].partitions[0]


WAYS: dict[str, Callable[[], Partition]] = {
    "decoded": decoded,
    "constructed": lambda: Partition(leader_id=3, replica_nodes=(3, 1000)),
    "constructed from a list": lambda: Partition(leader_id=3, replica_nodes=[3, 1000]),
    "replaced": lambda: decoded().replace(leader_id=4),
    "deep copy": lambda: copy.deepcopy(decoded()),
}


@native
@pytest.mark.parametrize("way", WAYS)
def test_atomic_values_need_no_tracking(way: str) -> None:
    partition = WAYS[way]()
    assert not gc.is_tracked(partition)
    partition.leader_id, partition.replica_nodes = 5, (5, 6)
    del partition.leader_epoch
    assert not gc.is_tracked(partition)


@native
@pytest.mark.parametrize(
    "struct",
    [
        Partition(replica_nodes=([],)),  # type: ignore[arg-type]
        Partition(leader_id=object),  # type: ignore[arg-type]
        Topic(partitions=[Partition()]),
        MetadataResponse.decode(DATA, 12).topics[0],
        SaslAuthenticateRequest.decode(SaslAuthenticateRequest(auth_bytes=b"x").encode(0), 0, views=True),
    ],
    ids=lambda struct: type(struct).__name__,
)
def test_other_values_are_tracked(struct: tagwire.Struct) -> None:
    assert gc.is_tracked(struct)


class Sentinel:
    """Something that tells when it is gone."""


@pytest.mark.parametrize("assign", [setattr, lambda struct, name, value: struct.__setattr__(name, value)])
@pytest.mark.parametrize("way", WAYS)
def test_a_cycle_that_is_made_later_is_collected(way: str, assign: Callable[[Any, str, object], None]) -> None:
    partition, sentinel = WAYS[way](), Sentinel()
    gone = weakref.ref(sentinel)
    assign(partition, "leader_id", sentinel)
    assign(partition, "replica_nodes", [partition])
    del partition, sentinel
    gc.collect()
    assert gone() is None


class Noting(Partition):
    """A class of somebody who wants to know what is assigned."""

    __slots__ = ()
    noted: list[str] = []  # noqa: RUF012 - shared on purpose

    def __setattr__(self, name: str, value: object) -> None:
        self.noted.append(name)
        super().__setattr__(name, value)


def test_a_subclass_may_assign_in_a_way_of_its_own() -> None:
    noting = Noting(leader_id=7)
    Noting.noted.clear()
    noting.leader_id = 8
    assert Noting.noted == ["leader_id"] and noting.leader_id == 8


def test_assigning_says_what_it_always_said() -> None:
    partition: Any = decoded()
    with pytest.raises(AttributeError, match="'MetadataResponsePartition' object has no attribute 'leader'"):
        partition.leader = 3
    del partition.leader_id
    with pytest.raises(AttributeError, match="leader_id"):
        partition.leader_id  # noqa: B018
