import threading
from typing import Any

import pytest

import tagwire_messages as kafka
from tagwire import Message, UnknownMessageError, UnsupportedVersionError
from tagwire.testing.peer import MockPeer, PeerConnection, PeerError
from tagwire.testing.peer.journal import difference_lines, differences
from tagwire_messages.metadata_request import MetadataRequestTopic

BEAT = kafka.HeartbeatRequest(group_id="g", member_id="m")
ORDERS, BILLS = MetadataRequestTopic(name="orders"), MetadataRequestTopic(name="bills")
REQUEST = kafka.MetadataRequest(topics=[ORDERS, BILLS])


def send(connection: PeerConnection, message: Message, version: int) -> None:
    frame = kafka.registry.encode_request(message, version)
    connection.receive_data(len(frame).to_bytes(4, "big") + frame)


@pytest.fixture
def peer() -> MockPeer:
    peer = MockPeer()
    peer.on(kafka.MetadataRequest).reply(kafka.MetadataResponse())
    peer.on(kafka.HeartbeatRequest).reply(kafka.HeartbeatResponse())
    first, second = peer.connect(), peer.connect()
    send(first, REQUEST, 9)
    send(second, REQUEST.replace(topics=[ORDERS]), 12)
    send(first, BEAT, 4)
    send(second, BEAT, 3)
    return peer


def test_assertions_that_pass(peer: MockPeer) -> None:
    peer.assert_received(REQUEST)
    peer.assert_received(REQUEST, version=9, times=1)
    peer.assert_received(kafka.HeartbeatRequest, times=2)
    peer.assert_received("HeartbeatRequest", version=3, times=1)
    peer.assert_not_received(REQUEST, version=12)
    peer.assert_not_received(kafka.FetchRequest)
    peer.assert_order(REQUEST, 3, BEAT, BEAT)
    peer.assert_no_problems()
    assert [each.version for each in peer.received("HeartbeatRequest")] == [4, 3]


@pytest.mark.parametrize("other", ["Heartbeat", 1000, kafka.HeartbeatResponse, kafka.HeartbeatResponse()])
def test_what_is_not_a_request_can_not_be_expected(peer: MockPeer, other: Any) -> None:
    for method in (peer.assert_received, peer.assert_not_received, peer.assert_order, peer.received, peer.wait_for):
        with pytest.raises((PeerError, UnknownMessageError)):
            method(other)
    with pytest.raises(UnsupportedVersionError):
        peer.assert_not_received(REQUEST, version="9")  # type: ignore[arg-type]


@pytest.mark.parametrize(("times", "text"), [
    (1, "HeartbeatRequest: 1 expected, 2 received"),
    (3, "HeartbeatRequest: 3 expected, 2 received"),
])  # fmt: skip
def test_expected_and_received_numbers_are_shown(peer: MockPeer, times: int, text: str) -> None:
    with pytest.raises(AssertionError, match=f"^{text}\n"):
        peer.assert_received(kafka.HeartbeatRequest, times=times)


def test_the_closest_requests_are_shown_with_what_differs(peer: MockPeer) -> None:
    expected = REQUEST.replace(topics=[MetadataRequestTopic(name="order")], allow_auto_topic_creation=False)
    with pytest.raises(AssertionError) as caught:
        peer.assert_received(expected)
    assert str(caught.value).splitlines() == [
        "MetadataRequest: some expected, none received",
        "  #2 (connection 2, request 1, byte 0), v12:",
        "    topics[0].name             expected 'order', received 'orders'",
        "    allow_auto_topic_creation  expected False, received True",
        "  #1 (connection 1, request 1, byte 0), v9:",
        "    topics[0].name             expected 'order', received 'orders'",
        "    topics[1]                  expected nothing, received MetadataRequestTopic(name='bills')",
        "    allow_auto_topic_creation  expected False, received True",
        "received:",
        "  connection 1: MetadataRequest v9, HeartbeatRequest v4",
        "  connection 2: MetadataRequest v12, HeartbeatRequest v3",
    ]


