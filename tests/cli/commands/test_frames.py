import base64
import gzip
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command import rejected
from command import tagwire_result as run
from network_packets import sized

import tagwire_messages as messages

pytestmark = pytest.mark.thorough

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
LEAVE = {"groupId": "g", "memberId": "m"}
LEAVE_HEX = "00016700016d"
HEADER = {"requestApiKey": 13, "requestApiVersion": 0, "correlationId": 7, "clientId": "me"}
FRAME = {"message": "LeaveGroupRequest", "version": 0, "header": HEADER, "body": LEAVE}
FRAME_HEX = "00000012" + "000d" + "0000" + "00000007" + "00026d65" + LEAVE_HEX
JSON_ERROR = "JSON input: "


def lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def captured() -> list[dict[str, Any]]:
    with gzip.open(CAPTURES, "rt", encoding="utf-8") as rows:
        return [json.loads(row) for row in rows]


def test_all_captured_requests_are_encoded_to_the_same_bytes() -> None:
    frames = [bytes.fromhex(row["hex"]) for row in captured() if row["dir"] == "req"]
    sent = sized(*frames)
    decoded = run("decode", "--frames", "request", "--jsonl", "--keep-going", stdin=sent)
    rows = [json.loads(line) for line in decoded.stdout.splitlines()]
    assert len(rows) == len(frames)
    [bad] = [row for row in rows if "raw" in row]
    assert decoded.exit_code == 1, "one sender erred"
    assert "ApiVersionsRequest has no version 99" in bad["error"] and bad["error"] in decoded.stderr
    assert run("encode", "--frames", "request", "--jsonl", stdin=decoded.stdout).stdout_bytes == sent


def test_captured_responses_are_encoded_to_the_same_bytes() -> None:
    by_version: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    for row in captured():
        if row["dir"] == "resp":
            by_version[row["api_key"], row["api_version"]].append(bytes.fromhex(row["hex"]))
    assert len(by_version) > 300
    for (api_key, version), frames in by_version.items():
        sent = sized(*frames)
        decoded = run("decode", "--frames", "response", str(api_key), str(version), "--jsonl", stdin=sent, code=0)
        assert run("encode", "--frames", "response", "--jsonl", stdin=decoded.stdout).stdout_bytes == sent


def test_responses_are_paired_with_their_requests(tmp_path: Path) -> None:
    sides: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in captured():
        sides[row["run"], str(row["conn"])][row["dir"]].append(row)
    requests, expected, answers = [], [], []
    connections = (side for side in sides.values() if side["req"] and side["resp"])
    best = max(connections, key=lambda side: len({row["api_key"] for row in side["resp"]}))
    ids = {row["correlation_id"] for row in best["req"] if row["api_version"] != 99}
    for row in best["resp"]:
        if row["correlation_id"] in ids:
            answers.append(bytes.fromhex(row["hex"]))
            expected.append(messages.registry.response(row["api_key"]).NAME)
    requests = [bytes.fromhex(row["hex"]) for row in best["req"]]
    assert len(set(expected)) > 1
    (tmp_path / "sent.bin").write_bytes(sized(*requests))
    sent = str(tmp_path / "sent.bin")
    decoded = run("decode", "--frames", "response", "--requests", sent, "--jsonl", stdin=sized(*answers))
    assert [json.loads(line)["message"] for line in decoded.stdout.splitlines()] == expected
    assert run("encode", "--frames", "response", "--jsonl", stdin=decoded.stdout).stdout_bytes == sized(*answers)


@pytest.mark.parametrize("style", ["lossless", "kafka"])
@pytest.mark.parametrize("how", [["--jsonl"], []], ids=["lines", "indented"])
def test_output_equals_the_json_form(style: str, how: list[str]) -> None:
    each = {(row["api_key"], row["api_version"]): row["hex"] for row in captured() if row["dir"] == "req"}
    del each[18, 99]  # one client sent ApiVersions version 99, which does not exist
    frames = [bytes.fromhex(text) for text in each.values()]
    expected = ""
    for frame in map(messages.registry.decode_request, frames):
        header = frame.header.to_json(frame.message.header_version(frame.version))
        body = frame.message.to_json(frame.version, style=style)
        value = {"message": frame.message.NAME, "version": frame.version, "header": header, "body": body}
        expected += json.dumps(value, ensure_ascii=False, indent=None if how else 2) + "\n"
    assert run("decode", "--frames", "request", "--style", style, *how, stdin=sized(*frames)).stdout == expected


