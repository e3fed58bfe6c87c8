"""Check golden bytes of the KIP-482 draft. They are computed by hand, because nobody has implemented the draft.

The draft puts a buffer of optional fields before each struct. Each entry has a length (a varint), a tag (two bytes) and
a value; a length of zero ends the buffer. The byte of a length n is 2n if varints are zig-zag, and n if unsigned.
Strings have int16 lengths; arrays and bytes have int32 lengths.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from build_package import build_package
from coded_ways import check_bytes

import tagwire
from tagwire_drafts import kip482, kip482_rpcs, kip482_unsigned
from tagwire_generator.message_classes import message_class
from tagwire_generator.model.message_spec import MessageSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import load
from tagwire_messages import registry

ROOT = Path(__file__).parents[1]

Json = dict[str, Any]

RESPONSE: Json = {"userAgent": "ab", "foos": [{"baz": 7}, {"bar": "x", "baz": -1}]}
PLAIN_RESPONSE: Json = {"foos": [{"baz": 7}, {"baz": -1}]}
RESPONSE_V0 = (
    "00000002"  # foos: count 2
    "0007"  # foos[0].baz: 7
    "ffff"  # foos[1].baz: -1
)
REQUEST: Json = {
    "userAgent": "me",
    "maxWaitMs": 1,
    "origin": {"host": "h", "hops": [3]},
    "traceId": "/w==",
    "filters": [{"bar": "y", "limit": 2, "lowestBaz": -2, "highestBaz": 3}, {"lowestBaz": 0, "highestBaz": 32767}],
    "newest": False,
}


def request_v9(length: Any) -> str:
    """Return the bytes of REQUEST as hex. `length` encodes the length of an optional field (zig-zag or unsigned)."""
    return (
        f"{length(4)} 0001 0002 6d65"  # user_agent, tag 1, 4 bytes: string length 2, "me"
        f"{length(4)} 0002 00000001"  # max_wait_ms, tag 2, 4 bytes: 1
        # origin, tag 256, 12 bytes: an empty buffer (00), host "h", hops with count 1 and element 3
        f"{length(12)} 0100 00 0001 68 00000001 00000003"
        f"{length(5)} 8000 00000001 ff"  # trace_id, tag 32768, 5 bytes: length 1, ff
        "00"  # length 0 ends the message's optional fields
        "00000002"  # filters: count 2
        f"{length(3)} 0001 0001 79"  # filters[0].bar, tag 1, 3 bytes: string length 1, "y"
        f"{length(4)} 0002 00000002"  # filters[0].limit, tag 2, 4 bytes: 2
        "00"
        "fffe 0003"  # lowest_baz: -2, highest_baz: 3
        "00"  # filters[1] has no optional fields
        "0000 7fff"
        "00"  # newest: false
    )


def zigzag(size: int) -> str:
    return f"{2 * size:02x}"


def unsigned(size: int) -> str:
    return f"{size:02x}"


PLAIN_FILTERS = [{"lowestBaz": -2}, {"lowestBaz": 0}]
FILTERS = [{"lowestBaz": -2, "highestBaz": 3}, {"lowestBaz": 0, "highestBaz": 32767}]
REQUEST_V0 = "00000002 fffe 0000"  # filters: count 2, then lowest_baz of each filter: -2, 0
REQUEST_V1 = "00000002 fffe 0003 0000 7fff"  # version 1 adds highest_baz to each filter: 3, 32767
REQUEST_V2 = REQUEST_V1 + "00"  # version 2 adds newest: false

HEADER: Json = {"requestApiKey": 9000, "requestApiVersion": 9, "correlationId": 7, "clientId": "me"}

GOLDEN = [
    *(("FooResponse", version, PLAIN_RESPONSE, RESPONSE_V0, RESPONSE_V0) for version in range(9)),
    (
        "FooResponse",
        9,
        RESPONSE,
        # The bytes are user_agent (length, tag 1, "ab"), an end byte 00, and foos (count 2). foos[0] has no optional
        # fields (00), and its baz is 7. foos[1] has bar (length, tag 1, "x"), an end byte 00, and baz -1.
        "08 0001 0002 6162 00 00000002 00 0007 06 0001 0001 78 00 ffff",
        "04 0001 0002 6162 00 00000002 00 0007 03 0001 0001 78 00 ffff",
    ),
    # A null user agent has the string length -1.
    ("FooResponse", 9, {"userAgent": None, "foos": []}, "04 0001 ffff 00 00000000", "02 0001 ffff 00 00000000"),
    ("FooResponse", 9, {"foos": []}, "00 00000000", "00 00000000"),
    ("FooRequest", 0, {"filters": PLAIN_FILTERS}, REQUEST_V0, REQUEST_V0),
    ("FooRequest", 1, {"filters": FILTERS}, REQUEST_V1, REQUEST_V1),
    *(("FooRequest", v, {"filters": FILTERS, "newest": False}, REQUEST_V2, REQUEST_V2) for v in range(2, 9)),
    ("FooRequest", 9, REQUEST, request_v9(zigzag), request_v9(unsigned)),
    ("FooRequest", 9, {"filters": [], "newest": True}, "00 00000000 01", "00 00000000 01"),
    # The header has API key 9000, version 9, correlation ID 7 and client ID "me". The draft does not change headers.
    ("RequestHeader", 1, HEADER, "2328 0009 00000007 0002 6d65", "2328 0009 00000007 0002 6d65"),
    ("ResponseHeader", 0, {"correlationId": 7}, "00000007", "00000007"),
]


@pytest.mark.parametrize(("name", "version", "value", "in_zigzag", "in_unsigned"), GOLDEN)
def test_golden_bytes(name: str, version: int, value: Json, in_zigzag: str, in_unsigned: str) -> None:
    for package, text in ((kip482, in_zigzag), (kip482_unsigned, in_unsigned)):
        cls, data = package.registry[name], bytes.fromhex(text)
        message = cls.from_json(value, version)
        check_bytes(message, version, data)
        assert message.to_json(version) == value


def test_every_version_has_golden_bytes() -> None:
    assert {(name, version) for name, version, *_ in GOLDEN} == {
        (name, version) for name in kip482.registry.names() for version in kip482.registry[name].VERSIONS
    }


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("tags descend", "08 0002 00000001 08 0001 0002 6162 00 00000000 01"),
        ("a tag twice", "08 0001 0002 6162 08 0001 0002 6162 00 00000000 01"),
        ("the length is past the value", "0a 0001 0002 6162 00 00 00000000 01"),
        ("the length is short of the value", "06 0001 0002 6162 00 00000000 01"),
        ("the length is negative", "07 0001 0002 6162 00 00000000 01"),
        ("the length is past the input", "7e 0001 0002 6162 00 00000000 01"),
        ("no terminator", "08 0001 0002 6162"),
        ("a longer varint than need be", "8800 0001 0002 6162 00 00000000 01"),
    ],
)
def test_rejected(why: str, text: str) -> None:
    with pytest.raises(tagwire.DecodeError) as rejected:
        kip482.FooRequest.decode(bytes.fromhex(text), 9)
    assert isinstance(rejected.value.offset, int), why


def test_unknown_tags_are_kept_between_known_ones() -> None:
    data = bytes.fromhex("08 0001 0002 6162 02 0007 ee 0a 8000 00000001 ff 00 00000000 01")
    message = kip482.FooRequest.decode(data, 9)
    assert message.unknown_tags == {7: b"\xee"}
    assert message.encode(9) == data


def test_optional_values_in_a_version_without_optional_fields() -> None:
    dropped = kip482.FooRequest(user_agent="me", trace_id=b"\xff")
    assert dropped.encode(2) == bytes.fromhex("00000000 01"), "both are ignorable"
    with pytest.raises(tagwire.EncodeError, match="max_wait_ms"):
        kip482.FooRequest(max_wait_ms=1).encode(2)


def test_lengths_that_include_the_tag(tmp_path: Any) -> None:
    spec: Json = {"type": "data", "name": "Counted", "validVersions": "0", "versionsWithOptional": "0+", "fields": []}
    spec |= {"optionalFields": [{"name": "Agent", "type": "string", "tag": 1}]}
    package = build_package(tmp_path, "counted_messages", [spec], SpecOptions(length_counts_tag=True))
    data = bytes.fromhex("0c 0001 0002 6162 00")  # 2 (tag) + 4 (value) = 6, zig-zag 0c
    assert package.registry["Counted"](agent="ab").encode(0) == data
    assert package.registry["Counted"].decode(data, 0).agent == "ab"


def test_authorized_operations_as_optional_fields_on_captured_responses(tmp_path: Path) -> None:
    """Check how many bytes responses would save if authorized operations were optional fields."""
    spec = json.loads((ROOT / "message_specs/drafts/kip482_rpcs/clients/MetadataResponse.json").read_text())
    for struct in (spec, next(field for field in spec["fields"] if field["name"] == "Topics")):
        *struct["fields"], operations = struct["fields"]
        struct["optionalFields"] = [{k: v for k, v in operations.items() if k != "versions"} | {"tag": 0}]
    (tmp_path / "MetadataResponse.json").write_text(json.dumps(spec))
    loaded = load(tmp_path / "MetadataResponse.json")
    assert isinstance(loaded, MessageSpec)
    before, after = kip482_rpcs.registry["MetadataResponse"], message_class(loaded)
    sizes = []
    for line in gzip.decompress((ROOT / "tests/data/captures/captures.jsonl.gz").read_bytes()).splitlines():
        frame = json.loads(line)
        if (frame["api_key"], frame["dir"]) != (3, "resp") or frame["api_version"] < 8:
            continue
        message = registry.decode_response(bytes.fromhex(frame["hex"]), 3, frame["api_version"]).message
        known: Json = message.to_json(frame["api_version"])
        known |= {"clusterAuthorizedOperations": message.cluster_authorized_operations}
        known.pop("errorCode", None)
        for topic in known["topics"]:
            topic |= {"name": topic["name"] or ""}
            topic.pop("topicId", None)
        sizes.append((len(before.from_json(known, 9).encode(9)), len(after.from_json(known, 9).encode(9))))
    assert (len(sizes), sum(was - now > 0 for was, now in sizes)) == (139, 128)
    assert [sum(size) for size in zip(*sizes, strict=True)] == [146415, 142158]
