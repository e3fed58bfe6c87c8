import struct
from math import nan as NAN
from struct import pack
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_messages.poll import PollRequest, PollTopic, Rack

from tagwire.errors import DecodeError, EncodeError
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode, encoded_size
from tagwire.layout import (
    INT16,
    INT32,
    VARINT,
    Array,
    Condition,
    Extent,
    Fixed,
    Item,
    Layout,
    Nested,
    Order,
    Sized,
    StructLayout,
    TaggedSection,
    Varint,
)
from tagwire.limits import DEFAULT_LIMITS
from tagwire.message.field_table import layout_of
from tagwire.wire.types import WIRE_TYPES

REJECTIONS = [
    # Each case: version, fields, the error's path, a part of the error message.
    (0, {"quota": 1}, "quota", "is 1, which this version can't represent; only the default, 0, is possible here"),
    (0, {"cursor": Rack()}, "cursor", "is a Rack, which this version can't represent"),
    (0, {"rack": Rack(row=1)}, "rack", "can't represent"),
    (2, {"weight": 2.0}, "weight", "can't represent"),
    (2, {"weight": float("nan")}, "weight", "is nan, which"),
    (0, {"topics": None}, "topics", "is None, but it is not nullable in this version"),
    (1, {"payload": None}, "payload", "is None, but it is not nullable"),
    (2, {"topics": [PollTopic(name=None)]}, "topics[0].name", "is None"),
    (1, {"unknown_tags": {1: b""}}, "unknown_tags", "messages of this version have no tagged fields"),
    (1, {"topics": [PollTopic(), PollTopic(unknown_tags={5: b"x"})]}, "topics[1].unknown_tags", "no tagged fields"),
    (2, {"unknown_tags": {1: b""}}, "unknown_tags", "tag 1 is the field rack in this version; set that field instead"),
    (2, {"unknown_tags": {-1: b""}}, "unknown_tags", "expected a tag (0 to 2147483647), got int -1"),
    (2, {"unknown_tags": {2**31: b""}}, "unknown_tags", "expected a tag (0 to 2147483647)"),
    (2, {"unknown_tags": {True: b""}}, "unknown_tags", "expected a tag (0 to 2147483647), got True"),
    (2, {"unknown_tags": {"5": b""}}, "unknown_tags", "expected a tag (0 to 2147483647), got str '5'"),
    (2, {"unknown_tags": {5: "text"}}, "unknown_tags", "expected bytes, got str 'text'"),
    (2, {"unknown_tags": [5]}, "unknown_tags", "expected a mapping of tags to bytes"),
    (0, {"port": 65536}, "port", "expected uint16 (0 to 65535), got int 65536"),
    (0, {"port": -1}, "port", "expected uint16 (0 to 65535), got int -1"),
    (1, {"max_wait_ms": 2**31}, "max_wait_ms", "expected int32"),
    (1, {"max_wait_ms": "5"}, "max_wait_ms", "expected int32 (-2147483648 to 2147483647), got str '5'"),
    (1, {"max_wait_ms": 5.0}, "max_wait_ms", "expected int32 (-2147483648 to 2147483647), got float 5.0"),
    (1, {"quota": 10**5000}, "quota", "got an int of 16610 bits"),
    (0, {"urgent": 2}, "urgent", "expected bool, got int 2"),
    (0, {"urgent": []}, "urgent", "expected bool, got []"),
    (0, {"ratio": "1"}, "ratio", "expected float64 (a float), got str '1'"),
    (0, {"ratio": 10**400}, "ratio", "expected float64"),
    (0, {"payload": "text"}, "payload", "expected bytes, got str 'text'; call its method encode()"),
    (0, {"topics": 3}, "topics", "expected a tuple or list of PollTopic, got int 3"),
    (0, {"topics": ["a"]}, "topics[0]", "expected a PollTopic, got str 'a'"),
    (0, {"topics": [PollTopic(name=5)]}, "topics[0].name", "expected a string, got int 5"),  # type: ignore[arg-type]
    (0, {"topics": [PollTopic(name="x" * 32768)]}, "topics[0].name", "takes 32768 bytes; a string can have at most"),
    (2, {"topics": [PollTopic(name="é" * 16384)]}, "topics[0].name", "takes 32768 bytes"),
    (0, {"topics": [PollTopic(name="a\ud800")]}, "topics[0].name", "character 1 is the lone surrogate"),
    (2, {"topics": [PollTopic(topic_id="x")]}, "topics[0].topic_id", "expected uuid (a UUID), got str 'x'"),  # type: ignore[arg-type]
    (0, {"topics": [PollTopic(partitions=[0, 2**31])]}, "topics[0].partitions[1]", "expected int32"),
    (2, {"rack": Rack(row=200)}, "rack.row", "expected int8 (-128 to 127), got int 200"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "fields", "path", "words"), REJECTIONS)
