"""Read and write golden bytes of every record format, computed by hand.

Each case lists its bytes field by field, with the checksum as a number. A test computes the checksums again, bit by
bit, without tagwire's libraries. docs/spec-language.md defines the keys of the specs.
"""

from typing import Any

import pytest

from tagwire.errors import DecodeError
from tagwire.explain.trace import trace
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode, encoded_size
from tagwire.layout import Layout
from tagwire.limits import DEFAULT_LIMITS
from tagwire.records import format_names, format_of, read_batches

NO_PRODUCER = {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1}
NO_PID = {"pid": -1, "epoch": -1, "first_sequence": -1}

# Without length and attributes, a record of magic 2 or 3 takes 11 bytes: timestampDelta 00, offsetDelta 00, key 02 6b,
# value 04 7676, header count 02, header key 02 68, null value 01. All numbers are zig-zag varints.
RECORD = {
    "attributes": 0,
    "timestamp_delta": 0,
    "offset_delta": 0,
    "key": b"k",
    "value": b"vv",
    "headers": ({"key": "h", "value": None},),
}


def message(magic: int, attributes: int = 0, **fields: Any) -> dict[str, Any]:
    return {"offset": 8, "magic": magic, "attributes": attributes, "key": b"k", "value": b"vv"} | fields


def batch(magic: int, **fields: Any) -> dict[str, Any]:
    common = {"base_offset": 8, "partition_leader_epoch": 5, "magic": magic, "attributes": 0, "last_offset_delta": 0}
    return common | NO_PRODUCER | fields


INT_HEADERS = ({"key": 1, "value": b"a"}, {"key": 2, "value": b""})

CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    # The message size is 17 bytes (hex 11): CRC 4, magic 1, attributes 1, key 4 + 1 (length and data), value 4 + 2.
    ("v0", "key and value", "0000000000000008 00000011 @89e88014 00 00 00000001 6b 00000002 7676", message(0)),
    # The message size is 14 bytes (hex 0e): CRC 4, magic 1, attributes 1, null key 4, null value 4.
    ("v0", "nulls", "0000000000000008 0000000e @a7ec6803 00 00 ffffffff ffffffff", message(0, key=None, value=None)),
    # The message size is 25 bytes (hex 19): 17 as in v0, and 8 for the timestamp. The timestamp 300 is hex 012c.
    (
        "v1",
        "key and value",
        "0000000000000008 00000019 @98efcf7f 01 00 000000000000012c 00000001 6b 00000002 7676",
        message(1, timestamp=300),
    ),
    (
        "v1",
        "append time, empty key, null value",
        "0000000000000008 00000016 @278c9beb 01 08 ffffffffffffffff 00000000 ffffffff",
        message(1, 8, timestamp=-1, key=b"", value=None),
    ),
    (
        "kip82-int",
        "no headers: v1 but for magic and crc",
        "0000000000000008 00000019 @e3f14d9c 02 00 000000000000012c 00000001 6b 00000002 7676",
        message(2, timestamp=300, headers=()),
    ),
    # The message size is 46 bytes (hex 2e): 25 without headers, 4 for the headers' length, and 9 + 8 for the headers.
    (
        "kip82-int",
        "headers",
        """0000000000000008 0000002e @be0f1663 02 10 000000000000012c 00000001 6b
        00000011 00000001 00000001 61 00000002 00000000 00000002 7676""",
        message(2, 0x10, timestamp=300, headers=INT_HEADERS),
    ),
    # Keys are unsigned, up to 0xffffffff. Two headers of 8 bytes each take 16 bytes (hex 10).
    (
        "kip82-int",
        "key order",
        """0000000000000008 0000002d @5a5062d8 02 10 000000000000012c 00000001 6b
        00000010 00000001 00000000 ffffffff 00000000 00000002 7676""",
        message(2, 0x10, timestamp=300, headers=({"key": 1, "value": b""}, {"key": -1, "value": b""})),
    ),
    (
        "kip82-int-signed",
        "key order",
        """0000000000000008 0000002d @35aef567 02 10 000000000000012c 00000001 6b
        00000010 ffffffff 00000000 00000001 00000000 00000002 7676""",
        message(2, 0x10, timestamp=300, headers=({"key": -1, "value": b""}, {"key": 1, "value": b""})),
    ),
    (
        "kip87",
        "tombstone with a payload",
        "0000000000000008 00000019 @f90d1d97 02 20 000000000000012c 00000001 6b 00000002 7676",
        message(2, 0x20, timestamp=300),
    ),
    (
        "kip87",
        "no tombstone",
        "0000000000000008 00000019 @e3f14d9c 02 00 000000000000012c 00000001 6b 00000002 7676",
        message(2, timestamp=300),
    ),
    (
        "kip82-int+kip87",
        "both bits",
        """0000000000000008 0000002e @0bed6653 02 30 000000000000012c 00000001 6b
        00000011 00000001 00000001 61 00000002 00000000 00000002 7676""",
        message(2, 0x30, timestamp=300, headers=INT_HEADERS),
    ),
    # The batch size is 54 bytes (hex 36): 41 for the batch header, 1 for the message's length, and 12 (hex 0c) for the
    # message (attributes 1, deltas 2, key 2, value 3, header 4).
    (
        "kip82-str",
        "a header",
        """0000000000000008 00000036 @165259f6 02 0000 00000000 000000000000012c 000000000000012c
        ffffffffffffffff ffff ffffffff  0c 00 00 00 01 6b 02 7676  03 01 68 76""",
        {
            "first_offset": 8,
            "magic": 2,
            "attributes": 0,
            "last_offset_delta": 0,
            "first_timestamp": 300,
            "max_timestamp": 300,
            **NO_PID,
            "messages": (RECORD | {"headers": ({"key": "h", "value": b"v"},)},),
        },
    ),
    # Attribute bit 0 marks a null key, bit 1 a null value.
    (
        "kip82-str",
        "nulls",
        """0000000000000008 00000032 @a68a59d6 02 0000 00000001 000000000000012c 000000000000012c
        ffffffffffffffff ffff ffffffff  03 03 00 00  04 02 01 01 00""",
        {
            "first_offset": 8,
            "magic": 2,
            "attributes": 0,
            "last_offset_delta": 1,
            "first_timestamp": 300,
            "max_timestamp": 300,
            **NO_PID,
            "messages": (
                RECORD | {"attributes": 3, "key": None, "value": None, "headers": ()},
                RECORD
                | {"attributes": 2, "timestamp_delta": -1, "offset_delta": 1, "key": b"", "value": None, "headers": ()},
            ),
        },
    ),
    # batchLength is 62 (hex 3e): 49 bytes of header fields, 1 byte for the record's length (12, zig-zag: hex 18), and
    # the 12 bytes of the record.
    (
        "v2",
        "a record",
        """0000000000000008 0000003e 00000005 02 @e7f7d3c5 0000 00000000 000000000000012c 000000000000012c
        ffffffffffffffff ffff ffffffff 00000001  18 00 00 00 02 6b 04 7676 02 02 68 01""",
        batch(2, base_timestamp=300, max_timestamp=300, records=(RECORD,)),
    ),
    # A batch from which compaction has removed all records: 61 bytes.
    (
        "v2",
        "empty",
        """0000000000000008 00000031 00000005 02 @db47edc5 0000 00000003 ffffffffffffffff 000000000000012c
        ffffffffffffffff ffff ffffffff 00000000""",
        batch(2, last_offset_delta=3, base_timestamp=-1, max_timestamp=300, records=()),
    ),
    # batchLength is 45 (hex 2d): 33 bytes of header fields (the timestamp 300 is ac 02), 1 byte for the record's
    # length (11, zig-zag: hex 16), and the 11 bytes of the record. The record has no attributes, because bit 7 of the
    # batch's attributes is set.
    (
        "v3",
        "a record",
        """0000000000000008 2d 00000005 03 @6ac7bda9 0080 00 ac02 00
        ffffffffffffffff ffff ffffffff 00000001  16 00 00 02 6b 04 7676 02 02 68 01""",
        batch(3, attributes=0x80, base_timestamp=300, max_timestamp_delta=0, records=(RECORD,)),
    ),
    # The same batch with zig-zag varints: 45 is 5a, and 300 is d8 04.
    (
        "v3-zigzag",
        "a record",
        """0000000000000008 5a 00000005 03 @91404116 0080 00 d804 00
        ffffffffffffffff ffff ffffffff 00000001  16 00 00 02 6b 04 7676 02 02 68 01""",
        batch(3, attributes=0x80, base_timestamp=300, max_timestamp_delta=0, records=(RECORD,)),
    ),
    # batchLength is 54 (hex 36): 41 bytes of header fields (the missing timestamp, -1, takes 10), 1 byte for the
    # record's length (12, zig-zag: hex 18), and the 12 bytes of the record.
    (
        "v3",
        "attributes, no timestamp",
        """0000000000000008 36 00000005 03 @8629dc00 0000 00 ffffffffffffffffff01 00
        ffffffffffffffff ffff ffffffff 00000001  18 05 00 00 02 6b 04 7676 02 02 68 01""",
        batch(3, base_timestamp=-1, max_timestamp_delta=0, records=(RECORD | {"attributes": 5},)),
    ),
    # batchLength is 45 (zig-zag: hex 5a): 32 bytes of header fields (the missing timestamp, -1, takes 1), and 13
    # bytes for the record and its length, as above.
    (
        "v3-zigzag",
        "attributes, no timestamp",
        """0000000000000008 5a 00000005 03 @5526f328 0000 00 01 00
        ffffffffffffffff ffff ffffffff 00000001  18 05 00 00 02 6b 04 7676 02 02 68 01""",
        batch(3, base_timestamp=-1, max_timestamp_delta=0, records=(RECORD | {"attributes": 5},)),
    ),
]

