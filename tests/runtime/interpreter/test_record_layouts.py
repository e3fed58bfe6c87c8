"""Read hand-written layouts of record batches and messages with the layout interpreter.

They use features that specs don't have: lengths of structs, both kinds of varint, arrays without a count, and items
that depend on a bit of another item. A CRC is an ordinary number here.
"""

from pathlib import Path
from typing import Any

import pytest

from tagwire.errors import DecodeError, EncodeError
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode, encoded_size
from tagwire.layout import (
    INT32,
    VARINT,
    Array,
    Condition,
    Extent,
    Fixed,
    Item,
    Layout,
    LengthCode,
    Nested,
    OptionalBuffer,
    Sized,
    StructLayout,
    Type,
    Varint,
)
from tagwire.limits import DEFAULT_LIMITS
from tagwire.wire.types import WIRE_TYPES

DATA = Path(__file__).parents[2] / "data"

INT8, INT16, I32, UINT32, INT64 = (Fixed(WIRE_TYPES[name]) for name in ("int8", "int16", "int32", "uint32", "int64"))
VARINT32, VARLONG = Varint(32, zigzag=True), Varint(64, zigzag=True)
UVARINT32, UVARLONG = Varint(32, zigzag=False), Varint(64, zigzag=False)


def sized(name: str, length: LengthCode, *, nullable: bool = False) -> Sized:
    return Sized(WIRE_TYPES[name], length, nullable=nullable)


def items(**types: Type) -> tuple[Item, ...]:
    defaults = {"value": None, "key": None}
    return tuple(Item(name, type, default=defaults.get(name, 0)) for name, type in types.items())


HEADER = StructLayout("Header", items(key=sized("string", VARINT), value=sized("bytes", VARINT, nullable=True)))


def record(*, attributes: Condition | None) -> StructLayout:
    rest = items(
        timestamp_delta=VARLONG,
        offset_delta=VARINT32,
        key=sized("bytes", VARINT, nullable=True),
        value=sized("bytes", VARINT, nullable=True),
        headers=Array(Nested(HEADER), VARINT, nullable=False),
    )
    own = (Item("length", Extent(VARINT32)), Item("attributes", INT8, default=0, condition=attributes))
    return StructLayout("Record", (*own, *rest))


def batch(version: int, length: Fixed | Varint, attributes: Condition | None, **numbers: Type) -> Layout:
    """Return the layout of a batch. `numbers` gives the types of all other fields whose type depends on `version`."""
    body = items(
        length=Extent(length),
        partition_leader_epoch=I32,
        magic=INT8,
        crc=UINT32,
        attributes=INT16,
        **numbers,
        producer_id=INT64,
        producer_epoch=INT16,
        base_sequence=I32,
        records=Array(Nested(record(attributes=attributes)), INT32, nullable=False),
    )
    whole = items(base_offset=INT64, body=Nested(StructLayout("Body", body)))
    return Layout(f"batch v{version}", None, StructLayout("Batch", whole))


V2 = batch(2, I32, None, last_offset_delta=I32, base_timestamp=INT64, max_timestamp=INT64)
# If bit 7 of the batch's `attributes` is set, its records have no `attributes` field.
V3 = batch(
    3,
    UVARINT32,
    Condition("attributes", 0x80, 0),
    last_offset_delta=UVARINT32,
    base_timestamp=UVARLONG,
    max_timestamp_delta=UVARLONG,
)

RECORD: dict[str, Any] = {
    "timestamp_delta": 0,
    "offset_delta": 0,
    "key": b"k",
    "value": b"vv",
    "headers": ({"key": "h", "value": None},),
}

# A record without length and attributes: timestampDelta 00, offsetDelta 00, key 02 'k', value 04 'vv', header count 02,
# header key 02 'h', null value 01. Numbers are zig-zag varints.
BARE = "00 00 02 6b 04 76 76 02 02 68 01"
# The length as a zig-zag varint is 24 (hex 18) for 12 bytes with attributes, and 22 (hex 16) for 11 bytes without.
RECORD_V2 = "18 00" + BARE
RECORD_V3 = "16" + BARE


def body(**fields: Any) -> dict[str, Any]:
    common = {
        "partition_leader_epoch": 5,
        "crc": 0xDEADBEEF,
        "last_offset_delta": 0,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
    }
    return common | fields


# The fields after batchLength take 49 bytes, and the record takes 13. So batchLength is 62 (hex 3e).
V2_BYTES = f"""
    0000000000000008 0000003e 00000005 02 deadbeef 0000 00000000 000000000000012c 000000000000012c
    ffffffffffffffff ffff ffffffff 00000001 {RECORD_V2}
"""
V2_VALUE = {
    "base_offset": 8,
    "body": body(magic=2, attributes=0, base_timestamp=300, max_timestamp=300, records=({"attributes": 0, **RECORD},)),
}

