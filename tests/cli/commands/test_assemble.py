from pathlib import Path

import pytest
from command import rejected
from command import tagwire_result as run

import tagwire_messages as messages

REQUEST = messages.registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=7)


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "frame.txt"
    path.write_bytes(run("explain", "--request", stdin=REQUEST).stdout_bytes)
    assert run("assemble", str(path)).stdout_bytes == REQUEST
    assert run("assemble", "--hex", stdin=path.read_bytes()).stdout == f"{REQUEST.hex()}\n"


def test_many_frames() -> None:
    stream = 2 * (len(REQUEST).to_bytes(4, "big") + REQUEST)
    for options in (["--request", "--frames"], ["--guess"]):
        text = run("explain", *options, stdin=stream).stdout_bytes
        assert run("assemble", "--frames", stdin=text).stdout_bytes == stream
    assert run("assemble", "--hex", stdin=text).stdout.splitlines() == 2 * [REQUEST.hex()]


def test_lengths_are_made_to_fit() -> None:
    text = run("explain", "--request", stdin=REQUEST).stdout.replace("02 67 ", '02 "group" ')
    seen = run("explain", "--request", stdin=run("assemble", "--fix", stdin=text).stdout_bytes, code=0)
    assert "'group'" in seen.stdout
    assert run("explain", "--request", stdin=run("assemble", stdin=text).stdout_bytes).exit_code == 1


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (b"  00 0\n", "tagwire: line 1, column 6: found '0', an odd number of digits"),
        (b"\xff", "tagwire: annotated bytes: byte 0 is not UTF-8"),
    ],
)
def test_rejected_input(stdin: bytes, message: str) -> None:
    rejected(run("assemble", stdin=stdin), message, code=1)


def test_input_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwire_cli.commands.assemble._MOST_BYTES", 1 << 20)
    text = "tagwire: annotated bytes: line 1: the input is longer than the limit of 1 MiB; assemble"
    rejected(run("assemble", "/dev/zero"), text, code=1)


def test_nothing() -> None:
    assert run("assemble", stdin=b"", code=0).stdout_bytes == b""