IDS = [f"{name}: {what}" for name, what, _, _ in CASES]
POLYNOMIALS = {"v2": 0x82F63B78, "v3": 0x82F63B78, "v3-zigzag": 0x82F63B78}
CRC32 = 0xEDB88320


def crc(data: bytes, polynomial: int) -> int:
    """Return a reflected 32-bit CRC, computed bit by bit."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (polynomial if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def golden(text: str) -> bytes:
    return bytes.fromhex(text.replace("@", ""))


def layout_of(name: str) -> Layout:
    format = format_of(name)
    return Layout(name, None, format.root)


def read(name: str, data: bytes) -> Any:
    value, _ = decode(layout_of(name), data, whole=True, strict=True, limits=DEFAULT_LIMITS)
    return value


@pytest.mark.parametrize(("name", "what", "text", "value"), CASES, ids=IDS)
def test_the_checksum(name: str, what: str, text: str, value: Any) -> None:
    before, _, after = text.partition("@")
    stated, covered = after.split(None, 1)
    assert stated == f"{crc(bytes.fromhex(covered), POLYNOMIALS.get(name, CRC32)):08x}", before


@pytest.mark.parametrize(("name", "what", "text", "value"), CASES, ids=IDS)
def test_both_ways(name: str, what: str, text: str, value: dict[str, Any]) -> None:
    data = golden(text)
    assert encode(layout_of(name), value) == data
    assert encoded_size(layout_of(name), value) == len(data)
    found = read(name, data)
    del found["crc"]
    assert found == ({"headers": ()} if "headers" in found else {}) | value


@pytest.mark.parametrize(("name", "what", "text", "value"), CASES, ids=IDS)
def test_truncated_and_extended_bytes_are_rejected(name: str, what: str, text: str, value: Any) -> None:
    data = golden(text)
    for cut in range(len(data)):
        with pytest.raises(DecodeError):
            read(name, data[:cut])
        with pytest.raises(DecodeError):
            [list(batch) for batch in read_batches(data[:cut] or b"\0", name)]
    with pytest.raises(DecodeError):
        read(name, data + b"\x00")
    with pytest.raises(DecodeError):
        list(read_batches(data + b"\x00", name))


@pytest.mark.parametrize(("name", "what", "text", "value"), CASES, ids=IDS)
def test_changed_bytes_break_the_checksum_that_covers_them(name: str, what: str, text: str, value: Any) -> None:
    data = golden(text)
    covered = len(golden(text.partition("@")[0])) + 4
    for at in range(covered, len(data)):
        with pytest.raises(DecodeError):
            read(name, data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :])


@pytest.mark.parametrize(("name", "what", "text", "value"), CASES, ids=IDS)
def test_a_trace_has_every_byte(name: str, what: str, text: str, value: Any) -> None:
    data = golden(text)
    seen = trace(layout_of(name), data)
    assert seen.error is None and seen.canonical
    assert sum(node.header_length + node.trailer_length for node in seen.root.walk()) == len(data)


@pytest.mark.parametrize(("name", "what", "text", "value"), CASES, ids=IDS)
def test_batches_give_the_same_bytes(name: str, what: str, text: str, value: Any) -> None:
    data = golden(text)
    first, second = read_batches(data + data, name)
    assert first.encode() == second.encode() == data
    assert [record.offset for record in first] == [8 + index for index in range(len(first))]
    assert first.replace(base_offset=100).replace(base_offset=8).encode() == data


def test_every_format_has_golden_bytes() -> None:
    assert {name for name, _, _, _ in CASES} == set(format_names())


def case(name: str, what: str) -> bytes:
    return next(golden(text) for one, other, text, _ in CASES if (one, other) == (name, what))


@pytest.mark.parametrize(
    ("what", "one", "other"), [("key order", "kip82-int", "kip82-int-signed"), ("a record", "v3", "v3-zigzag")]
)
def test_readings_of_an_ambiguity_have_distinct_bytes(what: str, one: str, other: str) -> None:
    assert case(one, what) != case(other, what)
    with pytest.raises(DecodeError):
        list(read_batches(case(one, what), other))
    with pytest.raises(DecodeError):
        list(read_batches(case(other, what), one))
