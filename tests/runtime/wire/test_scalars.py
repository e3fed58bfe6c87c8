from typing import Any

import pytest

from tagwire import wire
from tagwire.message.serializer import READ_ERRORS, WRITE_ERRORS
from tagwire.wire.arrays import fixed_array
from tagwire.wire.tagged_fields import OptionalFieldsBuffer, merged_fields, put_tags, read_tags, tag_header


@pytest.mark.parametrize(
    ("put", "value", "hex_text"),
    [
        (wire.put_compact_string, "x" * 127, "8001" + "78" * 127),
        (wire.put_binary, memoryview(b"\x01\x02"), "00000002 0102"),
        (wire.put_compact_count, (1,) * 128, "8101"),
        (wire.put_booleans, (True, False), "0100"),
        (wire.put_binaries, (b"a",), "0000000161"),
        (wire.put_compact_binaries, (b"a",), "0261"),
    ],
)
def test_writing(put: Any, value: Any, hex_text: str) -> None:
    out = bytearray()
    put(out, value)
    assert out == bytes.fromhex(hex_text)


@pytest.mark.parametrize(
    ("read", "count", "hex_text", "values"),
    [
        (wire.booleans, 2, "0100", (True, False)),
        (fixed_array("int16").read, 2, "0001ffff", (1, -1)),
        (fixed_array("int8").read, 200, "07" * 200, (7,) * 200),
    ],
)
def test_reading(read: Any, count: int, hex_text: str, values: tuple[Any, ...]) -> None:
    data = bytes.fromhex(hex_text)
    assert read(b"?" + data + b"?", 1, count) == (values, 1 + len(data))


def test_reading_binaries_slices_the_other_buffer() -> None:
    data = bytes.fromhex("00000001 61")
    (view,), end = wire.read_binaries(data, memoryview(data), 0, 1)
    assert isinstance(view, memoryview) and view == b"a" and end == 5
    (view,), end = wire.read_compact_binaries(data[3:], memoryview(data[3:]), 0, 1)
    assert isinstance(view, memoryview) and view == b"" and end == 1


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (wire.check_null_length, (-2,)),
        (wire.uvarint, (b"\x00", 0, 0x80)),
        (wire.uvarint, (b"\xff\xff\xff\xff", 0, 0xFF)),
        (wire.uvarint, (b"\xff\xff\xff\x08", 0, 0xFF)),
        (wire.string_length, (b"\x80\x02", 0, 0x82)),
        (wire.read_strings, (b"\xff\xff", 0, 1)),
        (wire.read_compact_strings, (b"\x00", 0, 1)),
        (wire.read_compact_strings, (b"\x82\x80\x02", 0, 1)),
        (wire.read_binaries, (b"\xff\xff\xff\xff", b"", 0, 1)),
        (wire.read_uuids, (b"\x00" * 15, 0, 1)),
        (wire.booleans, (b"\x01", 0, 2)),
        (fixed_array("int32").read, (b"\x00" * 7, 0, 2)),
        (fixed_array("int32").read, (b"", 0, 2**31 - 1)),
        (fixed_array("int32").read, (b"", 0, -1)),
        (tag_header, (b"\x01\x00", 0, 1)),
        (tag_header, (b"\x01\x02\x00", 0, -1)),
        (OptionalFieldsBuffer("zigzag", counts_tag=False).header, (b"\x03\x00\x01\x00", 0, -1)),
        (OptionalFieldsBuffer("unsigned", counts_tag=True).header, (b"\x02\x00\x01", 0, -1)),
    ],
)
def test_bad_bytes_are_rejected(call: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(READ_ERRORS):
        call(*arguments)


def test_a_boolean_byte_is_0_or_1() -> None:
    with pytest.raises(READ_ERRORS):
        wire.booleans(b"\x02", 0, 1)


@pytest.mark.parametrize(("call", "value"), [
    (wire.put_string, "x" * 32768), (wire.put_compact_string, "x" * 32768), (wire.put_compact_string, "\ud800"),
    (wire.put_string, b"x"), (wire.put_string, None), (wire.put_binary, [1, 2]), (wire.put_binary, "text"),
    (wire.put_binary, None), (wire.put_booleans, [2]), (wire.put_uuids, [b"0" * 16]),
    (fixed_array("int16").put, [32768]), (fixed_array("int16").put_compact, ["1"]),
])  # fmt: skip
def test_bad_values_are_rejected(call: Any, value: Any) -> None:
    with pytest.raises(WRITE_ERRORS):
        call(bytearray(), value)


def test_a_view_of_wide_items_counts_its_bytes() -> None:
    out = bytearray()
    wire.put_binary(out, memoryview(b"\x00" * 8).cast("i"))
    assert out == bytes.fromhex("00000008" + "00" * 8)


def test_tags_are_merged_in_order() -> None:
    out = bytearray()
    put_tags(out, [(1, b"b")], {0: b"a", 200: b""}, frozenset({1}))
    assert out == bytes.fromhex("03 00 01 61 01 01 62 c801 00")
    assert read_tags(bytes(out), 1, 3) == ({0: b"a", 1: b"b", 200: b""}, len(out))


@pytest.mark.parametrize("count", [127, 128, 129, 256])
def test_many_unknown_tags_are_read(count: int) -> None:
    unknown = {tag: bytes([tag % 7]) * (tag % 200) for tag in range(count)}
    out = bytearray()
    put_tags(out, [], unknown, frozenset())
    first = 1 if count < 128 else 2
    assert read_tags(bytes(out), 1, out[0]) == (unknown, len(out)) and out[first] == 0


@pytest.mark.parametrize("unknown", [{1: b""}, {-1: b""}, {8: b""}, {True: b""}, {"1": b""}])
def test_bad_unknown_tags_are_rejected(unknown: Any) -> None:
    with pytest.raises(WRITE_ERRORS):
        merged_fields([], unknown, frozenset({1}), 7)


@pytest.mark.parametrize(
    ("varint", "counts_tag", "hex_text"),
    [
        ("zigzag", False, "02 0007 61 00"),
        ("unsigned", False, "01 0007 61 00"),
        ("zigzag", True, "06 0007 61 00"),
        ("unsigned", True, "03 0007 61 00"),
    ],
)
def test_the_readings_of_the_draft(varint: str, counts_tag: bool, hex_text: str) -> None:
    form = OptionalFieldsBuffer(varint, counts_tag=counts_tag)
    out = bytearray()
    form.put(out, [(7, b"a")], {})
    assert out == bytes.fromhex(hex_text)
    assert form.header(bytes(out), 0, -1) == (7, 4, 3)
    assert form.header(bytes(out), 4, 7) == (-1, 5, 5)


def test_an_empty_value_would_end_the_buffer() -> None:
    with pytest.raises(WRITE_ERRORS):
        OptionalFieldsBuffer("zigzag", counts_tag=False).put(bytearray(), [], {5: b""})
