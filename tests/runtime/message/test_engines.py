import gc
import inspect
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from native_engine import in_use, native

import tagwire
import tagwire_messages as messages
from tagwire import arrow
from tagwire.errors import EncodeError
from tagwire.message.binding import FirstUse
from tagwire.message.engines import DisagreementError, native_obstacle, python_serializer, serializer_of
from tagwire.message.field_table import FieldRow, layout_of
from tagwire.message.serializer import LayoutSerializer, Serializer
from tagwire.testing import messages as strategy
from tagwire.versions import Versions
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire_messages import metadata_response

CALLS = ("decode", "decode_from", "encode", "encoded_size")


def test_environment_variable_forces_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWIRE_ENGINE", "python")
    assert tagwire.engine() == "python"
    monkeypatch.setenv("TAGWIRE_ENGINE", "rust")
    with pytest.raises(tagwire.EngineError, match="TAGWIRE_ENGINE: expected 'native' or 'python', got 'rust'"):
        tagwire.engine()


def test_engine_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tagwire._engine", None)
    monkeypatch.delenv("TAGWIRE_ENGINE", raising=False)
    assert tagwire.engine() == "python"
    monkeypatch.setenv("TAGWIRE_ENGINE", "native")
    with pytest.raises(tagwire.EngineError, match="this installation has no native engine"):
        tagwire.engine()


@native
def test_available_engine_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("", "native"):
        monkeypatch.setenv("TAGWIRE_ENGINE", setting)
        assert tagwire.engine() == "native"


def fresh_class(base: type[tagwire.Message] = messages.HeartbeatResponse, **members: Any) -> Any:
    return type("Fresh", (base,), {"__slots__": (), **members})


@in_use
@pytest.mark.parametrize("name", CALLS)
def test_first_access_binds_native_methods(name: str) -> None:
    cls = fresh_class()
    call = getattr(cls, name)
    assert not inspect.isfunction(call) and not inspect.ismethod(call)
    assert all(name in vars(cls) and not isinstance(vars(cls)[name], FirstUse) for name in CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_calls_take_the_same_arguments_by_name_in_both_engines(name: str) -> None:
    pure = inspect.signature(getattr(tagwire.Message, name)).parameters
    ours = inspect.signature(getattr(fresh_class(), name)).parameters
    assert [(each.name, each.kind) for each in pure.values() if each.name not in ("self", "cls")] == [
        (each.name, each.kind) for each in ours.values() if each.name != "self"
    ]


def test_every_argument_may_be_named() -> None:
    cls = messages.HeartbeatResponse
    message = cls(error_code=3)
    data = message.encode(version=4)
    assert message.encoded_size(version=4) == len(data)
    assert cls.decode(data=data, version=4, strict=True, views=False, limits=tagwire.Limits(), gc=False) == message
    assert cls.decode_from(data=data, version=4, offset=0, gc=False) == (message, len(data))


@pytest.mark.parametrize(
    "call",
    [
        lambda cls, m: m.encode(),
        lambda cls, m: m.encode(4, 5),
        lambda cls, m: m.encode(4, version=4),
        lambda cls, m: m.encode(number=4),
        lambda cls, m: m.encoded_size(),
        lambda cls, m: cls.decode(b""),
        lambda cls, m: cls.decode(b"", 4, True),
        lambda cls, m: cls.decode(b"", 4, depth=3),
        lambda cls, m: cls.encode(5, 4),
        lambda cls, m: cls.decode("text", 4),
        lambda cls, m: cls.decode(None, 4),
    ],
)
def test_wrong_calls_are_type_errors(call: Callable[[Any, Any], object]) -> None:
    cls = messages.HeartbeatResponse
    with pytest.raises((TypeError, AttributeError)):
        call(cls, cls())


@pytest.mark.parametrize("version", [-1, 5, 2**31, 2**70, -(2**70), 1.5, 4.0, Decimal(4), 4 + 0j, "4", None, [4]])
def test_unknown_versions(version: Any) -> None:
    """A version is an int, even if an equal number of another type is the key of a cache."""
    cls, registry = messages.HeartbeatResponse, messages.registry
    message, selection, data = cls(), tagwire.select(cls, "error_code"), cls().encode(4)
    frame = registry.encode_response(message, 4)
    calls: list[Callable[[Any], object]] = [message.encode, message.encoded_size, message.to_json, message.to_json_text]
    calls += [message.losses, message.for_version, cls.serializer, partial(layout_of, cls), selection.holder_versions]
    calls += [partial(each, data) for each in (cls.decode, cls.decode_from, selection.read)]
    calls += [partial(cls.from_json, message.to_json(4)), partial(cls.from_json_text, message.to_json_text(4))]
    calls += [partial(each, message) for each in (registry.encode_response, registry.encode_prefixed)]
    calls.append(partial(registry.encode_request, messages.HeartbeatRequest()))
    calls += [partial(registry.decode_response, frame, 12), partial(arrow.schema, cls), partial(strategy, cls)]
    for call in calls:
        call(4)  # fills the caches
        if call is not calls[-2] or version != [4]:  # `arrow.schema` also accepts several versions
            with pytest.raises(tagwire.UnsupportedVersionError):
                call(version)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name in ("error_code", "leader_id")
        for value in (-(2**15), 2**15, 2**31 - 1, 2**31, 2**63, "x", None)
    ]
    + [("replica_nodes", value) for value in ((), (4, 5), (7,) * 300, (2**31 - 1,), (2**31,), [1, 2], None)],
    ids=lambda value: str(value)[:12],
)
@pytest.mark.parametrize("index", range(3))
def test_one_unusual_value_among_many_structs(index: int, name: str, value: Any) -> None:
    partition = messages.metadata_response.MetadataResponsePartition
    partitions = [partition(replica_nodes=(1, 2, 3), isr_nodes=(1, 2, 3)) for _ in range(3)]
    setattr(partitions[index], name, value)
    message = messages.MetadataResponse(
        topics=[messages.metadata_response.MetadataResponseTopic(partitions=partitions)]
    )
    try:
        size = len(message.encode(12))
    except tagwire.EncodeError as fault:
        with pytest.raises(tagwire.EncodeError, match=f"^{re.escape(str(fault))}$"):
            message.encoded_size(12)
    else:
        assert message.encoded_size(12) == size


