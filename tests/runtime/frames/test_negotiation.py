import copy
import pickle
from typing import Any
from uuid import UUID

import pytest
from sample_messages.poll import PollRequest, PollResponse, WipeRequest
from sample_messages.records import SeatKey

import tagwire_messages
from tagwire.errors import EncodeError, UnsupportedVersionError
from tagwire.frames.negotiation import LossyVersionsError, NoCommonVersionError, negotiate
from tagwire.message import Message
from tagwire_messages.api_versions_response import ApiVersion
from tagwire_messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic
from tagwire_messages.produce_request import TopicProduceData


def api_versions(**ranges: Any) -> tagwire_messages.ApiVersionsResponse:
    keys = [ApiVersion(api_key=int(key[1:]), min_version=low, max_version=high) for key, (low, high) in ranges.items()]
    return tagwire_messages.ApiVersionsResponse(api_keys=keys)


@pytest.mark.parametrize(
    ("message", "theirs", "version"),
    [
        (PollRequest, (0, 9), 2),  # version 3 is unstable, so it is never chosen
        (PollRequest, (0, 1), 1),
        (PollRequest, (2, 2), 2),
        (PollRequest, (-1, 0), 0),
        (PollResponse, (0, 9), 3),
    ],
)
def test_the_highest_common_version(message: type[Message], theirs: tuple[int, int], version: int) -> None:
    assert negotiate(message, {7: theirs, 3: (0, 0)}) == version
    assert negotiate(message, api_versions(k3=(0, 0), k7=theirs)) == version


@pytest.mark.parametrize(
    ("message", "theirs", "text"),
    [
        (PollRequest, (3, 5), "0-2, the peer has 3-5"),
        (PollRequest, (2, 1), "0-2, the peer does not have the API"),
        (PollRequest, None, "0-2, the peer does not have the API"),
        (WipeRequest, (0, 5), "none, the peer has 0-5"),
        (SeatKey, None, "0, the peer does not have the API"),
    ],
)
def test_no_common_version_names_both_ranges(message: type[Message], theirs: tuple[int, int] | None, text: str) -> None:
    peer = {} if theirs is None else {message.API_KEY: theirs}
    with pytest.raises(NoCommonVersionError) as caught:
        negotiate(message, peer)
    assert caught.value.args == (f"{message.NAME}: no common version: stable versions here are {text}",)
    assert isinstance(caught.value, UnsupportedVersionError)
    with pytest.raises(NoCommonVersionError):
        negotiate(message, api_versions(**({} if theirs is None else {f"k{message.API_KEY}": theirs})))


def test_errors_in_a_response_with_their_paths() -> None:
    topics = [MetadataResponseTopic(error_code=3, partitions=[MetadataResponsePartition(error_code=999)])]
    found = tagwire_messages.errors(tagwire_messages.MetadataResponse(topics=topics, error_code=29))
    assert [str(each) for each in found] == [
        "topics[0].error_code: UNKNOWN_TOPIC_OR_PARTITION (3)",
        "topics[0].partitions[0].error_code: UNKNOWN_999 (999)",
        "error_code: TOPIC_AUTHORIZATION_FAILED (29)",
    ]
    assert [each.is_retriable for each in found] == [True, False, False]
    assert tagwire_messages.errors(tagwire_messages.MetadataResponse()) == ()


@pytest.mark.parametrize(("code", "name"), [(0, "NONE"), (-1, "UNKNOWN_SERVER_ERROR"), (999, "UNKNOWN_999")])
def test_codes_of_newer_peers_have_a_name(code: int, name: str) -> None:
    found = tagwire_messages.ErrorCode.of(code)
    for each in (found, pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert (each, str(each), each.name, type(each)) == (code, name, name, tagwire_messages.ErrorCode)


@pytest.mark.parametrize("code", ["5", b"5", 5.0, None])
def test_a_code_is_an_int(code: Any) -> None:
    with pytest.raises(EncodeError, match=r"ErrorCode: of\(\): expected an int, got "):
        tagwire_messages.ErrorCode.of(code)


PRODUCE = tagwire_messages.ProduceRequest(topic_data=[TopicProduceData(name="t", topic_id=UUID(int=1))])


def test_a_version_for_an_instance_loses_nothing() -> None:
    assert negotiate(PRODUCE.replace(topic_data=[TopicProduceData(name="t")]), {0: (0, 13)}) == 12
    assert negotiate(tagwire_messages.ProduceRequest, {0: (0, 13)}) == 13
    invalid: Any = PRODUCE.replace(acks="all")
    for request, text in ((PRODUCE, r"topic_data\[0\].name; leave .*yourself$"), (invalid, "acks: .*; correct this")):
        with pytest.raises(LossyVersionsError, match=text):
            negotiate(request, {0: (0, 13)})


def test_for_version_drops_fields_of_other_versions() -> None:
    projected, lost = PRODUCE.for_version(13)
    assert [loss.path for loss in lost] == ["topic_data[0].name"]
    assert projected == PRODUCE.replace(topic_data=[TopicProduceData(topic_id=UUID(int=1))])
    assert PRODUCE.encode(13) == PRODUCE.encode(13, on_loss="drop") == projected.encode(13, on_loss="error")
    assert tagwire_messages.MetadataRequest(topics=None).for_version(0).message == tagwire_messages.MetadataRequest()
    with pytest.raises(EncodeError, match=r"ProduceRequest v13: topic_data\[0\].name: this version does not have"):
        PRODUCE.encode(13, on_loss="error")
    with pytest.raises(EncodeError, match="on_loss: expected 'drop' or 'error', got 'x'"):
        PRODUCE.encode(version=13, on_loss="x")  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match=r"v0: topics\[0\]: this version can represent neither the field's value"):
        tagwire_messages.MetadataRequest(topics=["t"]).for_version(0)  # type: ignore[list-item]
