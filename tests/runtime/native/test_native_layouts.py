import re
from abc import ABCMeta, abstractmethod
from typing import Any, get_args

import pytest
from native_engine import NotNative, Plan, native

import tagwire
from tagwire.interpreter.reader import decode as decode_by_layout
from tagwire.interpreter.writer import encode as encode_by_layout
from tagwire.layout import (
    INT32,
    UVARINT,
    VARINT,
    Array,
    Bits,
    Checksum,
    Condition,
    Count,
    Extent,
    Fixed,
    Item,
    Layout,
    LengthCode,
    Missing,
    Nested,
    NullableFixed,
    OptionalBuffer,
    Order,
    Sized,
    StructLayout,
    TaggedSection,
    Type,
    Varint,
)
from tagwire.wire.families import FloatingType
from tagwire.wire.types import WIRE_TYPES, wire_type
from tagwire.wire.unknown_tags import NO_TAGS


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


UVARLONG_FIELD = Varint(64, zigzag=False)
INT32_FIELD, INT8_FIELD = Fixed(WIRE_TYPES["int32"]), Fixed(WIRE_TYPES["int8"])
STRING, BYTES = WIRE_TYPES["string"], WIRE_TYPES["bytes"]
THREE_BYTES = wire_type("bytes[3]")
assert THREE_BYTES is not None
TEXT = Sized(STRING, INT32, nullable=False)


def around(type: Any, **more: Any) -> Layout:
    return Layout("outer", None, StructLayout("outer", (Item("value", type),), cls=Outer, **more))


def inner(*items: Item, **more: Any) -> StructLayout:
    return StructLayout("inner", items or (NUMBER,), cls=Inner, **more)


INT64_FIELD, UVARINT_FIELD = Fixed(WIRE_TYPES["int64"]), Varint(32, zigzag=False)
COUNTED = Array(INT8_FIELD, None, nullable=False, counted_by="count")
NUMBER = Item("number", INT8_FIELD)
SIZE = Item("size", Extent(Varint(32, zigzag=True)))


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
    (NullableFixed(WIRE_TYPES["int32"], "int8"), [None, 5, -(2**31)], [2**31, "x"]),
    (Fixed(WIRE_TYPES["uint64"]), [0, 2**64 - 1], [-1, 2**64, None]),
    (Fixed(WIRE_TYPES["float32"]), [0.0, 1.5, 7], [1e39, "x", None]),
    (Fixed(THREE_BYTES), [b"abc", bytearray(b"abc")], [b"ab", b"abcd", "abc", None]),
    (Nested(inner(SIZE, NUMBER)), [Inner(number=5)], [None, Inner(number=300), 7]),
    (Nested(inner(SIZE, Item("number", Sized(BYTES, INT32, nullable=False)))), [Inner(number=b"x" * 300)], []),
    (Nested(inner(Item("size", Extent(INT32_FIELD)), NUMBER), "int8"), [Inner(number=5), None], []),
    (Array(Nested(inner(), "int8"), INT32, nullable=False), [(Inner(number=5), None)], [(7,)]),
    (Array(Nested(inner(), "uvarint"), None, nullable=False), [(Inner(number=5), None)], []),
    (Varint(32, zigzag=False, signed=True), [0, -1, 2**31 - 1, -(2**31), True], [2**31, -(2**31) - 1, None]),
    (Varint(64, zigzag=False, signed=True), [0, -1, 2**63 - 1, -(2**63)], [2**63, -(2**63) - 1, "x"]),
    (Sized(BYTES, None, nullable=False), [b"", b"x" * 200], [None, "x"]),
    (Sized(STRING, None, nullable=False), ["", "é" * 200], [None, b""]),
    (Nested(inner(Item("size", Extent(INT64_FIELD)), NUMBER)), [Inner(number=5)], [None, Inner(number=300)]),
    (Nested(inner(NUMBER, Item("size", Extent(INT32_FIELD)))), [Inner(number=5)], []),
    (Nested(inner(Item("size", Extent(Varint(32, zigzag=True), counts_itself=True)), NUMBER)), [Inner(number=5)], []),
    (Nested(inner(Item("number", INT8_FIELD, equals=2))), [Inner(number=2)], [Inner(number=3), Inner(number=None)]),
    (Nested(inner(Item("number", INT8_FIELD, bits=(Bits("b", 6, ("x", "y")),)))), [Inner(number=3)], [Inner(number=4)]),
    (
        Nested(inner(Item("count", Count(INT32_FIELD, "number")), Item("number", COUNTED))),
        [Inner(number=(1, -2)), Inner(number=())],
        [Inner(number=(300,))],
    ),
    (
        Nested(
            inner(
                Item("size", Extent(UVARINT_FIELD, "number")),
                Item("number", Sized(BYTES, None, nullable=False), extent="size"),
            )
        ),
        [Inner(number=b"x" * 300), Inner(number=b"")],
        [Inner(number=None)],
    ),
    (
        Nested(
            inner(Item("sum", Checksum("crc32c", "number")), Item("size", Extent(UVARINT_FIELD)), Item("number", TEXT))
        ),
        [Inner(number="x" * 300), Inner(number="")],
        [Inner(number=b"")],
    ),
    (
        Nested(
            inner(
                Item("size", Extent(UVARINT_FIELD)),
                Item("sum", Checksum("crc32", "more")),
                Item("more", Extent(UVARINT_FIELD)),
                Item("number", TEXT),
            )
        ),
        [Inner(number="x" * 300), Inner(number="")],
        [],
    ),
    (Nested(StructLayout("plain", (NUMBER,))), [{"number": 5}], [{"number": 300}, {"other": 5}, None]),
    (Nested(StructLayout("plain", ())), [{}], [{"other": 5}, 7]),
    (
        Array(
            Nested(StructLayout("plain", (NUMBER,))),
            INT32,
            nullable=False,
            order=Order("number", unsigned=False),
            filled=True,
        ),
        [({"number": -2}, {"number": 7})],
        [({"number": 7}, {"number": 7}), ()],
    ),
    (
        Nested(StructLayout("plain", (NUMBER, Item("text", TEXT, default="", condition=Condition("number", 1, 1))))),
        [{"number": 3, "text": "x"}, {"number": 2, "text": ""}],
        [{"number": 2, "text": "x"}],
    ),
]


