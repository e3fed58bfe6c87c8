import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from command import rejected
from command import tagwire_result as run
from network_packets import sized

import tagwire_messages as messages
from tagwire import FrameSplitter
from tagwire_messages import registry
from tagwire_messages.metadata_response import MetadataResponseBroker

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
BROKERS = [MetadataResponseBroker(node_id=n, host=f"b{n}", port=9092 + n) for n in (1, 2)]
BODY = messages.MetadataResponse(brokers=BROKERS).encode(12)
REQUEST = registry.encode_request(messages.MetadataRequest(topics=None), 12, correlation_id=1, client_id="shop")
BEATS = registry.encode_request(messages.HeartbeatRequest(), 4, correlation_id=2, client_id="beat")
ANSWER = registry.encode_response(messages.MetadataResponse(brokers=BROKERS), 12, correlation_id=1)
BEATEN = registry.encode_response(messages.HeartbeatResponse(), 4, correlation_id=2)


def printed(*words: str, stdin: bytes) -> str:
    return run(*words, stdin=stdin, code=0).stdout


def frames(data: bytes) -> list[bytes]:
    splitter = FrameSplitter()
    splitter.feed(data)
    return list(splitter)


def test_getting_fields_of_a_message() -> None:
    words = ("get", "MetadataResponse", "12", "brokers[].host", "brokers[].port")
    assert printed(*words, stdin=BODY) == "b1\t9093\nb2\t9094\n"
    rows = [json.loads(line) for line in printed(*words, "--json", stdin=BODY).splitlines()]
    assert rows[0] == {"values": {"brokers[].host": "b1", "brokers[].port": 9093}}
    assert printed("get", "MetadataResponse", "12", "cluster_id", "--hex", stdin=BODY.hex().encode()) == "null\n"
    lists = printed("get", "MetadataResponse", "12", "cluster_id", "brokers[].host", stdin=BODY)
    assert lists == 'null\t["b1", "b2"]\n'
    (whole,) = printed("get", "MetadataResponse", "12", "brokers", "--json", stdin=BODY).splitlines()
    assert json.loads(whole)["values"]["brokers"][0] == {"nodeId": 1, "host": "b1", "port": 9093, "rack": None}


def test_a_line_break_and_a_backslash_with_an_n_differ() -> None:
    texts = ["\n", "\\n", "\t", "\\t", "\\"]
    bodies = [messages.MetadataResponse(cluster_id=text).encode(12) for text in texts]
    shown = [printed("get", "MetadataResponse", "12", "cluster_id", stdin=body)[:-1] for body in bodies]
    assert shown == [r"\n", r"\\n", r"\t", r"\\t", r"\\"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["get", "{file}", "MetadataRequest", "3"], "expected a version number, got 'MetadataRequest'"),
        (["get", "MetadataRequest", "{file}", "topics"], "expected a version number"),
        (["get", "MetadataRequest", "3", "topics", "{file}"], "Invalid value for PATH"),
        (["set", "{file}", "3", "topics:=null"], "no message"),
        (["set", "MetadataRequest", "topics:=null", "{file}"], "expected a version number, got 'topics:=null'"),
        (["get", "--frames", "request", "{file}", "Metadata"], "no message"),
    ],
)
def test_file_given_without_its_option_is_explained(tmp_path: Path, words: list[str], message: str) -> None:
    file = tmp_path / "body.bin"
    file.write_bytes(b"")
    done = run(*(word.format(file=file) for word in words), code=2)
    assert message in done.stderr
    version = "" if "--frames" in words else "VERSION "
    assert f"The order is MESSAGE {version}PATH...; give a file with --file {file}" in done.stderr


def test_order_is_reported_only_without_a_version() -> None:
    assert "give a file with --file FILE" in run("get", "MetadataRequest", "topics").stderr
    assert "The order" not in run("get", "MetadataRequest", "99", "topics", code=2).stderr


@pytest.mark.parametrize("option", ["--frame", "--frames"])
@pytest.mark.parametrize("command", ["decode", "encode", "get", "set", "redact"])
def test_frame_and_frames_are_one_option(command: str, option: str) -> None:
    assert "'nothing' is not one of 'request', 'response', 'message'" in run(command, option, "nothing", code=2).stderr


def test_getting_fields_of_frames() -> None:
    command = ("get", "--frames", "request", "Metadata", "header.client_id", "topics", "--json")
    found = json.loads(printed(*command, stdin=sized(BEATS, REQUEST)))
    assert found == {"frame": 2, "values": {"header.client_id": "shop", "topics": None}}
    words = ("get", "--frames", "response", "Metadata", "12", "brokers[].host")
    assert printed(*words, stdin=sized(ANSWER)) == "b1\nb2\n"
    words = ("get", "--frames", "message", "MetadataResponse", "12", "brokers[].host")
    assert printed(*words, stdin=sized(BODY, BODY)) == "b1\nb2\nb1\nb2\n"


def test_responses_are_paired_with_requests(tmp_path: Path) -> None:
    (tmp_path / "sent.bin").write_bytes(sized(REQUEST, BEATS))
    pairing = ("--frames", "response", "--requests", str(tmp_path / "sent.bin"))
    received = sized(BEATEN, ANSWER)
    assert printed("get", *pairing, "Metadata", "brokers[].host", stdin=received) == "b1\nb2\n"
    done = run("set", *pairing, "3", "brokers[].host=proxy", stdin=received)
    assert frames(done.stdout_bytes)[0] == BEATEN
    changed = registry.decode_response(frames(done.stdout_bytes)[1], 3, 12).message
    assert [broker.host for broker in changed.brokers] == ["proxy", "proxy"]