def test_subclasses_have_their_own_methods() -> None:
    parent = fresh_class()
    early = fresh_class(parent)
    data = parent().encode(4)
    late = fresh_class(parent)
    for cls in (parent, early, late):
        assert type(cls.decode(data, 4)) is cls
        assert cls().encode(4) == data


def test_method_defined_in_a_class_is_not_replaced() -> None:
    def encode(self: Any, version: int) -> bytes:
        return b"mine"

    parent = fresh_class(encode=encode)
    child = fresh_class(parent)
    for cls in (parent, child):
        assert cls().encode(4) == b"mine"
        assert cls().encoded_size(4) == 7


def test_serializers_have_the_same_interface() -> None:
    cls = messages.HeartbeatResponse
    for serializer in (cls.serializer(4), serializer_of(cls, 4), python_serializer(cls, 4)):
        data = serializer.encode(cls(error_code=3))
        assert serializer.encoded_size(cls(error_code=3)) == len(data)
        assert serializer.decode(data, strict=True, views=True) == cls(error_code=3)
        assert serializer.decode_from(b"x" + data, 1) == (cls(error_code=3), 1 + len(data))
        assert (serializer.MESSAGE, serializer.VERSION, str(serializer.layout())) == (cls, 4, "HeartbeatResponse v4")


def test_gc_false_hides_objects_from_the_collector() -> None:
    commit: Any = messages.offset_commit_request
    topics = [commit.OffsetCommitRequestTopic(partitions=[commit.OffsetCommitRequestPartition()])]
    message = messages.OffsetCommitRequest(topics=topics)
    data = message.encode(8)
    for hidden in (False, True):
        decoded = messages.OffsetCommitRequest.decode(data, 8, gc=not hidden)
        topic = decoded.topics[0]
        tracked = [gc.is_tracked(each) for each in (decoded, decoded.topics, topic, topic.partitions[0])]
        assert decoded == message
        native = tagwire.engine() == "native"
        assert tracked == [not (hidden and native)] * 3 + [not native], "a partition has no parts: see test_tracking.py"


