import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import tagwire
import tagwire_messages as messages
from tagwire.guessing import CLEARLY, KINDS

pytestmark = pytest.mark.thorough

DATA = Path(__file__).parents[1] / "data"
registry = messages.registry


def captured(direction: str, every: int) -> list[dict[str, Any]]:
    with gzip.open(DATA / "captures" / "captures.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["dir"] == direction and row["api_version"] != 99]
    return rows[::every]


def batch() -> bytes:
    lines = (DATA / "v2_batch.hex").read_text().splitlines()
    return bytes.fromhex("".join(line for line in lines if not line.startswith("#")))


def is_right(candidate: tagwire.Candidate | None, kind: str, row: dict[str, Any]) -> bool:
    if candidate is None or candidate.message is None or candidate.kind != kind:
        return False
    return row["api_key"] == candidate.message.API_KEY and row["api_version"] in candidate.versions


def test_requests_of_real_clients_are_named() -> None:
    rows = captured("req", 120)
    assert len(rows) > 25
    for row in rows:
        found = tagwire.guess(registry, bytes.fromhex(row["hex"]))
        assert is_right(found.clear, "request", row), (row, found)


def test_responses_of_real_brokers_are_named_or_listed_and_never_named_wrongly() -> None:
    rows = captured("resp", 80)
    named = 0
    for row in rows:
        found = tagwire.guess(registry, bytes.fromhex(row["hex"]))
        assert any(is_right(each, "response", row) for each in found.candidates), (row, found)
        if found.clear is not None:
            named += 1
            assert is_right(found.clear, "response", row), (row, found)
    assert named > len(rows) * 0.75


def test_record_batches_are_named() -> None:
    data = batch()
    clear = tagwire.guess(registry, 2 * data).clear
    assert clear is not None
    expected = ("batches", None, None, ("2 batches", "the checksums agree"))
    assert (clear.kind, clear.message, clear.version, clear.why) == expected
    assert [each.data for each in clear.traces] == [data, data]


def test_truncated_batch_is_recognized_by_its_beginning() -> None:
    data = batch()
    found = tagwire.guess(registry, data + data[:-1])
    assert found.clear is None and found.best is not None
    assert (found.best.kind, found.best.whole, found.best.traces[-1].error is None) == ("batches", False, False)


def test_a_message_without_a_header() -> None:
    value = messages.ConsumerProtocolSubscription(topics=["orders", "payments"], user_data=None)
    found = tagwire.guess(registry, value.encode(0)).best
    assert found is not None
    assert (found.kind, found.name, found.whole) == ("message", "ConsumerProtocolSubscription", True)


def test_indistinguishable_messages_are_listed() -> None:
    data = registry.encode_response(messages.HeartbeatResponse(), 1, correlation_id=7)
    found = tagwire.guess(registry, data)
    assert found.clear is None
    similar = [each for each in found.candidates if each.bits < found.candidates[0].bits + 1]
    assert {"HeartbeatResponse", "LeaveGroupResponse"} <= {each.name for each in similar if each.kind == "response"}


def test_versions_that_read_the_same_are_one_candidate() -> None:
    answer = messages.MetadataResponse(cluster_id="c")
    best = tagwire.guess(registry, registry.encode_response(answer, 3, correlation_id=7)).best
    assert best is not None
    # Without brokers and topics, the response has the same bytes in versions 3 to 7.
    assert (best.name, best.versions, best.version) == ("MetadataResponse", (3, 4, 5, 6, 7), 7)


def test_batch_with_a_wrong_checksum_is_partly_recognized() -> None:
    data = bytearray(batch())
    data[-1] ^= 1
    best = tagwire.guess(registry, data).best
    assert best is not None and (best.kind, best.whole) == ("batches", False)
    assert "behind 0 valid batches: found" in best.why[0] and "crc" in best.traces[0].error.path  # type: ignore[union-attr]


def test_truncated_request_is_recognized_by_its_header() -> None:
    data = registry.encode_request(messages.MetadataRequest(topics=[]), 12, correlation_id=7, client_id="me")
    found = tagwire.guess(registry, data[:-1])
    assert found.clear is None and found.best is not None
    assert (found.best.kind, found.best.name, found.best.versions) == ("request", "MetadataRequest", (12,))
    assert found.best.why == ("the header names API key 3 and version 12", "stops at byte 16 of 16: found 0 bytes left")


def test_request_of_a_version_that_does_not_exist_has_no_version() -> None:
    header = messages.RequestHeader(request_api_key=18, request_api_version=99, client_id="me").encode(2)
    found = tagwire.guess(registry, header + b"\1").best
    assert found is not None
    assert (found.name, found.versions, found.version, found.whole) == ("ApiVersionsRequest", (), None, False)


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 40, b"{}", b"GET / HTTP/1.1\r\n\r\n", bytes(range(256))])
def test_any_bytes_are_answered(data: bytes) -> None:
    found = tagwire.guess(registry, data)
    assert found.clear is None
    assert all(each.to_json()["whole"] == each.whole for each in found.candidates)


def test_damaged_frames_are_answered() -> None:
    data = registry.encode_request(messages.MetadataRequest(topics=[]), 12, correlation_id=7, client_id="me")
    for index in range(len(data)):
        damaged = data[:index] + b"\xff" + data[index + 1 :]
        assert tagwire.guess(registry, damaged, kinds=["request", "batches"]) is not None


def test_limits_hold() -> None:
    data = registry.encode_response(messages.MetadataResponse(cluster_id="c"), 12, correlation_id=7)
    assert tagwire.guess(registry, data).clear is not None
    assert not any(each.whole for each in tagwire.guess(registry, data, limits=tagwire.Limits(bytes=5)).candidates)


def test_kinds() -> None:
    data = registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=7)
    for kind in KINDS:
        assert {each.kind for each in tagwire.guess(registry, data, kinds=[kind]).candidates} <= {kind}
    with pytest.raises(ValueError, match="unknown kind 'frame'; kinds are request, response"):
        tagwire.guess(registry, data, kinds=["frame"])


def test_a_protocol_without_headers() -> None:
    class Bare(tagwire.Registry):
        """A registry that contains a single message, but no request or response headers."""

    bare = Bare(
        "tagwire_messages", {"HeartbeatRequest": registry._index["HeartbeatRequest"]}
    )  # pyright: ignore[reportPrivateUsage]
    data = messages.HeartbeatRequest(group_id="group", member_id="member").encode(4)
    found = tagwire.guess(bare, data).clear
    assert found is not None and (found.kind, found.versions) == ("message", (4,))


def test_a_margin_decides() -> None:
    data = registry.encode_response(messages.MetadataResponse(cluster_id="c"), 12, correlation_id=7)
    first, second, *_ = (each for each in tagwire.guess(registry, data).candidates if each.whole)
    assert second.bits - first.bits >= CLEARLY
    assert tagwire.Guess((first, second), len(data)).clear is first
    assert tagwire.Guess((second, second), len(data)).clear is None
    # The candidate costs more bits than the 16 bits of the input, so the match may be a coincidence.
    assert tagwire.Guess((first,), 2).clear is None
    assert tagwire.Guess((), 0).clear is None and tagwire.Guess((), 0).best is None
