from collections.abc import Callable
from typing import Any, cast
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tagwire_messages as messages
from tagwire.connection import Answer, Connection, RequestInfo, ServerConnection, UnusableConnectionError
from tagwire.errors import EncodeError
from tagwire.frames.negotiation import LossyVersionsError, NoCommonVersionError
from tagwire.versions import Versions
from tagwire_messages.api_versions_response import ApiVersion
from tagwire_messages.produce_request import TopicProduceData

REGISTRY = messages.registry
METADATA = messages.MetadataRequest(topics=None)


def announced(**ranges: tuple[int, int]) -> Any:
    keys = [ApiVersion(api_key=messages.ApiKey[name], min_version=a, max_version=b) for name, (a, b) in ranges.items()]
    return messages.ApiVersionsResponse(api_keys=keys)


def connected(**ranges: tuple[int, int]) -> tuple[Connection, ServerConnection]:
    """Return a client and a server after a handshake in which the server lists these version ranges."""
    client, server = Connection(REGISTRY, "me"), ServerConnection(REGISTRY)
    [request] = server.receive(client.handshake() or b"")
    client.receive(server.send(announced(API_VERSIONS=(0, 4), **ranges), request))
    assert client.handshake() is None
    return client, server


def answers(server: ServerConnection, sent: list[RequestInfo]) -> bytes:
    return b"".join(server.send(messages.MetadataResponse(cluster_id=str(each.correlation_id)), each) for each in sent)


@given(st.lists(st.integers(1, 200), max_size=20))
def test_answers_are_paired_however_the_bytes_are_cut(cuts: list[int]) -> None:
    client, server = connected(METADATA=(0, 12))
    sent, numbers = b"", []
    for _ in range(3):
        sent += client.send(METADATA)
        assert client.sent is not None
        numbers.append(client.sent.correlation_id)
    data = answers(server, server.receive(sent)[::-1])
    found: list[Answer] = []
    for cut in [*cuts, len(data)]:
        found += client.receive(data[:cut]) if data[:cut] else []
        data = data[cut:]
    assert [each.message.cluster_id for each in found] == [str(number) for number in numbers[::-1]]
    assert all(each.request.message is METADATA and each.version == 12 for each in found)
    assert client.waiting == 0


def test_ten_thousand_pipelined_requests() -> None:
    client, server = connected(METADATA=(0, 13))
    received = server.receive(b"".join(client.send(METADATA) for _ in range(10_000)))
    assert client.waiting == len(received) == 10_000
    assert [each.request.correlation_id for each in client.receive(answers(server, received))] == [
        each.correlation_id for each in received
    ]


def test_many_requests_do_not_wait_for_the_response_to_another() -> None:
    client, _ = connected(METADATA=(0, 13))
    client.send(METADATA)
    other, steps = client.sent, client.asking_all([METADATA] * 100)
    assert all(next(steps) is not other for _ in range(120))


def test_a_produce_request_without_acks_gets_no_answer() -> None:
    client, _ = connected(PRODUCE=(3, 12))
    client.send(messages.ProduceRequest(acks=0))
    assert (client.sent, client.waiting) == (None, 0)


@pytest.mark.parametrize(("request_", "theirs", "want"), [
    (messages.ProduceRequest(topic_data=[TopicProduceData(name="t")]), (0, 13), 12),
    (messages.ProduceRequest(), (0, 13), 13),
    (METADATA, (0, 13), 13),
    (METADATA, (0, 0), LossyVersionsError),
    (messages.MetadataRequest(include_topic_authorized_operations=True), (0, 7), LossyVersionsError),
    (METADATA, None, NoCommonVersionError),
])  # fmt: skip
def test_best_version_without_losses_is_selected(request_: Any, theirs: tuple[int, int] | None, want: Any) -> None:
    name = messages.ApiKey(request_.API_KEY).name
    client, server = connected(**({} if theirs is None else {name: theirs}))
    if isinstance(want, int):
        assert server.receive(client.send(request_))[0].version == want
    else:
        with pytest.raises(want) as raised:
            client.send(request_)
        assert theirs is None or "can't represent all of this message" in str(raised.value)
        client.send(messages.ApiVersionsRequest(), 0)  # the connection must still be usable


