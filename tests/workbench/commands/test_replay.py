import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema
import pytest
from command import tagwire_outcome

import tagwire
import tagwire_cli
import tagwire_messages as kafka
from tagwire.addresses import Address
from tagwire.records import BatchBuilder, Record, build, read_batches
from tagwire.testing.peer import MockPeer, Reply
from tagwire_messages.fetch_request import FetchTopic
from tagwire_messages.fetch_response import FetchableTopicResponse, PartitionData
from tagwire_messages.join_group_response import JoinGroupResponseMember
from tagwire_messages.metadata_request import MetadataRequestTopic
from tagwire_messages.metadata_response import MetadataResponseBroker, MetadataResponseTopic
from tagwire_messages.produce_request import PartitionProduceData, TopicProduceData
from tagwire_messages.produce_response import PartitionProduceResponse, TopicProduceResponse
from tagwire_workbench.proxy import CaptureFile, RecordedFrame
from tagwire_workbench.replaying.answers import Ignored, answer_differences
from tagwire_workbench.replaying.id_mapping import IdMapping

SCHEMA = json.loads((Path(tagwire_cli.__file__).parent / "json_schemas" / "replay.json").read_text())
BROKERS = [MetadataResponseBroker(node_id=1, host="b1", port=9092)]
METADATA = kafka.MetadataResponse(brokers=BROKERS, cluster_id="one")


@pytest.fixture
def peer(peer: MockPeer) -> MockPeer:
    peer.on(kafka.MetadataRequest).reply(METADATA)
    return peer


def frame(message: Any, version: int, number: int = 1, conn: int = 1, server: int = 1) -> RecordedFrame:
    registry, is_request = kafka.registry, message.KIND == "request"
    encode: Any = registry.encode_request if is_request else registry.encode_response
    data = encode(message, version, correlation_id=number)
    return RecordedFrame(conn, is_request, message.API_KEY, version, number, "c", Address("b", server), 0.0, data)


REQUEST = frame(kafka.MetadataRequest(), 12)


def capture(folder: Path, *frames: RecordedFrame) -> Path:
    with CaptureFile(folder / "frames.jsonl.gz", run="r") as file:
        for each in frames:
            file.add(each)
    return file.path


replay = partial(tagwire_outcome, "replay")


def test_the_same_answers(peer: MockPeer, tmp_path: Path) -> None:
    file = capture(
        tmp_path,
        REQUEST,
        frame(kafka.HeartbeatRequest(group_id="g"), 4, 2),
        frame(kafka.HeartbeatRequest(group_id="h"), 4, 1, conn=2),
        frame(kafka.HeartbeatResponse(throttle_time_ms=7), 4, 1, conn=2),
        frame(kafka.HeartbeatResponse(), 4, 2),
        frame(METADATA, 12),
        frame(kafka.HeartbeatResponse(), 4, 99),
    )
    code, out, err = replay(file, "--to", peer.address)
    assert (code, out) == (0, "")
    assert "frames.jsonl.gz: skipped 1 response, because bytes or requests are missing" in err
    assert err.endswith("\nreplayed 3 requests; responses: 3 the same, 0 different, 0 missing\n")
    assert len({each.connection for each in peer.requests}) == 2


OTHER = METADATA.replace(controller_id=2, brokers=[*BROKERS, MetadataResponseBroker(node_id=2, host="b2")])


def test_differences(peer: MockPeer, tmp_path: Path) -> None:
    file = capture(tmp_path, REQUEST, frame(OTHER, 12))
    code, out, err = replay(file, "--to", peer.address)
    assert (code, err) == (1, "replayed 1 request; responses: 0 the same, 1 different, 0 missing\n")
    first, broker, controller = out.splitlines()
    assert first == "line 2, connection r 1: MetadataResponse v12 differs"
    assert broker.startswith("    brokers[1]     expected MetadataResponseBroker(node_id=2, host='b2'")
    assert controller == "    controller_id  expected 2, received -1"
    code, out, _ = replay(file, "--to", peer.address, "--json")
    (row,) = map(json.loads, out.splitlines())
    jsonschema.validate(row, SCHEMA)
    expected = (1, "differs", ["brokers[1]", "controller_id"])
    assert (code, row["result"], [each["path"] for each in row["differences"]]) == expected


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--ignore", "brokers", "--ignore", "controller_id"], 0),
        (["--ignore", "brokers[]", "--ignore", "MetadataResponse.controller_id"], 0),
        (["--ignore", "brokers[].host", "--ignore", "controller_id"], 1),
        (["--ignore", "HeartbeatResponse.error_code"], 1),
        (["--ignore", "brokers"], 1),
    ],
)
def test_allowed_differences(words: list[str], code: int, peer: MockPeer, tmp_path: Path) -> None:
    assert replay(capture(tmp_path, REQUEST, frame(OTHER, 12)), "--to", peer.address, *words)[0] == code


