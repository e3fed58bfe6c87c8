import struct
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_messages.poll import PollRequest, PollTopic, Rack

from tagwire.errors import DecodeError, LimitError
from tagwire.interpreter.reader import LayoutReader, decode
from tagwire.layout import (
    INT32,
    VARINT,
    Array,
    Fixed,
    Item,
    Layout,
    Nested,
    Sized,
    StructLayout,
    TaggedSection,
    Type,
    Union,
    Varint,
)
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.field_table import layout_of
from tagwire.wire.types import WIRE_TYPES

NOTHING = "00000000 00 0000000000000000 2384 00000000"
"""A PollRequest v0 with defaults: no topics, not urgent, ratio 0.0, port 9092, no payload."""

FULL = PollRequest(
    topics=[PollTopic(name="é", topic_id=UUID(int=5), partitions=[1, -1], unknown_tags={4: b"q"}), PollTopic()],
    urgent=True,
    ratio=-0.5,
    max_wait_ms=-1,
    quota=2**63 - 1,
    payload=None,
    snapshot=b"\x00\x01",
    cursor=Rack(label="c", row=3),
    reason="",
    rack=Rack(label="r"),
    unknown_tags={2: b"weight", 9: b""},
)
# The bytes of FULL in version 2, computed by hand from the rules of Kafka's wire format.
FULL_V2 = " ".join(
    [
        "03",  # topics: compact count 3, which is 2 topics
        "03 c3a9 " + "00" * 15 + "05 03 00000001 ffffffff 01 04 01 71",
        "01 " + "00" * 16 + " 01 00",
        "01 bfe0000000000000 ffffffff 7fffffffffffffff",  # urgent true, ratio -0.5, max_wait_ms -1, quota 2^63 - 1
        "00 03 0001",  # payload null; snapshot with 2 bytes
        "01 02 63 03 00",  # cursor: present, label "c", row 3, no tagged fields
        "04",  # 4 tagged fields
        "00 01 01",  # reason: tag 0, 1 byte, an empty string
        "01 04 02 72 ff 00",  # rack: tag 1, 4 bytes, label "r", row -1, no tagged fields
        "02 06 776569676874",  # tag 2, which this version does not define
        "09 00",
    ]
)


def read(version: int, hex_text: str, *, strict: bool = True) -> tuple[PollRequest, LayoutReader]:
    reader = LayoutReader(layout_of(PollRequest, version), bytes.fromhex(hex_text), strict=strict)
    return reader.message(whole=True), reader


def test_the_defaults() -> None:
    message, reader = read(0, NOTHING)
    assert message == PollRequest() and reader.canonical


def test_every_kind_of_field() -> None:
    message, reader = read(2, FULL_V2)
    assert message == FULL and reader.canonical
    assert FULL.encode(2) == bytes.fromhex(FULL_V2)


def test_views_are_slices_of_the_other_buffer() -> None:
    data = bytes.fromhex(FULL_V2)
    value, end = decode(
        layout_of(PollRequest, 2), data, raw=memoryview(data), whole=True, strict=True, limits=DEFAULT_LIMITS
    )
    assert isinstance(value.snapshot, memoryview) and bytes(value.snapshot) == b"\x00\x01" and value == FULL
    assert end == len(data)


def test_offset_and_bytes_after_the_message() -> None:
    layout = layout_of(PollRequest, 0)
    data = b"\xaa\xbb" + bytes.fromhex(NOTHING) + b"\xcc"
    assert decode(layout, data, offset=2, whole=False, strict=True, limits=DEFAULT_LIMITS) == (PollRequest(), 21)
    for offset in (-1, 23):
        with pytest.raises(DecodeError, match=f"found offset {offset}, expected 0 to 22"):
            decode(layout, data, offset=offset, whole=False, strict=True, limits=DEFAULT_LIMITS)


BODY = "01 00 0000000000000000 ffffffff 7fffffffffffffff 01 00 "
"""The first 24 bytes of a PollRequest v2, up to its cursor. It has no topics, max_wait_ms -1, and quota 2^63 - 1."""
TAIL = BODY[2:] + "ff "
"""The bytes of a PollRequest v2 after its topics and before its tag section. The cursor is null.

If the topics take one byte, the tag section begins at byte 25.
"""

STATED = "the 3 bytes that tag 0 states to be the value"