@pytest.mark.parametrize("lists", [True, False])
def test_older_peer_gets_another_request(lists: bool) -> None:
    """After a rejected ApiVersionsRequest, the client retries with a version that the server lists, or version 0."""
    client, server = Connection(REGISTRY), ServerConnection(REGISTRY)
    [request] = server.receive(client.handshake() or b"")
    rejection = announced(**({"API_VERSIONS": (0, 3)} if lists else {})).replace(error_code=35)
    [answer] = client.receive(server.send(rejection, request, 0))
    assert answer.version == 0 and not client.has_versions
    [request] = server.receive(client.handshake() or b"")
    assert (request.version, bool(request.message.client_software_name)) == ((3, True) if lists else (0, False))
    client.receive(server.send(announced(METADATA=(1, 2)), request))
    assert client.has_versions and client.versions[3].highest == 2


def test_peer_without_api_versions() -> None:
    client, server = Connection(REGISTRY, versions={3: Versions(0, 2)}), ServerConnection(REGISTRY)
    assert client.handshake() is None and next(iter(client.negotiating())) == (None,)
    assert server.receive(client.send(METADATA))[0].version == 2


def duplicate(client: Connection, server: ServerConnection) -> bytes:
    return answers(server, server.receive(client.send(METADATA))) * 2


BAD: dict[str, Callable[[Connection, ServerConnection], bytes]] = {
    "received a response with correlation ID 1, but no request is waiting for it": duplicate,
    "found size -1": lambda client, server: b"\xff" * 4,
    "at most 104857600": lambda client, server: b"\x7f" * 4,
    "MetadataResponse v13": lambda client, server: answers(server, server.receive(client.send(METADATA)))[:-4][:4]
    + answers(server, server.receive(client.send(METADATA)))[4:12] + bytes(100),
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_bytes_that_cannot_be_read_make_it_unusable(text: str) -> None:
    client, server = connected(METADATA=(0, 13))
    data = BAD[text](client, server)
    try:
        client.receive(data)
    except UnusableConnectionError as error:
        assert error is client.error
    assert text in str(client.error)
    for use in (lambda: client.receive(b""), lambda: client.send(METADATA)):
        with pytest.raises(UnusableConnectionError):
            use()


def test_an_interrupt_while_a_response_is_read_makes_it_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    client, server = connected(METADATA=(0, 13))
    data = answers(server, server.receive(client.send(METADATA)))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(REGISTRY), "decode_response", Mock(side_effect=KeyboardInterrupt))
        client.receive(data)
    with pytest.raises(UnusableConnectionError, match="was interrupted; connect again"):
        client.send(METADATA)


def test_an_argument_that_is_not_bytes_leaves_it_usable() -> None:
    client, _ = connected()
    for wrong in (5, None, "x"):
        with pytest.raises(TypeError, match=r"^data: expected bytes, got"):
            client.receive(cast("Any", wrong))
    assert client.error is None and client.receive(memoryview(b"\0\0")) == []


def test_a_server_sees_requests_in_versions_that_it_does_not_have() -> None:
    frame = b"\0\x12\0\x63" + (5).to_bytes(4, "big") + b"\0\1a\0"
    server = ServerConnection(REGISTRY)
    [request] = server.receive(len(frame).to_bytes(4, "big") + frame)
    with pytest.raises(EncodeError, match="expected a response to ApiVersionsRequest, got MetadataResponse"):
        server.send(messages.MetadataResponse(), request, 0)
    assert (request.message, request.version, request.correlation_id, request.header.client_id) == (None, 99, 5, "a")