@pytest.mark.parametrize(("option", "indent"), [(["--jsonl"], None), ([], 2)])
def test_decoded_frames_contain_all_that_encode_needs(option: list[str], indent: int | None) -> None:
    words = ("--frames", "request", "--hex", *option)
    decoded = run("decode", *words, stdin=FRAME_HEX * 2)
    assert decoded.stdout == (json.dumps(FRAME, indent=indent) + "\n") * 2
    assert run("encode", *words, stdin=decoded.stdout).stdout == f"{FRAME_HEX}\n" * 2


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        ({}, "000d" + "0000" + "00000000" + "0000"),
        ({"header": {}}, "000d" + "0000" + "00000000" + "0000"),
        ({"header": {"correlationId": 7}}, "000d" + "0000" + "00000007" + "0000"),
        ({"header": {"clientId": None}}, "000d" + "0000" + "00000000" + "ffff"),
    ],
)
def test_fields_missing_from_a_header_are_defaults(header: dict[str, Any], fields: str) -> None:
    value = {"message": "LeaveGroupRequest", "version": 0, "body": LEAVE, **header}
    encoded = run("encode", "--frames", "request", "--hex", stdin=json.dumps(value))
    assert encoded.stdout == f"{len(fields + LEAVE_HEX) // 2:08x}{fields}{LEAVE_HEX}\n"


