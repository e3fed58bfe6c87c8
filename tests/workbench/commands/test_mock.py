import json
import signal
import socket
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command import tagwire_outcome, tagwire_process
from peer_frames import BEAT, framed

import tagwire_cli
import tagwire_messages as kafka

SCHEMA = json.loads((Path(tagwire_cli.__file__).parent / "json_schemas" / "mock-serve.json").read_text())
SCRIPT = "rules: [{request: HeartbeatRequest, versions: 0-3, reply: {body: {errorCode: 27}}}]"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.yaml"
    path.write_text(SCRIPT)
    return path


serving = partial(tagwire_process, "mock", "serve")


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip()


def ask(port: int, version: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(framed(BEAT, version))
        return client.recv(100)


def test_lines_of_json(script: Path) -> None:
    with serving(script, "--json") as process:
        address = json.loads(line(process))
        assert address["host"] == "127.0.0.1"
        assert ask(address["port"], 0) == bytes.fromhex("00000006 00000007 001b")
        request: dict[str, Any] = json.loads(line(process))
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")
    for each in (address, request):
        jsonschema.validate(each, SCHEMA)
    header = {"requestApiKey": 12, "requestApiVersion": 0, "correlationId": 7, "clientId": None}
    body = {"groupId": "g", "generationId": 0, "memberId": "m"}
    place = {"number": 1, "connection": 1, "index": 1, "offset": 0}
    assert request == {**place, "message": "HeartbeatRequest", "version": 0, "header": header, "body": body}


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_problems_are_errors(script: Path, ending: signal.Signals) -> None:
    with serving(script) as process:
        port = int(line(process).removeprefix("listening at 127.0.0.1:"))
        assert ask(port, 4) == b""
        assert line(process) == "#1 (connection 1, request 1, byte 0): HeartbeatRequest v4"
        process.send_signal(ending)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert err.splitlines() == [
        "tagwire: connection 1, request 1, byte 0: HeartbeatRequest v4: version 4 is not offered; "
        "the peer offers versions 0-3, and the message has versions 0-4",
        "tagwire: there was 1 problem",
    ]


def test_unknown_version_has_no_body(script: Path) -> None:
    with serving(script, "--json") as process:
        port = json.loads(line(process))["port"]
        newer = kafka.registry.encode_request(BEAT, 4)[:2] + b"\0\x63" + kafka.registry.encode_request(BEAT, 4)[4:]
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(len(newer).to_bytes(4, "big") + newer)
            assert client.recv(100) == b""
        request = json.loads(line(process))
    jsonschema.validate(request, SCHEMA)
    assert (request["version"], request["body"]) == (99, None)


@pytest.mark.parametrize("version", [0, 4])
def test_exits_when_standard_output_is_closed(script: Path, version: int) -> None:
    """The command must exit if its standard output is closed, even if it has to report a problem."""
    with serving(script) as process:
        port = int(line(process).removeprefix("listening at 127.0.0.1:"))
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        with suppress(OSError):
            ask(port, version)
        assert process.wait(timeout=30) == 141
        assert "Error" not in process.stderr.read()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_nobody_reads_delays_neither_clients_nor_the_end(
    script: Path, monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with serving(script, "--json") as process:
        port = json.loads(line(process))["port"]
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(framed(BEAT, 0) * 2000)
            assert len(client.makefile("rb").read(2000 * 10)) == 2000 * 10
        process.terminate()
        assert process.wait(timeout=30) == 0


run = partial(tagwire_outcome, "mock", "serve")


def test_script_can_be_checked_without_a_server(script: Path) -> None:
    assert run(script, "--check") == (0, "", "")
    script.write_text(SCRIPT.replace("errorCode", "error"))
    expected = (1, "", f"tagwire: {script}:1:67: HeartbeatResponse has no field 'error'; did you mean 'errorCode'?\n")
    assert run(script, "--check") == expected


def test_the_package(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    for name, message in [("''", "'' is not an import name"), ("nowhere", "'nowhere' can't be imported")]:
        path.write_text(f"package: {name}\nrules: []")
        code, out, err = run(path)
        assert (code, out, err.startswith(f"tagwire: {path}:1:10: {message}")) == (1, "", True)
        assert f"Invalid value for --package: {message}" in run(path, "--package", name.strip("'"))[2]
    assert run(path, "--package", "tagwire_messages", "--check")[0] == 0
    assert "no RequestHeader" in run(path, "--package", "tagwire_records")[2]


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_only_loopback_by_default(script: Path, host: str) -> None:
    code, out, err = run(script, "--host", host)
    assert (code, out) == (1, "") and "--allow-remote" in err
    assert run(script, "--host", "0.0.0.0", "--allow-remote", "--time", "0.01")[0] == 0


def test_an_address_that_is_not_available(script: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "choose another port" in run(script, "--port", taken.getsockname()[1])[2]
    assert "choose an address of this machine" in run(script, "--host", "192.0.2.1", "--allow-remote")[2]
