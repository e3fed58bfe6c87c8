"""Which engine runs, what a class gets from it, and what the native one leaves to the pure one."""

import inspect
import sys
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

import pytest
from native_engine import NotNative, Plan, native

import tagwire
import tagwire_messages as messages
from tagwire.calls import FirstUse
from tagwire.engines import DisagreementError, native_obstacle, python_serializer, serializer_of
from tagwire.layout import (
    INT32,
    UVARINT,
    VARINT,
    Array,
    Condition,
    Fixed,
    Item,
    Layout,
    LengthCode,
    Nested,
    Sized,
    StructLayout,
    TaggedSection,
    Varint,
)
from tagwire.layout_reader import decode as decode_by_layout
from tagwire.layout_writer import encode as encode_by_layout
from tagwire.rows import FieldRow
from tagwire.serializer import LayoutSerializer, Serializer
from tagwire.unknown_tags import NO_TAGS
from tagwire.versions import Versions
from tagwire.wire_types import WIRE_TYPES, WireType

in_use = pytest.mark.skipif(tagwire.engine() != "native", reason="the native engine is not in use")
CALLS = ("decode", "decode_from", "encode", "encoded_size")


def test_the_environment_forces_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWIRE_ENGINE", "python")
    assert tagwire.engine() == "python"
    monkeypatch.setenv("TAGWIRE_ENGINE", "rust")
    with pytest.raises(tagwire.EngineError, match="TAGWIRE_ENGINE is 'rust'; 'native' or 'python' was expected"):
        tagwire.engine()


def test_an_engine_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tagwire._engine", None)
    monkeypatch.delenv("TAGWIRE_ENGINE", raising=False)
    assert tagwire.engine() == "python"
    monkeypatch.setenv("TAGWIRE_ENGINE", "native")
    with pytest.raises(tagwire.EngineError, match="this installation has no native engine"):
        tagwire.engine()


@native
def test_an_engine_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in ("", "native"):
        monkeypatch.setenv("TAGWIRE_ENGINE", wanted)
        assert tagwire.engine() == "native"


# ---------------------------------------------------------------- the calls of a class


def fresh_class(base: type[tagwire.Message] = messages.HeartbeatResponse, **members: Any) -> Any:
    """A message class that nobody has used yet."""
    return type("Fresh", (base,), {"__slots__": (), **members})


@in_use
@pytest.mark.parametrize("name", CALLS)
def test_the_first_look_binds_what_is_no_python(name: str) -> None:
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
        lambda cls, m: m.encode([]),
        lambda cls, m: cls.decode("text", 4),
        lambda cls, m: cls.decode(None, 4),
    ],
)
def test_wrong_calls_are_type_errors(call: Callable[[Any, Any], object]) -> None:
    cls = messages.HeartbeatResponse
    with pytest.raises((TypeError, AttributeError)):
        call(cls, cls())


@pytest.mark.parametrize("version", [-1, 5, 2**31, 2**70, -(2**70), 1.5, "4", None])
def test_versions_that_are_not_there(version: Any) -> None:
    cls = messages.HeartbeatResponse
    for call in (lambda: cls().encode(version), lambda: cls().encoded_size(version), lambda: cls.decode(b"", version)):
        with pytest.raises(tagwire.UnsupportedVersionError if isinstance(version, int) else Exception):
            call()


def test_a_class_below_another_has_calls_of_its_own() -> None:
    """Whether it is made before the other one's calls are bound, or after."""
    parent = fresh_class()
    early = fresh_class(parent)
    data = parent().encode(4)
    late = fresh_class(parent)
    for cls in (parent, early, late):
        assert type(cls.decode(data, 4)) is cls
        assert cls().encode(4) == data


def test_a_call_that_a_class_has_written_itself_stays() -> None:
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
    import gc

    message = messages.OffsetCommitRequest(
        topics=[
            messages.offset_commit_request.OffsetCommitRequestTopic(
                partitions=[messages.offset_commit_request.OffsetCommitRequestPartition()]
            )
        ]
    )
    data = message.encode(8)
    for hidden in (False, True):
        decoded = messages.OffsetCommitRequest.decode(data, 8, gc=not hidden)
        topic = decoded.topics[0]
        tracked = [gc.is_tracked(each) for each in (decoded, decoded.topics, topic, topic.partitions[0])]
        assert decoded == message
        assert tracked == [not (hidden and tagwire.engine() == "native")] * 4


# ---------------------------------------------------------------- when the engines disagree


@in_use
def test_a_disagreement_is_no_secret() -> None:
    """The second look at a value may see another one: then the error says what else could be."""

    class Fickle:
        calls = 0

        def __index__(self) -> int:
            self.calls += 1
            return 1 << 80 if self.calls == 1 else 1

    message = messages.HeartbeatResponse(error_code=Fickle())  # type: ignore[arg-type]
    with pytest.raises(DisagreementError, match=r"HeartbeatResponse v4: the native engine refused a HeartbeatResponse"):
        message.encode(4)
    message.error_code = Fickle()  # type: ignore[assignment]
    with pytest.raises(DisagreementError):
        message.encoded_size(4)


