import abc
import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from native_engine import native

import tagwire
from tagwire_messages import ApiKey, FetchRequest, HeartbeatRequest, MetadataResponse
from tagwire_messages.fetch_request import ReplicaState
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