def test_path_that_does_not_exist(peer: MockPeer, tmp_path: Path) -> None:
    file = capture(tmp_path, REQUEST, frame(OTHER, 12))
    for path in ("clusterid", "MetadataResponse.clusterid", "header.host"):
        code, out, err = replay(file, "--to", peer.address, "--ignore", path)
        assert (code, out) == (1, "") and "has no field" in err
    code, out, err = replay(file, "--to", peer.address, "--ignore", "MetadataRequest.topics")
    assert (code, out) == (1, "")
    assert "MetadataRequest is a request, but only fields of responses can be compared" in err
    for path in ("[[", "", "header."):
        code, out, err = replay(file, "--to", peer.address, "--ignore", path)
        assert (code, out) == (1, "") and f"got {path.removeprefix('header.')!r}" in err
    assert peer.requests == []


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(close=True), "the server closed the connection"),
        (Reply(), "no response within 2 s"),
        (Reply(raw=b"\xff\xff\xff\xff"), "the server sent bytes that are not a frame: "),
    ],
)
def test_missing_responses_abandon_only_their_connection(
    reply: Reply, reason: str, peer: MockPeer, tmp_path: Path
) -> None:
    peer.on(kafka.MetadataRequest).reply(reply)
    beat, fine = frame(kafka.HeartbeatRequest(), 4, conn=2), frame(kafka.HeartbeatResponse(), 4, conn=2)
    file = capture(tmp_path, REQUEST, frame(METADATA, 12), REQUEST, frame(METADATA, 12), beat, fine)
    words = ("--to", peer.address, "--timeout", 2 if reply == Reply() else 60)
    code, out, _ = replay(file, *words, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    for row in rows:
        jsonschema.validate(row, SCHEMA)
    assert (code, [row["result"] for row in rows]) == (1, ["missing", "missing", "same"])
    assert rows[0]["reason"].startswith(reason)
    shown = replay(file, *words)[1]
    assert f"line 2, connection r 1: MetadataResponse v12 is missing: {reason}" in shown


def test_an_answer_that_cannot_be_read(peer: MockPeer, tmp_path: Path) -> None:
    peer.on(kafka.MetadataRequest).reply(raw=bytes.fromhex("00000005 00000001 00"))
    code, out, _ = replay(capture(tmp_path, REQUEST, frame(METADATA, 12)), "--to", peer.address)
    assert code == 1 and "expected a MetadataResponse, received an unreadable response: MetadataResponse v12" in out


def test_secrets_are_hidden(peer: MockPeer, tmp_path: Path) -> None:
    peer.on(kafka.SaslAuthenticateRequest).reply(kafka.SaslAuthenticateResponse(auth_bytes=b"secret"))
    request = frame(kafka.SaslAuthenticateRequest(auth_bytes=b"x"), 2)
    answer = frame(kafka.SaslAuthenticateResponse(auth_bytes=b"other"), 2)
    file = capture(tmp_path, request, answer, request, replace(answer, data=answer.data[:-1]))
    out = replay(file, "--to", peer.address)[1]
    assert "auth_bytes  expected <hidden>, received <hidden>" in out and " 22 bytes, received 24 other bytes\n" in out
    assert b"secret".hex() in replay(file, "--to", peer.address, "--show-sensitive")[1]


def test_one_server_of_several(peer: MockPeer, tmp_path: Path) -> None:
    other = frame(kafka.HeartbeatRequest(), 4, conn=2, server=2)
    file = capture(tmp_path, REQUEST, other, frame(METADATA, 12))
    assert replay(file, "--to", peer.address, "--server", "b:1")[2].startswith("replayed 1 request;")
    code, out, err = replay(file, "--to", peer.address, "--server", "b:3")
    assert (code, out) == (2, "") and "the capture has no frames to or from 'b:3'; its servers are b:1, b:2" in err
    file.write_text('{"dir": "req", "hex": ""}')
    assert "none of its lines has the key 'server'" in replay(file, "--to", peer.address, "--server", "b:1")[2]


def test_no_server_listens(tmp_path: Path) -> None:
    file = capture(tmp_path, REQUEST)
    code, out, err = replay(file, "--to", "127.0.0.1:1")
    rejected = "127.0.0.1:1: the server can't be reached: Connection refused; start it, or name another with --to"
    assert (code, out) == (1, "") and rejected in err and "Connect call" not in err
    code, out, err = replay(file, "--to", "broker..example:1")
    assert (code, out) == (2, "") and "expected the name or IP address of a host, got 'broker..example'" in err


RECORDED, ASSIGNED = UUID(int=1), UUID(int=2)
BATCH = build([Record(0, 1, None, b"v")], "v2", producer_id=10, producer_epoch=0, base_sequence=0)


def exchange(number: int, request: Any, response: Any, version: int) -> list[RecordedFrame]:
    return [frame(request, version, number), frame(response, version, number)]


def described(*topics: tuple[str, UUID]) -> Any:
    return METADATA.replace(topics=[MetadataResponseTopic(name=name, topic_id=id_) for name, id_ in topics])


def test_topic_ids_are_replaced(peer: MockPeer, tmp_path: Path) -> None:
    def fetched(topic_id: UUID, session: int) -> Any:
        return kafka.FetchResponse(session_id=session, responses=[FetchableTopicResponse(topic_id=topic_id)])

    def fetch(topic_id: UUID, session: int) -> Any:
        return kafka.FetchRequest(session_id=session, topics=[FetchTopic(topic_id=topic_id)])

    file = capture(
        tmp_path,
        *exchange(1, kafka.MetadataRequest(), described(("orders", RECORDED)).replace(cluster_id="first"), 12),
        *exchange(2, fetch(RECORDED, 0), fetched(RECORDED, 77), 13),
        *exchange(3, fetch(RECORDED, 77), fetched(RECORDED, 77), 13),
        *exchange(4, fetch(RECORDED, 77), fetched(RECORDED, 77), 13),
    )
    brokers = [BROKERS[0].replace(host="other", port=1)]
    peer.on(kafka.MetadataRequest).reply(described(("orders", ASSIGNED)).replace(brokers=brokers))
    peer.on(kafka.FetchRequest).reply([fetched(ASSIGNED, 99), fetched(ASSIGNED, 99), fetched(RECORDED, 99)])
    code, out, err = replay(file, "--to", peer.address)
    assert err == "replayed 4 requests; responses: 3 the same, 1 different, 0 missing\n", out
    assert code == 1 and out.splitlines() == [
        "line 8, connection r 1: FetchResponse v13 differs",
        f"    responses[0].topic_id  expected {ASSIGNED}, received {RECORDED}",
    ]
    received = [each.message for each in peer.received(kafka.FetchRequest)]
    assert received == [fetch(ASSIGNED, 0), fetch(ASSIGNED, 99), fetch(ASSIGNED, 99)]


def test_ids_and_epochs_of_producers_and_members_are_replaced(peer: MockPeer, tmp_path: Path) -> None:
    def produce(records: bytes) -> Any:
        data = [PartitionProduceData(index=0, records=records)]
        return kafka.ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="orders", partition_data=data)])

    def joined(member: str, generation: int) -> Any:
        members = [JoinGroupResponseMember(member_id="other"), JoinGroupResponseMember(member_id=member)]
        return kafka.JoinGroupResponse(member_id=member, leader=member, generation_id=generation, members=members)

    def commit(member: str, generation: int) -> Any:
        return kafka.OffsetCommitRequest(group_id="g", member_id=member, generation_id_or_member_epoch=generation)

    produced = kafka.ProduceResponse()
    file = capture(
        tmp_path,
        *exchange(1, kafka.InitProducerIdRequest(), kafka.InitProducerIdResponse(producer_id=10), 4),
        *exchange(2, produce(BATCH.encode()), produced, 9),
        *exchange(3, kafka.JoinGroupRequest(), joined("a-1", 1), 7),
        *exchange(4, commit("a-1", 1), kafka.OffsetCommitResponse(), 8),
    )
    peer.on(kafka.InitProducerIdRequest).reply(kafka.InitProducerIdResponse(producer_id=4010, producer_epoch=3))
    peer.on(kafka.ProduceRequest).reply(produced)
    peer.on(kafka.JoinGroupRequest).reply(joined("a-2", 5))
    peer.on(kafka.OffsetCommitRequest).reply(kafka.OffsetCommitResponse())
    assert replay(file, "--to", peer.address)[:2] == (0, "")
    [sent] = peer.received(kafka.ProduceRequest)
    [batch] = read_batches(sent.message.topic_data[0].partition_data[0].records)
    assert (batch.producer_id, batch.producer_epoch, [each.value for each in batch]) == (4010, 3, [b"v"])
    peer.assert_received(commit("a-2", 5))