@in_use
def test_a_disagreement_about_bytes_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    from tagwire import layout_reader

    cls = messages.HeartbeatResponse
    monkeypatch.setattr(layout_reader, "decode", lambda *_, **__: (cls(), 0))
    with pytest.raises(DisagreementError, match="refused 1 bytes from 0 on, but the interpreter accepts"):
        cls.decode(b"x", 4)
    assert cls.decode(b"x", 4, strict=False) == cls(), "what only lenient readers take is no disagreement"


# ---------------------------------------------------------------- layouts by hand


class Inner(tagwire.Struct):
    __slots__ = ("number", "unknown_tags")

    def __init__(self, *, number: Any = 0, unknown_tags: Any = NO_TAGS) -> None:
        self.number = number
        self.unknown_tags = unknown_tags


class Outer(tagwire.Struct):
    __slots__ = ("unknown_tags", "value")

    def __init__(self, *, value: Any = 0, unknown_tags: Any = NO_TAGS) -> None:
        self.value = value
        self.unknown_tags = unknown_tags


INT32_FIELD, INT8_FIELD = Fixed(WIRE_TYPES["int32"]), Fixed(WIRE_TYPES["int8"])
STRING, BYTES = WIRE_TYPES["string"], WIRE_TYPES["bytes"]


def around(type: Any, **more: Any) -> Layout:
    """A layout of one field of this type, in a struct that may have more."""
    return Layout("outer", None, StructLayout("outer", (Item("value", type),), cls=Outer, **more))


def inner(*items: Item, **more: Any) -> StructLayout:
    return StructLayout("inner", items or (Item("number", INT8_FIELD),), cls=Inner, **more)


HAND_MADE = [
    (
        Varint(32, zigzag=True),
        [0, -1, 1, 63, -64, 64, 2**31 - 1, -(2**31)],
        [2**31, -(2**31) - 1, 1.0, None, "x", 2**70],
    ),
    (Varint(32, zigzag=False), [0, 1, 127, 128, 2**32 - 1, True], [-1, 2**32, None]),
    (Varint(64, zigzag=True), [0, -1, 2**63 - 1, -(2**63)], [2**63, -(2**63) - 1]),
    (Varint(64, zigzag=False), [0, 2**63, 2**64 - 1], [-1, 2**64]),
    (Sized(BYTES, VARINT, nullable=True), [None, b"", b"x" * 200], ["x", 7]),
    (Sized(BYTES, UVARINT, nullable=False), [b"", b"x" * 200], [None]),
    (Sized(BYTES, UVARINT, nullable=True), [b""], [None]),
    (Sized(STRING, VARINT, nullable=True), [None, "", "x" * 40_000, "é"], [b"", "\ud800"]),
    (Array(INT32_FIELD, VARINT, nullable=True), [None, (), (1, -2, 3)], [(1 << 31,), "ab"]),
    (Array(INT32_FIELD, UVARINT, nullable=False), [(), (1, 2) * 100], [None]),
    (Array(INT32_FIELD, None, nullable=False), [(), (1, 2, 3)], [None, 7]),
    (Array(Sized(STRING, INT32, nullable=True), INT32, nullable=False), [(None, "a"), ()], [(7,)]),
    (Array(Array(INT8_FIELD, INT32, nullable=True), INT32, nullable=False), [((1,), None, ())], [((300,),)]),
    (Array(Varint(64, zigzag=True), INT32, nullable=False), [(1, -1, 1 << 40)], [("x",)]),
    (Nested(inner(length=VARINT)), [Inner(number=5)], [None, Inner(number=300), 7]),
    (Nested(inner(Item("number", Sized(BYTES, INT32, nullable=False)), length=VARINT)), [Inner(number=b"x" * 300)], []),
    (Nested(inner(length=INT32), "int8"), [Inner(number=5), None], []),
    (Array(Nested(inner(), "int8"), INT32, nullable=False), [(Inner(number=5), None)], [(7,)]),
    (Array(Nested(inner(), "uvarint"), None, nullable=False), [(Inner(number=5), None)], []),
]


@native
@pytest.mark.parametrize(("type", "good", "bad"), HAND_MADE, ids=lambda value: str(value)[:40])
def test_layouts_by_hand(type: Any, good: list[Any], bad: list[Any]) -> None:
    """What record formats need: the engine and the interpreter write, read and refuse the same."""
    layout = around(type)
    plan = Plan(layout)
    for value in good:
        message = Outer(value=value)
        data = encode_by_layout(layout, message)
        assert plan.encode(message) == data
        assert plan.encoded_size(message) == len(data)
        assert plan.decode(data) == message
        for end in range(min(len(data), 64)):
            same_verdict(plan, layout, data[:end])
        for place in range(min(len(data), 16)):
            for byte in (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF):
                same_verdict(plan, layout, data[:place] + bytes([byte]) + data[place + 1 :])
                same_verdict(plan, layout, data[:place] + bytes([byte]) + data[place:])
    for value in bad:
        for call in (plan.encode, plan.encoded_size):
            with pytest.raises(tagwire.EncodeError):
                call(Outer(value=value))


