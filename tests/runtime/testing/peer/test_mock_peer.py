"""Test mock peers without sockets: which requests a script answers, and the bytes of the responses."""

import re
from typing import Any

import pytest
from peer_frames import BEAT, OK, answer, framed

import tagwire_messages as kafka
from tagwire import Limits, UnknownMessageError
from tagwire.testing.peer import Close, MockPeer, PeerError, Received, Reply, Send
from tagwire_messages.api_versions_response import ApiVersion

ASKING = kafka.ApiVersionsRequest(client_software_name="test", client_software_version="1")


def test_a_message_is_framed_in_the_version_of_the_request(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply(kafka.HeartbeatResponse(error_code=27))
    connection = peer.connect()
    in_v0 = bytes.fromhex("00000006  00000007  001b")
    # In version 4, header and body end with a tag section, and the body begins with throttle_time_ms.
    in_v4 = bytes.fromhex("0000000c  00000007 00  00000000 001b 00")
    assert connection.receive_data(framed(BEAT, 0)) == [Send(in_v0)]
    assert connection.receive_data(framed(BEAT, 4)) == [Send(in_v4)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64])
def test_bytes_may_arrive_in_pieces_of_any_size(peer: MockPeer, size: int) -> None:
    peer.on(kafka.HeartbeatRequest).reply(OK)
    data = framed(BEAT, 0) * 3
    connection = peer.connect()
    actions = [action for at in range(0, len(data), size) for action in connection.receive_data(data[at : at + size])]
    assert actions == [Send(bytes.fromhex("00000006 00000007 0000"))] * 3
    # Each request takes 24 bytes: 4 for its size, 10 for the header, and 10 for the body.
    assert [(each.index, each.offset) for each in peer.requests] == [(1, 0), (2, 24), (3, 48)]


def test_a_function_sees_the_request_with_its_place(peer: MockPeer) -> None:
    seen: list[Received] = []

    def beat(request: Received) -> kafka.HeartbeatResponse:
        seen.append(request)
        return OK.replace(throttle_time_ms=request.number)

    peer.on(kafka.HeartbeatRequest).reply(beat)
    peer.connect()
    connection = peer.connect(("broker.example", 9092))
    assert answer(connection, BEAT, 3).throttle_time_ms == 1
    assert answer(connection, BEAT, 4).throttle_time_ms == 2
    first, second = seen
    assert (first.message, first.version, first.header.correlation_id) == (BEAT, 3, 7)
    # The second request is at offset 26, after a first request of 4 (size), 10 (header) and 12 (body) bytes.
    assert (second.number, second.connection, second.index, second.offset) == (2, 2, 2, 26)
    assert str(second.address) == "broker.example:9092"
    assert second.frame == framed(BEAT, 4)[4:]


def test_a_sequence_answers_in_turn_and_its_last_stays(peer: MockPeer) -> None:
    rule = peer.on("HeartbeatRequest").reply(
        [kafka.HeartbeatResponse(error_code=27), lambda _: kafka.HeartbeatResponse(error_code=22), OK]
    )
    connection = peer.connect()
    assert [answer(connection, BEAT, 4).error_code for _ in range(5)] == [27, 22, 0, 0, 0]
    assert rule.requests == peer.requests


