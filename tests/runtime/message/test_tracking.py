"""The garbage collector must not track native structs that contain only numbers, strings and bytes."""

import copy
import dataclasses
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from native_engine import in_use

import tagwire
from tagwire_messages import MetadataResponse
from tagwire_messages.metadata_response import MetadataResponsePartition as Partition
from tagwire_messages.metadata_response import MetadataResponseTopic as Topic
from tagwire_messages.sasl_authenticate_request import SaslAuthenticateRequest

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


@in_use
@pytest.mark.parametrize("way", WAYS)
def test_atomic_values_need_no_tracking(way: str) -> None:
    partition = WAYS[way]()
    assert not gc.is_tracked(partition)
    partition.leader_id, partition.replica_nodes = 5, (5, 6)
    del partition.leader_epoch
    assert not gc.is_tracked(partition)


@in_use
@pytest.mark.parametrize(
    "struct",
    [
        Partition(replica_nodes=([],)),  # type: ignore[arg-type]
        Partition(leader_id=object),  # type: ignore[arg-type]
        Topic(),
        Topic(partitions=[Partition()]),
        MetadataResponse.decode(DATA, 12).topics[0],
        SaslAuthenticateRequest.decode(SaslAuthenticateRequest(auth_bytes=b"x").encode(0), 0, views=True),
    ],
    ids=lambda struct: type(struct).__name__,
)
def test_other_values_are_tracked(struct: tagwire.Struct) -> None:
    assert gc.is_tracked(struct)


@in_use
def test_a_struct_with_unknown_tags_is_tracked() -> None:
    """Any object can be put in the `unknown_tags` of a struct, so the garbage collector must track the struct."""
    message = MetadataResponse(topics=[Topic(partitions=[Partition(unknown_tags={7: b"x"})])])
    assert gc.is_tracked(MetadataResponse.decode(message.encode(12), 12).topics[0].partitions[0])


@in_use
def test_development_mode_tracks_every_struct() -> None:
    program = """
import gc
from test_tracking import WAYS, Partition

assert gc.is_tracked(Partition())
for name, way in WAYS.items():
    partition = way()
    assert gc.is_tracked(partition), name
    partition.replica_nodes = [partition]
    gc.collect()
    del partition
    assert gc.collect() == 2, name  # the struct and its list
"""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-X", "dev", "-W", "ignore", "-c", program]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Noting:
    __slots__ = ()
    noted: list[str] = []  # noqa: RUF012 - shared on purpose

    def __setattr__(self, name: str, value: object) -> None:
        self.noted.append(name)
        super().__setattr__(name, value)


class Noted(Partition, Noting):
    __slots__ = ()


@dataclasses.dataclass(frozen=True)  # pyright: ignore[reportGeneralTypeIssues]
class Frozen(Partition):  # type: ignore[misc]
    """A frozen dataclass, whose constructor uses `object.__setattr__`."""

    number: int = 0


def test_subclasses_assign_in_ways_of_their_own() -> None:
    noted = Noted(leader_id=7)
    Noting.noted.clear()
    noted.leader_id = 8
    assert Noting.noted == ["leader_id"] and noted.leader_id == 8
    assert Frozen(3).number == 3  # type: ignore
    object.__setattr__(partition := decoded(), "leader_id", 9)
    assert partition.leader_id == 9


@in_use
@pytest.mark.parametrize("enabled", [True, False])
def test_decoding_leaves_the_collector_as_it_was(enabled: bool) -> None:
    topics = [Topic(name=str(number), partitions=[Partition()]) for number in range(5000)]
    data = MetadataResponse(topics=topics).encode(12)
    was_enabled = gc.isenabled()
    runs: list[str] = []
    try:
        (gc.enable if enabled else gc.disable)()
        gc.callbacks.append(lambda phase, info: runs.append(phase))
        message = MetadataResponse.decode(data, 12)
        del gc.callbacks[-1]
        assert len(message.topics) == 5000 and len(runs) <= 2 and gc.isenabled() == enabled
        with pytest.raises(tagwire.DecodeError):
            MetadataResponse.decode(data[:-1], 12)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
