"""`tagwire replay`: captures played against mock peers."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

import tagwire_cli
import tagwire_messages as kafka
from tagwire.testing.addresses import Address
from tagwire.testing.peer import MockPeer, Reply
from tagwire.testing.proxy import CaptureFile, RecordedFrame
from tagwire_cli.app import app
from tagwire_messages.metadata_response import MetadataResponseBroker

SCHEMA = json.loads((Path(tagwire_cli.__file__).parent / "json_schemas" / "replay.json").read_text())
BROKERS = [MetadataResponseBroker(node_id=1, host="b1", port=9092)]
METADATA = kafka.MetadataResponse(brokers=BROKERS, cluster_id="one")


@pytest.fixture
def peer() -> Generator[MockPeer]:
    peer = MockPeer()
    peer.on(kafka.MetadataRequest).reply(METADATA)
    peer.on(kafka.HeartbeatRequest).reply(kafka.HeartbeatResponse())
    with peer.running():
        yield peer


def frame(message: Any, version: int, number: int = 1, conn: int = 1, server: int = 1) -> RecordedFrame:
    registry, is_request = kafka.registry, message.KIND == "request"
    encode: Any = registry.encode_request if is_request else registry.encode_response
    data = encode(message, version, correlation_id=number)
    return RecordedFrame(conn, is_request, message.API_KEY, version, number, "c", Address("b", server), 0.0, data)


ASKED = frame(kafka.MetadataRequest(), 12)


def capture(folder: Path, *frames: RecordedFrame) -> Path:
    with CaptureFile(folder / "frames.jsonl.gz", run="r") as file:
        for each in frames:
            file.add(each)
    return file.path


def run(file: Path, to: object, *words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["replay", str(file), "--to", str(to), *words])
    return done.exit_code, done.stdout, done.stderr


def test_the_same_answers(peer: MockPeer, tmp_path: Path) -> None:
    file = capture(
        tmp_path,
        ASKED,
        frame(kafka.HeartbeatRequest(group_id="g"), 4, 2),
        frame(kafka.HeartbeatRequest(group_id="h"), 4, 1, conn=2),
        frame(kafka.HeartbeatResponse(throttle_time_ms=7), 4, 1, conn=2),
        frame(kafka.HeartbeatResponse(), 4, 2),
        frame(METADATA, 12),
        frame(kafka.HeartbeatResponse(), 4, 99),
    )
    assert run(file, peer.address) == (0, "", "played 3 requests; answers: 3 the same, 0 different, 0 missing\n")
    assert len({each.connection for each in peer.requests}) == 2


OTHER = METADATA.replace(cluster_id="two", brokers=[*BROKERS, MetadataResponseBroker(node_id=2, host="b2")])


def test_differences(peer: MockPeer, tmp_path: Path) -> None:
    file = capture(tmp_path, ASKED, frame(OTHER, 12))
    code, out, err = run(file, peer.address)
    assert (code, err) == (1, "played 1 request; answers: 0 the same, 1 different, 0 missing\n")
    first, broker, cluster = out.splitlines()
    assert first == "line 2, connection r 1: MetadataResponse v12 differs"
    assert broker.startswith("    brokers[1]  expected MetadataResponseBroker(node_id=2, host='b2'")
    assert cluster == "    cluster_id  expected 'two', received 'one'"
    code, out, _ = run(file, peer.address, "--json")
    (row,) = map(json.loads, out.splitlines())
    jsonschema.validate(row, SCHEMA)
    assert (code, row["result"], [each["path"] for each in row["differences"]]) == (
        1,
        "differs",
        ["brokers[1]", "cluster_id"],
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--ignore", "brokers", "--ignore", "cluster_id"], 0),
        (["--ignore", "brokers[]", "--ignore", "MetadataResponse.cluster_id"], 0),
        (["--ignore", "brokers[].host", "--ignore", "cluster_id"], 1),
        (["--ignore", "HeartbeatResponse.error_code"], 1),
        (["--ignore", "brokers"], 1),
    ],
)
def test_what_may_differ(words: list[str], code: int, peer: MockPeer, tmp_path: Path) -> None:
    assert run(capture(tmp_path, ASKED, frame(OTHER, 12)), peer.address, *words)[0] == code


def test_a_path_that_there_is_not(peer: MockPeer, tmp_path: Path) -> None:
    file = capture(tmp_path, ASKED, frame(OTHER, 12))
    for path in ("clusterid", "MetadataResponse.clusterid", "header.host"):
        code, out, err = run(file, peer.address, "--ignore", path)
        assert (code, out) == (1, "") and "without a field" in err
    assert peer.requests == []


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(close=True), "the server closed the connection"),
        (Reply(), "there was none within 2 s"),
        (Reply(raw=b"\xff\xff\xff\xff"), "the server sent what is no frame: "),
    ],
)
def test_missing_answers(reply: Reply, reason: str, peer: MockPeer, tmp_path: Path) -> None:
    """The connection is given up; others go on."""
    peer.on(kafka.MetadataRequest).reply(reply)
    beat, fine = frame(kafka.HeartbeatRequest(), 4, conn=2), frame(kafka.HeartbeatResponse(), 4, conn=2)
    file = capture(tmp_path, ASKED, frame(METADATA, 12), ASKED, frame(METADATA, 12), beat, fine)
    code, out, _ = run(file, peer.address, "--timeout", "2", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    for row in rows:
        jsonschema.validate(row, SCHEMA)
    assert (code, [row["result"] for row in rows]) == (1, ["missing", "missing", "same"])
    assert rows[0]["reason"].startswith(reason)
    assert (
        f"line 2, connection r 1: MetadataResponse v12 is missing: {reason}"
        in run(file, peer.address, "--timeout", "2")[1]
    )


def test_an_answer_that_cannot_be_read(peer: MockPeer, tmp_path: Path) -> None:
    peer.on(kafka.MetadataRequest).reply(raw=bytes.fromhex("00000005 00000001 00"))
    code, out, _ = run(capture(tmp_path, ASKED, frame(METADATA, 12)), peer.address)
    assert code == 1 and "expected a MetadataResponse, received what can't be read: MetadataResponse v12" in out


def test_secrets_are_hidden(peer: MockPeer, tmp_path: Path) -> None:
    peer.on(kafka.SaslAuthenticateRequest).reply(kafka.SaslAuthenticateResponse(auth_bytes=b"secret"))
    asked = frame(kafka.SaslAuthenticateRequest(auth_bytes=b"x"), 2)
    file = capture(tmp_path, asked, frame(kafka.SaslAuthenticateResponse(auth_bytes=b"other"), 2))
    assert "auth_bytes  expected <hidden>, received <hidden>" in run(file, peer.address)[1]
    assert b"secret".hex() in run(file, peer.address, "--show-sensitive")[1]


def test_one_server_of_several(peer: MockPeer, tmp_path: Path) -> None:
    other = frame(kafka.HeartbeatRequest(), 4, conn=2, server=2)
    file = capture(tmp_path, ASKED, other, frame(METADATA, 12))
    assert run(file, peer.address, "--server", "b:1")[2].startswith("played 1 request;")
    assert run(file, peer.address, "--server", "b:3")[0] == 1


def test_nobody_listens(tmp_path: Path) -> None:
    code, out, err = run(capture(tmp_path, ASKED), "127.0.0.1:1")
    assert (code, out) == (1, "") and "Connect call failed" in err