# The fields after batchLength take 33 bytes, and the record takes 12. So batchLength is 45 (hex 2d).
# As a varint, the timestamp 300 is ac 02.
V3_BYTES = f"""
    0000000000000008 2d 00000005 03 deadbeef 0080 00 ac02 00
    ffffffffffffffff ffff ffffffff 00000001 {RECORD_V3}
"""
V3_VALUE = {
    "base_offset": 8,
    "body": body(
        magic=3, attributes=0x80, base_timestamp=300, max_timestamp_delta=0, records=({"attributes": 0, **RECORD},)
    ),
}

# A v3 batch without a timestamp, whose record has attributes. A missing timestamp (-1) takes 10 bytes as an unsigned
# 64-bit varint. So batchLength is 54 (hex 36).
V3_LONG_BYTES = f"""
    0000000000000008 36 00000005 03 deadbeef 0000 00 ffffffffffffffffff01 00
    ffffffffffffffff ffff ffffffff 00000001 {RECORD_V2}
"""
V3_LONG_VALUE = {
    "base_offset": 8,
    "body": body(
        magic=3, attributes=0, base_timestamp=2**64 - 1, max_timestamp_delta=0, records=({"attributes": 0, **RECORD},)
    ),
}

# KIP-82's proposal with int32 header keys: bit 4 of the attributes is set if the message has headers.
# The headers have a length in bytes, but no count.
INT_HEADER = StructLayout("Header", items(key=I32, value=sized("bytes", INT32)))
KIP82_HEADERS = items(length=Extent(I32), entries=Array(Nested(INT_HEADER), None, nullable=False))
KIP82_ITEMS = (
    *items(crc=UINT32, magic=INT8, attributes=INT8, timestamp=INT64, key=sized("bytes", INT32, nullable=True)),
    Item("headers", Nested(StructLayout("Headers", KIP82_HEADERS)), condition=Condition("attributes", 0x10, 0x10)),
    *items(value=sized("bytes", INT32, nullable=True)),
)
KIP82 = Layout("message kip82-int", None, StructLayout("Message", KIP82_ITEMS))
# The headers 1 -> "a" and 2 -> "" take 9 + 8 = 17 bytes (hex 11).
KIP82_BYTES = """
    deadbeef 02 10 000000000000012c 00000001 6b
    00000011 00000001 00000001 61 00000002 00000000
    ffffffff
"""
KIP82_VALUE = {
    "crc": 0xDEADBEEF,
    "magic": 2,
    "attributes": 0x10,
    "timestamp": 300,
    "key": b"k",
    "headers": {"entries": ({"key": 1, "value": b"a"}, {"key": 2, "value": b""})},
    "value": None,
}
KIP82_BARE_BYTES = "deadbeef 02 00 000000000000012c 00000001 6b ffffffff"
KIP82_BARE_VALUE = KIP82_VALUE | {"attributes": 0, "headers": None}

# The FooResponse example of KIP-482's first draft. Each struct begins with a buffer of optional fields.
SHORT = LengthCode("int16", "h", 2, null=-1)
BAR = Item("bar", sized("string", SHORT), default="", tag=1)
FOO = StructLayout("Foo", items(baz=INT16), section=OptionalBuffer((BAR,)))
USER_AGENT = Item("user_agent", sized("string", SHORT, nullable=True), default="", tag=1)
FOOS = Item("foos", Array(Nested(FOO), INT32, nullable=False), default=())
FOO_RESPONSE = Layout("FooResponse", 9, StructLayout("FooResponse", (FOOS,), section=OptionalBuffer((USER_AGENT,))))
# userAgent "ab" takes 4 bytes with its int16 length, and bar "x" takes 3. As zig-zag varints, 4 is 08 and 3 is 06.
FOO_BYTES = "08 0001 0002 6162 00 00000002 00 0007 06 0001 0001 78 00 ffff"
FOO_VALUE = {"user_agent": "ab", "foos": ({"bar": "", "baz": 7}, {"bar": "x", "baz": -1})}
FOO_NULL_BYTES = "04 0001 ffff 00 00000000"
FOO_NULL_VALUE = {"user_agent": None, "foos": ()}

