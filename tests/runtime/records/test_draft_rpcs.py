"""Test the Produce and Fetch messages of KIP-82's draft (with int32 header keys) and KIP-87's draft.

Versions 0 to 2 are as in Kafka. Version 3 has records in the draft's format. No broker ever supported version 3, so its
golden bytes were computed by hand.
"""

from types import ModuleType
from typing import Any

import pytest

import tagwire_messages as messages
from tagwire.layout import Array, Nested, StructLayout
from tagwire.message.field_table import layout_of
from tagwire.records import Record, build, decode_records
from tagwire_drafts import kip82_int, kip87

NAMES = ("ProduceRequest", "ProduceResponse", "FetchRequest", "FetchResponse")
DRAFTS = [pytest.param(kip82_int, "kip82-int", id="kip82-int"), pytest.param(kip87, "kip87", id="kip87")]


def wire(struct: StructLayout) -> list[Any]:
    found: list[Any] = []
    for item in struct.items:
        kind = item.type.element if isinstance(item.type, Array) else item.type
        found.append((item.name, str(item.type), wire(kind.struct) if isinstance(kind, Nested) else None))
    return found


@pytest.mark.parametrize(("draft", "format"), DRAFTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_layouts_are_those_of_the_released_versions(name: str, draft: ModuleType, format: str) -> None:
    cls, released = draft.registry[name], messages.registry[name]
    assert str(cls.VERSIONS) == "0-3"
    for version in cls.VERSIONS:
        assert wire(layout_of(cls, version).root) == wire(layout_of(released, min(version, 2)).root)
        assert cls.header_version(version) == (1 if name.endswith("Request") else 0)


# A message in each format. Its fields are offset (8), size (46 or 25 bytes), CRC, magic byte (2), attributes, timestamp
# (300), key ("k"), headers (only in kip82-int: {1: "a", 2: ""}), and value ("vv"). Attribute bit 4 marks headers, bit 5
# a tombstone.
KIP82_INT = (
    "0000000000000008 0000002e be0f1663 02 10 000000000000012c 00000001 6b"
    "00000011 00000001 00000001 61 00000002 00000000 00000002 7676"
)
KIP87 = "0000000000000008 00000019 f90d1d97 02 20 000000000000012c 00000001 6b 00000002 7676"
RECORDS = {
    "kip82-int": (KIP82_INT, Record(8, 300, b"k", b"vv", ((1, b"a"), (2, b"")))),
    "kip87": (KIP87, Record(8, 300, b"k", b"vv", tombstone=True)),
}


def with_size(format: str) -> str:
    """Return the golden records in hex, after their int32 size, which is 58 or 37 bytes, depending on the format."""
    return f"{'0000003a' if format == 'kip82-int' else '00000025'} {RECORDS[format][0]}"


@pytest.mark.parametrize(("draft", "format"), DRAFTS)
def test_golden_produce_request_v3(draft: ModuleType, format: str) -> None:
    data = bytes.fromhex(
        "0000 0003 00000007 0001 63"  # API key 0, version 3, correlation ID 7, client ID "c"
        "ffff 000003e8"  # acks -1, timeout 1000 ms
        "00000001 0001 74"  # 1 topic: "t"
        "00000001 00000000" + with_size(format)  # one partition: index 0, and its records
    )
    frame = draft.registry.decode_request(data)
    assert (frame.version, frame.message.acks, frame.message.timeout_ms) == (3, -1, 1000)
    [field] = decode_records(frame.message, frame.version)
    assert field.format == format
    assert [list(batch) for batch in field] == [[RECORDS[format][1]]]
    assert build([RECORDS[format][1]], format).encode() == bytes(field.data)
    assert draft.registry.encode_request(frame.message, 3, header=frame.header) == data


@pytest.mark.parametrize(("draft", "format"), DRAFTS)
def test_golden_fetch_response_v3(draft: ModuleType, format: str) -> None:
    data = bytes.fromhex(
        "00000007"  # correlation ID 7
        "00000005"  # throttled for 5 ms
        "00000001 0001 74"  # 1 topic: "t"
        "00000002"  # 2 partitions
        "00000000 0000 0000000000000009"  # partition 0, no error, high watermark 9
        + with_size(format)
        + "00000001 0003 ffffffffffffffff ffffffff"  # partition 1, error 3, high watermark -1, records null
    )
    frame = draft.registry.decode_response(data, 1, 3)
    assert frame.message.throttle_time_ms == 5
    [topic] = frame.message.responses
    assert [(part.error_code, part.high_watermark) for part in topic.partitions] == [(0, 9), (3, -1)]
    [field] = decode_records(frame.message, 3)
    assert [list(batch) for batch in field] == [[RECORDS[format][1]]]
    assert draft.registry.encode_response(frame.message, 3, correlation_id=7) == data


APPENDED = {"index": 0, "errorCode": 3, "baseOffset": 8, "logAppendTimeMs": -1}
FETCHED = {"partition": 0, "fetchOffset": 8, "partitionMaxBytes": 1048576}
GOLDEN = [
    (
        "ProduceResponse",
        "00000001 0001 74"  # 1 topic: "t"
        "00000001 00000000 0003"  # 1 partition: index 0, error 3
        " 0000000000000008 ffffffffffffffff"  # offset 8, no append time
        "00000005",  # throttled for 5 ms
        {"responses": [{"name": "t", "partitionResponses": [APPENDED]}], "throttleTimeMs": 5},
    ),
    (
        "FetchRequest",
        "ffffffff 000001f4 00000001"  # replica ID -1 (a consumer), max wait 500 ms, min bytes 1
        "00000001 0001 74"  # 1 topic: "t"
        "00000001 00000000 0000000000000008 00100000",  # one partition: index 0, from offset 8, at most 1 MiB
        {"replicaId": -1, "maxWaitMs": 500, "minBytes": 1, "topics": [{"topic": "t", "partitions": [FETCHED]}]},
    ),
]


@pytest.mark.parametrize(("draft", "format"), DRAFTS)
@pytest.mark.parametrize(("name", "text", "value"), GOLDEN, ids=[name for name, *_ in GOLDEN])
def test_golden_bytes_of_the_others_in_v3(
    name: str, text: str, value: dict[str, Any], draft: ModuleType, format: str
) -> None:
    cls, data = draft.registry[name], bytes.fromhex(text)
    assert cls.decode(data, 3).to_json(3) == value
    assert cls.from_json(value, 3).encode(3) == data