def same_verdict(plan: Any, layout: Layout, data: bytes) -> None:
    """Both take it or both refuse it: the engine raises where the interpreter contradicts a refusal."""
    try:
        expected, _ = decode_by_layout(layout, data, whole=True, strict=True, limits=tagwire.Limits())
    except tagwire.DecodeError as refusal:
        with pytest.raises(tagwire.DecodeError) as refused:
            plan.decode(data)
        assert str(refused.value) == str(refusal)
    else:
        assert plan.decode(data) == expected


@native
def test_elements_to_the_end_count_against_the_limits() -> None:
    layout = around(Array(INT8_FIELD, None, nullable=False))
    assert Plan(layout).decode(b"abc", limits=tagwire.Limits(elements=3)).value == (97, 98, 99)
    with pytest.raises(tagwire.LimitError, match="at most 2"):
        Plan(layout).decode(b"abc", limits=tagwire.Limits(elements=2))


def deep(levels: int) -> StructLayout:
    struct = inner()
    for _ in range(levels - 1):
        struct = inner(Item("number", Nested(struct)))
    return struct


class WithSetattr(Inner):
    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)


class WithGetattr(Inner):
    __slots__ = ()

    def __getattr__(self, name: str) -> int:
        return 3


class WithGetattribute(Inner):
    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(name)


class WithDict:
    unknown_tags: Any
    number: int


class WithProperty(Inner):
    __slots__ = ()

    @property
    def number(self) -> int:
        return 3


class Abstract(Inner, metaclass=ABCMeta):
    __slots__ = ()

    @abstractmethod
    def missing(self) -> None: ...


class WithSize(int):
    """Of variable size, as ints are."""


ODD_FLOAT = WireType("float32", "floating", "float", "f", 4)
INT24 = LengthCode("int64", "q", 8)
MANY_TAGGED = tuple(Item(f"field_{tag}", INT8_FIELD, tag=tag) for tag in range(65))
OBSTACLES = [
    (around(INT8_FIELD, length=INT24), "the engine has no length int64"),
    (around(Fixed(ODD_FLOAT)), "the engine has no wire type float32"),
    (around(Varint(16, zigzag=True)), "the engine has no type"),
    (around(Nested(StructLayout("plain", ()))), "plain has no class: its values are dicts"),
    (
        Layout("o", None, StructLayout("o", (Item("a", INT8_FIELD, condition=Condition("b", 1, 1)),), cls=Outer)),
        "a depends",
    ),
    (Layout("deep", None, deep(101)), "structs are 101 deep; the engine goes down to 100"),
    (
        Layout("tags", None, StructLayout("tags", (), section=TaggedSection(MANY_TAGGED), cls=Inner)),
        "65 tagged fields in a struct; the engine has bits for 64",
    ),
    *(
        (Layout("o", None, StructLayout("o", (Item("number", INT8_FIELD),), cls=cls)), message)
        for cls, message in (
            (WithSetattr, "WithSetattr has a __setattr__ of its own"),
            (WithGetattr, "WithGetattr has a __getattr__ of its own"),
            (WithGetattribute, "WithGetattribute has a __getattribute__ of its own"),
            (WithDict, "WithDict.unknown_tags is no slot"),
            (WithProperty, "WithProperty.number is no slot"),
            (Abstract, "Abstract can't be made empty"),
            (WithSize, "objects of WithSize are laid out in another way"),
        )
    ),
]


@native
@pytest.mark.parametrize(("layout", "message"), OBSTACLES, ids=lambda value: str(value)[:30])
def test_what_is_left_to_the_pure_engine(layout: Layout, message: str) -> None:
    with pytest.raises(NotNative, match=message):
        Plan(layout)


@native
def test_as_deep_as_the_engine_goes() -> None:
    layout = Layout("deep", None, deep(100))
    assert Plan(layout).encode(Plan(layout).decode(b"\x07")) == b"\x07"


class ByHand(tagwire.Message):
    """A message class without generated serializers, whose objects the native engine can't make."""

    __slots__ = ("number", "unknown_tags")
    NAME = "ByHand"
    VERSIONS = Versions(0, 1)
    FIELDS = (FieldRow("number", "Number", "int8", "0+", default=0),)

    def __init__(self, *, number: int = 0, unknown_tags: Any = NO_TAGS) -> None:
        self.number = number
        self.unknown_tags = unknown_tags

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def test_a_class_that_the_engine_leaves_works_all_the_same() -> None:
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
    expected = "ByHand has a __setattr__ of its own" if tagwire.engine() == "native" else ""
    assert native_obstacle(ByHand, 1) == expected
