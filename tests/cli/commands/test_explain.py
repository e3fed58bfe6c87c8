import json
from functools import partial
from typing import Any

import pytest
from command import rejected, tagwire_outcome, tagwire_result

import tagwire_messages as messages
from tagwire.explain.text import parse_annotated
from tagwire.records import Record, build
from tagwire_messages.produce_request import PartitionProduceData, TopicProduceData

LEAVE_V0 = bytes.fromhex("00016700016d")
ASKED = messages.MetadataRequest(topics=[])
REQUEST = messages.registry.encode_request(ASKED, 12, correlation_id=7, client_id="tést")
RESPONSE = messages.registry.encode_response(messages.MetadataResponse(cluster_id="c"), 12, correlation_id=7)
run = partial(tagwire_result, "explain")


def paths(node: dict[str, Any]) -> list[str]:
    return [node["path"], *(path for child in node["children"] for path in paths(child))]


def test_a_message() -> None:
    result = run("LeaveGroupRequest", "0", stdin=LEAVE_V0)
    assert (result.exit_code, result.stderr) == (0, "")
    assert run("LeaveGroupRequest", "0", "-", stdin=LEAVE_V0).stdout == result.stdout
    assert result.stdout.splitlines() == [
        "# LeaveGroupRequest v0: 6 bytes",
        "offset  bytes     path       type    value",
        "     0  00 01 67  group_id   string  'g'",
        "     3  00 01 6d  member_id  string  'm'",
    ]


@pytest.mark.parametrize(
    ("words", "data", "title"),
    [
        (["--request"], REQUEST, "# MetadataRequest v12"),
        (["--response", "3", "12"], RESPONSE, "# MetadataResponse v12"),
        (["--response", "Metadata", "12"], RESPONSE, "# MetadataResponse v12"),
        (["--response", "MetadataResponse", "12"], RESPONSE, "# MetadataResponse v12"),
        (["MetadataResponse", "12"], RESPONSE[5:], "# MetadataResponse v12"),
    ],
)
def test_every_byte_is_shown(words: list[str], data: bytes, title: str) -> None:
    result = run(*words, stdin=data, code=0)
    assert result.stdout.startswith(title)
    assert parse_annotated(result.stdout) == data


def test_a_request_names_header_and_body() -> None:
    text = run("--request", stdin=REQUEST).stdout
    assert "# RequestHeader v2\n" in text and "# MetadataRequest v12\n" in text
    assert "'tést'" in text


def test_a_response_may_be_a_fallback() -> None:
    error_35 = bytes.fromhex("00000007 0023 00000001 0012 0000 0004".replace(" ", ""))
    assert "# ApiVersionsResponse v0" in run("--response", "ApiVersions", "99", stdin=error_35, code=0).stdout


def test_pasted_hex_may_be_longer_than_a_file_name() -> None:
    data = messages.LeaveGroupRequest(group_id="g" * 300, member_id="m").encode(0)
    assert parse_annotated(run("LeaveGroupRequest", "0", data.hex(), code=0).stdout) == data
    assert f"# hex, {len(data)} bytes" in run(data.hex()).stdout


def test_json() -> None:
    tree = json.loads(run("LeaveGroupRequest", "0", "--json", stdin=LEAVE_V0).stdout)
    assert (tree["message"], tree["version"], tree["error"], tree["canonical"]) == ("LeaveGroupRequest", 0, None, True)
    assert paths(tree["root"]) == ["", "group_id", "member_id"]


def test_fields_before_an_error_are_shown_and_the_error_is_marked() -> None:
    data = bytes.fromhex("000167ffff3344")
    result = run("LeaveGroupRequest", "0", stdin=data, code=1)
    lines = result.stdout.splitlines()
    assert lines[2].split() == ["0", "00", "01", "67", "group_id", "string", "'g'"]
    [error_line] = [line for line in lines if line.lstrip().startswith("!")]
    assert "member_id" in error_line and "at byte 3: found null, expected a value" in error_line
    assert lines[-1].split() == ["3", "ff", "ff", "33", "44", ".", "not", "read"]
    assert parse_annotated(result.stdout) == data
    assert result.stderr.startswith("tagwire: LeaveGroupRequest v0: member_id at byte 3")


@pytest.mark.parametrize("size", range(1, len(REQUEST)))
def test_every_prefix_of_a_request_is_broken_input(size: int) -> None:
    result = run("--request", stdin=REQUEST[:size], code=1)
    assert sum(line.lstrip().startswith("!") for line in result.stdout.splitlines()) == 1
    assert parse_annotated(result.stdout) == REQUEST[:size]


def test_lenient_decoding_is_noted() -> None:
    data = LEAVE_V0 + b"!"
    assert run("LeaveGroupRequest", "0", stdin=data).exit_code == 1
    assert "# not canonical" in run("LeaveGroupRequest", "0", "--lenient", stdin=data, code=0).stdout


def test_limits() -> None:
    assert "Limits.bytes" in run("--response", "Metadata", "12", "--limit", "bytes=5", stdin=RESPONSE, code=1).stdout


