import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from sample_messages import registry
from sample_messages.headers import RequestHeader, ResponseHeader
from sample_messages.poll import PollRequest, PollResponse, PollTopic, WipeRequest
from sample_messages.records import SeatKey

import tagwire_messages as messages
from tagwire.errors import DecodeError, EncodeError, LimitError, TagwireError, UnsupportedVersionError
from tagwire.frames.frame_headers import Frame, names_request
from tagwire.frames.message_index import UnknownMessageError
from tagwire.frames.registry import Registry
from tagwire.limits import Limits
from tagwire.message.field_table import OptionalFields
from tagwire.versions import Versions
from tagwire_messages import registry as kafka


def test_names_and_keys() -> None:
    assert registry.names() == list(registry) == sorted(registry.names())
    assert len(registry) == 8 and "SeatKey" in registry and "seatkey" not in registry
    assert registry["PollRequest"] is PollRequest is registry.request(7)
    assert registry.response(7) is PollResponse
    assert registry.find("coordinator-key", 2, "group") is SeatKey
    assert repr(registry) == "<registry of sample_messages: 8 messages>"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: registry["PolRequest"], "sample_messages has no message 'PolRequest'; did you mean 'PollRequest'?"),
        (lambda: registry["x"], "sample_messages has no message 'x'"),
        (lambda: registry.request(9), "sample_messages has no request with API key 9; known API keys: 7-8"),
        (lambda: registry.request(7.0), "has no request with float 7.0 as API key; known API keys: 7-8"),  # type: ignore[arg-type]
        (lambda: registry.decode_response(b"", 7.0, 2), "the class, name or API key of a response, got float 7.0"),  # type: ignore[call-overload]
        (lambda: registry.response(8), "sample_messages has no response with API key 8; known API keys: 7"),
        (
            lambda: registry.find("coordinator-key", 2, "share"),
            "has no coordinator-key of component 'share' with API key 2; known API keys: none",
        ),
    ],
)
def test_unknown_names_and_keys(ask: Any, message: str) -> None:
    with pytest.raises(UnknownMessageError) as caught:
        ask()
    assert message in str(caught.value)
    assert isinstance(caught.value, LookupError) and isinstance(caught.value, TagwireError)


def test_modules_are_loaded_on_first_use() -> None:
    code = (
        "import sys, sample_messages as s; s.registry.names(); len(s.registry); 'SeatKey' in s.registry;"
        "assert not any(name.startswith('sample_messages.') for name in sys.modules);"
        "s.registry['SeatKey']; assert 'sample_messages.records' in sys.modules;"
        "assert 'sample_messages.poll' not in sys.modules"
    )
    paths = [str(Path(__file__).parents[2]), *sys.path]
    subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{code}"], check=True)


def test_an_older_name_is_known() -> None:
    assert registry["AskRequest"] is PollRequest and "AskRequest" in registry
    assert registry.attribute("AskRequest") is PollRequest
    assert registry.aliases() == {"AskRequest": "PollRequest"}
    assert "AskRequest" not in registry.names()


def test_an_empty_registry() -> None:
    empty = Registry("none", {})
    assert empty.names() == []
    for name in ("request_header", "response_header"):
        with pytest.raises(UnknownMessageError, match=r"none defines no Re\w+Header, so it can't read or write frames"):
            getattr(empty, name)


TOPICS = PollRequest(topics=[PollTopic(name="t")])


@pytest.mark.parametrize(
    ("version", "header"),
    [
        (0, "0007 0000 00000005"),
        (1, "0007 0001 00000005 0002 6d65"),
        (2, "0007 0002 00000005 0002 6d65 00"),
        (3, "0007 0003 00000005 0002 6d65 00"),
    ],
)
def test_requests_have_the_header_of_their_version(version: int, header: str) -> None:
    data = registry.encode_request(TOPICS, version, correlation_id=5, client_id="me")
    assert data == bytes.fromhex(header) + TOPICS.encode(version)
    frame = registry.decode_request(data)
    assert (frame.message, frame.version) == (TOPICS, version)
    assert (frame.header.correlation_id, frame.header.client_id) == (5, "me" if version else "")
    assert registry.decode_header(data) == (frame.header, len(bytes.fromhex(header)))
    assert registry.encode_request(frame.message, version, header=frame.header) == data


