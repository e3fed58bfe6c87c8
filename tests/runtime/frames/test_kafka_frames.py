"""Test the registry of the generated Kafka classes on frames and records of real clients and brokers.

The frames are from Apache Kafka 0.10.2 to 4.4.0, and the records from log segments of Kafka 2.8.2 and 4.4.0.
"""

import pytest

import tagwire
import tagwire_messages as messages
from tagwire.errors import UnsupportedVersionError

registry = messages.registry

API_VERSIONS = 18


@pytest.mark.parametrize(
    ("hex_text", "version", "api_keys"),
    [
        pytest.param("00000014 0023 00000001 0012 0000 0005", 99, [(18, 0, 5)], id="broker 4.4.0, version 99"),
        pytest.param("00000001 0023 00000001 0012 0000 0003", 4, [(18, 0, 3)], id="broker 2.8.2, version 4"),
        pytest.param("00000001 0023 00000000", 4, [], id="broker 0.10.2, version 4"),
        pytest.param("00000001 0023 00000000", 3, [], id="broker 0.11.0, version 3"),
    ],
)
def test_broker_without_the_version_responds_in_version_0(
    hex_text: str, version: int, api_keys: list[tuple[int, int, int]]
) -> None:
    data = bytes.fromhex(hex_text)
    frame = registry.decode_response(data, API_VERSIONS, version)
    assert (frame.version, frame.message.error_code) == (0, 35)
    assert [(api.api_key, api.min_version, api.max_version) for api in frame.message.api_keys] == api_keys
    assert registry.encode_response(frame.message, frame.version, header=frame.header) == data
    assert tagwire.trace_response(registry, data, API_VERSIONS, version).error is None


def test_header_of_an_unknown_request() -> None:
    data = bytes.fromhex("0012 0063 00000014 0005 7261777e71 00 0472617704312e3000")
    header, end = registry.decode_header(data)
    assert (header.correlation_id, header.client_id, end) == (20, "raw~q", 16)
    with pytest.raises(UnsupportedVersionError, match="ApiVersionsRequest has no version 99; supported versions are"):
        registry.decode_request(data)
    seen = tagwire.trace_request(registry, data)
    assert seen.error is not None and seen.error.offset == 16
    assert tagwire.parse_annotated(tagwire.annotate(seen)) == data


def test_the_header_of_api_versions_responses_is_always_version_0() -> None:
    cls = registry.response(API_VERSIONS)
    assert {cls.header_version(version) for version in [*cls.VERSIONS, 99]} == {0}
    assert {registry.request(API_VERSIONS).header_version(version) for version in (3, 4, 99)} == {2}


@pytest.mark.parametrize(("log", "name", "key", "value"), [
    ("group", "OffsetCommitValue",
     "00010012616c7068612d6d322d672d302e392e302e310015616c7068612d6d322d636f6465632d736e6170707900000004",
     "00030000000000000099ffffffff0000000001a1fbde0a58"),
    ("group", "OffsetCommitValue",
     "0001000c616c7068612d61696f2d74670009616c7068612d74786e00000001",
     "00040000000000000007ffffffff01000001a1fbd859810100106770c038d5e44d29a33fb88b51b4500a"),
    ("group", "LegacyOffsetCommitValue",
     "0000000f616c7068612d62302e382d6f6b70380015616c7068612d62302e382d636f6465632d677a697000000000",
     "000000000000000000000000000001a1fbe44005"),
    ("group", "GroupMetadataValue",
     "0002000a616c7068612d636f6f70",
     "0003000000000000ffffffff000001a1fbd9f72900000000"),
    ("group", "ConsumerGroupMetadataValue",
     "0003000a616c7068612d6e657767",
     "00000000000500"),
    ("transaction", "TransactionLogValue",
     "0000000f616c7068612d6d302d6b70792d7478",
     "0000000000000000000700000000ea6000ffffffff000001a1fbe0637bffffffffffffffff"),
])  # fmt: skip
def test_records_of_coordinators(log: str, name: str, key: str, value: str) -> None:
    key_bytes, value_bytes = bytes.fromhex(key), bytes.fromhex(value)
    key_frame = registry.decode_record(key_bytes, log=log)
    assert key_frame.version == 0 and registry.encode_record(key_frame.message, 0) == key_bytes
    frame = registry.decode_record(value_bytes, log=log, key=key_bytes)
    assert frame == registry.decode_record(value_bytes, log=log, key=key_frame.message)
    assert name == frame.message.NAME
    assert registry.encode_record(frame.message, frame.version) == value_bytes


@pytest.mark.parametrize(
    ("name", "version", "data"),
    [
        ("FeatureLevelRecord", 0, "010c000e67726f75702e76657273696f6e000100"),
        ("TopicRecord", 0, "01020009616c7068612d70798a666a60d9bd4afa874ced75ede34b8d00"),
        ("PartitionChangeRecord", 2, "010502000000008222b008bb0346f49e5cacd5a833fb3d01010400000002"),
        ("BrokerRegistrationChangeRecord", 3, "01110300000001000000000000000f01030101"),
        ("NoOpRecord", 0, "01140000"),
    ],
)
def test_records_of_the_metadata_log(name: str, version: int, data: str) -> None:
    frame = registry.decode_record(bytes.fromhex(data), log="cluster")
    assert (frame.message.NAME, frame.version) == (name, version)
    assert registry.encode_record(frame.message, version) == bytes.fromhex(data)
