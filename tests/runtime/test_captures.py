import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from network_packets import Segment, pcap, sized

import tagwire_messages as messages
from tagwire import captures
from tagwire.sensitive import showing_sensitive

REQUEST = messages.registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=7, client_id="me")
ANSWER = messages.registry.encode_response(messages.HeartbeatResponse(error_code=27), 4, correlation_id=7)

LATEST = 9_223_372_036_854_774
"""The latest time in milliseconds that a float can represent exactly, and that fits in an int64 as microseconds."""


def row(direction: str, data: bytes, **more: Any) -> bytes:
    return json.dumps({"dir": direction, "hex": data.hex(), "run": "r", "conn": 1, **more}).encode() + b"\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_frames_contain_all_known_facts(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        pack(row("req", REQUEST, timestamp=1500) + b"\n" + row("resp", ANSWER, client_label="c", timestamp=LATEST))
    )
    request, answer = captures.read(path)
    facts = [
        (each.number, each.direction, each.connection, each.client, each.time, each.api) for each in (request, answer)
    ]
    assert facts == [(1, "request", "r 1", None, 1.5, (12, 4)), (3, "response", "r 1", "c", LATEST / 1000, (12, 4))]
    assert (request.header.client_id, request.message.group_id, request.version) == ("me", "g", 4)
    assert (answer.header.correlation_id, answer.message.error_code, answer.data) == (7, 27, ANSWER)


@pytest.mark.parametrize("number", [-0x8001, -0x8000, 0x7FFF, 0x8000, 9.5])
def test_api_keys_and_versions_have_16_bits(tmp_path: Path, number: float) -> None:
    path = tmp_path / "a.jsonl"
    for api in ((number, 4), (12, number)):
        path.write_bytes(row("resp", ANSWER, api_key=api[0], api_version=api[1]))
        if number in range(-0x8000, 0x8000):
            assert [frame.api for frame in captures.read(path)] == [api]
        else:
            with pytest.raises(captures.CaptureError, match=f"expected (a 16-bit|an) integer, got {number}"):
                list(captures.read(path))


def test_a_response_without_its_request(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(row("req", REQUEST, conn=2) + row("resp", ANSWER) + row("resp", ANSWER, api_key=12, api_version=4))
    _, stray, answered = captures.read(path)
    assert stray.api is None and answered.message.error_code == 27
    with pytest.raises(captures.CaptureError, match="the request of this response was not captured"):
        _ = stray.message


def test_a_new_connection_with_the_name_of_a_closed_one(tmp_path: Path) -> None:
    old = messages.registry.encode_request(messages.ListGroupsRequest(), 3, correlation_id=7)
    lines = row("req", old) + row("close", b"") + row("req", REQUEST) + row("resp", ANSWER)
    parts = (98, b"", "S"), (99, sized(old), "PA"), (5, b"", "S"), (6, sized(REQUEST), "PA")
    packets = [Segment(at, data, flags=flags) for at, data, flags in parts] + [Segment(8, sized(ANSWER), False)]
    for name, data, numbers in ("a.jsonl", lines, [1, 2, 3, 4]), ("a.pcap", pcap(packets), [1, 1, 2, 3]):
        (tmp_path / name).write_bytes(data)
        found = list(captures.read(tmp_path / name, closes=True))
        assert [frame.api for frame in found] == [(16, 3), None, (12, 4), (12, 4)]
        assert [frame.number for frame in found] == numbers and found[1].is_close


@pytest.mark.parametrize(("data", "error"), [
    (row("req", REQUEST, api_key=4.5), "line 1 is not a captured frame: api_key: expected an integer, got 4.5"),
    (row("req", REQUEST) + b"{}\n", "a.jsonl: line 2 is not a captured frame: dir: expected 'req', 'resp' or 'close'"),
    (gzip.compress(row("req", REQUEST), mtime=0)[:-9], "a.jsonl can't be read after line "),
    (gzip.compress(b"", mtime=0)[:5], "a.jsonl can't be read after line 0"),
    (b"[" * 9000, "line 1 is not a captured frame: it is not valid JSON"),
    (b"[," * 4501, "line 1 is not a captured frame: it has more than 9000 values"),
    (row("req", REQUEST, timestamp=LATEST + 2), f"timestamp: {LATEST + 2} milliseconds since 1970 is out of range"),
    (None, "a.jsonl can't be read: No such file or directory"),
    (gzip.compress(b"\n" + b"0" * 2**20), "line 2 is not a captured frame: it has 9999 bytes or more"),
])  # fmt: skip
def test_files_that_are_not_captures(
    tmp_path: Path, data: bytes | None, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "LONGEST_LINE", 9999)
    monkeypatch.setattr(captures, "_MOST_VALUES", 9000)
    path = tmp_path / "a.jsonl"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(captures.CaptureError) as raised:
        list(captures.read(path))
    assert error in str(raised.value)


@pytest.mark.parametrize(("data", "kind"), [
    (row("req", REQUEST) + b"x", "captured frames"), (b"\n" + row("req", REQUEST), "captured frames"),
    (b"\xd4\xc3\xb2\xa1", "network capture"), (b"[]", ""), (b"{}", ""), (b"x\n" + row("req", REQUEST), ""),
])  # fmt: skip
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_kind_is_known_by_the_first_bytes_or_line(data: bytes, kind: str, pack: Any) -> None:
    assert captures.capture_kind(pack(data)) == kind


def test_sasl_tokens_without_headers_are_gaps_unless_sensitive_values_are_shown(tmp_path: Path) -> None:
    encode, path = messages.registry.encode_request, tmp_path / "a.jsonl"
    start = row("req", encode(messages.SaslHandshakeRequest(mechanism="PLAIN"), 0))
    tokens = row("req", b"\0alice\0secret") + row("resp", b"") + row("req", b"n,,n=alice,r=1", conn=2)
    path.write_bytes(start + tokens + row("req", REQUEST) + row("resp", ANSWER) + row("req", b"\0more"))
    assert [bool(frame.gap) for frame in captures.read(path)] == [False, True, True, *[False] * 4]
    with showing_sensitive():
        assert not any(frame.gap for frame in captures.read(path))
