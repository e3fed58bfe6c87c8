from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from build_package import build_package
from growth import peak_bytes
from network_packets import sized

import tagwire_messages as kafka
from tagwire.addresses import Address
from tagwire_messages.api_versions_response import ApiVersion
from tagwire_messages.fetch_response import NodeEndpoint
from tagwire_messages.find_coordinator_response import Coordinator
from tagwire_messages.metadata_response import MetadataResponseBroker
from tagwire_workbench.proxy import ProxyConnection, ProxyError, RecordedFrame, RecordingProxy
from tagwire_workbench.proxy.advertised import address_structs

SERVER = Address("broker", 9092)
SIZES = (1, 3, 7, 1000)


def request(message: Any, version: int, number: int = 1, client: str | None = "shop") -> bytes:
    return sized(kafka.registry.encode_request(message, version, correlation_id=number, client_id=client))


def response(message: Any, version: int, number: int = 1) -> bytes:
    return sized(kafka.registry.encode_response(message, version, correlation_id=number))


class Recording:
    def __init__(self, registry: Any = None, **more: Any) -> None:
        self.frames: list[RecordedFrame] = []
        self.proxy = RecordingProxy(SERVER, self.frames.append, registry, **more)
        self.connection = self.connect()

    def connect(self) -> ProxyConnection:
        return self.proxy.connect(moved=lambda host, port: ("proxy", port + 1))

    def from_client(self, data: bytes, size: int = 1000) -> bytes:
        return b"".join(part for cut in cuts(data, size) for part in self.connection.receive_from_client(cut))

    def from_server(self, data: bytes, size: int = 1000) -> bytes:
        return b"".join(part for cut in cuts(data, size) for part in self.connection.receive_from_server(cut))

    @property
    def kinds(self) -> list[tuple[bool, int, int]]:
        return [(each.is_request, each.api_key, each.version) for each in self.frames]


def cuts(data: bytes, size: int) -> Iterable[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def metadata(host: str, port: int) -> kafka.MetadataResponse:
    broker = MetadataResponseBroker(node_id=1, host=host, port=port, unknown_tags={7: b"kept"})
    return kafka.MetadataResponse(brokers=[broker], controller_id=1)


def apis(*rows: tuple[int, int, int]) -> kafka.ApiVersionsResponse:
    """Return a response that offers APIs. Each row is (API key, lowest version, highest version)."""
    api_keys = [ApiVersion(api_key=key, min_version=lowest, max_version=highest) for key, lowest, highest in rows]
    return kafka.ApiVersionsResponse(api_keys=api_keys)


BROKERS, MOVED = metadata("b1", 9092), metadata("proxy", 9093)


@pytest.mark.parametrize("size", SIZES)
def test_frames_pass_and_are_recorded(size: int) -> None:
    it = Recording()
    data = request(kafka.MetadataRequest(), 12) + request(kafka.HeartbeatRequest(group_id="g"), 4, 2, None)
    assert it.from_client(data, size) == data
    beat = response(kafka.HeartbeatResponse(error_code=27), 4, 2)
    assert it.from_server(beat + response(BROKERS, 12), size) == beat + response(MOVED, 12)
    assert it.kinds == [(True, 3, 12), (True, 12, 4), (False, 12, 4), (False, 3, 12)]
    assert [each.correlation_id for each in it.frames] == [1, 2, 2, 1]
    assert [each.client_id for each in it.frames] == ["shop", None, None, "shop"]
    assert it.frames[3].data == response(BROKERS, 12)[4:], "it is recorded as the server sent it"
    assert {each.server for each in it.frames} == {SERVER}
    assert it.proxy.problems == []


AT_0 = kafka.FindCoordinatorRequest(key="g"), 0
AT_4 = kafka.FindCoordinatorRequest(coordinator_keys=["g"]), 4


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (AT_0, lambda **at: kafka.FindCoordinatorResponse(node_id=1, **at)),
        (AT_4, lambda **at: kafka.FindCoordinatorResponse(coordinators=[Coordinator(key="g", node_id=1, **at)])),
        ((kafka.FetchRequest(), 16), lambda **at: kafka.FetchResponse(node_endpoints=[NodeEndpoint(node_id=2, **at)])),
    ],
)
@pytest.mark.parametrize("size", [3, 1000])
def test_addresses_are_replaced(asked: tuple[Any, int], answer: Any, size: int) -> None:
    given, moved = answer(host="b1", port=9092), answer(host="proxy", port=9093)
    assert passed(*asked, given, size) == response(moved, asked[1])


@pytest.mark.parametrize("size", [3, 1000])
def test_missing_addresses_and_unknown_versions(size: int) -> None:
    none = kafka.FindCoordinatorResponse(error_code=15, node_id=-1, host="", port=-1)
    assert passed(kafka.FindCoordinatorRequest(key="g"), 2, none, size) == response(none, 2)
    newer, known = apis((3, 0, 99), (12, 0, 99), (60, 90, 99), (999, 0, 1)), apis((3, 0, 13), (12, 0, 99), (999, 0, 1))
    assert passed(kafka.ApiVersionsRequest(), 3, newer, size) == response(known, 3)


