from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from build_package import build_package

from tagwire.testing.peer import Close, MockPeer, Reply, Send


def header(name: str, version: int, *fields: tuple[str, str]) -> dict[str, Any]:
    rows = [{"name": name, "type": type, "versions": f"{version}+"} for name, type in fields]
    return {"type": "header", "name": name, "validVersions": f"{version}", "flexibleVersions": "none", "fields": rows}


def message(kind: str, versions: str, *fields: tuple[str, str], **more: Any) -> dict[str, Any]:
    rows = [{"name": name, "type": type, "versions": "0+"} for name, type in fields]
    return {
        "type": kind,
        "apiKey": 4,
        "name": f"Ask{kind.title()}",
        "validVersions": versions,
        "flexibleVersions": "none",
        "fields": rows,
        **more,
    }


SPECS = [
    header("RequestHeader", 1, ("RequestApiKey", "int16"), ("RequestApiVersion", "int16"), ("Trace", "string")),
    header("ResponseHeader", 0, ("Trace", "string"), ("Hops", "int8")),
    message("request", "0-2", ("Question", "string")),
    message("response", "0-2", ("ErrorCode", "int16"), ("Reply", "string"), fallback={"version": 0, "errorCode": 9}),
]


@pytest.fixture
def asking(tmp_path: Path, own_modules: None) -> ModuleType:
    return build_package(tmp_path, "asking", SPECS)


def ask(asking: Any, version: int) -> bytes:
    header = asking.RequestHeader(trace="t1")
    frame: bytes = asking.registry.encode_request(asking.AskRequest(question="why"), min(version, 2), header=header)
    frame = frame[:2] + version.to_bytes(2, "big") + frame[4:]
    return len(frame).to_bytes(4, "big") + frame


def test_response_header_copies_common_fields(asking: Any) -> None:
    """The response header must copy the request's `trace`. No request has `hops`, so this field has its default."""
    peer = MockPeer(asking.registry)
    peer.on(asking.AskRequest).reply(
        [asking.AskResponse(reply="so"), Reply(asking.AskResponse(), header={"trace": "t2", "hops": 3})]
    )
    connection = peer.connect()
    expected = "0000000b  0002 7431 00  0000 0002 736f"
    assert connection.receive_data(ask(asking, 1)) == [Send(bytes.fromhex(expected))]
    assert connection.receive_data(ask(asking, 1)) == [Send(bytes.fromhex("00000009  0002 7432 03  0000 0000"))]
    peer.assert_received(asking.AskRequest(question="why"), times=2)


def test_custom_response_to_unsupported_versions(asking: Any) -> None:
    peer = MockPeer(asking.registry)
    peer.on(asking.AskRequest, versions="0-1").reply(asking.AskResponse(reply="so"))
    expected = "00000009  0002 7431 00  0009 0000"
    connection = peer.connect()
    for version in (2, 3):
        assert connection.receive_data(ask(asking, version)) == [Send(bytes.fromhex(expected))]
    assert [(each.version, each.message is None) for each in peer.requests] == [(2, False), (3, True)]
    assert peer.problems == []


def test_peer_without_api_versions_announces_nothing(asking: Any) -> None:
    peer = MockPeer(asking.registry)
    assert peer.offered == {}
    assert peer.connect().receive_data(ask(asking, 0)) == [Close()]