def test_setting_fields_of_a_message() -> None:
    done = run(*SET_12, "brokers[].host=proxy", "brokers[].port=7", 'cluster_id:="c"', stdin=BODY)
    read = messages.MetadataResponse.decode(done.stdout_bytes, 12)
    assert [(each.node_id, each.host, each.port) for each in read.brokers] == [(1, "proxy", 7), (2, "proxy", 7)]
    assert read.cluster_id == "c"
    assert printed(*SET_12, "cluster_id:=null", "--hex", stdin=BODY.hex().encode()) == BODY.hex() + "\n"
    empty = run("set", "MetadataResponse", "12", "brokers:=[]", stdin=BODY).stdout_bytes
    assert messages.MetadataResponse.decode(empty, 12).brokers == ()


def test_values_of_string_and_bytes_fields_are_not_interpreted() -> None:
    done = run("set", "MetadataResponse", "12", "cluster_id=null", stdin=BODY)
    assert messages.MetadataResponse.decode(done.stdout_bytes, 12).cluster_id == "null"
    body = messages.SaslAuthenticateRequest().encode(2)
    done = run("set", "SaslAuthenticateRequest", "2", "auth_bytes=AAE=", stdin=body)
    assert messages.SaslAuthenticateRequest.decode(done.stdout_bytes, 2).auth_bytes == b"\0\1"


def test_setting_fields_of_frames_leaves_the_others() -> None:
    done = run("set", "--frames", "request", "Metadata", "header.client_id=x", stdin=sized(BEATS, REQUEST))
    beats, request = frames(done.stdout_bytes)
    assert beats == BEATS
    assert registry.decode_request(request).header.client_id == "x"


GET_FRAMES = ("get", "--frames", "request")
SET_12 = ("set", "MetadataResponse", "12")
REJECTED: tuple[tuple[tuple[str, ...], bytes, int, str], ...] = (
    (("get", "MetadataResponse", "12", "brokers[].hots"), BODY, 2, "did you mean 'host'?"),
    (("get", "MetadataResponse", "12"), BODY, 2, "give at least one path"),
    (("get", "MetadataResponse", "12", "cluster_id"), BODY[:-1], 1, "tagwire: MetadataResponse v12: "),
    (("get", "MetadataResponse", "99", "cluster_id"), BODY, 2, "has no version 99"),
    (GET_FRAMES, b"", 2, "give MESSAGE"),
    ((*GET_FRAMES, "MetadataResponse", "x"), b"", 2, "MetadataResponse is a response, not a request"),
    ((*GET_FRAMES, "Metadata", "topics"), sized(REQUEST)[:-1], 1, "frame 1"),
    ((*GET_FRAMES, "Metadata", "topics"), sized(REQUEST[:-1]), 1, "frame 1 at byte 0: MetadataRequest"),
    (("get", "--requests", "f", "MetadataResponse", "12", "brokers"), BODY, 2, "--requests needs --frames response"),
    ((*SET_12, "cluster_id"), BODY, 2, "expected PATH=VALUE or"),
    ((*SET_12, "controller_id=x"), BODY, 2, "type int32 requires JSON, got 'x' (line 1, col"),
    ((*SET_12, "brokers:=" + "[" * 200_000), BODY, 2, "nested too deeply; no message has that many levels"),
    ((*SET_12, "controller_id=9999999999"), BODY, 1, "expected int32"),
    ((*SET_12, "brokers[].host:=null"), BODY, 1, "not nullable in this version"),
    ((*SET_12, "brokers:=[{}]"), BODY, 1, "the key 'nodeId' is missing"),
    (("set", "--frames", "request", "3", "topics=x"), BODY, 2, "there is no message '3"),
)


@pytest.mark.parametrize(("words", "stdin", "status", "text"), REJECTED)
def test_rejected_input(words: tuple[str, ...], stdin: bytes, status: int, text: str) -> None:
    rejected(run(*words, stdin=stdin), text, code=status)


def test_set_on_captured_frames_equals_decode_change_encode(tmp_path: Path) -> None:
    with gzip.open(CAPTURES, "rt", encoding="utf-8") as rows:
        captured: list[dict[str, Any]] = [json.loads(row) for row in rows]
    sent = [bytes.fromhex(row["hex"]) for row in captured if row["dir"] == "req" and row["api_key"] == 3]
    done = run("set", "--frames", "request", "Metadata", "header.client_id=other", stdin=sized(*sent), code=0)
    for old, new in zip(sent, frames(done.stdout_bytes), strict=True):
        read = registry.decode_request(old)
        header = read.header.replace(client_id="other")
        assert registry.encode_request(read.message, read.version, header=header) == new
    versions = {row["api_version"] for row in captured if row["dir"] == "resp" and row["api_key"] == 3}
    assert len(versions) > 1
    for version in versions:
        same = [row for row in captured if (row["dir"], row["api_key"], row["api_version"]) == ("resp", 3, version)]
        received = [bytes.fromhex(row["hex"]) for row in same]
        words = ("set", "--frames", "response", "Metadata", str(version), "brokers[].host=proxy.example")
        done = run(*words, stdin=sized(*received), code=0)
        for old, new in zip(received, frames(done.stdout_bytes), strict=True):
            answer = registry.decode_response(old, 3, version)
            moved = [broker.replace(host="proxy.example") for broker in answer.message.brokers]
            assert registry.encode_response(answer.message.replace(brokers=moved), version, header=answer.header) == new
