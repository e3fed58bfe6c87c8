import json
import math
import struct
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_messages.poll import PollRequest, PollResponse, PollTopic, Rack

from tagwire.errors import EncodeError

MESSAGE = PollRequest(
    topics=[
        PollTopic(name="é", topic_id=UUID("1f728a3b-8353-44f6-825a-d126 9b7bd6ec".replace(" ", "")), partitions=[1])
    ],
    urgent=True,
    ratio=float("-inf"),
    payload=b"\xfb\xff",
    snapshot=b"rec",
    cursor=Rack(label="c", unknown_tags={1: b"x"}),
    reason="",
    unknown_tags={300: b"", 70: b"\x00"},
)
LOSSLESS = {
    "topics": [{"name": "é", "topicId": "H3KKO4NTRPaCWtEmm3vW7A", "partitions": [1]}],
    "urgent": True,
    "ratio": "-Infinity",
    "maxWaitMs": 500,
    "quota": 0,
    "payload": "+/8=",
    "snapshot": "cmVj",
    "cursor": {"label": "c", "row": -1, "_unknownTags": {"1": "eA=="}},
    "reason": "",
    "_unknownTags": {"70": "AA==", "300": ""},
}
KAFKA = {
    **{key: value for key, value in LOSSLESS.items() if key != "_unknownTags"},
    "snapshot": "",
    "cursor": {"label": "c", "row": -1},
}


def test_both_styles() -> None:
    assert MESSAGE.to_json(2) == LOSSLESS
    assert list(MESSAGE.to_json(2)) == list(LOSSLESS)
    assert list(MESSAGE.to_json(2)["_unknownTags"]) == ["70", "300"]
    assert MESSAGE.to_json(2, style="kafka") == KAFKA
    assert PollRequest.from_json(LOSSLESS, 2) == MESSAGE
    assert PollRequest.from_json(json.loads(json.dumps(LOSSLESS)), 2).encode(2) == MESSAGE.encode(2)


def test_fields_of_the_version_and_tagged_ones_only_if_they_differ() -> None:
    assert PollRequest().to_json(0) == {"topics": [], "urgent": False, "ratio": 0.0, "port": 9092, "payload": ""}
    assert PollRequest(max_wait_ms=3, reason="dropped").to_json(0) == PollRequest().to_json(0)
    assert PollRequest(topics=None, payload=None).to_json(3) == {
        "topics": None, "urgent": False, "ratio": 0.0, "maxWaitMs": 500, "quota": 0, "payload": None, "snapshot": None,
        "cursor": None,
    }  # fmt: skip
    assert PollRequest(rack=Rack(row=2), weight=2).to_json(3)["rACK"] == {"label": "", "row": 2}
    assert PollRequest(weight=2).to_json(3)["weight"] == 2.0


@pytest.mark.usefixtures("each_engine")
def test_bool_in_an_integer_field_becomes_a_number() -> None:
    """A bool must become a number in JSON, as it does in bytes, because `true` could not be read back."""
    form = PollRequest(max_wait_ms=True).to_json(2)
    assert type(form["maxWaitMs"]) is int and form["maxWaitMs"] == 1
    assert PollRequest.from_json(form, 2).max_wait_ms == 1
    assert '"maxWaitMs": 1,' in PollRequest(max_wait_ms=True).to_json_text(2)


