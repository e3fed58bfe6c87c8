import gzip
import json
import signal
import socket
import subprocess
import threading
from functools import partial
from pathlib import Path

import jsonschema
import pytest
from command import tagwire_outcome, tagwire_process, tagwire_result
from peer_frames import BEAT, framed

import tagwire_cli
import tagwire_messages as kafka
from tagwire.testing.peer import MockPeer

SCHEMA = json.loads((Path(tagwire_cli.__file__).parent / "json_schemas" / "record.json").read_text())
ANSWER = bytes.fromhex("0000000c  00000007 00  00000000 0000 00")
REQUEST = framed(BEAT, 4)
recording = partial(tagwire_process, "record")


def ask(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(1000), b""))


def port_of(process: "subprocess.Popen[str]") -> int:
    assert process.stdout is not None
    address = json.loads(process.stdout.readline())
    jsonschema.validate(address, SCHEMA)
    return int(address["port"])


def rows(path: Path) -> list[dict[str, object]]:
    """Return the recorded frames. Lines for closed connections are left out, because their order varies."""
    found = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    return [row for row in found if row["dir"] != "close"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_up_to_a_signal(ending: signal.Signals, peer: MockPeer, tmp_path: Path) -> None:
    file = tmp_path / "frames.jsonl.gz"
    with recording("--to", peer.address, "--output", file, "--json", "--run", "r1", "--label", "me") as process:
        assert ask(port_of(process), REQUEST) == ANSWER
        process.send_signal(ending)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "recorded 1 request and 1 response of 1 connection\n")
    request, response = rows(file)
    assert (request["dir"], request["hex"], response["dir"]) == ("req", REQUEST[4:].hex(), "resp")
    assert {(row["run"], row["client_label"], row["api_key"], row["api_version"]) for row in (request, response)} == {
        ("r1", "me", 12, 4)
    }
    done = tagwire_result("demo", file)
    assert (done.exit_code, "Decoded 2 frames strictly" in done.stdout) == (0, True)


def test_a_killed_process_leaves_what_it_wrote(peer: MockPeer, tmp_path: Path) -> None:
    file = tmp_path / "frames.jsonl.gz"
    with recording("--to", peer.address, "--output", file, "--json") as process:
        ask(port_of(process), REQUEST)
        while len(rows(file)) < 2:
            threading.Event().wait(0.01)
        process.kill()
        process.wait(timeout=30)
    assert [row["dir"] for row in rows(file)] == ["req", "resp"]


def test_problems(peer: MockPeer, tmp_path: Path) -> None:
    with recording("--to", peer.address, "--output", tmp_path / "frames.jsonl.gz", "--json") as process:
        assert ask(port_of(process), b"GET / HTTP/1.1\r\n\r\n") == b""
        process.terminate()
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert err.splitlines() == [
        "tagwire: connection 1, from the client: byte 0: expected a frame size from 0 to 104857600, got 1195725856; "
        "all further bytes are forwarded unchanged, but not recorded",
        "recorded 0 requests and 0 responses of 1 connection",
        "tagwire: there was 1 problem",
    ]


def test_without_secrets(peer: MockPeer, tmp_path: Path) -> None:
    file = tmp_path / "frames.jsonl.gz"
    peer.on(kafka.SaslAuthenticateRequest).reply(kafka.SaslAuthenticateResponse(auth_bytes=b"secret"))
    with recording("--to", peer.address, "--output", file, "--json", "--redact") as process:
        data = ask(port_of(process), framed(kafka.SaslAuthenticateRequest(auth_bytes=b"secret"), 2))
        assert b"secret" in data, "it passes, and is not recorded"
        process.terminate()
        process.communicate(timeout=30)
    assert len(rows(file)) == 2 and not any(b"secret".hex() in str(row["hex"]) for row in rows(file))


run = partial(tagwire_outcome, "record")


def test_it_stops_in_time(peer: MockPeer, tmp_path: Path) -> None:
    code, out, err = run("--to", peer.address, "--output", tmp_path / "frames.jsonl", "--time", "0.05")
    assert (code, err) == (0, "recorded 0 requests and 0 responses of 0 connections\n")
    assert out.startswith("listening at 127.0.0.1:") and out.endswith(f" for {peer.address}\n")


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        ("--to broker --output new", 2, "expected an address HOST:PORT with a port up to 65535, got 'broker'"),
        ("--to b:0 --output new", 2, "b:0: expected the port of a server, got 0"),
        ("--to b:1 --output none/new", 1, "none/new can't be written: No such file or directory; give a"),
        ("--to b:1 --output old/new", 1, "old/new can't be written: Not a directory; give a file in"),
        ("--to b:1 --output -", 2, "standard input and output can't be used here; give a path, such as ./-"),
        ("--to b:1 --listen x --output new", 2, "PORT or HOST:PORT with a port up to 65535, got 'x'"),
        ("--to b:1 --listen 0.0.0.0:0 --output new", 1, "other machines can reach it at 0.0.0.0"),
        ("--to b:1 --output new --time nan", 2, "expected a number of seconds from 0 to 1000000, got nan"),
        ("--to b:1 --output old", 1, "old already exists; a recording needs a new file"),
        ("--to b:1 --output new --package tagwire_records", 2, "defines no RequestHeader; choose another --package."),
    ],
)
def test_rejected_input(words: str, code: int, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old").write_text("kept")
    found = run(*words.split())
    assert (found[0], found[1]) == (code, "") and expected in found[2]
    assert [*Path().iterdir()] == [Path("old")] and Path("old").read_text() == "kept"
