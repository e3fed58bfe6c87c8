import json
from typing import Any

import pytest
from command import rejected
from command import tagwire_result as run

LEAVE_JSON = {"groupId": "g", "memberId": "m"}


def test_encode_hex_and_bytes() -> None:
    text = json.dumps(LEAVE_JSON)
    assert run("encode", "LeaveGroupRequest", "0", "--hex", stdin=text).stdout == "00016700016d\n"
    assert run("encode", "LeaveGroupRequest", "0", stdin=text).stdout_bytes == bytes.fromhex("00016700016d")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty; give a JSON object"),
        ('{"groupId": "g",\n "memberId" "m"}', "line 2, column 13"),
        ('{"groupId": "g", "groupId": "h"}', "duplicate key 'groupId' in an object"),
        ("{}\n{}", "line 2, column 1: expected the end of the input after a JSON value"),
        ('{"groupId": NaN}', 'NaN is not valid JSON; write it as the string "NaN"'),
        (b'{"groupId": "\xff"}', "byte 0xff at offset 13 is not valid UTF-8"),
        ("[" * 200_000, "nested too deeply; no message has that many levels"),
        (f'{{"groupId": {"9" * 10_000}}}', "a number has more digits than any field can hold"),
    ],
)
def test_bad_json_is_reported_with_its_place(text: str | bytes, words: str) -> None:
    rejected(run("encode", "LeaveGroupRequest", "0", "--hex", stdin=text), "JSON input", words, code=1)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "expected a JSON object"),
        ({"groupId": "g"}, "the key 'memberId' is missing"),
        ({**LEAVE_JSON, "memberIds": "m"}, "no field 'memberIds'; did you mean 'memberId'?"),
        ({"groupId": 7, "memberId": "m"}, "group_id: expected a string, got int 7"),
        ({"groupId": "g", "memberId": None}, "member_id: is null"),
        ({**LEAVE_JSON, "members": [{"memberId": "x", "groupInstanceId": None}]}, "members: "),
        ({"groupId": "\ud800", "memberId": "m"}, "group_id"),
    ],
)
def test_encode_rejects_values_that_the_version_can_not_represent(value: Any, words: str) -> None:
    result = run("encode", "LeaveGroupRequest", "0", "--hex", stdin=json.dumps(value))
    rejected(result, "LeaveGroupRequest v0", words, code=1)