@pytest.mark.parametrize("view", [bytearray, memoryview, lambda data: memoryview(bytearray(data))])
def test_views_are_bytes(view: Any) -> None:
    message = PollRequest(payload=view(b"\xfb\xff"), unknown_tags={70: view(b"a")})
    assert message.to_json(2)["payload"] == "+/8="
    assert message.to_json(2)["_unknownTags"] == {"70": "YQ=="}


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("7ff8000000000000", "NaN"),
        ("7ff0000000000000", "Infinity"),
        ("fff0000000000000", "-Infinity"),
        ("7ff8000000000001", "NaN:7ff8000000000001"),
        ("fff8000000000000", "NaN:fff8000000000000"),
        ("7ff0000000000001", "NaN:7ff0000000000001"),
    ],
)
def test_floats_that_json_has_no_numbers_for(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    message = PollRequest(ratio=value)
    assert message.to_json(0)["ratio"] == text
    assert message.to_json(0, style="kafka")["ratio"] == text.partition(":")[0]
    again = PollRequest.from_json(message.to_json(0), 0)
    assert again == message and again.encode(0) == message.encode(0)


def test_minus_zero_and_integers_for_floats() -> None:
    obj = PollRequest(ratio=-0.0).to_json(0)
    assert math.copysign(1, PollRequest.from_json(json.loads(json.dumps(obj)), 0).ratio) == -1
    whole = PollRequest.from_json({**obj, "ratio": 5}, 0).ratio
    assert whole == 5.0 and type(whole) is float


@pytest.mark.parametrize(
    ("version", "message", "path"),
    [
        (0, PollRequest(quota=1), "quota"),
        (0, PollRequest(topics=None), "topics"),
        (0, PollRequest(port=-1), "port"),
        (1, PollRequest(unknown_tags={1: b""}), "unknown_tags"),
        (2, PollRequest(topics=[PollTopic(name=None)]), "topics[0].name"),
    ],
)
def test_json_rejects_what_bytes_reject(version: int, message: PollRequest, path: str) -> None:
    for style in ("lossless", "kafka"):
        with pytest.raises(EncodeError) as in_json:
            message.to_json(version, style=style)
        with pytest.raises(EncodeError) as in_bytes:
            message.encode(version)
        assert str(in_json.value) == str(in_bytes.value) and in_json.value.path == path


def test_style_that_does_not_exist() -> None:
    with pytest.raises(EncodeError, match="style: expected 'lossless' or 'kafka', got 'java'"):
        MESSAGE.to_json(2, style="java")


PLAIN: dict[str, Any] = PollRequest(topics=[PollTopic()], cursor=Rack()).to_json(2)
TOPIC = PLAIN["topics"][0]


@pytest.mark.parametrize("key", list(PLAIN))
def test_each_field_that_is_not_tagged_is_required(key: str) -> None:
    obj = {name: value for name, value in PLAIN.items() if name != key}
    with pytest.raises(EncodeError, match=f"the key '{key}' is missing") as caught:
        PollRequest.from_json(obj, 2)
    assert caught.value.path.replace("_", "") == key.lower()


def test_fields_of_other_versions_are_taken() -> None:
    obj = {**PLAIN, "port": 1, "weight": 0.5, "topics": [{**TOPIC, "name": "x"}]}
    message = PollRequest.from_json(obj, 2)
    assert (message.port, message.weight) == (1, 0.5)
    with pytest.raises(EncodeError, match="port"):
        message.encode(2)
    # Fields that version 0 doesn't have may be absent from the JSON, or null if another version allows null.
    old = PollRequest.from_json(
        {**PollRequest().to_json(0), "cursor": {"row": 3}, "reason": None, "snapshot": "YQ=="}, 0
    )
    assert (old.cursor, old.reason, old.snapshot) == (Rack(row=3), None, b"a")


REJECTED = [
    ({"topics": [{"name": "x"}]}, "topics[0].topic_id", "requires the keys name (string), topicId (uuid)"),
    ({"topics": {}}, "topics", "expected a JSON array, got a dict"),
    ({"topics": "ab"}, "topics", "expected a JSON array, got str 'ab'"),
    ({"topics": [5]}, "topics[0]", "expected a JSON object, got int 5"),
    ({"topics": [None]}, "topics[0]", "expected a JSON object, got None"),
    ({"topics": [{**TOPIC, "name": None}]}, "topics[0].name", "is null, but it is not nullable in this version"),
    ({"topics": [{**TOPIC, "name": 5}]}, "topics[0].name", "expected a string, got int 5"),
    ({"topics": [{**TOPIC, "name": "\ud800"}]}, "topics[0].name", "the lone surrogate"),
    ({"topics": [{**TOPIC, "name": "x" * 32768}]}, "topics[0].name", "a string can have at most 32767"),
    ({"topics": [{**TOPIC, "partitions": [1, "2"]}]}, "topics[0].partitions[1]", "2147483647), got str '2'"),
    ({"topics": [{**TOPIC, "partitions": [2**31]}]}, "topics[0].partitions[0]", "expected int32 (-2147483648 to"),
    ({"topics": [{**TOPIC, "naem": ""}]}, "topics[0]", "PollTopic has no field 'naem'; did you mean 'name'?"),
    ({"quotaa": 5}, "", "PollRequest has no field 'quotaa'; did you mean 'quota'?"),
    ({"zzz": 5}, "", "PollRequest has no field 'zzz'; choose from "),
    ({"urgent": 1}, "urgent", "expected true or false, got int 1"),
    ({"urgent": "true"}, "urgent", "expected true or false, got str 'true'"),
    ({"urgent": None}, "urgent", "is null"),
    ({"quota": True}, "quota", "expected int64 (-9223372036854775808 to 9223372036854775807), got True"),
    ({"quota": 1.0}, "quota", "expected int64 (-9223372036854775808 to 9223372036854775807), got float 1.0"),
    ({"ratio": "1"}, "ratio", "expected a number, or one of the strings NaN, Infinity, -Infinity, got str '1'"),
    ({"ratio": True}, "ratio", "-Infinity, got True"),
    ({"ratio": 10**400}, "ratio", "expected a number in the range of float64"),
    ({"ratio": "NaN:0000000000000000"}, "ratio", "expected a number"),
    ({"ratio": "NaN:7ff800000000000g"}, "ratio", "expected a number"),
    ({"payload": "a"}, "payload", "expected base64 in the standard alphabet with padding ("),
    ({"payload": "YQ"}, "payload", "expected base64"),
    ({"payload": "YQ==="}, "payload", "expected base64"),
    ({"payload": "-_8="}, "payload", "expected base64"),
    ({"payload": "é"}, "payload", "expected a string of base64"),
    ({"payload": 5}, "payload", "expected a string of base64, got int 5"),
    ({"payload": [1]}, "payload", "expected a string of base64"),
    ({"topics": [{**TOPIC, "topicId": "H3KKO4NTRPaCWtEmm3vW7"}]}, "topics[0].topic_id", "a UUID"),
    ({"topics": [{**TOPIC, "topicId": "1f728a3b-8353-44f6-825a-d1269b7bd6ec"}]}, "topics[0].topic_id", "a UUID"),
    ({"topics": [{**TOPIC, "topicId": "H3KKO4NTRPaCWtEmm3vW+A"}]}, "topics[0].topic_id", "a UUID"),
    ({"topics": [{**TOPIC, "topicId": 5}]}, "topics[0].topic_id", "URL-safe base64, got int 5"),
    ({"_unknownTags": []}, "unknown_tags", "expected a JSON object that maps tags to base64 strings, got []"),
    ({"_unknownTags": {"-1": ""}}, "unknown_tags", "expected a tag (a decimal string, 0 to 2147483647), got str '-1'"),
    ({"_unknownTags": {"2147483648": ""}}, "unknown_tags", "expected a tag (a decimal string, 0 to 2147483647)"),
    ({"_unknownTags": {5: ""}}, "unknown_tags", "expected a tag (a decimal string, 0 to 2147483647), got int 5"),
    ({"_unknownTags": {"7": "", "07": ""}}, "unknown_tags", "2147483647), got str '07'"),
    ({"_unknownTags": {"5": None}}, "unknown_tags", "expected a string of base64, got None"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "path", "message"), REJECTED)
def test_json_values_that_do_not_fit(change: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        PollRequest.from_json({**PLAIN, **change}, 2)
    assert caught.value.path == path and message in str(caught.value)


@pytest.mark.parametrize("obj", [None, [], "x", 5])
def test_json_that_is_not_an_object_is_rejected(obj: Any) -> None:
    with pytest.raises(EncodeError, match="expected a JSON object"):
        PollResponse.from_json(obj, 0)


def test_uuids_may_be_padded() -> None:
    obj = {**PLAIN, "topics": [{**TOPIC, "topicId": "H3KKO4NTRPaCWtEmm3vW7A=="}]}
    topics = PollRequest.from_json(obj, 2).topics
    assert topics is not None and str(topics[0].topic_id) == "1f728a3b-8353-44f6-825a-d1269b7bd6ec"


@given(
    st.builds(
        PollRequest,
        topics=st.none() | st.lists(st.builds(PollTopic, name=st.text(), topic_id=st.uuids()), max_size=2),
        ratio=st.floats(),
        quota=st.integers(-(2**63), 2**63 - 1),
        payload=st.none() | st.binary(),
        snapshot=st.none() | st.binary(),
        cursor=st.none() | st.builds(Rack, label=st.text()),
        reason=st.none() | st.text(),
        weight=st.floats(),
        unknown_tags=st.dictionaries(st.integers(3, 2**31 - 1), st.binary(), max_size=3),
    )
)
def test_nothing_is_lost(message: PollRequest) -> None:
    again = PollRequest.from_json(json.loads(json.dumps(message.to_json(3))), 3)
    data = message.encode(3)
    assert again.encode(3) == data
    assert again == PollRequest.decode(data, 3)
