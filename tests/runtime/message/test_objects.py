import abc
import copy
import gc
import inspect
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from native_engine import native

import tagwire
from tagwire import Struct
from tagwire.message import binding, data_class, field
from tagwire_messages import ApiKey, FetchRequest, HeartbeatRequest, MetadataResponse
from tagwire_messages.fetch_request import FetchPartition, ReplicaState
from tagwire_messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic

Partition: Any = MetadataResponsePartition  # typed as Any, because tests pass wrong arguments
Topic: Any = MetadataResponseTopic
FACTS = Path(__file__).parents[2] / "support" / "object_facts.py"


def facts(engine: str) -> list[str]:
    environment = {**os.environ, "TAGWIRE_ENGINE": engine, "PYTHONPATH": str(FACTS.parent)}
    run = subprocess.run([sys.executable, str(FACTS)], env=environment, capture_output=True, text=True, check=True)
    first, *lines = run.stdout.splitlines()
    assert first == f"engine {engine}" and len(lines) > 800
    return lines


@pytest.mark.thorough
@native
def test_engines_agree_on_objects_of_every_message() -> None:
    assert facts("native") == facts("python")


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
            thread.join(5)

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


class Hostile:
    """An object that calls a function whenever it is compared or printed."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act

    def __eq__(self, other: object) -> bool:
        self.act()
        return True

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        self.act()
        return "hostile"

    def __deepcopy__(self, memo: dict[int, Any]) -> "Hostile":
        self.act()
        return self


class TestHostileValues:
    """Comparing values may run code that changes the struct. Methods must not access freed memory."""

    def pair(self) -> tuple[Any, Any]:
        one: Any = Partition()
        one.replica_nodes = [Hostile(lambda: self.change(one)) for _ in range(50)]
        one.leader_id = Hostile(lambda: self.change(one))
        other: Any = Partition()
        other.replica_nodes = [Hostile(lambda: self.change(other)) for _ in range(50)]
        other.leader_id = Hostile(lambda: self.change(other))
        return one, other

    def change(self, struct: Any) -> None:
        struct.leader_id = bytes(100)
        struct.error_code = 10**30
        if isinstance(struct.replica_nodes, list):
            struct.replica_nodes.clear()
        struct.replica_nodes = [object() for _ in range(10)]
        gc.collect(0)

    @pytest.mark.parametrize(
        "use", [lambda a, b: a == b, lambda a, _: repr(a), lambda a, _: copy.deepcopy(a), lambda a, _: a.replace()]
    )
    def test_nothing_crashes(self, use: Callable[[Any, Any], object]) -> None:
        for _ in range(20):
            use(*self.pair())

    def test_error_goes_to_the_caller(self) -> None:
        one: Any = Topic(name="t")
        one.topic_id = Hostile(lambda: 1 / 0)
        other = Topic(name="t")
        with pytest.raises(ZeroDivisionError):
            bool(one == other)
        with pytest.raises(ZeroDivisionError):
            repr(one)
        with pytest.raises(ZeroDivisionError):
            copy.deepcopy(one)

    def test_repr_of_a_struct_that_contains_itself_ends(self) -> None:
        one: Any = Topic()
        one.partitions = (one,)
        two: Any = Topic()
        two.partitions = (two,)
        assert repr(one) == "MetadataResponseTopic(partitions=(MetadataResponseTopic(partitions=(...)),))"
        with pytest.raises(RecursionError):
            bool(one == two)
        one.partitions = one
        with pytest.raises(RecursionError):
            repr(one)

    @pytest.mark.parametrize("make", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))], ids=["copy", "pickle"])
    def test_a_struct_in_itself_is_copied_with_its_cycle(self, make: Callable[[Any], Any]) -> None:
        topic, message = Topic(name="t"), MetadataResponse()
        for whole, inner in ((topic, topic), (message, topic)):
            setattr(whole, "partitions" if whole is topic else "topics", (inner, Partition()))
            copied = make(whole)
            first = copied.partitions[0] if whole is topic else copied.topics[0]
            assert copied is not whole and first.name == "t" and first.partitions[0] is first
        together = make(topic.partitions)
        assert together[0].partitions[0] is together[0]

    def test_a_long_chain_ends_in_a_thread_with_a_small_stack(self) -> None:
        chain: Any = Topic()
        for _ in range(100_000):
            chain = Topic(partitions=(chain,))
        found: list[Any] = []

        def work() -> None:
            try:
                copy.deepcopy(chain)
            except RecursionError as error:
                found.append(error)

        before = threading.stack_size(256 * 1024)
        thread = threading.Thread(target=work)
        thread.start()
        threading.stack_size(before)
        thread.join()
        assert len(found) == 1

    def test_a_slot_that_was_deleted_is_an_attribute_error(self) -> None:
        one, other = Topic(), Topic()
        del one.name
        for use in (lambda: one == other, lambda: other == one, lambda: repr(one), lambda: copy.deepcopy(one)):
            with pytest.raises(AttributeError, match="name"):
                use()


class TestCopies:
    def test_shared_objects_stay_shared_in_copies(self) -> None:
        topic = Topic(name="t", partitions=[Partition()])
        message = MetadataResponse(topics=[topic, topic])
        deep = copy.deepcopy(message)
        assert deep.topics[0] is deep.topics[1] is not topic
        together: Any = copy.deepcopy([message, topic, message.topics])
        assert together[0].topics[0] is together[1] and together[0].topics is together[2]

    def test_tags_and_odd_values_are_copied(self) -> None:
        message = HeartbeatRequest(unknown_tags={3: b"x"})
        deep = copy.deepcopy(message)
        assert deep == message and deep.unknown_tags is not message.unknown_tags

    def test_fields_of_a_decoded_message_that_hold_defaults(self) -> None:
        data = FetchRequest(topics=[]).encode(15)
        seen = FetchRequest.decode(data, 15)
        for copied in (copy.deepcopy(seen), seen.replace(), copy.copy(seen), pickle.loads(pickle.dumps(seen))):
            assert copied == seen and type(copied.replica_state) is ReplicaState
        assert repr(FetchRequest.decode(data, 15)) == repr(FetchRequest())


class TestPickles:
    def test_a_message_is_kept_as_its_bytes(self) -> None:
        if tagwire.engine() == "python":
            pytest.skip("the pure engine keeps the fields")
        topic = Topic(name="orders", partitions=[Partition(partition_index=number) for number in range(100)])
        message = MetadataResponse(topics=[topic])
        kept = pickle.dumps(message)
        assert message.encode(MetadataResponse.VERSIONS.highest) in kept
        assert pickle.loads(kept) == message

    def test_pickling_keeps_values_that_can_not_be_encoded(self) -> None:
        old_only = MetadataResponse(cluster_authorized_operations=7)  # the latest version lacks this field
        out_of_range: Any = MetadataResponse(controller_id=2**40)
        assert pickle.loads(pickle.dumps(old_only)) == old_only
        assert pickle.loads(pickle.dumps(out_of_range)) == out_of_range
        of_another_type: Any = MetadataResponse(controller_id=ApiKey(3))
        again = pickle.loads(pickle.dumps(of_another_type))
        assert type(again.controller_id) is type(of_another_type.controller_id)

    def test_a_pickle_of_one_engine_is_read_by_the_other(self) -> None:
        code = (
            "import pickle, sys; from tagwire_messages import HeartbeatRequest as H; import tagwire;"
            "H().encode(4); sys.stdout.buffer.write(pickle.dumps(H(group_id='g', generation_id=3)))"
        )
        for engine in {"python", tagwire.engine()}:
            environment = {**os.environ, "TAGWIRE_ENGINE": engine}
            run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
            assert pickle.loads(run.stdout) == HeartbeatRequest(group_id="g", generation_id=3)


def test_structs_of_many_fields_are_constructed_too() -> None:
    fields = {f"f{number}": field(f"F{number}", "int32", "0+", default=0) for number in range(300)}
    wide: Any = data_class("Wide", (Struct,), {"__module__": __name__, **fields})
    for _ in range(3):
        assert wide(f299=1) == wide(f299=1) != wide() and repr(wide(f0=3)) == "Wide(f0=3)"
        assert copy.deepcopy(wide(f7=[1])) == wide(f7=[1]) and wide(f1=2).replace(f1=0) == wide()


class Mixin:
    __slots__ = ()


class Abstract(abc.ABC, MetadataResponseTopic):
    pass


class Mixed(Mixin, MetadataResponseTopic):
    __slots__ = ()


class Slotless(MetadataResponseTopic):
    __slots__ = ()


class Cached(MetadataResponseTopic):
    __slots__ = ("cache",)


class Made(MetadataResponseTopic):
    def __init__(self, number: int) -> None:
        super().__init__(name=f"t{number}")


class Topmost(abc.ABC, MetadataResponse):
    def __init__(self, number: int) -> None:
        super().__init__(controller_id=number)


class TestSubclasses:
    """In subclasses with additional slots or a constructor, inherited methods must use only the message's fields."""

    @pytest.mark.parametrize("cls", [Abstract, Mixed, Slotless, Cached, Made])
    def test_copies_and_comparison(self, cls: Any) -> None:
        topic = cls(7) if cls is Made else cls(name="t7")
        topic.partitions = (Partition(leader_id=3),)
        other = topic.replace(name="other")
        assert repr(topic) == f"{cls.__name__}(name='t7', partitions=({topic.partitions[0]!r},))"
        assert topic != other and (other.name, other.partitions) == ("other", topic.partitions)
        copies = [copy.copy(topic), copy.deepcopy(topic), topic.replace(), pickle.loads(pickle.dumps(topic))]
        for copied in copies:
            assert type(copied) is cls and copied == topic and copied is not topic
        with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
            topic.replace(nothing=1)

    def test_a_message_is_read_without_its_constructor(self) -> None:
        message = Topmost(5)
        assert Topmost.from_json(message.to_json(12), 12) == Topmost.decode(message.encode(12), 12) == message
        assert Topmost.from_json_text(message.to_json_text(12), 12) == pickle.loads(pickle.dumps(message)) == message


def test_decoded_and_constructed_partitions_compare() -> None:
    partition = FetchPartition(partition=1, fetch_offset=2)
    message = FetchRequest(topics=[])
    assert partition == FetchPartition(partition=1, fetch_offset=2) != FetchPartition()
    assert FetchRequest.decode(message.encode(12), 12) == message