def passed(request_: Any, version: int, answer: Any, size: int) -> bytes:
    it = Recording()
    it.from_client(request(request_, version))
    found = it.from_server(response(answer, version), size)
    assert it.proxy.problems == []
    return found


def test_the_fallback_of_api_versions() -> None:
    it = Recording()
    it.from_client(request(kafka.ApiVersionsRequest(), 4))
    old, fewer = (response(apis((3, 0, highest)).replace(error_code=35), 0) for highest in (99, 13))
    assert it.from_server(old) == fewer
    assert (it.kinds[1], it.frames[1].data, it.proxy.problems) == ((False, 18, 4), old[4:], [])


def test_requests_without_a_response() -> None:
    """Requests with acks=0 get no response, so later requests may reuse their correlation IDs."""
    it = Recording()
    for number in (1, 1, 2):
        it.from_client(request(kafka.ProduceRequest(acks=0), 9, number))
    it.from_client(request(kafka.HeartbeatRequest(), 4, 1) + request(kafka.MetadataRequest(), 12, 1))
    both = response(kafka.HeartbeatResponse(), 4, 1) + response(BROKERS, 12, 1)
    assert it.from_server(both) == response(kafka.HeartbeatResponse(), 4, 1) + response(MOVED, 12, 1)
    assert it.kinds[-2:] == [(False, 12, 4), (False, 3, 12)]


def test_oldest_unanswered_requests_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwire_workbench.proxy.recording_proxy._MOST_WAITING", 2)
    it = Recording()
    for number in (1, 2, 3):
        it.from_client(request(kafka.HeartbeatRequest(), 4, number))
    for number in (1, 2, 3):
        it.from_server(response(kafka.HeartbeatResponse(), 4, number))
    assert [each.correlation_id for each in it.frames if not each.is_request] == [2, 3]
    assert len(it.proxy.problems) == 1


def test_api_missing_from_the_package() -> None:
    it = Recording()
    data = sized(bytes.fromhex("7fff 0001 00000009 feed"))
    assert it.from_client(data) == data
    assert it.from_server(sized(bytes.fromhex("00000009 beef"))) == sized(bytes.fromhex("00000009 beef"))
    assert it.kinds == [(True, 0x7FFF, 1), (False, 0x7FFF, 1)]
    assert it.proxy.problems == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\xff" + bytes(20), bytes.fromhex("160301")]
)
def test_garbage_passes_untouched(garbage: bytes, size: int) -> None:
    for side in ("client", "server"):
        it = Recording()
        good = request(kafka.MetadataRequest(), 12)
        it.from_client(good)
        feed = it.from_client if side == "client" else it.from_server
        ended = it.connection.receive_from_client if side == "client" else it.connection.receive_from_server
        passed = feed(garbage, size) + b"".join(ended(b""))
        assert passed == garbage
        (problem,) = it.proxy.problems
        assert problem.startswith(f"connection 1, from the {side}: ")
        assert it.kinds == [(True, 3, 12)]


def test_notes_in_the_recording() -> None:
    it = Recording()
    it.from_client(sized(b"abc") + b"\0\0\0\x09abc")
    assert list(it.connection.receive_from_client(b"")) == [b"\0\0\0\x09abc"]
    it.from_server(response(BROKERS, 12, 5) * 2)
    assert list(it.connection.receive_from_server(b"")) == []
    assert it.proxy.problems == [
        "connection 1, from the client: byte 0: expected a request, got a frame of 3 bytes, too short for a request "
        "header",
        "connection 1, from the client: the stream ends with 7 bytes of a frame",
    ]


def test_responses_to_nothing_and_unreadable_ones() -> None:
    it = Recording()
    stray = response(BROKERS, 12, 5)
    assert it.from_server(stray * 2) == stray * 2
    it.from_client(request(kafka.MetadataRequest(), 12))
    bad = response(BROKERS, 12)[:-3]
    bad = sized(bad[4:])
    assert it.from_server(bad) == bad
    assert it.kinds == [(True, 3, 12), (False, 3, 12)]
    first, second = it.proxy.problems
    assert first.endswith("received a response without a request; such responses are passed on, but not recorded")
    assert "response to API 3 v12 is passed on, but its addresses can't be replaced: MetadataResponse v12: " in second


def test_frames_are_forwarded_together_before_they_are_recorded() -> None:
    it = Recording()
    stream = request(kafka.MetadataRequest(), 12) + request(kafka.HeartbeatRequest(group_id="g"), 4, 2, None)
    passing = it.connection.receive_from_client(stream + stream[:3])
    assert next(passing) == stream
    assert it.kinds == []
    assert list(passing) == []
    assert it.kinds == [(True, 3, 12), (True, 12, 4)]