def test_values_that_a_version_can_not_represent(version: int, fields: dict[str, Any], path: str, words: str) -> None:
    message = PollRequest()
    for name, value in fields.items():
        setattr(message, name, value)
    for call in (encode, encoded_size):
        with pytest.raises(EncodeError) as caught:
            call(layout_of(PollRequest, version), message)
        assert (caught.value.path, caught.value.version, caught.value.message_name) == (path, version, "PollRequest")
        assert words in caught.value.reason
        assert path in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("value", ["ab", b"ab", memoryview(b"ab")])
def test_strings_and_bytes_are_rejected_as_arrays(value: Any) -> None:
    topic = PollTopic()
    topic.partitions = value
    with pytest.raises(EncodeError, match="expected a tuple or list of int32"):
        encode(layout_of(PollRequest, 0), PollRequest(topics=[topic]))


def test_ignorable_values_are_dropped() -> None:
    message = PollRequest(max_wait_ms=7, reason="because", topics=[PollTopic(topic_id=UUID(int=1))])
    assert encode(layout_of(PollRequest, 0), message) == encode(
        layout_of(PollRequest, 0), PollRequest(topics=[PollTopic()])
    )


@pytest.mark.parametrize(
    ("fields", "section"),
    [
        ({}, "00"),
        ({"weight": 1.0}, "00"),
        ({"weight": 2.0}, "01 02 08 4000000000000000"),
        ({"weight": float("nan")}, "01 02 08 7ff8000000000000"),
        ({"reason": ""}, "01 00 01 01"),
        ({"rack": Rack()}, "00"),
        ({"rack": Rack(unknown_tags={0: b""})}, "01 01 05 01 ff 01 00 00"),
        ({"unknown_tags": {300: b"z", 3: b""}, "reason": "a"}, "03 00 02 02 61 03 00 ac02 01 7a"),
    ],
)
def test_tagged_fields_are_written_if_they_differ(fields: dict[str, Any], section: str) -> None:
    plain = encode(layout_of(PollRequest, 3), PollRequest())
    assert encode(layout_of(PollRequest, 3), PollRequest(**fields)) == plain[:-1] + bytes.fromhex(section)


@pytest.mark.parametrize(
    ("default", "value", "is_written"),
    [(0.0, 0.0, False), (0.0, -0.0, True), (0.0, 0, False), (NAN, NAN, False), (NAN, -NAN, True), (NAN, 0.0, True)],
)
def test_floats_are_compared_with_their_default_by_bits(default: float, value: float, is_written: bool) -> None:
    """For example, -0.0 must be written if the default is 0.0."""
    section = TaggedSection((Item("x", Fixed(WIRE_TYPES["float64"]), default=default, tag=0),))
    layout = Layout("f", None, StructLayout("f", (), section=section))
    entry = bytes.fromhex("01 00 08") + pack(">d", value)
    assert encode(layout, {"x": value}) == (entry if is_written else b"\0")


@pytest.mark.parametrize(
    ("bits", "zigzag", "bad"), [(32, True, 2**31), (32, False, -1), (64, False, 2**64), (64, True, "1")]
)
def test_varints_are_limited_to_their_bits(bits: int, zigzag: bool, bad: Any) -> None:
    layout = Layout("v", None, StructLayout("v", (Item("x", Varint(bits, zigzag=zigzag)),)))
    with pytest.raises(EncodeError, match=r"expected u?var(int|long) \("):
        encode(layout, {"x": bad})


def test_dicts_of_structs_without_a_class() -> None:
    text = Sized(WIRE_TYPES["string"], INT16, nullable=False)
    layout = Layout("d", None, StructLayout("d", (Item("name", text, default="n"),)))
    assert encode(layout, {}) == bytes.fromhex("0001 6e")
    with pytest.raises(EncodeError, match=r"d has no field 'nmae'; did you mean 'name'\?"):
        encode(layout, {"nmae": "x"})
    with pytest.raises(EncodeError, match="expected a mapping of field names"):
        encode(layout, 5)
    with pytest.raises(EncodeError, match="no tagged fields") as caught:
        encode(layout, {"unknown_tags": {1: b"x"}})
    assert caught.value.path == "unknown_tags"


