from typing import Any

import pytest
from network_packets import sized

import tagwire
import tagwire_messages as messages
from tagwire import DROP, DecodeError, EncodeError, SelectionError, UnknownMessageError
from tagwire_messages import registry
from tagwire_messages.metadata_request import MetadataRequestTopic
from tagwire_messages.metadata_response import MetadataResponseBroker

MESSAGE = messages.MetadataRequest(topics=[MetadataRequestTopic(name="orders"), MetadataRequestTopic(name="sales")])
HEADER = registry.request_header(
    request_api_key=3, request_api_version=12, correlation_id=7, client_id="shop", unknown_tags={5: b"kept"}
)
REQUEST = registry.encode_request(MESSAGE, 12, header=HEADER)
ANSWER = messages.MetadataResponse(brokers=[MetadataResponseBroker(host="b1", port=1)])
RESPONSE = registry.encode_response(ANSWER, 12, correlation_id=7)


def test_reading() -> None:
    assert registry.select_request(3, "topics[].name").read(REQUEST) == ["orders", "sales"]
    assert registry.select_request("MetadataRequest", "header.client_id").read(REQUEST) == ["shop"]
    both = registry.select_request(
        messages.MetadataRequest, "topics[].name", "header.client_id", "header.correlation_id"
    )
    assert both.read(REQUEST) == [(["orders", "sales"], "shop", 7)]
    assert [field.name for field in both.fields] == ["name", "client_id", "correlation_id"]
    assert both.read(sized(REQUEST), sized=True) == both.read(REQUEST)
    answers = registry.select_response(3, "brokers[].host")
    assert answers.read(RESPONSE, 12) == answers.read(sized(RESPONSE), 12, sized=True) == ["b1"]


def test_rewriting_the_header_and_the_body() -> None:
    both = registry.select_request(3, "header.client_id", "topics[].name")
    frame = both.rewrite(REQUEST, lambda client, names: (f"eu-{client}", [f"eu.{name}" for name in names]))
    read = registry.decode_request(frame)
    assert read.header == HEADER.replace(client_id="eu-shop")
    assert [topic.name for topic in read.message.topics] == ["eu.orders", "eu.sales"]
    framed = both.rewrite(sized(REQUEST), lambda client, names: (None, names), sized=True)
    assert framed == sized(registry.encode_request(MESSAGE, 12, header=HEADER.replace(client_id=None)))
    assert both.rewrite(REQUEST, lambda *row: row) == REQUEST


def test_rewriting_the_body_copies_the_header() -> None:
    names = registry.select_request(3, "topics[].name")
    frame = names.rewrite(REQUEST, lambda name: DROP if name == "sales" else f"eu.{name}", append=["more"])
    read = registry.decode_request(frame)
    assert read.header == HEADER
    assert [topic.name for topic in read.message.topics] == ["eu.orders", "more"]
    hosts = registry.select_response(3, "brokers[].host", "brokers[].port")
    framed = hosts.rewrite(sized(RESPONSE), 12, lambda host, port: ("proxy", 9), sized=True)
    assert hosts.read(framed, 12, sized=True) == [("proxy", 9)]
    answers = registry.select_response(3, "header.correlation_id", "cluster_id")
    frame = answers.rewrite(RESPONSE, 12, lambda number, cluster: (number + 1, "c"))
    assert registry.decode_response(frame, 3, 12).header.correlation_id == 8


def test_header_that_contradicts_the_body_is_rejected() -> None:
    keys = registry.select_request(3, "header.request_api_key", "header.request_api_version")
    with pytest.raises(EncodeError, match=r"request_api_version: expected version 12 as in the message, got 11"):
        keys.rewrite(REQUEST, lambda key, version: (key, version - 1))
    with pytest.raises(EncodeError, match="rows can't be dropped"):
        keys.rewrite(REQUEST, lambda *row: DROP)
    with pytest.raises(EncodeError, match=r"expected a tuple of 2 values or .* from the function, got 1 values"):
        keys.rewrite(REQUEST, lambda *row: (1,))


REJECTED: tuple[tuple[Any, str], ...] = (
    (REQUEST[:-1], "MetadataRequest v12"),
    (REQUEST + b"\0", "1 byte after the message"),
    (REQUEST[:12], "RequestHeader v2: client_id at byte 10"),
    (b"\0", "RequestHeader"),
    (registry.encode_request(messages.HeartbeatRequest(), 4), "found API key 12 (HeartbeatRequest), expected 3"),
)


@pytest.mark.parametrize(("frame", "text"), REJECTED)
def test_frames_that_are_rejected(frame: bytes, text: str) -> None:
    selection = registry.select_request(3, "header.client_id", "topics[].name")
    for call in (selection.read, lambda data: selection.rewrite(data, lambda *row: row)):
        with pytest.raises(DecodeError) as caught:
            call(frame)
        assert text in str(caught.value)
    if "API key" not in text:
        with pytest.raises(DecodeError) as other:
            registry.decode_request(frame)
        assert str(other.value) == str(caught.value)


def test_sizes_that_are_rejected() -> None:
    selection = registry.select_request(3, "topics[].name")
    with pytest.raises(DecodeError, match="found size 5, expected"):
        selection.read(b"\0\0\0\5" + REQUEST, sized=True)
    with pytest.raises(DecodeError, match="found 2 bytes, expected a size of 4 bytes"):
        selection.read(b"\0\0", sized=True)


def test_selections_that_are_rejected() -> None:
    with pytest.raises(SelectionError, match="did you mean 'client_id'"):
        registry.select_request(3, "header.client")
    with pytest.raises(SelectionError, match="did you mean 'topics'"):
        registry.select_request(3, "topic")
    with pytest.raises(SelectionError, match="give at least one path"):
        registry.select_response(3)
    with pytest.raises(UnknownMessageError, match="MetadataRequest: expected a response, got a request"):
        registry.select_response("MetadataRequest", "topics")


def test_response_in_the_fallback_version() -> None:
    """If a broker doesn't support an ApiVersionsRequest's version, it responds in version 0, with error 35."""
    keys = registry.select_response(18, "error_code", "api_keys[].api_key")
    frame = registry.encode_response(messages.ApiVersionsResponse(error_code=35), 0, correlation_id=1)
    assert keys.read(frame, 3) == [(35, [])]
    assert keys.rewrite(frame, 3, lambda code, keys: (36, keys)) == frame[:4] + b"\0\44" + frame[6:]


def test_unsupported_versions() -> None:
    names = registry.select_request(3, "topics[].name")
    with pytest.raises(tagwire.UnsupportedVersionError):
        names.read(REQUEST[:2] + b"\0\x63" + REQUEST[4:])