def test_a_wrong_version_is_one_of_the_differences(peer: MockPeer) -> None:
    with pytest.raises(AssertionError, match=r"version  expected 11, received 9"):
        peer.assert_received(REQUEST, version=11)


def test_too_many_are_listed(peer: MockPeer) -> None:
    with pytest.raises(AssertionError) as caught:
        peer.assert_not_received(BEAT)
    assert str(caught.value).splitlines()[:3] == [
        "HeartbeatRequest: none expected, 2 received",
        "  #3 (connection 1, request 2, byte 35): v4 HeartbeatRequest(group_id='g', member_id='m')",
        "  #4 (connection 2, request 2, byte 43): v3 HeartbeatRequest(group_id='g', member_id='m')",
    ]


def test_a_wrong_order(peer: MockPeer) -> None:
    with pytest.raises(AssertionError, match="no such MetadataRequest was received after #3 HeartbeatRequest"):
        peer.assert_order(BEAT, kafka.MetadataRequest)
    with pytest.raises(AssertionError, match=r"no such HeartbeatRequest was received after the start: .*group_id='x'"):
        peer.assert_order(BEAT.replace(group_id="x"))


def test_nothing_and_problems_are_reported() -> None:
    peer = MockPeer()
    with pytest.raises(AssertionError, match="nothing was received"):
        peer.assert_received(BEAT)
    peer.connect().receive_data(b"\xff\xff\xff\xff")
    with pytest.raises(AssertionError, match=r"problem: connection 1: .*found size -1"):
        peer.assert_received(BEAT)


def test_secrets_of_a_test_are_shown() -> None:
    peer = MockPeer()
    peer.on(kafka.SaslAuthenticateRequest).reply(kafka.SaslAuthenticateResponse())
    send(peer.connect(), kafka.SaslAuthenticateRequest(auth_bytes=b"right"), 2)
    with pytest.raises(AssertionError, match="auth_bytes  expected 5 bytes 77726f6e67, received 5 bytes 7269676874"):
        peer.assert_received(kafka.SaslAuthenticateRequest(auth_bytes=b"wrong"))


def test_waiting(peer: MockPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(threading.Condition, "wait", None)  # the requests are already there
        assert [len(peer.wait_for(kafka.HeartbeatRequest, count=number)) for number in (1, 2)] == [2, 2]
    with pytest.raises(AssertionError, match="2 HeartbeatRequests received within 0 s; 3 expected"):
        peer.wait_for(kafka.HeartbeatRequest, count=3, timeout=0)
    timer = threading.Timer(0.05, lambda: send(peer.connect(), BEAT, 4))
    timer.start()
    assert len(peer.wait_for(kafka.HeartbeatRequest, count=3)) == 3
    timer.join()


def test_waiting_ends_after_a_problem(peer: MockPeer) -> None:
    timer = threading.Timer(0.05, lambda: peer.connect().receive_data(b"\xff\xff\xff\xff"))
    timer.start()
    with pytest.raises(AssertionError, match="found size -1"):
        peer.wait_for(kafka.FetchRequest, timeout=60)
    timer.join()


def test_a_journal_is_cleared(peer: MockPeer) -> None:
    peer.journal.clear()
    assert (peer.requests, peer.problems) == ([], [])
    assert peer.connect().number == 3


def test_many_differences_are_cut() -> None:
    topics = [MetadataRequestTopic(name=str(number)) for number in range(20)]
    found = list(differences(kafka.MetadataRequest(topics=topics), kafka.MetadataRequest(topics=topics[:1])))
    lines = difference_lines(found)
    assert (len(found), len(lines), lines[-1]) == (19, 13, "and 7 more fields")
    assert lines[0].endswith("expected MetadataRequestTopic(name='1'), received nothing")
