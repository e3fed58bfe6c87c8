import copy
import gc
import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from native_engine import native

from tagwire import Struct
from tagwire.message import binding, data_class, field
from tagwire.wire import DEFAULT_UUID
from tagwire_messages import FetchRequest, HeartbeatRequest, MetadataResponse
from tagwire_messages.fetch_request import ReplicaState
from tagwire_messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic

Partition: Any = MetadataResponsePartition  # typed as Any, because tests pass wrong arguments
Topic: Any = MetadataResponseTopic


def test_the_placeholder_of_uuids_means_the_default() -> None:
    assert Topic(topic_id=DEFAULT_UUID) == Topic() == Topic().replace(topic_id=DEFAULT_UUID)
    assert Topic(topic_id=DEFAULT_UUID).topic_id == UUID(int=0)


def test_no_lock_is_held_while_the_engine_takes_over_a_constructor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock of field tables must be released before the engine is called.

    The engine may wait for this lock while it holds its own lock.
    """

    class Fresh(Struct, metaclass=data_class):
        number: "int" = field("Number", "int32", "0+", default=0)

    free = threading.Event()

    def from_another_thread() -> None:
        with binding._binding:
            free.set()

    class Engine:
        def construct_natively(self, owner: type, init: object) -> None:
            thread = threading.Thread(target=from_another_thread, daemon=True)
            thread.start()
            thread.join(60)

    monkeypatch.setattr(binding, "native_engine", Engine)
    assert callable(Fresh.__init__) and free.is_set()


class TestConstructing:
    def test_signature_is_read_from_the_class(self) -> None:
        for _ in range(2):  # the signature must be the same after an object was created
            signature = inspect.signature(Partition)
            assert [*signature.parameters][:2] == ["error_code", "partition_index"]
            assert signature.parameters["leader_epoch"].default == -1
            assert signature.parameters["isr_nodes"].annotation == "Iterable[int]"
            Partition()

    def test_arguments_are_stored_as_documented(self) -> None:
        nodes = (number for number in (1, 2))
        partition = Partition(replica_nodes=nodes, isr_nodes=[3], **{"".join(["leader", "_id"]): 7})
        assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ((1, 2), (3,), ())
        assert partition.leader_id == 7
        assert MetadataResponse(topics=[]).topics == () and Topic().topic_id == UUID(int=0)
        assert type(FetchRequest().replica_state) is ReplicaState
        assert FetchRequest().replica_state is not FetchRequest().replica_state

    @pytest.mark.parametrize(
        ("call", "fault"),
        [
            (lambda: Partition(nothing=1), r"Partition.__init__\(\) got an unexpected keyword argument 'nothing'"),
            (lambda: Partition(1), r"Partition.__init__\(\) takes 1 positional argument but 2 were given"),
            (lambda: Partition(isr_nodes=5), "^isr_nodes: expected an iterable, got 5$"),
            (lambda: Partition(isr_nodes=None), "^isr_nodes: expected an iterable, got None$"),
            (lambda: Partition().replace(isr_nodes=5), "^isr_nodes: expected an iterable, got 5$"),
            (lambda: Partition(isr_nodes=(len(each) for each in [5])), r"^object of type 'int' has no len"),  # type: ignore[arg-type]
            (lambda: Partition(**{1: 2}), "keywords must be strings"),  # type: ignore[arg-type]
        ],
    )
    def test_errors_have_python_s_words(self, call: Callable[[], object], fault: str) -> None:
        Partition()
        with pytest.raises(TypeError, match=fault):
            call()

    def test_an_iterator_that_fails_leaves_nothing_behind(self) -> None:
        def nodes() -> Iterator[int]:
            yield 1
            raise ZeroDivisionError

        Partition()
        before = len(gc.get_objects())
        for _ in range(100):
            with pytest.raises(ZeroDivisionError):
                Partition(replica_nodes=(1,), isr_nodes=nodes())
        assert len(gc.get_objects()) < before + 50

    def test_subclasses_with_other_constructors(self) -> None:
        class Counted(MetadataResponseTopic):
            def __init__(self, *, name: str) -> None:
                super().__init__(name=name * 2)

        class Named(MetadataResponseTopic):
            __slots__ = ("alias",)
            alias: str

            def __new__(cls, **fields: Any) -> "Named":  # pyright: ignore[reportInconsistentConstructor]
                instance = super().__new__(cls)
                instance.alias = "a"
                return instance

        class Plain(MetadataResponseTopic):
            pass

        for _ in range(3):
            assert Counted(name="x").name == "xx"
            named: Any = Named
            assert named(name="y").alias == "a" and named(name="y").name == "y"
            assert type(Plain(name="z")) is Plain and Plain(name="z") == Plain(name="z") != Topic(name="z")

    def test_a_constructor_that_is_replaced_later_is_called(self, monkeypatch: pytest.MonkeyPatch) -> None:
        HeartbeatRequest()
        seen = []
        original: Any = HeartbeatRequest.__init__

        def spy(self: HeartbeatRequest, **fields: Any) -> None:
            seen.append(fields)
            original(self, **fields)

        with monkeypatch.context() as patch:
            patch.setattr(HeartbeatRequest, "__init__", spy)
            assert HeartbeatRequest(group_id="g").replace(member_id="m").group_id == "g"
        assert len(seen) == 1, "copies are made without it"
        assert HeartbeatRequest(group_id="h").group_id == "h" and len(seen) == 1

    def test_objects_are_collected(self) -> None:
        topic: Any = Topic()
        topic.name = topic
        kept = {id(topic)}
        del topic
        gc.collect()
        assert not [
            thing for thing in gc.get_objects() if type(thing) is Topic and id(thing) in kept and thing.name is thing
        ]


@native
def test_a_class_may_forget_its_slots_while_an_object_is_constructed() -> None:
    """Code that runs during the call may delete the class's `DataClass`. The constructor must keep it until the end."""
    program = """
from tagwire_messages.metadata_response import MetadataResponsePartition as Partition

def nodes():
    del Partition._data_class
    yield 3

Partition()
print(Partition(leader_id=7, replica_nodes=nodes()))
"""
    environment = os.environ | {"PYTHONMALLOC": "debug", "TAGWIRE_ENGINE": "native"}  # debug overwrites freed memory
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (
        0,
        "MetadataResponsePartition(leader_id=7, replica_nodes=(3,))\n",
    ), done.stderr


def test_structs_of_many_fields_are_constructed_too() -> None:
    fields = {f"f{number}": field(f"F{number}", "int32", "0+", default=0) for number in range(300)}
    wide: Any = data_class("Wide", (Struct,), {"__module__": __name__, **fields})
    for _ in range(3):
        assert wide(f299=1) == wide(f299=1) != wide() and repr(wide(f0=3)) == "Wide(f0=3)"
        assert copy.deepcopy(wide(f7=[1])) == wide(f7=[1]) and wide(f1=2).replace(f1=0) == wide()