TOPICS = st.lists(
    st.builds(
        PollTopic,
        name=st.text(max_size=200),
        topic_id=st.uuids(),
        partitions=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=130),
        unknown_tags=st.dictionaries(st.integers(0, 2**31 - 1), st.binary(max_size=200), max_size=3),
    ),
    max_size=3,
)


@given(
    st.builds(
        PollRequest,
        topics=st.none() | TOPICS,
        urgent=st.booleans(),
        ratio=st.floats(),
        quota=st.integers(-(2**63), 2**63 - 1),
        payload=st.none() | st.binary(),
        cursor=st.none() | st.builds(Rack, label=st.text(max_size=130)),
        reason=st.none() | st.text(),
        rack=st.builds(Rack, label=st.text(max_size=130), row=st.integers(-128, 127)),
        unknown_tags=st.dictionaries(st.integers(3, 2**31 - 1), st.binary(max_size=20), max_size=3),
    )
)
def test_round_trips_and_sizes(message: PollRequest) -> None:
    data = message.encode(2)
    assert message.encoded_size(2) == len(data)
    assert PollRequest.decode(data, 2) == message
    is_plain = not message.unknown_tags and not message.quota and message.payload is not None and not message.cursor
    if not is_plain:
        with pytest.raises(EncodeError):
            message.encode(0)


def test_bytes_are_not_bound_like_strings() -> None:
    message = PollRequest(payload=b"x" * 40000)
    for version in (0, 2):
        assert PollRequest.decode(message.encode(version), version) == message


@pytest.mark.parametrize("size", [126, 127, 128, 16382, 16383, 16384])
def test_sizes_where_a_varint_grows(size: int) -> None:
    for message in (
        PollRequest(reason="x" * size),
        PollRequest(rack=Rack(label="x" * size)),
        PollRequest(payload=b"x" * size),
    ):
        data = message.encode(2)
        assert message.encoded_size(2) == len(data)
        assert PollRequest.decode(data, 2) == message


def test_wire_floats() -> None:
    assert encode(layout_of(PollRequest, 0), PollRequest(ratio=1))[5:13] == struct.pack(">d", 1.0)


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


def test_incomparable_value_is_not_a_default() -> None:
    message = PollRequest(reason=Incomparable())  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match="expected a string") as caught:
        encode(layout_of(PollRequest, 2), message)
    assert caught.value.path == "reason"


def test_attributes_that_a_version_drops_may_be_missing() -> None:
    message = PollRequest()
    del message.max_wait_ms  # an ignorable field that version 0 doesn't have
    assert encode(layout_of(PollRequest, 0), message) == encode(layout_of(PollRequest, 0), PollRequest())
    with pytest.raises(EncodeError):
        encode(layout_of(PollRequest, 1), message)
    # Version 0 doesn't have `quota` either, but writers read `quota`, because it isn't ignorable.
    del message.quota
    with pytest.raises(EncodeError):
        encode(layout_of(PollRequest, 0), message)


BYTE, NUMBER = Fixed(WIRE_TYPES["int8"]), Fixed(WIRE_TYPES["int32"])
PAIR = Nested(StructLayout("Pair", (Item("key", BYTE, default=0),)))
TEXT = Sized(WIRE_TYPES["bytes"], None, nullable=False)


def one(*items: Item) -> Layout:
    return Layout("one", None, StructLayout("one", items))