def test_with_message_and_version_each_value_is_a_body(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text(json.dumps(LEAVE))
    words = ["encode", "--frames", "request", "LeaveGroupRequest", "0", "--hex"]
    for file in ([tmp_path / "body.json"], ["-"], []):
        assert run(*words, *file, stdin=json.dumps(LEAVE)).stdout == f"00000010000d0000000000000000{LEAVE_HEX}\n"
    (tmp_path / "frame.json").write_text(json.dumps(FRAME))
    assert run("encode", "--frames", "request", "--hex", str(tmp_path / "frame.json")).stdout == f"{FRAME_HEX}\n"


def test_messages_without_headers() -> None:
    encoded = run("encode", "LeaveGroupRequest", "0", "--frames", "message", "--jsonl", stdin=lines(LEAVE, LEAVE))
    assert encoded.stdout_bytes == sized(*[bytes.fromhex(LEAVE_HEX)] * 2)
    decoded = run("decode", "LeaveGroupRequest", "0", "--frames", "message", "--jsonl", stdin=encoded.stdout_bytes)
    assert decoded.stdout == lines(LEAVE, LEAVE)


def test_lines_of_hex_are_messages_alone() -> None:
    encoded = run("encode", "LeaveGroupRequest", "0", "--jsonl", "--hex", stdin=lines(LEAVE) + "\n" + lines(LEAVE))
    assert encoded.stdout == f"{LEAVE_HEX}\n" * 2
    decoded = run("decode", "LeaveGroupRequest", "0", "--jsonl", "--hex", stdin=encoded.stdout)
    assert decoded.stdout == lines(LEAVE, LEAVE)


def test_empty_message_is_an_empty_line() -> None:
    assert run("encode", "ListGroupsRequest", "0", "--jsonl", "--hex", stdin="{}\n{}\n").stdout == "\n\n"
    assert run("decode", "ListGroupsRequest", "0", "--jsonl", "--hex", stdin="\n\n").stdout == "{}\n{}\n"


@pytest.mark.parametrize("words", [["decode"], ["encode"], ["decode", "--hex"], ["decode", "--jsonl"]])
def test_empty_input_gives_empty_output(words: list[str]) -> None:
    result = run(*words, "--frames", "request")
    assert (result.exit_code, result.output) == (0, "tagwire: standard input is empty\n")


def test_unknown_tags_are_kept() -> None:
    header = {**HEADER, "requestApiVersion": 4, "_unknownTags": {"5": "AQI="}}
    body = {"groupId": "g", "members": [], "_unknownTags": {"9": ""}}
    text = lines({"message": "LeaveGroupRequest", "version": 4, "header": header, "body": body})
    encoded = run("encode", "--frames", "request", "--jsonl", stdin=text)
    assert run("decode", "--frames", "request", "--jsonl", stdin=encoded.stdout_bytes).stdout == text


@pytest.mark.parametrize("options", [[], ["--no-headers"]])
def test_custom_protocol(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"greetings{len(options)}"
    assert run("init", name, *options).exit_code == 0
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    if options:
        rejected(run("decode", "--frames", "request"), "no RequestHeader", "--frames message", code=2)
        text, words = lines({"name": "Ada"}), ["HelloRequest", "0", "--frames", "message"]
    else:
        header = {"requestApiKey": 1, "requestApiVersion": 0, "correlationId": 1, "clientId": "c"}
        text = lines({"message": "HelloRequest", "version": 0, "header": header, "body": {"name": "Ada"}})
        words = ["--frames", "request"]
    encoded = run("encode", *words, "--jsonl", stdin=text, code=0)
    assert run("decode", *words, "--jsonl", stdin=encoded.stdout_bytes).stdout == text


GOOD = bytes.fromhex(FRAME_HEX)
BAD_STREAMS = [
    (GOOD + b"\0\0", "frame 2: frame: size at byte 22: found 2 bytes of a frame size, expected 4 bytes"),
    (GOOD + GOOD[:-1], "frame 2: frame: size at byte 22: found 17 bytes of a frame of 18 bytes"),
    (GOOD + b"\xff\xff\xff\xff", "frame 2: frame: size at byte 22: found size -1"),
    (GOOD + b"\x7f\xff\xff\xff", "frame 2: frame: size at byte 22: found size 2147483647, expected at most"),
    (GOOD + sized(GOOD[4:-1]), "frame 2 at byte 22: LeaveGroupRequest v0: member_id at byte 17: found 0 bytes left"),
    (GOOD + sized(b"\x7f\xff\0\0"), "frame 2 at byte 22: RequestHeader: request_api_key at byte 0: found API key"),
    (GOOD + sized(b"\0"), "frame 2 at byte 22: RequestHeader"),
    (GOOD + sized(b""), "frame 2 at byte 22: RequestHeader"),
    (GOOD + sized(b"\0\x0d\0\x63" + GOOD[8:]), "frame 2 at byte 22: LeaveGroupRequest has no version 99"),
]


@pytest.mark.parametrize(("data", "words"), BAD_STREAMS)
def test_frames_before_an_error_are_printed_and_the_error_names_its_frame(data: bytes, words: str) -> None:
    result = run("decode", "--frames", "request", "--jsonl", stdin=data)
    rejected(result, words, code=1, stdout=lines(FRAME))
    assert result.stderr.endswith("use --keep-going\n") == ("frame 2 at byte 22" in words)


@pytest.mark.parametrize(("data", "words"), BAD_STREAMS[4:])
def test_keep_going_prints_raw_frames_and_continues(data: bytes, words: str) -> None:
    decoded = run("decode", "--frames", "request", "--jsonl", "--keep-going", stdin=data + GOOD)
    first, raw, last = [json.loads(line) for line in decoded.stdout.splitlines()]
    assert (decoded.exit_code, first, last) == (1, FRAME, FRAME)
    assert words in decoded.stderr and set(raw) == {"raw", "error"}
    assert sized(base64.b64decode(raw["raw"])) == data[len(GOOD) :]
    assert run("encode", "--frames", "request", "--jsonl", stdin=decoded.stdout).stdout_bytes == data + GOOD


def test_a_frame_may_not_be_longer_than_a_limit() -> None:
    words = ["decode", "--frames", "request", "--jsonl", "--limit"]
    assert run(*words, "bytes=18", stdin=GOOD).exit_code == 0
    rejected(run(*words, "bytes=17", stdin=GOOD), "size 18, expected at most 17", code=1)


BAD_LINES = [
    ("{", JSON_ERROR + "line 3, column 2: "),
    (b"{\"message\": \"\xff\"}", JSON_ERROR + "line 3, byte 0xff at offset 13 is not valid UTF-8"),
    ("[1]", "line 3: expected a frame (an object with the keys message, version, header, body), got a list of 1"),
    ("{}", "line 3: the key 'message' is missing"),
    (lines({**FRAME, "mesage": 1}), "line 3: unknown key 'mesage' in a frame; did you mean 'message'?"),
    (lines({**FRAME, "message": 7}), "line 3: message: expected a name, got 7"),
    (lines({**FRAME, "message": "LeaveGroupRequst"}), "'LeaveGroupRequst'; did you mean 'LeaveGroupRequest'?"),
    (lines({**FRAME, "message": "LeaveGroupResponse"}), "line 3: LeaveGroupResponse is a response, but --frames"),
    (lines({**FRAME, "message": "RequestHeader"}), "line 3: RequestHeader is a header"),
    (lines({**FRAME, "version": "0"}), "line 3: version: expected a version number, got '0'"),
    (lines({**FRAME, "version": True}), "line 3: version: expected a version number, got True"),
    (lines({**FRAME, "version": 99}), "line 3: LeaveGroupRequest has no version 99; supported versions are 0-5"),
    (lines({**FRAME, "header": []}), "line 3: header: expected a JSON object, got []"),
    (lines({**FRAME, "header": {"clientld": "x"}}), "no field 'clientld'; did you mean 'clientId'?"),
    (lines({**FRAME, "header": {"requestApiKey": 3}}), "line 3: LeaveGroupRequest v0: header.request_api_key"),
    (lines({**FRAME, "body": {"groupId": "g"}}), "line 3: LeaveGroupRequest v0: member_id: the key 'memberId'"),
    (lines({"raw": "%"}), "line 3: raw: expected base64, got '%'"),
    (lines({"raw": 7}), "line 3: raw: expected base64, got 7"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD_LINES)
def test_a_bad_line_has_its_number_and_those_before_are_written(text: str | bytes, words: str) -> None:
    data = text.encode() if isinstance(text, str) else text
    result = run("encode", "--frames", "request", "--jsonl", "--hex", stdin=lines(FRAME).encode() + b"\n" + data)
    rejected(result, words, code=1, stdout=f"{FRAME_HEX}\n")


INDENTED = json.dumps(FRAME, indent=2)
BAD_VALUES = [
    ("{}", "frame 2: the key 'message' is missing"),
    ("{", f"line {len(INDENTED.splitlines()) + 1}, column 2"),
]


@pytest.mark.parametrize(("second", "error"), BAD_VALUES)
def test_a_bad_value_has_its_number_and_line(second: str, error: str) -> None:
    result = run("encode", "--frames", "request", "--hex", stdin=f"{INDENTED}\n{second}")
    rejected(result, error, code=1, stdout=f"{FRAME_HEX}\n")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["decode"], "give MESSAGE VERSION"),
        (["decode", "--frames", "message"], "give MESSAGE VERSION"),
        (["decode", "--frames", "response"], "give API VERSION, or --requests FILE"),
        (["decode", "--frames", "response", "Nosuch", "0"], "there is no API 'Nosuch'"),
        (["decode", "--frames", "response", "Metadata", "99"], "has no version 99"),
        (["decode", "--frames", "response", "Metadata", "x"], "expected a version number, got 'x'"),
        (["decode", "--frames", "reqest"], "'reqest' is not one of"),
        (["decode", "--frames", "request", "a", "b"], "give at most one FILE; unexpected argument 'b'"),
        (["decode", "--frames", "request", "--requests", "x"], "--requests needs --frames response"),
        (["decode", "LeaveGroupRequest", "0", "--requests", "x"], "--requests needs --frames response"),
        (["decode", "LeaveGroupRequest", "0", "--keep-going"], "--keep-going needs --frames"),
        (["decode", "LeaveGroupRequest", "0", "--jsonl"], "--jsonl needs --hex"),
        (["encode", "LeaveGroupRequest", "0", "--jsonl"], "--jsonl needs --hex"),
        (["encode", "--frames", "request", "LeaveGroupResponse", "0"], "is a response, not a request"),
    ],
)
def test_wrong_usage(words: list[str], text: str) -> None:
    rejected(run(*words), text, code=2)


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    rejected(run("decode", "--frames", "request", tmp_path), "is a directory; give a file", code=2)