FAULTS = [
    # Each case: version, bytes, and the attributes of the resulting error (path, offset, found, expected).
    (0, "000000", "topics", 0, "3 bytes left", "4 bytes"),
    (0, "ffffffff", "topics", 0, "null", "a value: []PollTopic is not nullable in this version"),
    (1, "fffffffe", "topics", 0, "length -2", "-1 (null) or more"),
    (0, "7fffffff" + "00" * 12, "topics", 0, "2147483647 elements", "at most 2 in the 12 bytes left"),
    (0, "00000001 0003 6162 00000000", "topics[0].partitions", 9, "3 bytes left", "4 bytes"),
    (0, "00000001 0002 c328 00000000", "topics[0].name", 6, "bytes c3", "UTF-8"),
    (0, "00000001 ffff 00000000", "topics[0].name", 4, "null", "a value: string is not nullable in this version"),
    (0, "00000000 02" + "00" * 14, "urgent", 4, "byte 2", "0 or 1"),
    (0, NOTHING + "00", "", 19, "1 byte after the message", "the end of the data"),
    (2, "8000", "topics", 0, "varint 0 in 2 bytes", "its shortest form"),
    (2, "8100", "topics", 0, "varint 1 in 2 bytes", "its shortest form"),
    (2, "ffffffffff", "topics", 0, "a varint of more than 5 bytes", "at most 5"),
    (2, "ffffffff0f", "topics", 0, "varint 4294967295", "at most 2147483647"),
    (2, "ffffffff08", "topics", 0, "varint 2415919103", "at most 2147483647"),
    (2, "ff", "topics", 1, "0 bytes left", "1 byte"),
    (2, "02 828002" + "78" * 32769, "topics[0].name", 1, "a string of 32769 bytes", "at most 32767"),
    (2, BODY + "00", "cursor", 24, "null marker 0", "-1 (null) or 1"),
    (2, BODY + "fe", "cursor", 24, "null marker -2", "-1 (null) or 1"),
    (2, "01" + TAIL + "02", "", 25, "2 tagged fields", "at most 0 in the 0 bytes left"),
    (2, "01" + TAIL + "01 00 05 02", "", 26, "tag 0 of 5 bytes", "at most 1 byte (all that is left)"),
    (2, "01" + TAIL + "02 07 00 07 00", "", 28, "tag 7 twice", "each tag once"),
    (2, "01" + TAIL + "02 07 00 00 01 00", "", 28, "tag 0 after tag 7", "ascending tags"),
    (2, "01" + TAIL + "01 00 03 02 61 62", "reason", 30, "1 byte after the value", STATED),
    (2, "01" + TAIL + "01 00 01 02 61", "reason", 29, "0 bytes left", "1 byte"),
    (2, "01" + TAIL + "01 01 03 01 ff", "", 26, "tag 1 of 3 bytes", "at most 2 bytes (all that is left)"),
    (2, "01" + TAIL + "01 01 02 01 ff", "rack", 30, "0 bytes left", "1 byte"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "hex_text", "path", "offset", "found", "expected"), FAULTS)