def test_none_means_no_response(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply([None, lambda _: None, OK])
    connection = peer.connect()
    assert connection.receive_data(framed(BEAT, 4) * 2) == []
    assert answer(connection, BEAT, 4) == OK


def test_the_latest_rule_that_matches_answers(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply(kafka.HeartbeatResponse(error_code=1))
    peer.on(12, versions="0-2").reply(kafka.HeartbeatResponse(error_code=2))
    peer.on(kafka.HeartbeatRequest, when=lambda request: request.message.member_id == "x").reply(
        kafka.HeartbeatResponse(error_code=3)
    )
    peer.on(kafka.HeartbeatRequest, times=1).reply(kafka.HeartbeatResponse(error_code=4))
    connection = peer.connect()
    requests = [(BEAT, 4), (BEAT, 4), (BEAT, 2), (BEAT.replace(member_id="x"), 2)]
    assert [answer(connection, *each).error_code for each in requests] == [4, 1, 2, 3]


def test_apis_with_rules_are_announced(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest, versions="1-2").reply(OK)
    peer.on(kafka.HeartbeatRequest, versions="4").reply(OK)
    found = answer(peer.connect(), ASKING, 3)
    assert found.error_code == 0
    assert list(found.api_keys) == [
        ApiVersion(api_key=12, min_version=1, max_version=4),
        ApiVersion(api_key=18, min_version=0, max_version=5),
    ]


def test_unstable_versions_are_not_announced_by_default(peer: MockPeer) -> None:
    unstable = next(
        cls
        for cls in map(kafka.registry.__getitem__, kafka.registry.names())
        if cls.KIND == "request" and 0 <= cls.LATEST_STABLE < cls.VERSIONS.highest
    )
    assert unstable.API_KEY is not None
    peer.on(unstable).reply(None)
    assert peer.offered[unstable.API_KEY].highest == unstable.LATEST_STABLE


@pytest.mark.parametrize("version", [6, 99, 32767])
def test_newer_client_gets_the_supported_versions(peer: MockPeer, version: int) -> None:
    """A newer ApiVersionsRequest must be answered in version 0, with error 35 and the peer's versions (KIP-511)."""
    peer.on(kafka.HeartbeatRequest).reply(OK)
    request = framed(ASKING, 4)
    newer = request[:6] + version.to_bytes(2, "big") + request[8:] + b"more fields"
    newer = (len(newer) - 4).to_bytes(4, "big") + newer[4:]
    connection = peer.connect()
    expected = "00000010  00000007  0023  00000001  0012 0000 0005"
    assert connection.receive_data(newer) == [Send(bytes.fromhex(expected))]
    assert peer.requests[0].message is None
    assert answer(connection, ASKING, 5).error_code == 0
    assert peer.problems == []


def test_offered_versions_of_api_versions_may_be_limited(peer: MockPeer) -> None:
    peer.offer(kafka.ApiVersionsRequest, "0-2")
    connection = peer.connect()
    assert connection.receive_data(framed(ASKING, 3)) == [
        Send(bytes.fromhex("00000010  00000007  0023  00000001  0012 0000 0002"))
    ]
    assert answer(connection, ASKING, 2).api_keys == (ApiVersion(api_key=18, max_version=2),)
    peer.on(kafka.ApiVersionsRequest).reply(kafka.ApiVersionsResponse(error_code=36))
    assert answer(peer.connect(), ASKING, 2).error_code == 36


def test_other_apis_may_be_offered_or_withheld(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply(OK)
    peer.offer(kafka.HeartbeatRequest, "none")
    peer.offer(kafka.MetadataRequest, "0-99")
    assert answer(peer.connect(), ASKING, 0).api_keys[0] == ApiVersion(api_key=3, max_version=99)
    assert peer.connect().receive_data(framed(BEAT, 4)) == [Close()]
    assert "HeartbeatRequest v4: the peer offers no version of this request" in str(peer.problems[0])


def test_a_version_that_was_not_offered_is_a_problem(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest, versions="0-3").reply(OK)
    connection = peer.connect()
    assert connection.receive_data(framed(BEAT, 4) + framed(BEAT, 0)) == [Close()]
    assert connection.is_closed
    assert connection.receive_data(framed(BEAT, 0)) == []
    (problem,) = peer.problems
    assert str(problem) == (
        "connection 1, request 1, byte 0: HeartbeatRequest v4: version 4 is not offered; "
        "the peer offers versions 0-3, and the message has versions 0-4"
    )


@pytest.mark.parametrize(("reply", "cause", "text"), [
    (lambda _: 1 // 0, ZeroDivisionError, "the script raised ZeroDivisionError('"),
    (lambda _: kafka.MetadataResponse(), PeerError, "expected HeartbeatResponse as the response, got MetadataResponse"),
])  # fmt: skip
def test_errors_of_a_reply_function_are_kept_for_the_test(peer: MockPeer, reply: Any, cause: Any, text: str) -> None:
    peer.on(kafka.HeartbeatRequest).reply(reply)
    assert peer.connect().receive_data(framed(BEAT, 4)) == [Close()]
    assert isinstance(peer.problems[0].cause, cause)
    with pytest.raises(AssertionError, match=f"(?s)had 1 problem:.*{re.escape(text)}"):
        peer.assert_no_problems()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (kafka.MetadataResponse(), "expected HeartbeatResponse as the response, got MetadataResponse"),
        (BEAT, "expected a response, a Reply or None, got a request, HeartbeatRequest"),
        (kafka.HeartbeatResponse, "expected a response, a Reply or None, got the class HeartbeatResponse"),
        ("text", "expected a response, a Reply or None, got 'text'"),
        ([], "the list of answers is empty"),
        (Reply(OK, version=77), "HeartbeatResponse has no version 77; supported versions are 0-4"),
        ([OK, Reply(OK, version=77)], "HeartbeatResponse has no version 77; supported versions are 0-4"),
        (Reply(OK, header={"id": 1}), "ResponseHeader has no field 'id'; its fields are correlation_id, unknown"),
        (Reply(OK, fields={"eror_code": 1}), "on(HeartbeatRequest): HeartbeatResponse: eror_code: HeartbeatResponse "),
    ],
)
def test_objects_that_are_not_responses_are_rejected_immediately(peer: MockPeer, answer: Any, message: str) -> None:
    with pytest.raises(PeerError) as caught:
        peer.on(kafka.HeartbeatRequest).reply(answer)
    assert message in str(caught.value)


def test_a_rule_is_in_force_with_its_only_reply(peer: MockPeer) -> None:
    rule = peer.on(kafka.HeartbeatRequest)
    assert kafka.HeartbeatRequest.API_KEY not in peer.offered
    assert rule.reply(OK) is rule and kafka.HeartbeatRequest.API_KEY in peer.offered
    with pytest.raises(PeerError, match="this rule already has answers; add another rule with `on`"):
        rule.reply([OK, OK])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"versions": "99"}, "HeartbeatRequest has none of the versions 99; its versions are 0-4"),
        ({"times": 0}, "on(HeartbeatRequest): expected an integer of 1 or more as `times`, got 0"),
        ({"times": "1"}, "expected an integer of 1 or more as `times`, got '1'"),
        ({"when": {}}, "on(HeartbeatRequest): expected a function of the request as `when`, got a dict"),
        ({"versions": 4}, "versions: expected a string such as '0-4', or a Versions, got 4"),
        ({"request": kafka.HeartbeatResponse}, "expected a request's class, name or API key, got 'HeartbeatResponse'"),
        ({"request": "Heartbeet"}, "tagwire_messages has no message 'Heartbeet'; did you mean 'HeartbeatRequest'?"),
    ],
)
def test_rules_that_never_match_are_rejected(peer: MockPeer, how: dict[str, Any], message: str) -> None:
    with pytest.raises((PeerError, UnknownMessageError, TypeError)) as caught:
        peer.on(how.pop("request", kafka.HeartbeatRequest), **how)
    assert message in str(caught.value)