def test_unknown_ids_are_sent_unchanged(peer: MockPeer, tmp_path: Path) -> None:
    """IDs of topics that the target server does not have, and values that mean "no ID", must be sent unchanged."""
    request = kafka.MetadataRequest(topics=[MetadataRequestTopic(topic_id=RECORDED, name=None)])
    none = UUID(int=0)
    file = capture(
        tmp_path,
        *exchange(1, kafka.MetadataRequest(), described(("a", RECORDED), ("b", UUID(int=3)), ("c", none)), 12),
        *exchange(2, request, described(), 12),
    )
    peer.on(kafka.MetadataRequest).reply([described(("b", UUID(int=3)), ("b", none), ("c", ASSIGNED)), described()])
    assert replay(file, "--to", peer.address)[0] == 1
    peer.assert_received(request)


def test_ids_of_members_in_another_order() -> None:
    """A recorded ID must not be replaced by another member's ID only because both are at the same position."""

    def joined(*ids: str) -> Any:
        members = [JoinGroupResponseMember(member_id=each) for each in ids]
        return kafka.JoinGroupResponse(member_id=ids[0], generation_id=1, members=members)

    ids = IdMapping(kafka.registry)
    ids.learn(joined("a-1", "b-1"), joined("a-2", "b-2").replace(members=joined("b-2", "a-2").members))
    beats = [kafka.HeartbeatRequest(group_id="g", member_id=each, generation_id=1) for each in ("a-1", "b-1")]
    assert [ids.message(each).member_id for each in beats] == ["a-2", "b-1"]