def test_response_without_a_matching_request_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "sent.bin").write_bytes(GOOD)
    words = ["decode", "--frames", "response", "--requests", str(tmp_path / "sent.bin")]
    rejected(run(*words, stdin=sized(b"\0\0\0\x08\0\0")), "frame 1 at byte 0: no request in", "ID 8", code=1)
    rejected(run(*words, stdin=sized(b"\0\0")), "frame 1 at byte 0: no request in", code=1)
    assert json.loads(run(*words, stdin=sized(b"\0\0\0\x07\0\0")).stdout)["message"] == "LeaveGroupResponse"


REQUESTS = (
    messages.registry.encode_request(messages.SyncGroupRequest(), 0, correlation_id=5),
    messages.registry.encode_request(messages.ListGroupsRequest(), 0, correlation_id=5),
    messages.registry.encode_request(messages.ProduceRequest(acks=0), 9, correlation_id=5),
    messages.registry.encode_request(messages.HeartbeatRequest(), 4, correlation_id=6),
)
ANSWERS = (
    messages.registry.encode_response(messages.SyncGroupResponse(assignment=b"abc"), 0, correlation_id=5),
    messages.registry.encode_response(messages.ListGroupsResponse(), 0, correlation_id=5),
    messages.registry.encode_response(messages.HeartbeatResponse(), 4, correlation_id=6),
)


