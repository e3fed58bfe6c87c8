from typing import Any

import pytest
from sample_messages import registry
from sample_messages.poll import PollRequest
from sample_messages.records import ChairRecord, SeatKey, SeatValue

from tagwire.errors import DecodeError, EncodeError, TagwireError, UnsupportedVersionError
from tagwire.frames.frame_headers import Frame
from tagwire.frames.message_index import UnknownMessageError

KEY = bytes.fromhex("0002 0002 4131")
VALUE = bytes.fromhex("0001 01 00")
RECORD = bytes.fromhex("01 04 00 00000007 00")


def test_keys_and_values_of_coordinators() -> None:
    assert registry.encode_record(SeatKey(seat="A1"), 0) == KEY
    key = registry.decode_record(KEY, "group")
    assert key == Frame(None, SeatKey(seat="A1"), 0)
    assert registry.encode_record(SeatValue(taken=True), 1) == VALUE
    for given in (KEY, memoryview(KEY), key.message):
        assert registry.decode_record(VALUE, log="group", key=given) == Frame(None, SeatValue(taken=True), 1)


def test_records_of_metadata_logs() -> None:
    assert registry.encode_record(ChairRecord(height=7), 0) == RECORD
    assert registry.decode_record(RECORD, "cluster") == Frame(None, ChairRecord(height=7), 0)


@pytest.mark.parametrize(
    ("data", "log", "key", "path", "offset", "message"),
    [
        ("00", "group", None, "record_type", 0, "coordinator key: record_type at byte 0: found 1 byte left"),
        ("0003 0000", "group", None, "record_type", 0, "found 3, expected a record type of the 'group' log (2)"),
        ("0002 0000", "share", None, "record_type", 0, "expected a record type of the 'share' log (none)"),
        ("0002 0002 41", "group", None, "seat", 4, "SeatKey v0: seat at byte 4"),
        ("0002 0000 ff", "group", None, "", 4, "found 1 byte after the message"),
        ("00", "group", KEY, "version", 0, "coordinator value: version at byte 0"),
        ("0001 02 00", "group", KEY, "taken", 2, "SeatValue v1: taken at byte 2: found byte 2"),
        ("0001 01 00", "group", b"\x00", "record_type", 0, "coordinator key"),
        ("", "cluster", None, "frame_version", 0, "metadata record: frame_version at byte 0"),
        ("02 04 00 00000007 00", "cluster", None, "frame_version", 0, "found 2, expected 1"),
        ("8100 04 00 00000007 00", "cluster", None, "frame_version", 0, "varint 1 in 2 bytes"),
        ("01 05 00 00000007 00", "cluster", None, "api_key", 1, "found 5, expected a record type of the 'cluster' log"),
        ("01 04", "cluster", None, "version", 2, "found 0 bytes left"),
        ("01 04 00 0000", "cluster", None, "height", 3, "ChairRecord v0: height at byte 3"),
        ("01 04 00 00000007 00 00", "cluster", None, "", 8, "after the message"),
    ],
)  # fmt: skip
def test_faults(data: str, log: str, key: Any, path: str, offset: int, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        registry.decode_record(bytes.fromhex(data), log, key)
    assert (caught.value.path, caught.value.offset) == (path, offset)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "log", "key"), [("0005 01 00", "group", KEY), ("01 04 09 00", "cluster", None), ("ffff", "group", KEY)]
)
def test_unknown_versions(data: str, log: str, key: Any) -> None:
    with pytest.raises(UnsupportedVersionError):
        registry.decode_record(bytes.fromhex(data), log, key)


@pytest.mark.parametrize(
    ("log", "key", "message"),
    [
        ("groups", None, "log: expected one of 'group', 'transaction', 'share', 'cluster', 'remote-log', got 'groups'"),
        ("group", ChairRecord(), "key: expected a key of the 'group' log as a message or bytes, got a ChairRecord"),
        ("share", SeatKey(), "key: expected a key of the 'share' log as a message or bytes, got a SeatKey"),
        ("group", 5, "key: expected a key of the 'group' log as a message or bytes, got 5"),
    ],
)  # fmt: skip
def test_logs_and_keys_that_do_not_fit(log: str, key: Any, message: str) -> None:
    with pytest.raises(TagwireError) as caught:
        registry.decode_record(VALUE, log, key)
    assert message in str(caught.value)


def test_a_key_without_a_value() -> None:
    class Lonely(SeatKey):
        API_KEY = 3

    with pytest.raises(UnknownMessageError, match="no coordinator-value of component 'group' with API key 3"):
        registry.decode_record(VALUE, "group", Lonely())


def test_a_null_value_deletes_what_its_key_names() -> None:
    assert registry.decode_record(None, "group", key=KEY) == Frame(None, None, -1)
    for log in ("group", "cluster"):
        with pytest.raises(DecodeError, match=r"found null, expected bytes \(only the value of a coordinator record"):
            registry.decode_record(None, log)


def test_records_that_no_log_contains() -> None:
    with pytest.raises(EncodeError, match="kind 'coordinator-key', 'coordinator-value' or 'metadata', got 'request'"):
        registry.encode_record(PollRequest(), 0)


def test_views_and_lenient_reading() -> None:
    assert registry.decode_record(RECORD + b"\x00", "cluster", strict=False).message == ChairRecord(height=7)
    assert registry.decode_record(memoryview(RECORD), "cluster", views=True).message == ChairRecord(height=7)


def test_messages_after_an_int16_version() -> None:
    import tagwire_messages as messages

    subscription = messages.ConsumerProtocolSubscription(topics=["a"])
    data = messages.registry.encode_prefixed(subscription, 1)
    assert data == bytes.fromhex("0001 00000001 0001 61 ffffffff 00000000")
    assert messages.registry.decode_prefixed("ConsumerProtocolSubscription", data) == Frame(None, subscription, 1)
    newer = b"\0\x09" + subscription.encode(3) + b"new"
    assert messages.registry.decode_prefixed(type(subscription), newer, strict=False).message == subscription
    with pytest.raises(UnsupportedVersionError):
        messages.registry.decode_prefixed(type(subscription), newer)
    with pytest.raises(DecodeError, match="message with a version: version at byte 0: found 1 byte left"):
        messages.registry.decode_prefixed(type(subscription), b"\0")