def test_a_null_client_id_stays_null() -> None:
    data = registry.encode_request(TOPICS, 2, correlation_id=1)
    assert data[8:11] == bytes.fromhex("ffff 00")
    header = registry.decode_request(data).header
    assert header.client_id is None and header.correlation_id == 1
    assert registry.encode_request(TOPICS, 2)[4:8] == bytes(4)


def test_a_header_keeps_its_unknown_tags() -> None:
    header = RequestHeader(request_api_key=7, request_api_version=2, client_id="", unknown_tags={5: b"trace"})
    frame = registry.decode_request(registry.encode_request(TOPICS, 2, header=header))
    assert frame.header == header
    assert frame == Frame(header, TOPICS, 2) != Frame(header, TOPICS, 1)
    assert frame != 5
    assert repr(frame).startswith("Frame(header=RequestHeader(request_api_key=7")


def request(message: Any = TOPICS, version: int = 2, **options: Any) -> Callable[[], bytes]:
    return lambda: registry.encode_request(message, version, **options)


def response(message: Any, **options: Any) -> Callable[[], bytes]:
    return lambda: registry.encode_response(message, 2, **options)


@pytest.mark.parametrize(("call", "message"), [
    (request(header=RequestHeader(request_api_key=8, request_api_version=2)),
     "PollRequest v2: header.request_api_key: expected API key 7 as in the message, got 8"),
    (request(header=RequestHeader(request_api_key=7, request_api_version=1)),
     "PollRequest v2: header.request_api_version: expected version 2 as in the message, got 1"),
    (request(header=RequestHeader(correlation_id=2), correlation_id=1),
     "PollRequest v2: correlation_id: expected 2 as in the header, got 1"),
    (request(header=RequestHeader(client_id="y"), client_id="x"),
     "PollRequest v2: client_id: expected 'y' as in the header, got 'x'"),
    (response(PollResponse(), header=ResponseHeader(correlation_id=2), correlation_id=1),
     "PollResponse v2: correlation_id: expected 2 as in the header, got 1"),
    (request(header=ResponseHeader()), "PollRequest v2: header: expected a RequestHeader, got a ResponseHeader"),
    (response(PollResponse(), header=RequestHeader()),
     "PollResponse v2: header: expected a ResponseHeader, got a RequestHeader"),
    (request(PollResponse()), "PollResponse v2: expected a request, got a response"),
    (response(TOPICS), "PollRequest v2: expected a response, got a request"),
    (request(PollRequest), "request v2: expected a request, got the class PollRequest"),
    (lambda: registry.errors(cast("Any", None)), "response: expected a response, got None"),
    (request(client_id="x" * 40000), "RequestHeader v2: client_id: takes 40000 bytes"),
    (request(correlation_id=2**31), "RequestHeader v2: correlation_id: expected int32"),
    (request(PollRequest(quota=1), 0), "PollRequest v0: quota: is 1, which this version can't represent"),
])  # fmt: skip
def test_rejected_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_header_takes_the_api_and_other_arguments() -> None:
    header = RequestHeader(client_id="me", unknown_tags={5: b"trace"})
    data = registry.encode_request(TOPICS, 2, header=header, correlation_id=5)
    assert data == bytes.fromhex("0007 0002 00000005 0002 6d65 01 05 05 7472616365") + TOPICS.encode(2)
    assert header == RequestHeader(client_id="me", unknown_tags={5: b"trace"}), "what the caller has stays as it is"
    answer = registry.encode_response(PollResponse(), 2, header=ResponseHeader(), correlation_id=9)
    assert registry.decode_response(answer, PollResponse, 2).header.correlation_id == 9


