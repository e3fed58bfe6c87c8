"""Test the independent encoder against bytes written by Kafka, because other tests rely on it."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from independent_encoder import bare_value, encode, full_value
from kafka_cases import FOLDER, label, rows

TESTS = Path(__file__).parent
MESSAGE_SPECS = TESTS.parent / "message_specs"


def load(files: Iterator[Path]) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text()) for path in files}


KAFKA = load((MESSAGE_SPECS / "kafka").rglob("*.json"))
TEST_SPECS = load((FOLDER / "test_specs").glob("*.json"))


def draft(name: str) -> dict[str, Any]:
    lines = (MESSAGE_SPECS / "drafts" / "kip482" / f"{name}.json").read_text().splitlines()
    spec: dict[str, Any] = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    return spec


def version_range(versions: str) -> range:
    low, _, high = versions.partition("-")
    return range(int(low), int(high or low) + 1)


def versions_of(spec: dict[str, Any]) -> range:
    return range(0) if spec["validVersions"] == "none" else version_range(spec["validVersions"])


def disagreements(
    vectors: Iterator[tuple[dict[str, Any], dict[str, Any]]], specs: dict[str, Any]
) -> tuple[int, list[str]]:
    """Return the number of vectors, and the labels of the vectors that the encoder encodes differently."""
    found = [
        (label(row), encode(specs[row["message"]], row["version"], value).hex() == row["hex"]) for row, value in vectors
    ]
    return len(found), [name for name, is_equal in found if not is_equal]


def test_it_writes_random_values_as_kafka_does() -> None:
    assert disagreements(((row, row["json"]) for row in rows("rand")), KAFKA) == (2936, [])


def test_it_writes_unknown_tags_as_kafka_does() -> None:
    def with_tags(row: dict[str, Any]) -> dict[str, Any]:
        value: dict[str, Any] = row["json"]
        for entry in row["unknown"]:
            holder = value
            for step in entry["path"]:
                holder = holder[step]
            holder["_unknownTags"] = {
                str(tag): base64.b64encode(bytes.fromhex(data)).decode() for tag, data in entry["tags"]
            }
        return value

    assert disagreements(((row, with_tags(row)) for row in rows("unk")), KAFKA) == (375, [])


def has_records(fields: list[dict[str, Any]]) -> bool:
    return any(field["type"] == "records" or has_records(field.get("fields", [])) for field in fields)


def test_encoder_agrees_with_kafka_on_removed_versions() -> None:
    """Messages with record batches are left out, because Kafka's JSON doesn't contain the bytes of the batches."""
    vectors = (
        (row, row["json_out"])
        for row in rows("golden_vectors")
        if row["message"] in KAFKA
        and row["version"] in versions_of(KAFKA[row["message"]])
        and not has_records(KAFKA[row["message"]]["fields"])
    )
    assert disagreements(vectors, KAFKA) == (1418, [])


def test_it_writes_the_test_messages_as_kafka_does() -> None:
    """Check Kafka's own test messages. They have nullable structs, floats, zero-copy bytes and hexadecimal defaults."""
    vectors = ((row, row["json_out"]) for row in rows("test_messages") if row["message"] != "SimpleRecordsMessage")
    assert disagreements(vectors, TEST_SPECS) == (18, [])


# The draft's FooResponse, computed by hand. A buffer entry is a length, tag and value; a length of 0 ends the buffer.
USER_AGENT = {"userAgent": "ab", "foos": [{"baz": 7}, {"bar": "x", "baz": -1}]}
DRAFT_VECTORS = [
    pytest.param(
        9, "zigzag", USER_AGENT, "08 0001 0002 6162 00  00000002  00 0007  06 0001 0001 78 00 ffff", id="zigzag"
    ),
    pytest.param(
        9, "unsigned", USER_AGENT, "04 0001 0002 6162 00  00000002  00 0007  03 0001 0001 78 00 ffff", id="unsigned"
    ),
    pytest.param(9, "zigzag", {"userAgent": None}, "04 0001 ffff 00  00000000", id="null is not absent"),
    pytest.param(9, "zigzag", {}, "00  00000000", id="nothing set"),
    pytest.param(8, "zigzag", {"foos": [{"baz": 7}]}, "00000001  0007", id="before the optional fields"),
    pytest.param(
        9,
        "zigzag",
        {"userAgent": "ab", "_unknownTags": {"0": "/w==", "2": "AQI="}},
        "02 0000 ff  08 0001 0002 6162  04 0002 0102  00  00000000",
        id="unknown tags lie around known ones",
    ),
]


@pytest.mark.parametrize(("version", "length_varint", "value", "expected"), DRAFT_VECTORS)
def test_it_writes_the_draft_dialect(version: int, length_varint: str, value: dict[str, Any], expected: str) -> None:
    data = encode(draft("FooResponse"), version, value, length_varint=length_varint)
    assert data == bytes.fromhex(expected)


def test_value_missing_from_the_version_is_rejected() -> None:
    with pytest.raises(AssertionError, match="has no tags"):
        encode(draft("FooResponse"), 8, {"userAgent": "ab"})
    with pytest.raises(AssertionError, match="userAgent"):
        encode(KAFKA["RequestHeader"], 1, {"userAgent": "ab"})


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for member in value.values():
            yield from leaves(member)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif not isinstance(value, bool):
        yield value


@pytest.mark.parametrize("name", ["SubscriptionInfoData", "FetchResponse", "MetadataResponse", "RequestHeader"])
def test_a_full_value_has_no_two_leaves_alike(name: str) -> None:
    for version in versions_of(KAFKA[name]):
        value = full_value(KAFKA[name], version)
        assert len(set(leaves(value))) == len(list(leaves(value))) > 0
        assert value == full_value(KAFKA[name], version)


def test_a_full_value_of_the_draft_sets_the_optional_fields() -> None:
    value = full_value(draft("FooRequest"), 9)
    assert value.keys() == {"userAgent", "maxWaitMs", "origin", "traceId", "filters", "newest"}
    assert value["filters"][0].keys() == {"bar", "limit", "lowestBaz", "highestBaz"}
    assert value["newest"] is False
    assert full_value(draft("FooRequest"), 1).keys() == {"filters"}


def test_every_version_of_every_message_has_full_bytes() -> None:
    pairs = [(spec, version) for spec in KAFKA.values() for version in versions_of(spec)]
    assert len(pairs) == 878
    for spec, version in pairs:
        value = full_value(spec, version)
        assert (encode(spec, version, value) != encode(spec, version, {})) == bool(value), (spec["name"], version)


def test_a_bare_value_has_every_mandatory_field_with_its_default() -> None:
    assert bare_value(draft("FooRequest"), 9) == {"filters": [], "newest": True}
    assert bare_value(draft("FooRequest"), 1) == {"filters": []}
    assert bare_value(KAFKA["FetchSnapshotRequest"], 0).keys() == {"replicaId", "maxBytes", "topics"}


def test_value_without_fields_encodes_like_an_empty_one() -> None:
    for spec in KAFKA.values():
        for version in versions_of(spec):
            assert encode(spec, version, bare_value(spec, version)) == encode(spec, version, {})