def test_incomplete_response_is_forwarded_unchanged() -> None:
    it = Recording()
    it.from_client(request(kafka.MetadataRequest(), 12))
    answer = response(BROKERS, 12)
    assert it.from_server(answer[:20]) == b""
    assert b"".join(it.connection.receive_from_server(b"")) == answer[:20]
    assert "16 bytes of a frame of" in it.proxy.problems[0]
    assert it.proxy.budget.held == 0


def test_a_large_frame_in_small_pieces_takes_little_memory() -> None:
    it = Recording()
    size = 20_000
    it.from_client(size.to_bytes(4, "big") + bytes(8))

    def feed() -> None:
        for _ in range(size - 100):
            assert list(it.connection.receive_from_client(b"x")) == [b"x"]

    assert peak_bytes(feed) < 2 * size


def test_large_frames_are_forwarded_but_not_recorded() -> None:
    it = Recording(max_held=50)
    data = request(kafka.MetadataRequest(), 12)
    large = request(kafka.ListGroupsRequest(states_filter=["x" * 200]), 4)
    answer = response(kafka.MetadataResponse(cluster_id="c" * 100, brokers=BROKERS.brokers), 12)
    assert it.from_client(large + data, 60) == large + data
    assert it.from_server(answer, 60) == answer
    assert it.kinds == [(True, 3, 12)]
    assert len(it.proxy.problems) == 2 and it.proxy.budget.held == 0
    it.from_client(data)
    assert it.from_server(response(BROKERS, 12), 40) == response(MOVED, 12)


def test_the_largest_frame() -> None:
    it = Recording(max_size=30)
    data = request(kafka.MetadataRequest(), 12)
    large = request(kafka.ListGroupsRequest(states_filter=["x" * 200]), 4)
    assert it.from_client(data + large + data) == data + large + data
    assert it.kinds == [(True, 3, 12)]
    assert "expected a frame size from 0 to 30, got 219" in it.proxy.problems[0]


def test_address_fields() -> None:
    """The proxy must recognize fields with brokers' addresses, but not similar fields of ACLs and group members."""
    found = {
        name: [*address_structs(kafka.registry[name])]
        for name in kafka.registry
        if kafka.registry[name].KIND == "response" and any(address_structs(kafka.registry[name]))
    }
    assert found["MetadataResponse"] == ["brokers[]."]
    assert found["FindCoordinatorResponse"] == ["", "coordinators[]."]
    assert [*address_structs(kafka.FindCoordinatorResponse, 3)] == [""]
    assert {"ProduceResponse", "FetchResponse", "ShareFetchResponse", "DescribeClusterResponse"} < set(found)
    assert not {"DescribeAclsResponse", "StreamsGroupHeartbeatResponse", "DescribeGroupsResponse"} & set(found)


def header(name: str, *fields: tuple[str, str]) -> dict[str, Any]:
    rows = [{"name": name, "type": type, "versions": "0+"} for name, type in fields]
    return {"type": "header", "name": name, "validVersions": "0-1", "flexibleVersions": "none", "fields": rows}


def message(kind: str, *fields: tuple[str, str]) -> dict[str, Any]:
    return header(f"Find{kind.title()}", *fields) | {"type": kind, "apiKey": 4, "validVersions": "0"}


HEADER_FIELDS = (("RequestApiKey", "int16"), ("RequestApiVersion", "int16"))
FIND = [
    message("request", ("Question", "string")),
    message("response", ("ShardId", "int32"), ("Host", "string"), ("Port", "uint16")),
]


def test_protocol_without_correlation_ids(tmp_path: Path, own_modules: None) -> None:
    """Without correlation IDs, the proxy must pair responses with requests by order."""
    headers = [header("RequestHeader", *HEADER_FIELDS), header("ResponseHeader", ("Hops", "int8"))]
    finding: Any = build_package(tmp_path, "finding", [*headers, *FIND])
    it = Recording(finding.registry)
    data = sized(finding.registry.encode_request(finding.FindRequest(question="why"), 0))
    assert it.from_client(data * 2) == data * 2
    answer = finding.FindResponse(shard_id=1, host="s1", port=700)
    given, moved = (
        sized(finding.registry.encode_response(each, 0)) for each in (answer, answer.replace(host="proxy", port=701))
    )
    assert it.from_server(given, 2) == moved
    assert it.kinds == [(True, 4, 0), (True, 4, 0), (False, 4, 0)]
    assert [each.correlation_id for each in it.frames] == [None] * 3


def test_protocol_whose_requests_do_not_identify_their_api(tmp_path: Path, own_modules: None) -> None:
    headers = [header("RequestHeader", ("Trace", "int8"), *HEADER_FIELDS), header("ResponseHeader")]
    silent: Any = build_package(tmp_path, "silent", [*headers, *FIND])
    with pytest.raises(ProxyError, match="a proxy can't identify requests"):
        Recording(silent.registry)


def test_addresses() -> None:
    for text in ("broker:9092", "[::1]:9092"):
        assert str(Address.parse(text)) == text
    assert Address.parse("9092", "127.0.0.1") == ("127.0.0.1", 9092)