def test_limits_apply_to_headers_and_frames() -> None:
    """Request headers that exceed `Limits.bytes` must be rejected, in supported and in unsupported versions."""
    peer = MockPeer(kafka.registry, limits=Limits(bytes=10))
    frame = kafka.registry.encode_request(BEAT, 4)
    for each in (frame, frame[:2] + b"\0\x63" + frame[4:]):
        assert peer.connect().receive_data(len(each).to_bytes(4, "big") + each) == [Close()]
    assert peer.requests == []
    assert ["RequestHeader" in each.text and "Limits.bytes" in each.text for each in peer.problems] == [True, True]
    peer = MockPeer(max_size=20)
    assert peer.connect().receive_data((21).to_bytes(4, "big")) == [Close()]
    assert "at most 20" in str(peer.problems[0])


def test_errors_of_callbacks_are_problems(peer: MockPeer) -> None:
    def fail(_: object) -> None:
        raise OSError("oh")

    peer.on(kafka.HeartbeatRequest).reply(OK)
    peer.journal.on_received = fail
    peer.journal.on_problem = fail
    assert peer.connect().receive_data(framed(BEAT, 4)) == [Send(V4)]
    assert [each.text for each in peer.problems] == [
        "on_received raised OSError('oh')",
        "on_problem raised OSError('oh')",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "(max_size); the other side uses HTTP"),
        (b"\xff\xff\xff\xff", "found size -1"),
        (bytes.fromhex("00000004 7fff0000"), "became unusable at byte 0"),
        (bytes.fromhex("00000002 0003"), "became unusable at byte 0"),
        (framed(BEAT, 4)[:-1], "within a frame: frame: size at byte 0: found 20 bytes of a frame of 21 bytes"),
    ],
)
def test_bytes_that_are_no_requests(peer: MockPeer, data: bytes, message: str) -> None:
    connection = peer.connect()
    actions = connection.receive_data(data) + connection.receive_data(b"")
    assert actions == [Close()]
    assert message in str(peer.problems[0])
    assert peer.requests == []


V4 = bytes.fromhex("0000000c  00000007 00  00000000 0000 00")