@pytest.mark.parametrize(("requests", "answers", "want", "error"), [
    (REQUESTS, ANSWERS, ["SyncGroupResponse", "ListGroupsResponse", "HeartbeatResponse"], ""),
    (REQUESTS, (ANSWERS[2], *ANSWERS[:2]), ["HeartbeatResponse", "SyncGroupResponse", "ListGroupsResponse"], ""),
    (REQUESTS[:1] * 3, ANSWERS[:1] * 2, ["SyncGroupResponse"] * 2, ""),
    (REQUESTS, ANSWERS[:0:-1], ["HeartbeatResponse"], "frame 2 at byte 16: correlation ID 5 is ambiguous: 2 requests"),
    (REQUESTS, ANSWERS + ANSWERS[1:2], [], "correlation ID 5 is ambiguous: 2 requests of 2 APIs"),
])  # fmt: skip
def test_reused_correlation_ids(
    tmp_path: Path, requests: Sequence[bytes], answers: Sequence[bytes], want: Sequence[str], error: str
) -> None:
    (tmp_path / "sent.bin").write_bytes(sized(*requests))
    words = ("decode", "--jsonl", "--frames", "response", "--requests", str(tmp_path / "sent.bin"))
    done = run(*words, stdin=sized(*answers))
    assert [json.loads(line)["message"] for line in done.stdout.splitlines()] == want
    assert (done.exit_code, error in done.stderr) == (int(bool(error)), True), done.stderr


def test_frames_are_printed_as_they_come() -> None:
    command = [sys.executable, "-m", "tagwire_cli", "decode", "--frames", "request", "--jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None and running.stdout is not None
        for _ in range(2):
            running.stdin.write(GOOD)
            running.stdin.flush()
            assert json.loads(running.stdout.readline()) == FRAME, "while standard input is still open"
        running.stdin.close()
        assert running.wait() == 0


@pytest.mark.parametrize(("words", "expected"), [
    (("decode", CAPTURES, "--where", "api=heartbeat error=25 version=0", "--jsonl"),
     '{"frame": 3267, "connection": "k44-alpha 96", "time": null, "message": "HeartbeatResponse", "version": 0,'),
    (("get", "--file", CAPTURES, "--where", "conn='k44-alpha 96'", "HeartbeatResponse", "error_code"), "25"),
    (("get", "--file", CAPTURES, "--json", "--where", "error=UNKNOWN_MEMBER_ID", "HeartbeatResponse", "error_code"),
     '{"frame": 3267, "values": {"error_code": 25}}'),
    (("explain", CAPTURES, "--where", "api=12 version=0 dir=response -error=0"), "# frame 3267, response, kmsg-probe"),
])  # fmt: skip
def test_captured_frames_that_match(words: Sequence[object], expected: str) -> None:
    first, *_ = run(words[0], "--capture", *words[1:], code=0).stdout.splitlines()
    assert first.startswith(expected)


@pytest.mark.parametrize(("words", "code", "text"), [
    (("decode", "--where", "api=Fetch"), 2, "--where needs --capture"),
    (("decode", "--capture", "--frames", "request"), 2, "--capture can't be combined with --frames"),
    (("get", "--capture", "--where", "api=Fetsch", "FetchRequest", "max_bytes"), 2, "did you mean 'Fetch'?"),
    (("decode", "--capture", "--where", "error=unkown_member_id"), 2, "did you mean 'UNKNOWN_MEMBER_ID'?"),
    (("get", "--capture", "--where", "orders", "FetchRequest", "max_bytes"), 2, "only `tagwire browse` can search"),
    (("get", "--capture", "RequestHeader", "client_id"), 2, "RequestHeader is a header, not a request or response"),
    (("explain", "--where", "api=Fetch", "--hex", "--request"), 2, "--where needs --capture"),
])  # fmt: skip
def test_invalid_options_for_captures(words: Sequence[object], code: int, text: str) -> None:
    rejected(run(*words, stdin="00"), text, code=code)