def test_a_frame_of_a_class() -> None:
    data = registry.encode_request(TOPICS, 2, correlation_id=5)
    assert registry.decode_request(data, PollRequest) == registry.decode_request(data) == PollRequest.decode_frame(data)
    other = type("OtherRequest", (PollRequest,), {"API_KEY": 8, "NAME": "OtherRequest"})
    with pytest.raises(DecodeError, match=r"found API key 7 \(PollRequest\), expected API key 8 \(OtherRequest\)"):
        registry.decode_request(data, other)
    answer = registry.encode_response(PollResponse(), 2)
    assert PollResponse.decode_frame(answer, 2) == registry.decode_response(answer, 7, 2)
    with pytest.raises(TypeError, match="the version"):
        PollResponse.decode_frame(answer)
    assert Frame[PollRequest, RequestHeader] is not Frame


def test_unknown_versions() -> None:
    data = bytes.fromhex("0007 0009 00000005 0002 6d65 00 ffff")
    header, end = registry.decode_header(data)
    assert (header.correlation_id, header.client_id, end) == (5, "me", 13)
    with pytest.raises(UnsupportedVersionError, match="PollRequest has no version 9; supported versions are 0-3"):
        registry.decode_request(data)
    for package, size in ((registry, 15), (messages.registry, 300)):
        with pytest.raises(DecodeError, match="found the size of the frame, expected a frame without its size"):
            package.decode_request(size.to_bytes(4, "big") + data.ljust(size, b"\0"))


def test_the_header_of_an_unknown_api_is_read_as_far_as_its_versions_agree() -> None:
    header, end = registry.decode_header(bytes.fromhex("0063 0003 00000005 0002 6d65 00 ffff"))
    assert (header.request_api_key, header.request_api_version, header.correlation_id) == (99, 3, 5)
    assert (header.client_id, end) == ("me", 12)
    with pytest.raises(DecodeError, match="API key 99"):
        registry.decode_request(bytes.fromhex("0063 0003 00000005 0002 6d65 00 ffff"))


@pytest.mark.parametrize(
    ("hex_text", "name", "path", "offset"),
    [
        ("", "RequestHeader", "request_api_key", 0),
        ("00", "RequestHeader", "request_api_key", 0),
        ("000700", "RequestHeader", "request_api_version", 2),
        ("0063 0000 00000000", "RequestHeader", "request_api_key", 0),
        ("ffff 0000 00000000", "RequestHeader", "request_api_key", 0),
        ("0007 ffff 00000000", "RequestHeader", "request_api_version", 2),
        ("0007 0002 0000", "RequestHeader", "correlation_id", 4),
        ("0007 0002 00000005 0002 6d65 00 03", "PollRequest", "topics", 13),
        ("0007 0000 00000005 ffffffff", "PollRequest", "topics", 8),
        ("0007 0000 00000005 00000000 00 0000000000000000 2384 00000000 ff", "PollRequest", "", 27),
    ],
)
def test_errors_have_offsets_in_the_whole_frame(hex_text: str, name: str, path: str, offset: int) -> None:
    for data in (bytes.fromhex(hex_text), memoryview(b"?" + bytes.fromhex(hex_text))[1:]):
        with pytest.raises(DecodeError) as caught:
            registry.decode_request(data)
        assert (caught.value.message_name, caught.value.path, caught.value.offset) == (name, path, offset)


@pytest.mark.parametrize(("hex_text", "expected"), [
    ("0007 ff", "request_api_version at byte 2: found 1 byte left, expected 2 bytes"),
    ("0063 0000", "request_api_key at byte 0: found API key 99, expected one of 7-8"),
    ("0007 ffff", "request_api_version at byte 2: found version -1, expected a version of 0 or more"),
])  # fmt: skip
def test_first_four_bytes_identify_the_request(hex_text: str, expected: str) -> None:
    assert registry.request_class(bytes.fromhex("0007 0000")) == (PollRequest, 0)
    assert registry.request_class(bytes.fromhex("0008 7fff 00")) == (WipeRequest, 32767)
    with pytest.raises(DecodeError) as caught:
        registry.request_class(bytes.fromhex(hex_text))
    assert str(caught.value).partition(": ")[2] == expected