def test_strict_readers_report_the_position_of_an_error(
    version: int, hex_text: str, path: str, offset: int, found: str, expected: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        read(version, hex_text)
    error = caught.value
    assert (error.path, error.offset, error.found, error.expected) == (path, offset, found, expected)
    assert (error.message_name, error.version) == ("PollRequest", version)


LENIENT = [
    # Each case: bytes in version 2, and the decoded fields. None means that lenient readers and Kafka reject the bytes.
    ("8100" + TAIL + "00", {}),
    ("01 07" + TAIL[3:] + "00", {"urgent": True}),
    (BODY + "80 00", {}),
    (BODY + "05 02 61 01 00 00", {"cursor": Rack(label="a", row=1)}),
    ("01" + TAIL + "02 07 00 07 01 61", {"unknown_tags": {7: b"a"}}),
    ("01" + TAIL + "02 00 02 02 61 00 02 02 62", {"reason": "b"}),
    ("01" + TAIL + "01 00 63 02 61", {"reason": "a"}),
    ("01" + TAIL + "01 00 00 02 61", {"reason": "a"}),
    ("01" + TAIL + "ffffffff0f", {}),
    ("01" + TAIL + "01 00 03 03 c328", {"reason": "\ufffd("}),
    ("01" + TAIL + "00 aabb", {}),
    ("01" + TAIL + "02 05 01 61 ffffffff0f 01 61", {"unknown_tags": {5: b"a"}}),
    ("8080808008" + TAIL + "00", None),
    ("ffffffff0f" + TAIL + "00", {"topics": None}),
]


@pytest.mark.parametrize(("hex_text", "fields"), LENIENT)
def test_lenient_readers_accept_what_kafka_accepts(hex_text: str, fields: dict[str, Any] | None) -> None:
    with pytest.raises(DecodeError):
        read(2, hex_text)
    if fields is None:  # Kafka rejects these bytes, too
        with pytest.raises(DecodeError, match="2147483647 elements"):
            read(2, hex_text, strict=False)
        return
    message, reader = read(2, hex_text, strict=False)
    assert message == PollRequest(max_wait_ms=-1, quota=2**63 - 1).replace(**fields)
    assert not reader.canonical


def test_lengths_below_minus_one_are_null_to_lenient_readers() -> None:
    message, reader = read(1, "fffffffe" + "00" * 27, strict=False)
    assert message.topics is None and not reader.canonical
    with pytest.raises(DecodeError):
        read(0, "fffffffe" + "00" * 27, strict=False)


@pytest.mark.parametrize(
    ("section", "canonical"),
    [
        ("00", True),
        ("01 00 02 02 61", True),
        ("01 00 01 00", False),  # reason is null, its default; a writer would omit it
        ("01 01 03 01 ff 00", False),  # rack has its default; a writer would omit it
        ("01 01 03 01 00 00", True),
    ],
)
def test_a_default_that_was_written_is_not_canonical(section: str, canonical: bool) -> None:
    message, reader = read(2, "01" + TAIL + section)
    assert reader.canonical is canonical
    assert (message.encode(2) == bytes.fromhex("01" + TAIL + section)) is canonical


def nullable_tag(data: str, *, strict: bool = True) -> Any:
    inner = StructLayout("Inner", (Item("a", Fixed(WIRE_TYPES["int8"])),), section=TaggedSection())
    field = Item("inner", Nested(inner, "uvarint"), default=None, tag=0)
    layout = Layout("Outer", None, StructLayout("Outer", (), section=TaggedSection((field,))))
    value, _ = decode(layout, bytes.fromhex(data), whole=True, strict=strict, limits=DEFAULT_LIMITS)
    return value["inner"]


def test_two_alternatives_in_a_nested_struct() -> None:
    byte = Fixed(WIRE_TYPES["int8"])
    section = TaggedSection((Item("a", byte, tag=0), Item("b", byte, tag=1)), (Union("u", ("a", "b")),))
    inner = Item("inner", Nested(StructLayout("Inner", (), section=section)))
    layout = Layout("Outer", None, StructLayout("Outer", (inner,)))
    with pytest.raises(DecodeError, match=r"inner.*: found b and a, expected one alternative of the union u"):
        decode(layout, bytes.fromhex("02 00 01 05 01 01 06"), whole=True, strict=True, limits=DEFAULT_LIMITS)


def test_the_null_marker_of_a_tagged_struct_is_a_varint() -> None:
    assert nullable_tag("01 00 01 00") is None
    assert nullable_tag("01 00 03 01 07 00") == {"a": 7}
    with pytest.raises(DecodeError, match="found null marker 2, expected 0"):
        nullable_tag("01 00 03 02 07 00")
    assert nullable_tag("01 00 03 02 07 00", strict=False) == {"a": 7}
    assert nullable_tag("01 00 05 8080808008", strict=False) is None


@pytest.mark.parametrize(
    ("bits", "zigzag", "hex_text", "value"),
    [
        (32, True, "ffffffff0f", -(2**31)),
        (32, False, "ffffffff0f", 2**32 - 1),
        (64, True, "ffffffffffffffffff01", -(2**63)),
        (64, False, "ffffffffffffffffff01", 2**64 - 1),
        (32, False, "ffffffff1f", None),
        (64, False, "ffffffffffffffffff03", None),
        (32, False, "80808080808000", "a varint of more than 5 bytes, expected at most 5"),
        (64, False, "8080808080808080808000", "a varint of more than 10 bytes, expected at most 10"),
    ],
)
def test_varints_are_limited_to_their_bits(bits: int, zigzag: bool, hex_text: str, value: int | str | None) -> None:
    layout = Layout("v", None, StructLayout("v", (Item("x", Varint(bits, zigzag=zigzag)),)))
    data = bytes.fromhex(hex_text)
    if not isinstance(value, int):
        with pytest.raises(DecodeError, match=value or f"expected at most {bits} bits"):
            decode(layout, data, whole=True, strict=True, limits=DEFAULT_LIMITS)
    else:
        assert decode(layout, data, whole=True, strict=True, limits=DEFAULT_LIMITS)[0] == {"x": value}


def test_a_signalling_nan_keeps_its_bits() -> None:
    layout = Layout("f", None, StructLayout("f", (Item("x", Fixed(WIRE_TYPES["float64"])),)))
    data = bytes.fromhex("7ff0000000000001")
    value, _ = decode(layout, data, whole=True, strict=True, limits=DEFAULT_LIMITS)
    assert struct.pack(">d", value["x"]) == data


def check_decoding(version: int, data: bytes, *, strict: bool = True) -> None:
    """Decode any bytes. Check that an error has a position in the bytes, and that `canonical` is right."""
    reader = LayoutReader(layout_of(PollRequest, version), data, strict=strict)
    try:
        message = reader.message(whole=True)
    except DecodeError as error:
        assert 0 <= error.offset <= len(data)
    else:
        if strict:
            assert (message.encode(version) == data) == reader.canonical
        assert message.encoded_size(version) == len(message.encode(version))


@given(st.binary(max_size=80), st.integers(0, 3), st.booleans())
def test_random_bytes_raise_only_decode_errors_with_a_position(data: bytes, version: int, strict: bool) -> None:
    check_decoding(version, data, strict=strict)


@given(st.data())
def test_damaged_bytes(data: st.DataObject) -> None:
    damaged = bytearray.fromhex(FULL_V2)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    check_decoding(2, bytes(damaged))


def counted(array: Type, hex_text: str, **limits: int) -> tuple[Any, ...]:
    layout = Layout("A", None, StructLayout("A", (Item("x", array),)))
    value, _ = decode(layout, bytes.fromhex(hex_text), whole=True, strict=True, limits=Limits(**limits))
    return value["x"]  # type: ignore[no-any-return]


def test_the_largest_tag() -> None:
    assert read(2, "01" + TAIL + "01 ffffffff07 00")[0].unknown_tags == {2**31 - 1: b""}


@pytest.mark.parametrize(
    ("hex_text", "fault"),
    [
        ("8080808008", "byte 5: found 0 bytes left, expected 1073741824 bytes"),
        ("808080808000", "byte 0: found a varint of more than 5 bytes, expected at most 5"),
    ],
)
def test_a_zigzag_length_takes_five_bytes_at_most(hex_text: str, fault: str) -> None:
    text = Sized(WIRE_TYPES["string"], VARINT, nullable=False)
    layout = Layout("t", None, StructLayout("t", (Item("x", text),)))
    with pytest.raises(DecodeError) as caught:
        decode(layout, bytes.fromhex(hex_text), whole=True, strict=True, limits=DEFAULT_LIMITS)
    assert str(caught.value) == f"t: x at {fault}"


SHORTS = Array(Fixed(WIRE_TYPES["int16"]), INT32, nullable=False)


@pytest.mark.parametrize(
    ("hex_text", "limit", "found", "expected"),
    [
        ("00000000", 0, None, ""),
        ("00000002 0001 0002", 2, None, ""),
        ("00000003 0001 0002", 9, "3 elements", "at most 2 in the 4 bytes left"),
        ("00000001 01", 9, "1 element", "at most 0 in the 1 byte left"),
        ("00000002 0001 0002", 1, "2 elements", "at most 1 (Limits.elements)"),
        ("00000001 0001", 0, "1 element", "at most 0 (Limits.elements)"),
    ],
)
def test_a_count_fits_into_the_bytes_and_the_limit(hex_text: str, limit: int, found: str | None, expected: str) -> None:
    if found is None:
        assert counted(SHORTS, hex_text, elements=limit) == tuple(range(1, limit + 1))
        return
    with pytest.raises(DecodeError) as caught:
        counted(SHORTS, hex_text, elements=limit)
    assert (caught.value.path, caught.value.found, caught.value.expected) == ("x", found, expected)
    assert isinstance(caught.value, LimitError) == ("Limits" in expected)


@pytest.mark.parametrize(
    ("section", "tags"),
    [
        ("00", []),
        ("01 09 00", [9]),
        ("02 08 00 09 00", [8, 9]),
        ("02 09 00", "2 tagged fields, expected at most 1 in the 2 bytes left"),
        ("03 08 00 09 00", "3 tagged fields, expected at most 2 in the 4 bytes left"),
        ("01 09", "1 tagged field, expected at most 0 in the 1 byte left"),
    ],
)
def test_a_count_of_tagged_fields_fits_into_the_bytes(section: str, tags: list[int] | str) -> None:
    if isinstance(tags, list):
        assert list(read(2, "01" + TAIL + section)[0].unknown_tags) == tags
        return
    with pytest.raises(DecodeError) as caught:
        read(2, "01" + TAIL + section)
    assert str(caught.value) == f"PollRequest v2: byte 25: found {tags}"