def test_topic_ids_are_matched_by_name() -> None:
    a, b, new, other_b, other_a = (UUID(int=number) for number in range(1, 6))
    ids = IdMapping(kafka.registry)
    ids.learn(described(("a", a), ("b", b)), described(("new", new), ("b", other_b), ("a", other_a)))
    fetches = [kafka.FetchRequest(topics=[FetchTopic(topic_id=each)]) for each in (a, b, other_a, other_b)]
    assert [ids.message(each) for each in fetches[:2]] == fetches[2:]


def test_equal_ids_in_another_order() -> None:
    """IDs that both servers use must be mapped to themselves, even if the servers list topics in different orders."""

    def fetched(*ids: int) -> Any:
        return kafka.FetchResponse(responses=[FetchableTopicResponse(topic_id=UUID(int=each)) for each in ids])

    ids = IdMapping(kafka.registry)
    ids.learn(fetched(1, 2, 3), fetched(2, 1, 4))
    assert ids.message(fetched(1, 2, 3)) == fetched(1, 2, 4)


def test_undecodable_requests_and_records_are_sent_unchanged(peer: MockPeer, tmp_path: Path) -> None:
    data = [PartitionProduceData(index=0, records=b"no batch")]
    odd = kafka.ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="orders", partition_data=data)])
    ids = IdMapping(kafka.registry)
    ids.learn(kafka.InitProducerIdResponse(producer_id=1), kafka.InitProducerIdResponse(producer_id=2))
    for each in (b"\0", b"", frame(odd, 9).data, frame(kafka.HeartbeatRequest(), 4).data + b"x"):
        assert ids.request(each) is each


def test_differences_after_reordering_have_the_recorded_path(peer: MockPeer, tmp_path: Path) -> None:
    def produced(*topics: tuple[str, list[tuple[int, int]]]) -> Any:
        responses = []
        for name, rows in topics:
            parts = [PartitionProduceResponse(index=at, base_offset=offset) for at, offset in rows]
            responses.append(TopicProduceResponse(name=name, partition_responses=parts))
        return kafka.ProduceResponse(responses=responses)

    recorded = produced(("a", [(0, 5), (1, 6)]), ("b", [(0, 7)]))
    request = kafka.ProduceRequest(acks=1)
    file = capture(tmp_path, *exchange(1, request, recorded, 9), *exchange(2, request, recorded, 9))
    other = produced(("b", [(0, 7)]), ("a", [(1, 6), (0, 8)]))
    peer.on(kafka.ProduceRequest).reply([produced(("b", [(0, 7)]), ("a", [(1, 6), (0, 5)])), other])
    code, out, _ = replay(file, "--to", peer.address)
    assert code == 1
    assert out.splitlines()[1:] == ["    responses[0].partition_responses[0].base_offset  expected 5, received 8"]
    parts = produced(("c", []), ("a", [(1, 6)]), ("b", [(0, 7)]))
    nothing = Ignored(kafka.registry, (), ())
    one, other = (frame(each, 9).data for each in (recorded, parts))
    found = answer_differences(kafka.registry, 0, 9, one, other, nothing, IdMapping(kafka.registry))
    assert [each.path for each in found] == ["responses[0].partition_responses[0]", "responses[2]"]


