import gzip
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from command import rejected, tagwire_result
from network_packets import Segment, pcap, sized
from terminal import on_terminal

import tagwire_messages as messages
from tagwire.explain.text import parse_annotated
from tagwire_cli.app import app

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
registry = messages.registry
REQUEST = registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=7, client_id="doc")
RESPONSE = registry.encode_response(messages.MetadataResponse(cluster_id="cluster"), 12, correlation_id=7)
EQUAL = registry.encode_response(messages.HeartbeatResponse(), 1, correlation_id=7)
run = partial(tagwire_result, "explain")


@pytest.mark.parametrize("stdin", [REQUEST, REQUEST.hex(), REQUEST.hex(" ") + "\n", repr(REQUEST)])
def test_one_reading_is_explained(stdin: bytes | str) -> None:
    result = run("--guess", stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    first, *_ = result.stdout.splitlines()
    assert first.startswith("# request HeartbeatRequest v4: the header names API key 12 and version 4, decodes all")
    assert parse_annotated(result.stdout) == REQUEST


def test_clear_result_lists_the_next_best_guess() -> None:
    result = run("--guess", stdin=RESPONSE, code=0)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("# response MetadataResponse v") and lines[1].startswith("# next best: ")


def test_equal_readings_are_listed_with_the_commands_that_explain_them() -> None:
    result = run("--guess", stdin=EQUAL, code=1)
    assert "messages match, none clearly the best" in result.stderr
    assert "offset" not in result.stdout
    [line] = [line for line in result.stdout.splitlines() if "HeartbeatResponse" in line and "Consumer" not in line][:1]
    command = line.partition("tagwire explain ")[2].split()
    assert run(*command, stdin=EQUAL).exit_code == 0


def test_errors_are_shown_if_the_header_identifies_the_message() -> None:
    result = run("--guess", stdin=REQUEST[:-1], code=1)
    assert "request HeartbeatRequest v4, in part" in result.stdout
    assert parse_annotated(result.stdout) == REQUEST[:-1]


def test_bytes_that_match_no_message() -> None:
    assert "no message matches all of these bytes" in run("--guess", stdin=b"\xfe" * 50, code=1).stderr


@pytest.mark.parametrize("words", ["--guess", "--frames --request", "--capture"])
def test_no_bytes(words: str) -> None:
    assert run(*words.split(), stdin=b"", code=1).stderr.startswith("tagwire: the input is empty; ")


def test_json() -> None:
    seen = json.loads(run("--guess", "--json", stdin=REQUEST).stdout)
    assert (seen["candidates"][0]["message"], seen["traces"][0]["size"]) == ("HeartbeatRequest", len(REQUEST))
    listed = json.loads(run("--guess", "--json", stdin=EQUAL).stdout)
    assert listed["traces"] == [] and len(listed["candidates"]) > 2


def test_size_prefixes_are_detected() -> None:
    result = run("--guess", stdin=sized(REQUEST, RESPONSE), code=0)
    assert "# frame 1 at byte 0\n" in result.stdout
    assert f"# frame 2 at byte {len(REQUEST) + 4}\n# response MetadataResponse" in result.stdout


def test_a_stream_of_responses() -> None:
    result = run("--frames", "--response", "Metadata", "12", "--json", stdin=sized(RESPONSE, RESPONSE[:-1]), code=1)
    seen = json.loads(result.stdout)
    assert [one["title"] for one in seen] == ["frame 1 at byte 0", f"frame 2 at byte {len(RESPONSE) + 4}"]
    assert result.stderr.startswith(f"tagwire: {seen[1]['title']}: MetadataResponse v12")


@pytest.mark.parametrize("words", [("--frames", "--request"), ("--frames", "--guess"), ()])
def test_secrets_in_streams_are_hidden(words: tuple[str, ...]) -> None:
    handshake = registry.encode_request(messages.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=1)
    renewal = registry.encode_request(messages.RenewDelegationTokenRequest(hmac=b"hunter2"), 1, correlation_id=2)[:-1]
    stream = sized(handshake, b"\0alice\0hunter2", REQUEST, renewal)
    hidden, shown = (run(*words, *more, stdin=stream, code=1).output for more in ([], ["--show-sensitive"]))
    assert "password; on the command line, --show-sensitive shows it" in hidden and "HeartbeatRequest" in hidden
    assert [b"hunter2".hex() in output.replace(" ", "") for output in (hidden, shown)] == [False, True]


def test_frames_after_an_invalid_one_are_read() -> None:
    stream = sized(REQUEST, b"\x7f\xff\x00\x00", REQUEST)
    result = run("--frames", "--request", "--hex", stdin=stream.hex(), code=1)
    assert result.stdout.count("# HeartbeatRequest v4: ") == 2


@pytest.mark.parametrize("end", [b"\0", b"\0\0\0\x09ab", b"\xff\xff\xff\xff"])
def test_stream_is_shown_up_to_its_damaged_end(end: bytes) -> None:
    result = run("--frames", "--request", stdin=sized(REQUEST) + end, code=1)
    assert "# HeartbeatRequest v4: " in result.stdout and "frame: size at byte" in result.stderr


def captured(count: int) -> list[bytes]:
    with gzip.open(CAPTURES) as lines:
        return [line for line, _ in zip(lines, range(count), strict=False)]


def test_a_capture() -> None:
    lines = captured(40)
    result = run("--capture", "--json", stdin=gzip.compress(b"".join(lines)))
    assert (result.exit_code, result.stderr) == (0, "")
    seen = json.loads(result.stdout)
    assert [one["traces"][0]["size"] for one in seen] == [len(json.loads(line)["hex"]) // 2 for line in lines]
    assert run("--guess", "--json", stdin=b"".join(lines)).stdout == result.stdout


def test_responses_are_identified_by_their_request() -> None:
    answer = registry.encode_response(messages.HeartbeatResponse(), 4, correlation_id=7)
    frames = [("req", 1, REQUEST), ("resp", 1, answer), ("resp", 2, EQUAL)]
    rows = [{"dir": direction, "conn": conn, "hex": data.hex()} for direction, conn, data in frames]
    rows.insert(0, {"dir": "resp", "api_key": 4711, "api_version": 0, "hex": "00"})
    result = run("--capture", stdin="\n".join(map(json.dumps, rows)), code=1)
    assert "# HeartbeatRequest v4: " in result.stdout and "# HeartbeatResponse v4: " in result.stdout
    # The capture has no request for the response in frame 4.
    assert "no response with API key 4711" in result.stderr and "frame 4, response: " in result.stderr


def test_responses_to_pipelined_requests_with_one_correlation_id() -> None:
    requests = messages.SyncGroupRequest(), messages.ProduceRequest(acks=0), messages.ListGroupsRequest()
    answers = messages.SyncGroupResponse(assignment=b"abc"), messages.ListGroupsResponse()
    frames = [("req", registry.encode_request(each, each.VERSIONS.lowest, correlation_id=5)) for each in requests]
    frames += [("resp", registry.encode_response(each, 0, correlation_id=5)) for each in answers]
    result = run("--capture", stdin="\n".join(json.dumps({"dir": d, "hex": data.hex()}) for d, data in frames))
    assert re.findall(r"^# (\w+Response) v0:", result.stdout, re.MULTILINE) == [type(each).NAME for each in answers]


@pytest.mark.parametrize(
    "line", ["[]", "{}", '{"dir": "req"}', '{"dir": "up", "hex": "00"}', '{"dir": "req", "hex": "0"}', "é"]
)
def test_line_that_is_not_a_frame(line: str) -> None:
    good = json.dumps({"dir": "req", "hex": REQUEST.hex()})
    result = run("--capture", stdin=f"{good}\n{line}\n{good}\n", code=1)
    assert result.stdout.count("# HeartbeatRequest v4: ") == 2
    assert "the input: line 2 is not a captured frame" in result.stderr


@pytest.mark.parametrize("data", [b"\x1f\x8bnot gzip", REQUEST, b"\xff\n"])
def test_file_that_is_not_a_capture(data: bytes) -> None:
    assert "the input" in run("--capture", stdin=data, code=1).stderr


def test_selected_frames_of_a_stream() -> None:
    result = run("--frames", "--request", "--only", "1,3-4", stdin=sized(*5 * [REQUEST]))
    assert [line.split()[2] for line in result.stdout.splitlines() if line.startswith("# frame")] == ["1", "3", "4"]
    for only in ("", "x", "1-x", "-1", "1,,2"):
        result = run("--frames", "--request", "--only", only, stdin=sized(REQUEST))
        rejected(result, "is not a list of frames such as 1,4-6", code=2)
    assert run("--frames", "--request", "--only", "2-", stdin=sized(REQUEST, REQUEST)).stdout.startswith("# frame 2 ")
    result = run("--frames", "--request", "--only", "3-9", stdin=sized(REQUEST, REQUEST))
    assert (result.exit_code, result.stderr) == (1, "tagwire: --only 3-9 selects no frame; the input has 2 frames\n")


def test_colours_change_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("--request", "--color", "never", stdin=REQUEST).stdout
    monkeypatch.setenv("COLUMNS", "200")
    coloured = CliRunner().invoke(app, ("explain", "--request", "--color", "always"), input=REQUEST, color=True).stdout
    assert "\x1b[36m" in coloured and "\x1b[32m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_columns_leave_room_for_values(monkeypatch: pytest.MonkeyPatch) -> None:
    narrowest: dict[str, int] = {}
    for width in range(150, 40, -1):
        monkeypatch.setenv("COLUMNS", str(width))
        words = ("explain", "--request", "--color", "always")
        shown = re.sub(r"\x1b\[[0-9;]*m", "", CliRunner().invoke(app, words, input=REQUEST, color=True).stdout)
        [header] = {line for line in shown.splitlines() if line.startswith("offset ")}
        narrowest[header] = width
    *fitting, _ = narrowest.items()  # the last header is for very narrow terminals
    assert len(fitting) > 2 and {("type" in header) for header, _ in fitting} == {True, False}
    assert [width for _, width in fitting] == [header.index("value") + 16 for header, _ in fitting]


@pytest.mark.parametrize("columns", ["40", "70", "100"])
def test_narrow_terminals_have_shorter_lines_of_bytes(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    data = messages.SaslAuthenticateRequest(auth_bytes=bytes(100)).encode(0)
    words = ("explain", "SaslAuthenticateRequest", "0", "--show-sensitive", "--color", "always")
    text = CliRunner().invoke(app, words, input=data, color=True)
    lines = [line for line in text.stdout.splitlines() if "00 00 00" in line]
    assert len(lines) == {"40": 26, "70": 13, "100": 7}[columns]


def network_capture(path: Path, *, port: int = 9092) -> bytes:
    """Write a request and its response, each in two packets. The response's packets are out of order."""
    pytest.importorskip("scapy", reason="scapy is not installed, which writes the capture")
    from scapy.layers.inet import IP, TCP
    from scapy.layers.l2 import Ether
    from scapy.utils import wrpcap

    answer = sized(registry.encode_response(messages.HeartbeatResponse(), 4, correlation_id=7))
    request = sized(REQUEST)
    to, back = {"sport": 40000, "dport": port}, {"sport": port, "dport": 40000}
    cut = [
        TCP(seq=5, flags="PA", **to) / request[:7],
        TCP(seq=12, flags="PA", **to) / request[7:],
        TCP(seq=99, flags="SA", **back),
        TCP(seq=103, flags="PA", **back) / answer[3:],
        TCP(seq=100, flags="PA", **back) / answer[:3],
    ]
    addresses = [("10.0.0.1", "10.0.0.2") if each.dport == port else ("10.0.0.2", "10.0.0.1") for each in cut]
    wrpcap(str(path), [Ether() / IP(src=src, dst=dst) / each for (src, dst), each in zip(addresses, cut, strict=True)])
    return path.read_bytes()


def test_a_network_capture(tmp_path: Path) -> None:
    data = network_capture(tmp_path / "a.pcap")
    result = run("--guess", stdin=data)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line for line in result.stdout.splitlines() if line.startswith("# frame")] == [
        "# frame 1, request, 10.0.0.1:40000 -> 10.0.0.2:9092",
        "# frame 2, response, 10.0.0.1:40000 -> 10.0.0.2:9092",
    ]
    assert "# HeartbeatResponse v4: " in result.stdout
    assert run("--capture", str(tmp_path / "a.pcap")).stdout == result.stdout
    assert run("--capture", "--port", "9093", stdin=data).stdout == ""


def test_network_capture_with_a_missing_packet(tmp_path: Path) -> None:
    """Check that the output shows the gap, the exit status is 1, and later responses are paired with their requests."""
    pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'tagwire[pcap]'")
    requests = [sized(registry.encode_request(messages.HeartbeatRequest(), 4, correlation_id=n)) for n in range(5)]
    answered = [sized(registry.encode_response(messages.HeartbeatResponse(), 4, correlation_id=n)) for n in range(5)]
    segments = [Segment(0, b"", flags="S"), Segment(50, b"", is_request=False, flags="SA")]
    for number in range(5):
        segments.append(Segment(1 + number * len(requests[0]), requests[number]))
        segments.append(Segment(51 + number * len(answered[0]), answered[number], is_request=False))
    del segments[4]
    (tmp_path / "a.pcap").write_bytes(pcap(segments))
    result = run("--capture", str(tmp_path / "a.pcap"), code=1)
    assert result.stdout.count("# HeartbeatRequest v4: ") == 4, "all but the one that is missing"
    assert result.stdout.count("# HeartbeatResponse v4: ") == 4, "all whose request is known"
    missing = f"{len(requests[0])} bytes missing, 0 bytes left out"
    gap = f"gap in the requests: {missing}: packets are missing from the capture"
    where = "frame 4, request, 10.0.0.1:40000 -> 10.0.0.2:9092"
    assert f"# {where}\n# ! {gap}\n" in result.stdout
    assert f"tagwire: {where}: {gap}\n" in result.stderr


@pytest.mark.parametrize("size", [4, 20, 30, 60])
def test_a_network_capture_that_is_cut_off(size: int, tmp_path: Path) -> None:
    result = run("--capture", stdin=network_capture(tmp_path / "a.pcap")[:size])
    assert result.exit_code in (0, 1) and "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_terminals_show_the_first_rows_of_a_large_message(tmp_path: Path, environment: dict[str, Any]) -> None:
    """Check that a terminal shows 1000 rows and names the option that shows the rest, and that a file gets all rows."""
    path = tmp_path / "request.bin"
    path.write_bytes(messages.DescribeGroupsRequest(groups=["g"] * 2000).encode(0))
    words = ("explain", "DescribeGroupsRequest", "0", str(path))
    title, columns, *rows = run(*words[1:]).stdout.splitlines()
    assert len(rows) == 2001
    status, shown = on_terminal(*words, **environment)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert status == 0 and lines[-1].startswith("# only the first 1000 rows are shown, up to byte 3001 of 6004; ")
    assert [line.split() for line in lines[2:-1]] == [line.split() for line in rows[:1000]]
    assert len(on_terminal(*words, "--all", **environment)[1].splitlines()) == 2003
    on_terminal(*words, stdout=tmp_path / "rows.txt", **environment)
    assert (tmp_path / "rows.txt").read_text().splitlines() == [title, columns, *rows]
