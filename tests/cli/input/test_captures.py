import json
from pathlib import Path

import pytest

import tagwire_messages as messages
from tagwire_cli.input.captures import chosen_frames

REQUEST = messages.registry.encode_request(messages.HeartbeatRequest(), 4, correlation_id=1)
RESPONSE = messages.registry.encode_response(messages.HeartbeatResponse(), 4, correlation_id=1)


@pytest.mark.parametrize(("where", "expected"), [(None, ["request", "response"]), ("dir=request", ["request"])])
def test_frames_of_a_capture(tmp_path: Path, where: str | None, expected: list[str]) -> None:
    """Check that a capture line which only records that a connection was closed isn't read as a frame."""
    rows = [{"dir": "req", "hex": REQUEST.hex()}, {"dir": "resp", "hex": RESPONSE.hex()}, {"dir": "close"}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [each.direction for each in chosen_frames(str(path), messages.registry, where, 9092)] == expected


@pytest.mark.parametrize(("data", "note"), [(b"", "is empty"), (b" \n", "is empty"), (b'{"dir": "close"}\n', "")])
def test_an_empty_capture_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, note: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    assert [*chosen_frames(str(path), messages.registry, None, 9092)] == []
    error = capsys.readouterr().err
    assert note in error and bool(note) == bool(error)