@native
@pytest.mark.parametrize(("type", "good", "bad"), HAND_MADE, ids=lambda value: str(value)[:40])
def test_layouts_by_hand(type: Any, good: list[Any], bad: list[Any]) -> None:
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
        for index in range(min(len(data), 16)):
            for byte in (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF):
                same_verdict(plan, layout, data[:index] + bytes([byte]) + data[index + 1 :])
                same_verdict(plan, layout, data[:index] + bytes([byte]) + data[index:])
    for value in bad:
        for call in (plan.encode, plan.encoded_size):
            with pytest.raises(tagwire.EncodeError):
                call(Outer(value=value))


def same_verdict(plan: Any, layout: Layout, data: bytes) -> None:
    try:
        expected, _ = decode_by_layout(layout, data, whole=True, strict=True, limits=tagwire.Limits())
    except tagwire.DecodeError as rejection:
        with pytest.raises(tagwire.DecodeError) as rejected:
            plan.decode(data)
        assert str(rejected.value) == str(rejection)
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
    """A subclass of int. Its objects have a variable size, so the engine can't create them."""


ODD_FLOAT = FloatingType("float16", "e", 2)
MANY_TAGGED = tuple(Item(f"field_{tag}", INT8_FIELD, tag=tag) for tag in range(65))
OBSTACLES = [
    (
        around(Nested(inner(Item("size", Extent(INT32_FIELD, "number", counts_itself=True)), NUMBER))),
        "the length size, which covers only itself and the field number",
    ),
    (around(Nested(inner(Item("size", Extent(UVARLONG_FIELD)), NUMBER))), "size, an unsigned 64-bit uvarlong length"),
    (
        around(Nested(inner(Item("number", UVARLONG_FIELD, equals=2)))),
        "the engine requires number to be a number that fits",
    ),
    (around(Nested(inner(Item("number", INT8_FIELD, equals=1 << 64)))), "which does not fit in 64 bits"),
    (
        around(Array(INT8_FIELD, INT32, nullable=False, order=Order("key", unsigned=True))),
        "requires the elements of a sorted array to be structs",
    ),
    (
        around(Nested(inner(*(Item(f"s{index}", Extent(INT8_FIELD)) for index in range(9)), NUMBER))),
        "too many lengths and checksums; the engine supports at most 8",
    ),
    (
        around(Nested(inner(*(Item(f"c{index}", Checksum("crc32", "number")) for index in range(2)), NUMBER))),
        "two checksums begin at number",
    ),
    (
        around(Nested(inner(Item("number", INT8_FIELD, equals=1), section=TaggedSection()))),
        "inner, because it has tagged fields as well as lengths",
    ),
    (
        around(Nested(inner(Item("text", TEXT), Item("number", INT8_FIELD, condition=Condition("text", 1, 1))))),
        "text is not a slot",
    ),
    (
        around(
            Nested(StructLayout("i", (Item("text", TEXT), Item("n", INT8_FIELD, condition=Condition("text", 1, 1)))))
        ),
        "text is not a number, so other fields can't depend on it",
    ),
    (around(Fixed(ODD_FLOAT)), "native code does not support the wire type float16"),
    (around(Varint(16, zigzag=True)), "the engine does not support the type"),
    (Layout("deep", None, deep(101)), "structs are nested 101 levels deep; the engine supports at most 100 levels"),
    (
        Layout("tags", None, StructLayout("tags", (), section=TaggedSection(MANY_TAGGED), cls=Inner)),
        "a struct has 65 tagged fields; the engine supports at most 64",
    ),
    *(
        (Layout("o", None, StructLayout("o", (Item("number", INT8_FIELD),), cls=cls)), message)
        for cls, message in (
            (WithSetattr, "WithSetattr defines its own __setattr__"),
            (WithGetattr, "WithGetattr defines its own __getattr__"),
            (WithGetattribute, "WithGetattribute defines its own __getattribute__"),
            (WithDict, "WithDict.unknown_tags is not a slot"),
            (WithProperty, "WithProperty.number is not a slot"),
            (Abstract, "Abstract can't be created without arguments"),
            (WithSize, "objects of WithSize have an unsupported memory layout"),
        )
    ),
]


