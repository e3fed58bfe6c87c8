import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_messages import registry
from sample_messages.headers import RequestHeader
from sample_messages.poll import PollRequest, PollResponse, PollTopic, Rack

from tagwire.errors import DecodeError, UnsupportedVersionError
from tagwire.explain.nodes import Node
from tagwire.explain.trace import Trace, trace, trace_request, trace_response
from tagwire.limits import Limits

MESSAGE = PollRequest(
    topics=[PollTopic(name="ab", partitions=[7], unknown_tags={4: b"q"})],
    cursor=Rack(label="c"),
    reason="why",
    unknown_tags={9: b"\x01\x02"},
)
DATA = MESSAGE.encode(2)


def owned(seen: Trace) -> int:
    return sum(node.header_length + node.trailer_length for node in seen.root.walk())


def test_null_structs_have_no_children() -> None:
    seen = trace(PollRequest, PollRequest().encode(2), 2)
    (cursor,) = [node for node in seen.root.walk() if node.path == "cursor"]
    assert (cursor.length, cursor.value, cursor.children, cursor.complete) == (1, None, [], True)


def test_fields_before_an_error_are_kept() -> None:
    seen = trace(PollRequest, DATA[:23], 2)
    assert isinstance(seen.error, DecodeError)
    assert (seen.error.path, seen.error.offset) == ("topics[0].partitions", 20)
    assert not seen.canonical and owned(seen) == 20
    incomplete = [(node.path, node.value) for node in seen.root.walk() if not node.complete]
    assert incomplete == [("", True), ("topics", 1), ("topics[0]", True), ("topics[0].partitions", None)]


def test_lenient_traces() -> None:
    data = DATA + b"\xff"
    strict, lenient = trace(PollRequest, data, 2), trace(PollRequest, data, 2, strict=False)
    assert strict.error is not None and strict.error.offset == len(DATA) and strict.root.complete
    assert lenient.error is None and not lenient.canonical


def test_exceeded_limits_are_errors() -> None:
    seen = trace(PollRequest, DATA, 2, limits=Limits(depth=1))
    assert seen.error is not None and "depth" in str(seen.error)


def test_a_default_on_the_wire_is_not_canonical() -> None:
    data = DATA[:-11] + bytes.fromhex("01 00 01 00")
    assert trace(PollRequest, DATA[:-11] + b"\x00", 2).canonical
    seen = trace(PollRequest, data, 2)
    assert seen.error is None and not seen.canonical


def test_versions_are_checked() -> None:
    version: Any = 2.0
    with pytest.raises(UnsupportedVersionError, match="version, got a value of type float; supported"):
        trace(PollRequest, b"", version)
    with pytest.raises(UnsupportedVersionError, match="version, got a value of type float; supported"):
        trace_response(registry, b"", 7, version)
    with pytest.raises(TypeError, match="the version is missing; call trace\\(PollRequest"):
        trace(PollRequest, b"")


@given(st.binary(max_size=60), st.integers(0, 3), st.booleans())
def test_each_byte_up_to_the_error_is_in_one_node(data: bytes, version: int, strict: bool) -> None:
    seen = trace(PollRequest, memoryview(data), version, strict=strict)
    if seen.error is not None:
        assert owned(seen) == seen.error.offset
    else:
        assert owned(seen) == seen.root.length == (len(data) if strict else seen.root.length)
    for node in seen.root.walk():
        assert node.header_length >= 0 and node.trailer_length >= 0
        assert node.has_parts == bool(node.children)
        offsets = [node.offset, *(offset for child in node.children for offset in (child.offset, child.end)), node.end]
        assert offsets == sorted(offsets)


def test_reader_and_trace_report_equal_errors() -> None:
    for cut in range(len(DATA)):
        with pytest.raises(DecodeError) as caught:
            PollRequest.decode(DATA[:cut], 2)
        seen = trace(PollRequest, DATA[:cut], 2)
        assert str(seen.error) == str(caught.value)


def test_json() -> None:
    obj = json.loads(json.dumps(trace(PollRequest, DATA, 2).to_json()))
    assert (obj["message"], obj["version"], obj["size"], obj["canonical"]) == ("PollRequest", 2, len(DATA), True)
    assert obj["error"] is None
    topic_id = obj["root"]["children"][0]["children"][0]["children"][1]
    expected = {"path": "topics[0].topic_id", "type": "uuid", "offset": 4, "length": 16, "children": []}
    assert topic_id == expected | {"value": "AAAAAAAAAAAAAAAAAAAAAA"}
    error = trace(PollRequest, DATA[:1], 2).to_json()["error"]
    expected = {"message": "PollRequest", "version": 2, "path": "topics", "offset": 0}
    assert error == expected | {"found": "1 element", "expected": "at most 0 in the 0 bytes left"}
    floats = trace(PollRequest, PollRequest(ratio=float("inf")).encode(0), 0)
    assert '"Infinity"' in json.dumps(floats.to_json())


def paths(node: Node) -> list[str]:
    return [child.path for child in node.children]


def test_requests() -> None:
    data = registry.encode_request(MESSAGE, 2, correlation_id=5, client_id="me")
    seen = trace_request(registry, data)
    assert (seen.message_name, seen.version, seen.error, seen.canonical) == ("PollRequest", 2, None, True)
    assert [part.type for part in seen.parts] == ["RequestHeader v2", "PollRequest v2"]
    assert paths(seen.parts[0]) == ["request_api_key", "request_api_version", "correlation_id", "client_id", ""]
    assert seen.parts[1].offset == len(data) - len(DATA)
    assert seen.root.type == "request" and owned(seen) == len(data)


def test_requests_with_errors() -> None:
    data = registry.encode_request(MESSAGE, 2)
    cut = trace_request(registry, data[:-1])
    assert cut.error is not None and cut.error.message_name == "PollRequest" and len(cut.parts) == 2
    header = trace_request(registry, data[:9])
    assert header.error is not None and header.error.path == "client_id" and len(header.parts) == 1
    unknown = trace_request(registry, b"\x00\x63" + data[2:])
    assert unknown.error is not None and "API key 99" in str(unknown.error) and unknown.parts == ()
    assert (unknown.message_name, unknown.version) == ("request", None)
    later = trace_request(registry, data[:2] + b"\x00\x09" + data[4:])
    assert later.error is not None and later.error.offset == len(data) - len(DATA)
    assert "found a body of version 9, expected one of the versions 0-3" in str(later.error)
    assert [part.type for part in later.parts] == ["RequestHeader v2"]


def test_responses_and_their_fallback() -> None:
    data = registry.encode_response(PollResponse(error_code=35), 0, correlation_id=1)
    assert trace_response(registry, data, 7, 0).version == 0
    fallback = trace_response(registry, data, 7, 99)
    assert (fallback.version, fallback.error) == (0, None)
    assert [part.type for part in fallback.parts] == ["ResponseHeader v0", "PollResponse v0"]
    cut = trace_response(registry, data[:-1], 7, 3)
    assert cut.version == 3 and cut.error is not None and cut.error.message_name == "PollResponse"


def test_headers_alone() -> None:
    header = RequestHeader(client_id=None, unknown_tags={3: b"x"})
    assert trace(RequestHeader, header.encode(2), 2).canonical