def test_options_are_passed_on() -> None:
    message = PollRequest(payload=b"payload", topics=[PollTopic()])
    data = registry.encode_request(message, 2)
    frame = registry.decode_request(data, views=True)
    assert isinstance(frame.message.payload, memoryview) and frame.message == message
    with pytest.raises(DecodeError):
        registry.decode_request(data + b"\x00")
    assert registry.decode_request(data + b"\x00", strict=False) == registry.decode_request(data)
    own = bytearray(data)
    assert registry.decode_request(own, views=True).message.payload.obj is own, "a view of a copy"
    answered = bytearray(registry.encode_response(PollResponse(names=["a"]), 3))
    assert registry.decode_response(answered, 7, 3, views=True) == registry.decode_response(bytes(answered), 7, 3)
    with pytest.raises(LimitError):
        registry.decode_request(data, limits=Limits(elements=0))
    answer = registry.encode_response(PollResponse(names=["a"]), 3)
    assert registry.decode_response(answer + b"\x00", 7, 3, strict=False).message.names == ("a",)
    with pytest.raises(LimitError):
        registry.decode_response(answer, 7, 3, limits=Limits(elements=0))


def test_responses() -> None:
    message = PollResponse(names=["a"])
    data = registry.encode_response(message, 2, correlation_id=9)
    assert data == bytes.fromhex("00000009 0000 02 02 61 00")
    frame = registry.decode_response(data, 7, 2)
    assert frame == Frame(ResponseHeader(correlation_id=9), message, 2)
    assert registry.encode_response(message, 2, header=frame.header) == data


def test_header_of_api_versions_responses_is_always_version_0() -> None:
    response, request = kafka.response(18), kafka.request(18)
    assert {response.header_version(version) for version in [*response.VERSIONS, 99]} == {0}
    assert {request.header_version(version) for version in (3, 4, 99)} == {2}


REJECTION = bytes.fromhex("00000009 0023 00000001 0001 61")
"""A response in version 0: correlation ID 9, error 35 (unsupported version), and one name, "a"."""


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 99])
def test_fallback_response_to_an_unsupported_version(version: int) -> None:
    frame = registry.decode_response(REJECTION, 7, version)
    assert frame.version == (1 if version == 1 else 0)
    assert (frame.message.error_code, frame.message.names) == (35, ("a",))


@pytest.mark.parametrize(
    ("hex_text", "version", "error"),
    [
        ("00000009 0024 00000001 0001 61", 2, DecodeError),  # error code 36 instead of 35
        ("00000009 0023 00000001 0001", 2, DecodeError),  # truncated name
        ("00000009 0023 00000001 0001 61 00", 2, DecodeError),
        ("00000009 0023 00000001 0001", 0, DecodeError),
        ("00000009 0024 00000001 0001 61", 99, UnsupportedVersionError),
        ("00000009 0023 00000001 0001", 99, UnsupportedVersionError),
    ],
)
def test_first_error_is_reported_if_no_fallback_fits(hex_text: str, version: int, error: type[TagwireError]) -> None:
    with pytest.raises(error) as caught:
        registry.decode_response(bytes.fromhex(hex_text), 7, version)
    assert caught.value.version == version  # type: ignore[attr-defined]


def test_responses_that_do_not_exist() -> None:
    with pytest.raises(UnknownMessageError):
        registry.decode_response(b"", 8, 1)
    with pytest.raises(DecodeError) as caught:
        registry.decode_response(b"\x00", 7, 2)
    assert (caught.value.message_name, caught.value.offset) == ("ResponseHeader", 0)


