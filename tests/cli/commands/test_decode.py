import base64
import json

import pytest
from command import rejected
from command import tagwire_result as run

LEAVE_V0 = "00 01 67 00 01 6d"
LEAVE_JSON = {"groupId": "g", "memberId": "m"}


def test_decode_hex() -> None:
    result = run("decode", "LeaveGroupRequest", "0", "--hex", stdin=LEAVE_V0)
    assert (result.exit_code, json.loads(result.stdout), result.stderr) == (0, LEAVE_JSON, "")


@pytest.mark.parametrize("text", ["0001 6700\n016d\n", "\t00\r\n01 67 0 0 01 6D", "00016700016d"])
def test_white_space_in_hex_does_not_count(text: str) -> None:
    assert json.loads(run("decode", "LeaveGroupRequest", "0", "--hex", stdin=text).stdout) == LEAVE_JSON


def test_decode_output_is_encode_input() -> None:
    records = bytes(range(256))
    partition = {"index": 7, "records": base64.b64encode(records).decode()}
    topic = {"name": "tøpic", "partitionData": [partition], "_unknownTags": {"99": "AQI="}}
    value = {"transactionalId": None, "acks": -1, "timeoutMs": 100, "topicData": [topic]}
    encoded = run("encode", "ProduceRequest", "9", stdin=json.dumps(value)).stdout_bytes
    assert records in encoded
    decoded = run("decode", "ProduceRequest", "9", stdin=encoded)
    assert json.loads(decoded.stdout) == value
    assert "tøpic" in decoded.stdout, "readable, not escaped"
    assert run("encode", "ProduceRequest", "9", stdin=decoded.stdout).stdout_bytes == encoded


def test_style_kafka_has_no_records() -> None:
    topics = [{"name": "t", "partitionData": [{"index": 0, "records": "AAAA"}]}]
    value = {"transactionalId": None, "acks": 1, "timeoutMs": 1, "topicData": topics}
    encoded = run("encode", "ProduceRequest", "9", stdin=json.dumps(value)).stdout_bytes
    shown = json.loads(run("decode", "ProduceRequest", "9", "--style", "kafka", stdin=encoded).stdout)
    assert shown["topicData"] == [{"name": "t", "partitionData": [{"index": 0, "records": ""}]}]


BAD_BYTES = [
    ("00 01 67 00 01", "member_id at byte 5: found 0 bytes left, expected 1 byte"),
    ("00 01 67 00 01 6d 33", "byte 6: found 1 byte after the message, expected the end of the data"),
    ("ff ff 00 01 6d", "group_id at byte 0: found null"),
    ("00 01 ff 00 01 6d", "group_id at byte 2: found bytes ff, expected UTF-8"),
]


@pytest.mark.parametrize(("text", "words"), BAD_BYTES)
def test_decode_reports_field_offset_found_and_expected(text: str, words: str) -> None:
    result = run("decode", "LeaveGroupRequest", "0", "--hex", "--limit", "bytes=9", "--limit", "depth=3", stdin=text)
    again = "`tagwire explain LeaveGroupRequest 0 --hex --limit bytes=9 --limit depth=3`"
    rejected(result, "LeaveGroupRequest v0", words, again, code=1)


def test_lenient_accepts_what_strict_rejects() -> None:
    text = f"{LEAVE_V0} 33"
    assert run("decode", "LeaveGroupRequest", "0", "--hex", stdin=text).exit_code == 1
    lenient = run("decode", "LeaveGroupRequest", "0", "--hex", "--lenient", stdin=text)
    assert (lenient.exit_code, json.loads(lenient.stdout)) == (0, LEAVE_JSON)


def test_limits_are_honoured() -> None:
    ten_topics = "0000000a" + 10 * "000174"
    assert run("decode", "MetadataRequest", "0", "--hex", "--limit", "elements=10", stdin=ten_topics).exit_code == 0
    result = run("decode", "MetadataRequest", "0", "--hex", "--limit", "elements=9", stdin=ten_topics)
    rejected(result, "topics at byte 4", "Limits.elements", code=1)


@pytest.mark.parametrize("limit", ["elements", "elements=many", "element=3", "elements=-1", "=1"])
def test_invalid_limit(limit: str) -> None:
    rejected(run("decode", "MetadataRequest", "0", "--limit", limit), "--limit", "elements", code=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("00 01\n0x67\n", "line 2, column 2: 'x' is not"),
        (b"00 \xa0 01", "line 1, column 4: byte 0xa0 is not a hex digit"),
    ],
)
def test_bad_hex_is_reported_with_its_place(text: str | bytes, words: str) -> None:
    rejected(run("decode", "LeaveGroupRequest", "0", "--hex", stdin=text), "hex input", words, code=1)
