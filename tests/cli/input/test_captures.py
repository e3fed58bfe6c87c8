import json
import sys
from pathlib import Path

import pytest

import tagwire_messages as messages
from tagwire_cli.input.captures import chosen_frames
from tagwire_cli.input.files import InputError, read_bytes

REQUEST = messages.registry.encode_request(messages.HeartbeatRequest(), 4, correlation_id=1)
RESPONSE = messages.registry.encode_response(messages.HeartbeatResponse(), 4, correlation_id=1)


@pytest.mark.parametrize(("where", "expected"), [(None, ["request", "response"]), ("dir=request", ["request"])])
def test_frames_of_a_capture(tmp_path: Path, where: str | None, expected: list[str]) -> None:
    """Check that a capture line which only records that a connection was closed isn't read as a frame."""
    rows = [{"dir": "req", "hex": REQUEST.hex()}, {"dir": "resp", "hex": RESPONSE.hex()}, {"dir": "close"}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [each.direction for each in chosen_frames(str(path), messages.registry, where, 9092)] == expected


def test_input_that_is_also_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tagwire redact --frames request FILE >> FILE` would read its own output, and never end."""
    path = tmp_path / "frames.bin"
    with path.open("a") as output, pytest.raises(InputError, match="is also the output of this command"):
        monkeypatch.setattr(sys, "stdout", output)
        read_bytes(str(path), is_hex=False)


@pytest.mark.parametrize(("data", "note"), [(b"", "is empty"), (b" \n", "is empty"), (b'{"dir": "close"}\n', "")])
def test_an_empty_capture_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, note: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    assert [*chosen_frames(str(path), messages.registry, None, 9092)] == []
    error = capsys.readouterr().err
    assert note in error and bool(note) == bool(error)