@native
@pytest.mark.parametrize(("layout", "message"), OBSTACLES, ids=lambda value: str(value)[:30])
def test_layouts_that_the_native_engine_does_not_support(layout: Layout, message: str) -> None:
    with pytest.raises(NotNative, match=message):
        Plan(layout)


@native
def test_deepest_supported_layout() -> None:
    layout = Layout("deep", None, deep(100))
    assert Plan(layout).encode(Plan(layout).decode(b"\x07")) == b"\x07"


class Pair(tagwire.Struct):
    __slots__ = ("first", "second", "unknown_tags")

    def __init__(self, *, first: Any = (), second: Any = (), unknown_tags: Any = NO_TAGS) -> None:
        self.first = first
        self.second = second
        self.unknown_tags = unknown_tags


@native
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Array(INT32_FIELD, INT32, nullable=True), Array(INT32_FIELD, INT32, nullable=False)),
        (Array(INT32_FIELD, UVARINT, nullable=False), Array(INT32_FIELD, INT32, nullable=False)),
        (Array(INT32_FIELD, INT32, nullable=False), Array(INT32_FIELD, UVARINT, nullable=False)),
    ],
    ids=["null", "short, then long lengths", "long, then short lengths"],
)
@pytest.mark.parametrize(
    "value", [None, (), (1, 2), (2,) * 60, (2,) * 61, (7,) * 300, (1, "x")], ids=lambda v: str(v)[:9]
)
def test_two_fields_share_one_array_object(first: Array, second: Array, value: Any) -> None:
    """If the same array object is the value of two fields, encoding must compute its size for each field separately."""
    layout = Layout("pair", None, StructLayout("pair", (Item("first", first), Item("second", second)), cls=Pair))
    plan, message = Plan(layout), Pair(first=value, second=value)
    try:
        data = encode_by_layout(layout, message)
    except tagwire.EncodeError as fault:
        for call in (plan.encode, plan.encoded_size):
            with pytest.raises(tagwire.EncodeError, match=f"^{re.escape(str(fault))}$"):
                call(message)
        return
    assert plan.encode(message) == data
    assert plan.encoded_size(message) == len(data)


def test_every_layout_feature_is_supported_or_rejected() -> None:
    """List all layout features. Before you add a feature here, support or reject it in `_native/engine/plan.pxi`."""
    assert {cls.__name__: set(cls._names) for cls in (*get_args(Type), Item, Missing, StructLayout)} == {
        "Fixed": {"wire"},
        "Varint": {"bits", "signed", "zigzag"},
        "Sized": {"length", "nullable", "wire"},
        "NullableFixed": {"marker", "wire"},
        "Array": {"counted_by", "element", "filled", "length", "nullable", "order", "unique"},
        "Nested": {"marker", "struct"},
        "Extent": {"code", "counts_itself", "of"},
        "Count": {"code", "of"},
        "Checksum": {"algorithm", "first"},
        "Item": {"condition", "default", "json_name", "name", "tag", "type"}
        | {"bits", "compression", "equals", "extent", "relative_to", "rewritten", "sensitive"},
        "Missing": {"cls", "default", "ignorable", "name", "sensitive"},
        "StructLayout": {"cls", "items", "missing", "name", "section"},
    }
    assert {cls.__name__: set(cls._names) for cls in (LengthCode, TaggedSection, OptionalBuffer)} == {
        "LengthCode": {"bias", "code", "name", "null", "width", "zigzag"},
        "TaggedSection": {"fields", "unions"},
        "OptionalBuffer": {"counts_tag", "fields", "length"},
    }