def test_request_of_a_version_that_does_not_exist_shows_its_header() -> None:
    header = messages.RequestHeader(request_api_key=18, request_api_version=99, client_id="x").encode(2)
    result = run("--request", stdin=header + b"\x01", code=1)
    assert "client_id" in result.stdout and "expected one of the versions 0-5" in result.stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["LeaveGroupRequest"], "give MESSAGE VERSION"),
        (["LeaveGroupRequest", "first"], "expected a version number, got 'first'"),
        (["LeaveGroupRequest", "0", "-", "more"], "give at most one FILE; unexpected argument 'more'"),
        (["--request", "--response", "3", "12"], "not both"),
        (["--response", "ApiVersion", "3"], "there is no API 'ApiVersion'; did you mean 'ApiVersions'?"),
        (["--response", "4711", "12"], "no response with API key 4711; known API keys: 0"),
        (["--response", "Metadata", "99"], "MetadataResponse has no version 99"),
        (["--request", "--records", "v9"], "there is no record format 'v9'"),
        (["--request", "--records", "v2", "--no-records"], "--records or --no-records, not both."),
        (["--guess", "--request"], "--request or --guess, not both"),
        (["--capture", "--frames"], "--frames can't be used with --capture"),
        (["--format", "auto", "--frames"], "--frames can't be used with --format"),
        (["--format", "auto", "--request"], "--request or --format, not both"),
        (["--format", "v22"], "there is no record format 'v22'"),
        (["--json", "--html", "--guess"], "--json or --html, not both"),
        (["--hex", "--input", "dump", "--guess"], "--hex or --input dump, not both"),
        (["--request", "--only", "1"], "--only needs --frames or --capture"),
        (["--guess", "one", "two"], "give at most one FILE; unexpected argument 'two'"),
    ],
)
def test_wrong_usage(words: list[str], text: str) -> None:
    rejected(run(*words, stdin=REQUEST), text, code=2)


def produce(data: bytes, *, is_framed: bool = True) -> bytes:
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(records=data)])
    request = messages.ProduceRequest(topic_data=[topic])
    return messages.registry.encode_request(request, 9) if is_framed else request.encode(9)


BATCH = build([Record(0, 300, b"k", b"v")], "v2").encode()
ZIGZAG = build([Record(0, 300, b"k", b"v")], "v3-zigzag").encode()
IN_BATCH = "topic_data[0].partition_data[0].records[0].records[0].value"


@pytest.mark.parametrize(
    ("words", "data", "is_opened"),
    [
        (["--request"], produce(BATCH), True),
        (["--request", "--records", "v2"], produce(BATCH), True),
        (["--request", "--records", "auto"], produce(BATCH), True),
        (["--request", "--records", "v3-zigzag"], produce(ZIGZAG), True),
        (["--request", "--no-records"], produce(BATCH), False),
        (["--guess"], produce(BATCH), True),
        (["ProduceRequest", "9"], produce(BATCH, is_framed=False), True),
        (["--frames", "--request"], len(produce(BATCH)).to_bytes(4, "big") + produce(BATCH), True),
    ],
)
def test_records_are_opened(words: list[str], data: bytes, is_opened: bool) -> None:
    result = run(*words, stdin=data, code=0)
    assert (IN_BATCH in result.stdout) is is_opened
    if "--frames" not in words:
        assert parse_annotated(result.stdout) == data


def test_records_with_errors_are_marked_in_the_whole_message() -> None:
    result = run("--request", stdin=produce(ZIGZAG), code=1)
    assert "topic_data[0].partition_data[0].records[0]" in result.stderr
    assert parse_annotated(result.stdout) == produce(ZIGZAG)


ONE = build([Record(5, 300, b"k", b"v")], "v1").encode()
PACKED = build([Record(5, 300, b"k", b"v", (("h", None),))], "v2", compression="gzip").encode()


def test_explain_shows_the_content_of_compressed_bytes() -> None:
    code, out, _ = tagwire_outcome("explain", "--format", "auto", stdin=PACKED)
    lines = out.splitlines()
    assert code == 0 and lines[0] == f"# v2: {len(PACKED)} bytes"
    assert any(line.split()[:3] == ["+0", "16", "records[0].length"] for line in lines)
    assert parse_annotated(out) == PACKED


def test_explain_several_batches_up_to_the_error() -> None:
    damaged = ONE[:-1] + bytes((ONE[-1] ^ 1,))
    code, out, err = tagwire_outcome("explain", "--format", "v1", stdin=ONE + damaged)
    assert code == 1 and out.count("# v1:") == 2 and "!" in out and f"batch at byte {len(ONE)}: v1: crc" in err
    code, out, _ = tagwire_outcome("explain", "--format", "v1", "--json", stdin=ONE + damaged)
    assert [trace["error"] is None for trace in json.loads(out)] == [True, False]


def test_explain_an_error_in_compressed_bytes() -> None:
    # The header declares two records, but the batch contains one.
    broken = build([Record(5, 300, b"k", b"v")], "v2", compression="gzip").replace(count=2).encode()
    code, out, err = tagwire_outcome("explain", "--format", "v2", stdin=broken)
    assert code == 1 and "2 elements at byte 0 of the 9 decompressed" in err
    assert parse_annotated(out) == broken
