import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = "tagwire.testing.pytest_plugin"
ASK = """
import socket
import tagwire_messages as kafka

def ask(address, message=kafka.HeartbeatRequest(), version=4):
    frame = kafka.registry.encode_request(message, version)
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(len(frame).to_bytes(4, "big") + frame)
        return client.recv(1000)
"""
GOOD = f"""{ASK}
def test_a_peer_runs(mock_peer):
    mock_peer.on(kafka.HeartbeatRequest).reply(kafka.HeartbeatResponse(error_code=27))
    assert kafka.registry.decode_response(ask(mock_peer.address)[4:], 12, 4).message.error_code == 27
    mock_peer.assert_received(kafka.HeartbeatRequest(), times=1)

def test_another_test_has_another(mock_peer):
    assert mock_peer.requests == []

def test_several(mock_peer, make_mock_peer):
    other = make_mock_peer(max_size=1000)
    assert other.address != mock_peer.address
    assert other.max_size == 1000
"""
BAD = f"""{ASK}
def test_nobody_answers(mock_peer):
    assert ask(mock_peer.address) == b""
"""
SLIPS = f"""{ASK}
def test_no_answer(mock_peer):
    mock_peer.on(kafka.HeartbeatRequest).reply(3)

def test_no_delay(mock_peer):
    mock_peer.on(kafka.HeartbeatRequest).reply(kafka.HeartbeatResponse(), delay=-1)

def test_no_request(mock_peer):
    mock_peer.on(kafka.HeartbeatResponse)

def test_raises(mock_peer):
    mock_peer.on(kafka.HeartbeatRequest).reply(lambda request: 1 / 0)
    ask(mock_peer.address)

def test_unequal_messages():
    assert kafka.HeartbeatRequest(member_id="a") == kafka.HeartbeatRequest(member_id="b", unknown_tags={{3: b"x"}})

def test_no_frame(mock_peer):
    with socket.create_connection(mock_peer.address, timeout=10) as client:
        client.sendall(b"GET /")
        client.recv(1)
"""
OWN = """
import pytest
from tagwire_drafts.kip482 import registry

@pytest.fixture
def mock_peer_registry():
    return registry

def test_own_messages(mock_peer):
    assert mock_peer.registry is registry
"""


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("text", "passed"), [(GOOD, 3), (OWN, 1)])
def test_peers_run_while_a_test_does(tmp_path: Path, text: str, passed: int) -> None:
    done = run(tmp_path, text)
    assert f"{passed} passed" in done.stdout, done.stdout


def test_a_test_fails_if_its_peer_had_problems(tmp_path: Path) -> None:
    done = run(tmp_path, BAD)
    assert "1 passed, 1 error" in done.stdout
    assert "HeartbeatRequest v4: the peer does not offer this request, and no rule handles it" in done.stdout


def test_errors_show_lines_of_the_test_alone(tmp_path: Path) -> None:
    done = run(tmp_path, SLIPS)
    assert "4 failed, 2 passed, 2 errors" in done.stdout
    assert "E         member_id: 'a' != 'b'\nE         unknown_tags: {} != {3: b'x'}\n" in done.stdout
    failures = re.findall(r"^(\S+):\d+: (\w+)$", done.stdout, re.MULTILINE)
    names = ["ZeroDivisionError", "PeerError", "PeerError", "PeerError", "AssertionError"]
    assert failures == [("test_it.py", name) for name in names]


def test_the_plugin_costs_nothing_until_a_fixture_is_used() -> None:
    code = f"import pytest, sys; before = set(sys.modules); import {PLUGIN}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {name for name in done.stdout.split() if name.startswith("tagwire")}
    assert modules <= {"tagwire", "tagwire.lazy", "tagwire.testing", PLUGIN}