def test_a_package_looks_a_name_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(vars(messages), "HeartbeatRequest", raising=False)
    found = messages.HeartbeatRequest
    assert vars(messages)["HeartbeatRequest"] is found is messages.registry["HeartbeatRequest"]
    with pytest.raises(AttributeError, match="no attribute 'HeartbeatReqest'"):
        getattr(messages, "Heartbeat" + "Reqest")


def test_optional_fields_of_a_draft_come_before_the_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert names_request(RequestHeader)
    monkeypatch.setattr(RequestHeader, "OPTIONAL_FIELDS", OptionalFields(Versions.parse("2+")))
    assert not names_request(RequestHeader)
    monkeypatch.setattr(RequestHeader, "OPTIONAL_FIELDS", OptionalFields(Versions.parse("9+")))
    assert names_request(RequestHeader)


def test_default_headers_of_requests() -> None:
    """The client ID must be null by default. ControlledShutdownRequest v0 has no client ID in its header."""
    for name in messages.registry:
        cls = messages.registry[name]
        for version in cls.VERSIONS if cls.KIND == "request" else ():
            data = messages.registry.encode_request(cls(), version)
            assert messages.registry.decode_request(data).message == cls.decode(cls().encode(version), version)
    data = messages.registry.encode_request(messages.ControlledShutdownRequest(), 0)
    assert data.hex(" ", 4) == "00070000 00000000 00000000"
    with pytest.raises(EncodeError, match="client_id"):
        messages.registry.encode_request(messages.ControlledShutdownRequest(), 0, client_id="c")


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except TagwireError as error:
        return type(error), str(error)


def test_a_header_is_used_for_one_frame_only() -> None:
    tags = {5: b"trace"}
    answer, header = messages.JoinGroupResponse(), messages.ResponseHeader(unknown_tags=tags)
    expected = messages.ResponseHeader(correlation_id=7).encode(1) + answer.encode(9)
    assert kafka.encode_response(answer, 9, correlation_id=7, header=header) != expected
    assert [kafka.encode_response(answer, 9, correlation_id=7) for _ in range(3)] == [expected] * 3
    request = messages.JoinGroupRequest(protocol_type="t")
    sent = messages.RequestHeader(request_api_key=11, request_api_version=9, client_id="me", unknown_tags=tags)
    kafka.encode_request(request, 9, header=sent)
    first, *others = [kafka.encode_request(request, 9, correlation_id=7) for _ in range(3)]
    assert others == [first] * 2 and not kafka.decode_request(first).header.unknown_tags


@pytest.mark.parametrize("kind", ["request", "response"])
def test_frames_on_the_general_and_the_fast_path(kind: str) -> None:
    for name in kafka.names():
        cls = kafka[name]
        for version in cls.VERSIONS if kind == cls.KIND else ():
            if kind == "request":
                client_id = "me" if cls.header_version(version) else None
                write: Any = partial(kafka.encode_request, cls(), version, correlation_id=7, client_id=client_id)
                read: Any = kafka.decode_request
            else:
                write = partial(kafka.encode_response, cls(), version, correlation_id=7)
                decode: Any = kafka.decode_response
                read = partial(decode, api_key=cls.API_KEY, version=version)
            data = write()
            assert data == write() == write()
            assert read(data) == read(data) == read(bytearray(data)) and read(data).message == cls()
            for other in (data[:-1], data + b"\0", data[:5], b"\xff" * len(data)):
                assert outcome(lambda: read(other)) == outcome(lambda: read(bytearray(other)))  # noqa: B023
    wrongs: Any = (messages.HeartbeatResponse(), messages.RequestHeader(), 5, messages.HeartbeatRequest(group_id=5))  # type: ignore[arg-type]
    for wrong in wrongs:
        found = {outcome(lambda: kafka.encode_request(wrong, 4, correlation_id=1)) for _ in range(3)}  # noqa: B023
        assert len(found) == 1 and isinstance(found.pop(), tuple)
    with pytest.raises(UnknownMessageError):
        kafka.decode_response(b"\0" * 8, messages.HeartbeatRequest, 4)