CASES = [
    pytest.param(V2, V2_BYTES, V2_VALUE, id="v2"),
    pytest.param(V3, V3_BYTES, V3_VALUE, id="v3 without attributes"),
    pytest.param(V3, V3_LONG_BYTES, V3_LONG_VALUE, id="v3 with attributes"),
    pytest.param(KIP82, KIP82_BYTES, KIP82_VALUE, id="kip82-int with headers"),
    pytest.param(KIP82, KIP82_BARE_BYTES, KIP82_BARE_VALUE, id="kip82-int without headers"),
    pytest.param(FOO_RESPONSE, FOO_BYTES, FOO_VALUE, id="optional buffer"),
    pytest.param(FOO_RESPONSE, FOO_NULL_BYTES, FOO_NULL_VALUE, id="optional buffer, null"),
    pytest.param(FOO_RESPONSE, "00 00000000", {"user_agent": "", "foos": ()}, id="optional buffer, all default"),
]


def read(layout: Layout, data: bytes) -> Any:
    value, _ = decode(layout, data, whole=True, strict=True, limits=DEFAULT_LIMITS)
    return value


@pytest.mark.parametrize(("layout", "hex_text", "value"), CASES)
def test_round_trip(layout: Layout, hex_text: str, value: dict[str, Any]) -> None:
    data = bytes.fromhex(hex_text)
    assert encode(layout, value) == data
    assert encoded_size(layout, value) == len(data)
    assert read(layout, data) == value
    for cut in range(len(data)):
        with pytest.raises(DecodeError):
            read(layout, data[:cut])
    with pytest.raises(DecodeError, match="1 byte after the message"):
        read(layout, data + b"\x00")


def real_batch() -> bytes:
    lines = (DATA / "v2_batch.hex").read_text().splitlines()
    return bytes.fromhex("".join(line for line in lines if not line.startswith("#")))


def test_a_batch_of_a_real_broker() -> None:
    data = real_batch()
    value = read(V2, data)
    body = value["body"]
    assert (value["base_offset"], body["magic"], body["attributes"], body["crc"]) == (33, 2, 0x10, 2807211915)
    assert (body["producer_id"], body["producer_epoch"], body["base_sequence"]) == (80, 0, 12)
    assert body["max_timestamp"] == 1795226631607
    records = body["records"]
    assert [record["offset_delta"] for record in records] == [0, 1, 2, body["last_offset_delta"]]
    assert [record["key"] for record in records] == [None, b"", b"k19", b"k8"]
    assert records[3]["value"] is None
    expected = [("h", b"v0"), ("h", None), ("", b""), ("ü", b"xenotime")]
    assert [(header["key"], header["value"]) for header in records[0]["headers"]] == expected
    assert encode(V2, value) == data
    assert encoded_size(V2, value) == len(data)


def test_v3_saves_as_many_bytes_as_the_proposal_states() -> None:
    body = dict(read(V2, real_batch())["body"])
    body["max_timestamp_delta"] = body.pop("max_timestamp") - body["base_timestamp"]
    body["magic"], body["attributes"] = 3, body["attributes"] | 0x80
    body["records"] = [{k: v for k, v in record.items() if k != "attributes"} for record in body["records"]]
    data = encode(V3, {"base_offset": 33, "body": body})
    # v3 saves 2 (batchLength) + 3 (lastOffsetDelta) + 2 (baseTimestamp) + 7 (maxTimestamp) bytes, and 1 per record.
    assert len(real_batch()) - len(data) == 2 + 3 + 2 + 7 + 4
    assert read(V3, data)["body"]["max_timestamp_delta"] == body["max_timestamp_delta"]


def test_an_enclosing_length_has_to_fit() -> None:
    data = bytearray.fromhex(V2_BYTES)
    data[11] += 1
    with pytest.raises(DecodeError, match=r"found length 63, expected 0 to 62 bytes \(all that is left\)"):
        read(V2, bytes(data))
    data[11] -= 2
    with pytest.raises(DecodeError):
        read(V2, bytes(data))
    with pytest.raises(DecodeError, match="found 1 byte after the last field, expected the end of Body"):
        data[11] += 2
        read(V2, bytes(data) + b"\x00")


def test_value_of_an_absent_item_is_not_dropped_silently() -> None:
    value = {**V3_VALUE, "body": {**V3_VALUE["body"], "records": [{**RECORD, "attributes": 1}]}}  # type: ignore[dict-item]
    with pytest.raises(
        EncodeError, match="is 1, but must be 0, because the value of 'attributes' excludes this field"
    ) as caught:
        encode(V3, value)
    assert caught.value.path == "body.records[0].attributes"


def test_record_strings_may_be_longer_than_message_strings() -> None:
    header = Layout("header", None, HEADER)
    value = {"key": "x" * 40000, "value": b""}
    assert read(header, encode(header, value)) == value
