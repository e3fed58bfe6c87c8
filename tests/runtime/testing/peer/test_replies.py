"""Test the replies of mock peers without sockets: their order, delays and faults."""

from itertools import pairwise
from typing import Any

import pytest
from peer_frames import BEAT, OK, answer, framed

import tagwire_messages as kafka
from tagwire.testing.peer import Action, Close, MockPeer, PeerError, Reply, Send, Wait


def test_unknown_fault_is_rejected(peer: MockPeer) -> None:
    with pytest.raises(PeerError, match="unknown fault 'dely'; expected one of version, header, fields"):
        peer.on(kafka.HeartbeatRequest).reply(OK, dely=1)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"delay": "1"}, "delay: expected a number of seconds from 0 to 86400, got '1'"),
        ({"delay": 10**400}, "delay: expected a number of seconds from 0 to 86400, got an int of 1329 bits"),
        ({"delay": float("inf")}, "delay: expected a number of seconds"),
        ({"delay": float("nan")}, "delay: expected a number of seconds"),
        ({"delay": True}, "delay: expected a number of seconds"),
        ({"raw": "abc"}, "raw: expected bytes or None, got 'abc'"),
        ({"after": -1}, "after: expected an integer of 0 or more, got -1"),
        ({"after": "x"}, "after: expected "),
        ({"cut_at": -1}, "cut_at: expected an integer of 0 or more"),
        ({"cut_at": 3.0}, "cut_at: expected an integer of 0 or more"),
        ({"version": 1.0}, "version: expected a version from 0 to 32767, got 1.0"),
        ({"version": 32768}, "version: expected "),
        ({"split_at": 4}, "split_at: expected a list or range of offsets of 0 or more, got 4"),
        ({"split_at": [1, -1]}, "split_at: expected "),
        ({"split_at": range(9, -9, -1)}, "split_at: expected "),
        ({"close": 1}, "close: expected True or False, got 1"),
        ({"header": ["x"]}, "header: expected a mapping of names"),
        ({"fields": {1: 2}}, "fields: expected a mapping of paths"),
        ({"unknown_tags": {5: "x"}}, "unknown_tags: expected a mapping of tags from 0"),
        ({"unknown_tags": {-5: b"x"}}, "unknown_tags: expected a mapping"),
    ],
)
def test_faults_have_kinds_and_bounds(peer: MockPeer, fault: dict[str, Any], expected: str) -> None:
    with pytest.raises(PeerError) as constructed:
        Reply(OK, **fault)
    with pytest.raises(PeerError) as replied:
        peer.on(kafka.HeartbeatRequest).reply(lambda _: OK, **fault)
    assert str(constructed.value) == str(replied.value)
    assert str(constructed.value).startswith(expected)
    assert peer.offered.keys() == {18}


def faulty(peer: MockPeer, request_version: int = 4, **faults: Any) -> list[Action]:
    peer.on(kafka.HeartbeatRequest).reply(OK, **faults)
    return peer.connect().receive_data(framed(BEAT, request_version))


V4 = bytes.fromhex("0000000c  00000007 00  00000000 0000 00")


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ({"delay": 1.5}, [Wait(1.5), Send(V4)]),
        ({"cut_at": 9}, [Send(V4[:9]), Close()]),
        ({"cut_at": 0}, [Close()]),
        ({"close": True}, [Send(V4), Close()]),
        ({"raw": b"HTTP/1.1 400\r\n"}, [Send(b"HTTP/1.1 400\r\n")]),
        ({"version": 0}, [Send(bytes.fromhex("00000006 00000007 0000"))]),
        ({"header": {"correlation_id": 8}}, [Send(V4[:7] + b"\x08" + V4[8:])]),
        (
            {"header": {"unknown_tags": {5: b"x"}}},
            [Send(bytes.fromhex("0000000f  00000007 01 05 01 78  00000000 0000 00"))],
        ),
        ({"unknown_tags": {5: b"x"}}, [Send(bytes.fromhex("0000000f  00000007 00  00000000 0000 01 05 01 78"))]),
        ({"fields": {"error_code": 9999}}, [Send(bytes.fromhex("0000000c  00000007 00  00000000 270f 00"))]),
    ],
)
def test_faults(peer: MockPeer, faults: dict[str, Any], expected: list[Action]) -> None:
    assert faulty(peer, **faults) == expected
    assert peer.problems == []


def test_a_frame_in_parts(peer: MockPeer) -> None:
    actions = faulty(peer, split_at=(4, 2, 9, 100))
    assert [action.data for action in actions if isinstance(action, Send)] == [V4[:2], V4[2:4], V4[4:9], V4[9:]]
    assert [isinstance(action, Wait) for action in actions] == [False, True, False, True, False, True, False]


@pytest.mark.parametrize(
    ("split_at", "offsets"),
    [(range(2, 10**12, 7), [2, 9]), (range(9, 1, -7), [2, 9]), (range(100), [*range(1, len(V4))])],
)
def test_ranges_of_any_length_and_direction(peer: MockPeer, split_at: range, offsets: list[int]) -> None:
    parts = [action.data for action in faulty(peer, split_at=split_at) if isinstance(action, Send)]
    assert parts == [V4[start:end] for start, end in pairwise([0, *offsets, len(V4)])]


def test_answers_out_of_order(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply([Reply(OK, after=2), OK, Reply(OK, after=1), OK, OK])
    connection = peer.connect()
    data = b"".join(framed(BEAT, 4, correlation_id=number) for number in range(1, 6))
    ids = [action.data[7] for action in connection.receive_data(data) if isinstance(action, Send)]
    assert ids == [2, 4, 1, 3, 5]


@pytest.mark.parametrize("close", [False, True])
def test_held_responses_are_sent_at_the_end_unless_one_closes(peer: MockPeer, close: bool) -> None:
    peer.on(kafka.HeartbeatRequest).reply([Reply(OK, after=5, close=close), Reply(OK, after=5)])
    connection = peer.connect()
    assert connection.receive_data(framed(BEAT, 4) * 2) == []
    assert connection.receive_data(b"") == [*[Send(V4)] * (1 if close else 2), Close()]


def test_nothing_is_sent_after_a_close(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply([Reply(close=True), OK])
    assert peer.connect().receive_data(framed(BEAT, 4) * 2) == [Close()]
    assert len(peer.requests) == 1


def test_each_field_that_a_path_leads_to(peer: MockPeer) -> None:
    from tagwire_messages.metadata_response import MetadataResponseTopic

    topics = [MetadataResponseTopic(name="a"), MetadataResponseTopic(name="b")]
    peer.on(kafka.MetadataRequest).reply(kafka.MetadataResponse(topics=topics), fields={"topics[].error_code": -7})
    found = answer(peer.connect(), kafka.MetadataRequest(topics=[]), 12)
    assert [topic.error_code for topic in found.topics] == [-7, -7]


def test_faults_of_a_sequence_are_combined_with_those_of_its_replies(peer: MockPeer) -> None:
    peer.on(kafka.HeartbeatRequest).reply([Reply(OK, close=True), lambda _: OK], delay=1)
    assert peer.connect().receive_data(framed(BEAT, 4)) == [Wait(1), Send(V4), Close()]
    assert peer.connect().receive_data(framed(BEAT, 4)) == [Wait(1), Send(V4)]


def test_faults_that_a_version_can_not_represent(peer: MockPeer) -> None:
    assert faulty(peer, 0, unknown_tags={5: b"x"}) == [Close()]
    assert "messages of this version have no tagged fields" in str(peer.problems[0])