def test_pace_multiplies_the_recorded_pauses(peer: MockPeer, tmp_path: Path) -> None:
    beats = exchange(2, kafka.HeartbeatRequest(), kafka.HeartbeatResponse(), 4)
    late = [replace(each, time=1000.2) for each in beats]
    late = [*(replace(each, time=1000) for each in (REQUEST, frame(METADATA, 12))), *late]
    started = time.monotonic()
    assert replay(capture(tmp_path, *late), "--to", peer.address, "--paced")[0] == 0
    assert time.monotonic() - started >= 0.2


def test_retriable_errors_and_closed_connections(peer: MockPeer, tmp_path: Path) -> None:
    """A request must be repeated after a retriable error. Connections must close where they did in the capture."""
    request, answer = exchange(2, kafka.HeartbeatRequest(), kafka.HeartbeatResponse(), 4)
    closed = RecordedFrame(1, False, -1, -1, None, None, Address("b", 1), 0.0, b"", is_close=True)
    file = capture(tmp_path, request, answer, closed, replace(request, connection=2), replace(answer, connection=2))
    assert [each.is_close for each in tagwire.captures.read(file, closes=True)] == [False, False, True, False, False]
    assert len([*tagwire.captures.read(file)]) == 4
    loading = [kafka.HeartbeatResponse(error_code=code) for code in (14, 15, 0)]
    peer.on(kafka.HeartbeatRequest).reply(loading)
    assert replay(file, "--to", peer.address, "--retry", "5")[:2] == (0, "")
    assert [each.connection for each in peer.requests] == [1, 1, 1, 2]
    peer.on(kafka.HeartbeatRequest).reply(loading[0])
    assert replay(file, "--to", peer.address)[2].endswith("0 the same, 2 different, 0 missing\n")


def test_a_summary(peer: MockPeer, tmp_path: Path) -> None:
    peer.on(kafka.HeartbeatRequest).reply(close=True)
    beats = exchange(3, kafka.HeartbeatRequest(), kafka.HeartbeatResponse(), 4)
    file = capture(tmp_path, REQUEST, frame(OTHER, 12), *exchange(2, kafka.MetadataRequest(), OTHER, 12), *beats)
    code, out, err = replay(file, "--to", peer.address, "--summary")
    assert (code, err) == (1, "replayed 3 requests; responses: 0 the same, 2 different, 1 missing\n")
    rows = [line.split(maxsplit=3) for line in out.splitlines()]
    assert rows[0] == ["answers", "message", "field", "example"]
    assert [row[:3] for row in rows[1:3]] == [["2", "MetadataResponse", f] for f in ("brokers[]", "controller_id")]
    assert rows[3][:2] == ["1", "HeartbeatResponse"] and "missing: the server closed the connection" in out
    assert replay(file, "--to", peer.address, "--summary", "--json")[0] == 2


def test_the_summary_of_a_server_that_disappears(tmp_path: Path) -> None:
    file = capture(tmp_path, REQUEST, frame(OTHER, 12), frame(kafka.MetadataRequest(), 12, conn=2))
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as threads:
        threads.submit(server.accept).add_done_callback(lambda _: server.close())
        at = Address(*server.getsockname())
        code, out, err = replay(file, "--to", at, "--summary", "--timeout", 1)
    assert code == 1 and "MetadataResponse" in out and f"{at}: the server can't be reached" in err


def fetched(timestamp: int, value: bytes = b"v") -> Any:
    ids: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    data = BatchBuilder("v2", base_sequence=0, **ids).append(b"k", value, timestamp=5).build()
    marker = BatchBuilder("v2", base_offset=1, is_control=True, **ids)
    marker.append(bytes.fromhex("00000001"), bytes(6), timestamp=timestamp)
    partition = PartitionData(records=data.encode() + marker.build().encode())
    return kafka.FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])


def test_only_differences_that_mean_something_and_each_once(peer: MockPeer, tmp_path: Path) -> None:
    peer.on(kafka.FetchRequest).reply([fetched(20), fetched(20, b"w")])
    fetches = [frame(kafka.FetchRequest(), 4, 2), frame(fetched(10), 4, 2)]
    metadata = [REQUEST, frame(OTHER, 12)]
    code, out, _ = replay(capture(tmp_path, *fetches, *metadata, *metadata, *fetches), "--to", peer.address)
    lines = [line for line in out.splitlines() if "expected" not in line]
    assert (code, lines) == (1, [
        "line 4, connection r 1: MetadataResponse v12 differs",
        "line 6, connection r 1: MetadataResponse v12 differs as in line 4",
        "line 8, connection r 1: FetchResponse v4 differs",
    ])  # fmt: skip