registry = messages.registry
KEY = messages.OffsetCommitKey(group="g", topic="t")
TOPICS = [messages.metadata_request.MetadataRequestTopic(name="t")]
REQUEST = registry.encode_request(messages.MetadataRequest(topics=TOPICS), 12)
RESULTS = [messages.delete_topics_response.DeletableTopicResult(name="t")]
RESPONSE = registry.encode_response(messages.DeleteTopicsResponse(responses=RESULTS), 6)
FALLBACK = registry.encode_response(messages.ApiVersionsResponse(error_code=35), 0)
VALUE = registry.encode_record(messages.OffsetCommitValue(), 3)
END_POINTS = [messages.register_broker_record.BrokerEndpoint(name="e")]
BROKER = registry.encode_record(messages.RegisterBrokerRecord(end_points=END_POINTS), 0)
FRAMES: dict[str, Callable[..., tagwire.Frame]] = {
    "request": lambda **how: registry.decode_request(REQUEST, **how),
    "header": lambda **how: tagwire.Frame(None, registry.decode_header(REQUEST, **how)[0], 2),
    "response": lambda **how: registry.decode_response(RESPONSE, 20, 6, **how),
    "fallback": lambda **how: registry.decode_response(FALLBACK, 18, 4, **how),
    "key": lambda **how: registry.decode_record(registry.encode_record(KEY, 0), "group", **how),
    "value": lambda **how: registry.decode_record(VALUE, "group", KEY, **how),
    "metadata": lambda **how: registry.decode_record(BROKER, "cluster", **how),
}
# The garbage collector tracks the messages of these frames, because they contain arrays of structs or a UUID.
WITH_PARTS = set(FRAMES) - {"header", "key"}


@pytest.mark.parametrize("kind", FRAMES)
def test_whole_frames_can_be_hidden_from_the_collector(kind: str) -> None:
    frames = [FRAMES[kind](gc=choice) for choice in (True, False)]
    assert frames[0] == frames[1] == FRAMES[kind]()
    native = tagwire.engine() == "native"
    for frame, tracked in zip(frames, (kind in WITH_PARTS or not native, not native), strict=True):
        assert frame.message is None or gc.is_tracked(frame.message) == tracked
        assert frame.header is None or gc.is_tracked(frame.header) != native, "a header has no parts"


@in_use
def test_disagreement_caused_by_a_changing_value_is_reported() -> None:
    class Fickle:
        calls = 0

        def __index__(self) -> int:
            self.calls += 1
            return 1 << 80 if self.calls == 1 else 1

    message = messages.HeartbeatResponse(error_code=Fickle())  # type: ignore[arg-type]
    with pytest.raises(
        DisagreementError, match=r"HeartbeatResponse v4: the native engine rejected a HeartbeatResponse"
    ):
        message.encode(4)
    message.error_code = Fickle()  # type: ignore[assignment]
    with pytest.raises(DisagreementError):
        message.encoded_size(4)


def test_arrays_deleted_from_all_elements_have_no_size() -> None:
    partitions = [metadata_response.MetadataResponsePartition() for _ in range(3)]
    for partition in partitions:
        del partition.replica_nodes
    topic = metadata_response.MetadataResponseTopic(name="a", partitions=partitions)
    message = messages.MetadataResponse(topics=[topic])
    for call in (message.encode, message.encoded_size):
        with pytest.raises(EncodeError, match="has no replica_nodes"):
            call(12)


@in_use
def test_disagreement_about_bytes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from tagwire.interpreter import error_positions, reader

    cls = messages.HeartbeatResponse
    monkeypatch.setattr(error_positions, "reject_bytes", lambda *_: None)
    monkeypatch.setattr(reader, "decode", lambda *_, **__: (cls(), 0))
    with pytest.raises(DisagreementError, match=r"rejected an input of 1 bytes, .* but the interpreter accepts it"):
        cls.decode(b"x", 4)
    assert cls.decode(b"x", 4, strict=False) == cls(), "what only lenient readers take is no disagreement"


class ByHand(tagwire.Message):
    """A message class without generated serializers, whose objects the native engine can't create."""

    __slots__ = ("number", "unknown_tags")
    NAME = "ByHand"
    VERSIONS = Versions(0, 1)
    FIELDS = (FieldRow("number", "Number", "int8", Versions.parse("0+"), default=0),)

    def __init__(self, *, number: int = 0, unknown_tags: Any = NO_TAGS) -> None:
        self.number = number
        self.unknown_tags = unknown_tags

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def test_class_without_native_support_works() -> None:
    assert ByHand(number=7).encode(1) == b"\x07"
    assert ByHand(number=7).encoded_size(1) == 1
    assert ByHand.decode(b"\x07", 1, gc=False) == ByHand(number=7)
    assert ByHand.decode_from(b"x\x07", 1, 1) == (ByHand(number=7), 2)
    with pytest.raises(tagwire.DecodeError):
        ByHand.decode(b"", 1)
    with pytest.raises(tagwire.EncodeError):
        ByHand(number=300).encode(1)
    serializer: Any = ByHand.serializer(1)
    assert issubclass(serializer, LayoutSerializer) and issubclass(serializer, Serializer)
    expected = "ByHand defines its own __setattr__, which the engine would not call"
    assert native_obstacle(ByHand, 1) == (expected if tagwire.engine() == "native" else "")