FRAMED = [
    # Each case: layout, valid bytes, their decoded value, invalid bytes, the offset of the error in the invalid bytes.
    (one(Item("size", Extent(NUMBER)), Item("x", BYTE, default=0)), "00000001 07", {"x": 7}, "00000002 07"),
    (
        one(Item("w", BYTE, default=0), Item("size", Extent(NUMBER, counts_itself=True)), Item("x", BYTE, default=0)),
        *("03 00000005 07", {"w": 3, "x": 7}, "03 00000001 07"),
    ),
    (
        one(Item("size", Extent(NUMBER, "text", counts_itself=True)), Item("text", TEXT, extent="size", default=b"")),
        *("00000006 6162", {"text": b"ab"}, "00000005 6162"),
    ),
    (one(Item("magic", BYTE, default=2, equals=2), Item("x", BYTE, default=0)), "02 01", {"magic": 2, "x": 1}, "03 01"),
    (
        one(Item("pairs", Array(PAIR, INT32, nullable=False, order=Order("key", unsigned=True)), default=())),
        *("00000003 01 7f ff", {"pairs": ({"key": 1}, {"key": 127}, {"key": -1})}, "00000002 7f 7f"),
    ),
    (
        one(Item("pairs", Array(PAIR, INT32, nullable=False, order=Order("key", unsigned=False)), default=())),
        *("00000002 ff 01", {"pairs": ({"key": -1}, {"key": 1})}, "00000002 01 ff"),
    ),
    (
        one(Item("pairs", Array(PAIR, INT32, nullable=False, filled=True), default=())),
        *("00000001 05", {"pairs": ({"key": 5},)}, "00000000"),
    ),
    *(
        (one(Item("s", Nested(StructLayout("S", (Item("x", BYTE, default=0),)), marker), default=None)), *case)
        for marker, *case in (
            ("int8", "ff", {"s": None}, "00"),
            ("int8", "01 07", {"s": {"x": 7}}, "02 07"),
            ("uvarint", "00", {"s": None}, "ff"),
            ("uvarint", "01 07", {"s": {"x": 7}}, "02 07"),
        )
    ),
    (  # the condition of `y` refers to the `x` next to it, not to the `x` inside `s`
        one(
            Item("flags", BYTE, default=0),
            Item("x", BYTE, default=0),
            Item("s", Nested(StructLayout("S", (Item("x", BYTE, default=0, condition=Condition("flags", 1, 1)),)))),
            Item("y", BYTE, default=0, condition=Condition("x", 1, 1)),
        ),
        *("00 01 05", {"flags": 0, "x": 1, "s": {"x": 0}, "y": 5}, "01 00 05 06"),
    ),
    *(
        (one(Item("x", BYTE, default=0), Item("s", Nested(PAIR.struct), condition=Condition("x", 1, 1))), *case)
        for case in (("00", {"x": 0, "s": None}, "00 07"), ("01 07", {"x": 1, "s": {"key": 7}}, "01"))
    ),
    (
        one(Item("text", Sized(WIRE_TYPES["string"], VARINT, nullable=False), default="")),
        *("80f104" + "78" * 40_000, {"text": "x" * 40_000}, "80f104"),  # longer than messages allow
    ),
]


@pytest.mark.parametrize(("layout", "hex_text", "value", "bad"), FRAMED, ids=range(len(FRAMED)))
def test_framed_parts(layout: Layout, hex_text: str, value: dict[str, Any], bad: str) -> None:
    data = bytes.fromhex(hex_text)
    assert encode(layout, value) == data and encoded_size(layout, value) == len(data)
    found, end = decode(layout, data, whole=True, strict=True, limits=DEFAULT_LIMITS)
    assert found == value and end == len(data)
    with pytest.raises(DecodeError):
        decode(layout, bytes.fromhex(bad), whole=True, strict=True, limits=DEFAULT_LIMITS)


@pytest.mark.parametrize(
    ("hex_text", "message"),
    [
        ("00000002 07", r"found length 2, expected 0 to 1 byte \(all that is left\)"),
        ("00000002 07 08", "found 1 byte after the last field, expected the end of one"),
    ],
)
def test_length_of_a_struct_that_does_not_fit(hex_text: str, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode(FRAMED[0][0], bytes.fromhex(hex_text), whole=True, strict=True, limits=DEFAULT_LIMITS)


@pytest.mark.parametrize(
    ("layout", "value", "reason"),
    [
        (FRAMED[3][0], {"magic": 3}, "is 3, but must be 2"),
        (FRAMED[3][0], {"magic": 1}, "is 1, but must be 2"),
        (FRAMED[4][0], {"pairs": [{"key": 1}, {"key": 1}]}, "elements must be in strictly ascending order of key"),
        (FRAMED[4][0], {"pairs": [{"key": -1}, {"key": 1}]}, "elements must be in strictly ascending order of key"),
        (FRAMED[5][0], {"pairs": [{"key": 1}, {"key": -1}]}, "elements must be in strictly ascending order of key"),
        (FRAMED[6][0], {"pairs": []}, "is empty; omit this array, or add at least one element"),
        (FRAMED[11][0], {"x": 2, "s": {}, "y": 5}, "is 5, but must be 0, because the value of 'x' excludes this field"),
    ],
)
def test_framed_values_that_are_rejected(layout: Layout, value: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode(layout, value)
    assert caught.value.reason == reason
